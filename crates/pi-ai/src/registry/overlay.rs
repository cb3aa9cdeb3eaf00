//! Models a service told of after the built-in catalog was made, laid over it by id.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::provider::ModelList;
use crate::catalog::is_client_identity_header;
use crate::model::Model;

/// The models a provider had from the start and those it learned of.
#[derive(Debug)]
pub(super) struct Overlay {
    merged: RwLock<Option<ModelList>>,
    built_in: fn(&str) -> ModelList,
    /// Whose models of the catalog these are.
    catalog: &'static str,
}

impl Overlay {
    /// Lays over the built-in models of a provider; they are not looked at before they are needed.
    pub(super) fn over(catalog: &'static str) -> Self {
        Self {
            merged: RwLock::new(None),
            built_in: crate::catalog::builtin_models,
            catalog,
        }
    }

    /// Lays over nothing.
    pub(super) fn empty() -> Self {
        Self {
            merged: RwLock::new(None),
            built_in: |_| ModelList::default(),
            catalog: "",
        }
    }

    /// Returns the models as they are now.
    pub(super) fn models(&self) -> ModelList {
        let merged = self.merged.read().unwrap_or_else(PoisonError::into_inner);
        match &*merged {
            Some(models) => Arc::clone(models),
            None => (self.built_in)(self.catalog),
        }
    }

    /// Replaces what was learned: a known id is replaced, a new one follows at the end.
    pub(super) fn publish(&self, learned: Vec<Model>) {
        let merged = (!learned.is_empty()).then(|| self.merge(learned));
        *self.merged.write().unwrap_or_else(PoisonError::into_inner) = merged;
    }

    fn merge(&self, learned: Vec<Model>) -> ModelList {
        let mut models = (self.built_in)(self.catalog).to_vec();
        let mut places: HashMap<String, usize> = models
            .iter()
            .enumerate()
            .map(|(place, model)| (model.id.clone(), place))
            .collect();
        for mut model in learned {
            drop_foreign_identity(&mut model);
            match places
                .get(&model.id)
                .and_then(|place| models.get_mut(*place))
            {
                Some(known) => *known = Arc::new(model),
                None => {
                    places.insert(model.id.clone(), models.len());
                    models.push(Arc::new(model));
                }
            }
        }
        models.into()
    }
}

/// We sign our own name, also where a fetched or shared catalog would have it otherwise.
fn drop_foreign_identity(model: &mut Model) {
    if let Some(headers) = &mut model.headers {
        headers.retain(|name, _| !is_client_identity_header(name));
        if headers.is_empty() {
            model.headers = None;
        }
    }
}
