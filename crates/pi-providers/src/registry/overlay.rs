//! Models fetched after the built-in catalog was generated, merged over it by ID.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use pi_protocol::Model;

use super::provider::ModelList;
use crate::catalog::is_client_identity_header;

/// A provider's built-in and fetched models.
#[derive(Debug)]
pub(super) struct ModelOverlay {
    merged: RwLock<Option<ModelList>>,
    built_in: fn(&str) -> ModelList,
    /// Provider whose catalog is the base.
    catalog: &'static str,
}

impl ModelOverlay {
    /// Uses a provider's built-in models as the base; they are loaded only when needed.
    pub(super) fn over_builtin(catalog: &'static str) -> Self {
        Self {
            merged: RwLock::new(None),
            built_in: crate::catalog::builtin_models,
            catalog,
        }
    }

    /// Has no base models.
    pub(super) fn empty() -> Self {
        Self {
            merged: RwLock::new(None),
            built_in: |_| ModelList::default(),
            catalog: "",
        }
    }

    pub(super) fn models(&self) -> ModelList {
        let merged = self.merged.read();
        match &*merged {
            Some(models) => Arc::clone(models),
            None => (self.built_in)(self.catalog),
        }
    }

    /// Replaces the fetched models. A known ID replaces the built-in model; new IDs are appended.
    pub(super) fn publish(&self, fetched: Vec<Model>) {
        let merged = (!fetched.is_empty()).then(|| self.merge(fetched));
        *self.merged.write() = merged;
    }

    /// Replaces the whole list; an empty one restores the built-in models.
    pub(super) fn replace(&self, mut models: Vec<Model>) {
        models.iter_mut().for_each(strip_client_identity);
        let models = (!models.is_empty()).then(|| models.into_iter().map(Arc::new).collect());
        *self.merged.write() = models;
    }

    /// Returns the built-in models with fetched ones merged over them.
    pub(super) fn merge(&self, fetched: Vec<Model>) -> ModelList {
        let mut models = (self.built_in)(self.catalog).to_vec();
        let mut indices: HashMap<String, usize> = models
            .iter()
            .enumerate()
            .map(|(index, model)| (model.id.clone(), index))
            .collect();
        for mut model in fetched {
            strip_client_identity(&mut model);
            match indices
                .get(&model.id)
                .and_then(|index| models.get_mut(*index))
            {
                Some(known) => *known = Arc::new(model),
                None => {
                    indices.insert(model.id.clone(), models.len());
                    models.push(Arc::new(model));
                }
            }
        }
        models.into()
    }
}

/// Requests always identify as pi, even if a fetched or shared catalog specifies another client.
fn strip_client_identity(model: &mut Model) {
    if let Some(headers) = &mut model.headers {
        headers.retain(|name, _| !is_client_identity_header(name));
        if headers.is_empty() {
            model.headers = None;
        }
    }
}
