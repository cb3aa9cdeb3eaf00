//! Which model answers and how much it thinks.
//!
//! A choice is an entry of the session; only when asked to does it become the user's default.

use std::sync::Arc;

use pi_ai::{Model, ModelCost, ScopedModel, ThinkingLevel};
use pi_config::{ConfigScope, SettingsError};
use pi_session::{ModelChangeEntry, SessionError, ThinkingLevelChangeEntry};
use serde::Serialize;
use thiserror::Error;

use super::AgentSession;
use super::prompt::PromptRefused;
use crate::error_text::describe_error;
use crate::event::SessionEvent;
use crate::hooks::{ModelSelected, ModelSource};

/// How long a choice lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Persist {
    #[default]
    Session,
    /// Also as the default of new sessions.
    Default,
}

/// Which way to go through the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CycleDirection {
    #[default]
    Forward,
    /// To the one before.
    Backward,
}

/// The model that cycling came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelCycle {
    pub model: Arc<Model>,
    /// How much it thinks.
    pub thinking_level: ThinkingLevel,
    /// Whether it is one of a chosen few.
    pub is_scoped: bool,
}

/// Why a model or a level was not chosen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetModelError {
    /// Its provider cannot be asked.
    #[error("{}/{} cannot be used: {source}", model.provider, model.id)]
    Unavailable {
        model: Arc<Model>,
        source: Box<PromptRefused>,
    },
    /// The session file did not take the choice.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The choice counts for this run but was not saved as the default.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

impl AgentSession {
    /// Returns the model; none until one is chosen.
    pub fn model(&self) -> Option<Arc<Model>> {
        self.live().model.clone()
    }

    /// Returns how much the model thinks.
    pub fn thinking_level(&self) -> ThinkingLevel {
        self.live().thinking_level
    }

    /// Returns the models to cycle through.
    pub fn scoped_models(&self) -> Vec<ScopedModel> {
        self.live().scoped_models.clone()
    }

    /// Replaces the models to cycle through.
    pub fn set_scoped_models(&self, models: Vec<ScopedModel>) {
        self.live().scoped_models = models;
    }

    /// Chooses a model whose provider can be asked.
    pub async fn set_model(
        &self,
        model: Arc<Model>,
        persist: Persist,
    ) -> Result<(), SetModelError> {
        if let Err(refused) = self.check_auth(&model).await {
            return Err(SetModelError::Unavailable {
                model,
                source: Box::new(refused),
            });
        }
        let level = self.level_for(&model, None);
        self.use_model(model, level, persist, ModelSource::Set)
            .await
    }

    /// Goes on to the next model; none where there is no other.
    pub async fn cycle_model(
        &self,
        direction: CycleDirection,
        persist: Persist,
    ) -> Result<Option<ModelCycle>, SetModelError> {
        let available = self.0.models.available();
        let scoped = self.scoped_models();
        let is_scoped = !scoped.is_empty();
        let choices: Vec<ScopedModel> = if is_scoped {
            let is_available =
                |scoped: &ScopedModel| available.iter().any(|model| model.is_same(&scoped.model));
            scoped.into_iter().filter(is_available).collect()
        } else {
            let unscoped = |model| ScopedModel {
                model,
                thinking: None,
            };
            available.into_iter().map(unscoped).collect()
        };
        if choices.len() < 2 {
            return Ok(None);
        }
        let current = self.model();
        let is_current = |choice: &ScopedModel| {
            current
                .as_ref()
                .is_some_and(|current| current.is_same(&choice.model))
        };
        let place = choices.iter().position(is_current).unwrap_or_default();
        let step = match direction {
            CycleDirection::Forward => 1,
            CycleDirection::Backward => choices.len() - 1,
        };
        let Some(next) = choices.get((place + step) % choices.len()) else {
            return Ok(None);
        };
        let model = Arc::clone(&next.model);
        let level = self.level_for(&model, next.thinking);
        self.use_model(Arc::clone(&model), level, persist, ModelSource::Cycle)
            .await?;
        Ok(Some(ModelCycle {
            model,
            thinking_level: self.thinking_level(),
            is_scoped,
        }))
    }

    /// Returns the level to go on with when a model is chosen.
    fn level_for(&self, model: &Model, explicit: Option<ThinkingLevel>) -> ThinkingLevel {
        let settings = self.0.settings.settings();
        explicit
            .or_else(|| settings.model_thinking_level(&model.provider, &model.id))
            .or(settings.default_thinking_level)
            .unwrap_or_else(|| self.thinking_level())
    }

