//! The scope while it is edited: all models, or an ordered selection.

use std::sync::Arc;

use pi_protocol::{Model, ThinkingLevel};

/// A model in the scope, or one that could be added.
#[derive(Clone, Debug, PartialEq)]
pub struct EnabledModel {
    /// `provider/id`, or the pattern of the settings if no available model matches.
    pub id: String,
    pub model: Option<Arc<Model>>,
    /// Thinking level to use with it.
    pub thinking: Option<ThinkingLevel>,
}

impl EnabledModel {
    pub fn available(model: Arc<Model>, thinking: Option<ThinkingLevel>) -> Self {
        Self {
            id: format!("{}/{}", model.provider, model.id),
            model: Some(model),
            thinking,
        }
    }

    /// Returns an entry of the settings without an available model.
    pub fn missing(id: String) -> Self {
        Self {
            id,
            model: None,
            thinking: None,
        }
    }

    /// Returns the pattern saved in the settings.
    pub(super) fn pattern(&self) -> String {
        match self.thinking {
            Some(level) => format!("{}:{}", self.id, level.as_str()),
            None => self.id.clone(),
        }
    }

    pub(super) fn search_text(&self) -> String {
        match &self.model {
            Some(model) => {
                let Model {
                    id, provider, name, ..
                } = &**model;
                format!("{id} {provider} {provider}/{id} {provider} {id} {name}")
            }
            None => self.id.clone(),
        }
    }
}

/// The models to cycle through.
#[derive(Debug)]
pub(super) struct ModelScope {
    available: Vec<EnabledModel>,
    /// `None` means all, in their default order.
    enabled: Option<Vec<EnabledModel>>,
}

impl ModelScope {
    pub(super) fn new(models: Vec<Arc<Model>>, enabled: Option<Vec<EnabledModel>>) -> Self {
        Self {
            available: models.into_iter().map(offered).collect(),
            enabled,
        }
    }

    pub(super) fn enabled(&self) -> Option<&[EnabledModel]> {
        self.enabled.as_deref()
    }

    pub(super) fn available_count(&self) -> usize {
        self.available.len()
    }

    /// Replaces the available models; removed ones stay in the scope as missing.
    pub(super) fn set_available(&mut self, models: Vec<Arc<Model>>) {
        for item in self.enabled.iter_mut().flatten() {
            let named = |model: &&Arc<Model>| format!("{}/{}", model.provider, model.id) == item.id;
            item.model = models.iter().find(named).cloned();
        }
        self.available = models.into_iter().map(offered).collect();
    }

    pub(super) fn has(&self, item: &EnabledModel) -> bool {
        match &self.enabled {
            None => true,
            Some(enabled) => enabled.iter().any(|other| other.id == item.id),
        }
    }

    /// Returns all models that can be toggled: the enabled ones in order, then the rest.
    pub(super) fn listed(&self) -> Vec<EnabledModel> {
        let Some(enabled) = &self.enabled else {
            return self.available.clone();
        };
        let rest = self.available.iter().filter(|item| !self.has(item));
        enabled.iter().chain(rest).cloned().collect()
    }

    pub(super) fn toggle(&mut self, item: &EnabledModel) {
        if self.has(item) {
            self.remove(std::slice::from_ref(item));
        } else {
            self.add(std::slice::from_ref(item));
        }
    }

    /// Adds models at the end. If all available models are enabled, the scope becomes "all".
    pub(super) fn add(&mut self, items: &[EnabledModel]) {
        let Some(enabled) = &mut self.enabled else {
            return;
        };
        for item in items {
            if !enabled.iter().any(|other| other.id == item.id) {
                enabled.push(item.clone());
            }
        }
        let all = enabled.len() == self.available.len()
            && enabled
                .iter()
                .all(|item| item.model.is_some() && item.thinking.is_none());
        if all {
            self.enabled = None;
        }
    }

    pub(super) fn remove(&mut self, items: &[EnabledModel]) {
        let enabled = self.enabled.get_or_insert_with(|| self.available.clone());
        enabled.retain(|item| !items.iter().any(|other| other.id == item.id));
    }

    /// Moves a model by one position; returns whether it moved.
    pub(super) fn shift(&mut self, item: &EnabledModel, up: bool) -> bool {
        let Some(enabled) = &mut self.enabled else {
            return false;
        };
        let Some(index) = enabled.iter().position(|other| other.id == item.id) else {
            return false;
        };
        let other = if up {
            index.checked_sub(1)
        } else {
            Some(index + 1)
        };
        match other.filter(|other| *other < enabled.len()) {
            Some(other) => {
                enabled.swap(index, other);
                true
            }
            None => false,
        }
    }
}

fn offered(model: Arc<Model>) -> EnabledModel {
    EnabledModel::available(model, None)
}