    async fn use_model(
        &self,
        model: Arc<Model>,
        level: ThinkingLevel,
        persist: Persist,
        source: ModelSource,
    ) -> Result<(), SetModelError> {
        self.transcript().append(ModelChangeEntry {
            provider: model.provider.clone(),
            model_id: model.id.clone(),
        })?;
        let previous = self.live().model.replace(Arc::clone(&model));
        self.0.agent.set_model(Arc::clone(&model));
        let saved = match persist {
            Persist::Session => Ok(()),
            Persist::Default => self.save_default_model(&model),
        };
        self.use_thinking_level(level).await?;
        self.tell_tools();
        let is_other = previous
            .as_ref()
            .is_none_or(|previous| !previous.is_same(&model));
        if is_other {
            let selected = ModelSelected {
                model,
                previous,
                source,
            };
            self.0.hooks.model_selected(selected).await;
        }
        Ok(saved?)
    }

    /// Makes a model the default, and one of the chosen few where there are any.
    fn save_default_model(&self, model: &Arc<Model>) -> Result<(), SettingsError> {
        let is_new_in_scope = {
            let mut live = self.live();
            let mut scoped = live.scoped_models.iter();
            let is_new =
                !live.scoped_models.is_empty() && !scoped.any(|one| one.model.is_same(model));
            if is_new {
                live.scoped_models.push(ScopedModel {
                    model: Arc::clone(model),
                    thinking: None,
                });
            }
            is_new
        };
        let reference = format!("{}/{}", model.provider, model.id);
        self.0.settings.update(ConfigScope::User, |settings| {
            settings.default_provider = Some(model.provider.clone());
            settings.default_model = Some(model.id.clone());
            if let Some(patterns) = &mut settings.enabled_models
                && is_new_in_scope
                && !patterns.is_empty()
                && !patterns
                    .iter()
                    .any(|pattern| pattern.eq_ignore_ascii_case(&reference))
            {
                patterns.push(reference);
            }
        })
    }

    /// Chooses a thinking level, or the nearest the model has.
    pub async fn set_thinking_level(
        &self,
        level: ThinkingLevel,
        persist: Persist,
    ) -> Result<(), SetModelError> {
        let saved = match persist {
            Persist::Session => Ok(()),
            Persist::Default => self.0.settings.update(ConfigScope::User, |settings| {
                settings.default_thinking_level = Some(level);
            }),
        };
        self.use_thinking_level(level).await?;
        Ok(saved?)
    }

    async fn use_thinking_level(&self, level: ThinkingLevel) -> Result<(), SessionError> {
        let model = self.model();
        let level = model.map_or(level, |model| model.clamp_thinking_level(level));
        let previous = self.thinking_level();
        if level == previous {
            return Ok(());
        }
        self.transcript().append(ThinkingLevelChangeEntry {
            thinking_level: level.as_str().to_owned(),
        })?;
        self.live().thinking_level = level;
        self.0.agent.set_thinking_level(level);
        self.tell_tools();
        self.publish(SessionEvent::ThinkingLevelChanged { level })
            .await;
        self.0.hooks.thinking_level_selected(level, previous).await;
        Ok(())
    }

    /// Goes on to the next thinking level; none where the model does not think.
    pub async fn cycle_thinking_level(
        &self,
        persist: Persist,
    ) -> Result<Option<ThinkingLevel>, SetModelError> {
        if !self.supports_thinking() {
            return Ok(None);
        }
        let levels = self.available_thinking_levels();
        let current = self.thinking_level();
        let place = levels.iter().position(|level| *level == current);
        let next = place.map_or(0, |place| (place + 1) % levels.len().max(1));
        let Some(level) = levels.get(next).copied() else {
            return Ok(None);
        };
        self.set_thinking_level(level, persist).await?;
        Ok(Some(level))
    }

    /// Returns the levels the model has; all of them without a model.
    pub fn available_thinking_levels(&self) -> Vec<ThinkingLevel> {
        self.model().map_or_else(
            || ThinkingLevel::ALL.to_vec(),
            |model| model.thinking_levels(),
        )
    }

    /// Returns whether the model can think.
    pub fn supports_thinking(&self) -> bool {
        self.model().is_some_and(|model| model.reasoning)
    }
}

impl SetModelError {
    /// Tells the whole story in one line.
    pub fn describe(&self) -> String {
        describe_error(self)
    }
}

/// Stands in the agent for a model that nobody has chosen; prompts are refused meanwhile.
pub(super) fn no_model() -> Model {
    Model {
        id: String::new(),
        name: String::new(),
        api: String::new(),
        provider: String::new(),
        base_url: String::new(),
        reasoning: false,
        thinking_level_map: None,
        input: Vec::new(),
        input_limits: None,
        cost: ModelCost::default(),
        prompt_cache: None,
        context_window: 0,
        max_tokens: 0,
        sampling_params: None,
        headers: None,
        compat: None,
        extra: pi_ai::json::JsonObject::new(),
    }
}
