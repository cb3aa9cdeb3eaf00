//! Image and classifier models: the embedded catalog, with the base URL and compat values of `models.json`.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_packed::PackedTexts;
use pi_protocol::json::JsonObject;
use pi_protocol::{Modality, Model, ModelCost, ModelKind};
use pi_providers::Models;
use serde::{Deserialize, Serialize};

use crate::definitions;

static IMAGE_MODELS: PackedTexts = PackedTexts::new(include_bytes!(concat!(
    env!("OUT_DIR"),
    "/image-models.deflate"
)));

static CLASSIFIERS: PackedTexts = PackedTexts::new(include_bytes!(concat!(
    env!("OUT_DIR"),
    "/classifier-models.deflate"
)));

/// A model that does not chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskModel {
    #[serde(rename = "type")]
    pub kind: ModelKind,
    pub id: String,
    pub name: String,
    pub api: String,
    pub provider: String,
    pub base_url: String,
    pub input: Vec<Modality>,
    /// What an image model returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<Modality>>,
    #[serde(default)]
    pub cost: ModelCost,
    /// Input of a classifier, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<JsonObject>,
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl TaskModel {
    /// Returns the model in the form that requests are prepared with.
    pub(crate) fn as_model(&self) -> Arc<Model> {
        Arc::new(Model {
            id: self.id.clone(),
            name: self.name.clone(),
            api: self.api.clone(),
            provider: self.provider.clone(),
            base_url: self.base_url.clone(),
            input: self.input.clone(),
            cost: self.cost.clone(),
            context_window: self.context_window.unwrap_or(0),
            headers: self.headers.clone(),
            compat: self.compat.clone(),
            kind: Some(self.kind),
            ..Model::unknown()
        })
    }

    pub(crate) fn compat_value(&self, name: &str) -> Option<&serde_json::Value> {
        self.compat.as_ref()?.get(name)
    }
}

/// Returns the models of a provider in the embedded catalog.
pub fn builtin_task_models(kind: ModelKind, provider: &str) -> Vec<TaskModel> {
    let catalog = match kind {
        ModelKind::Chat => return Vec::new(),
        ModelKind::Image => &IMAGE_MODELS,
        ModelKind::Classifier => &CLASSIFIERS,
    };
    let Some(text) = catalog.get(provider) else {
        return Vec::new();
    };
    tracing::debug!(
        provider,
        kind = kind.name(),
        "catalog of models that do not chat parsed"
    );
    read(kind, provider, text).unwrap_or_else(|error| {
        tracing::error!(provider, %error, "cannot parse the embedded catalog");
        Vec::new()
    })
}

fn read(kind: ModelKind, provider: &str, text: &str) -> serde_json::Result<Vec<TaskModel>> {
    let mut records: Vec<JsonObject> = serde_json::from_str(text)?;
    for record in &mut records {
        record.insert("type".to_owned(), kind.name().into());
        record.insert("provider".to_owned(), provider.into());
    }
    let records = records.into_iter().map(serde_json::Value::Object);
    records.map(serde_json::from_value).collect()
}

/// Lists the models of a kind, of one provider or of all.
pub fn task_models(models: &Models, kind: ModelKind, provider: Option<&str>) -> Vec<TaskModel> {
    let providers = match provider {
        Some(provider) => vec![provider.to_owned()],
        None => {
            let known = models.providers();
            known.iter().map(|known| known.id().to_owned()).collect()
        }
    };
    let mut defined = match kind {
        ModelKind::Image => image_definitions(models),
        ModelKind::Chat | ModelKind::Classifier => Vec::new(),
    };
    let of_provider = |provider: &String| {
        let mut listed = builtin_task_models(kind, provider);
        if let Some(config) = models.file_config(provider) {
            for model in &mut listed {
                if let Some(base_url) = &config.base_url {
                    model.base_url.clone_from(base_url);
                }
                if let Some(compat) = &config.compat {
                    let own = model.compat.get_or_insert_default();
                    own.extend(compat.clone());
                }
            }
        }
        let (own, others) = std::mem::take(&mut defined)
            .into_iter()
            .partition::<Vec<_>, _>(|model| model.provider == *provider);
        defined = others;
        listed.retain(|model| own.iter().all(|own| own.id != model.id));
        listed.extend(own);
        listed
    };
    providers.iter().flat_map(of_provider).collect()
}

fn image_definitions(models: &Models) -> Vec<TaskModel> {
    definitions::read(models).unwrap_or_else(|error| {
        tracing::warn!(%error, "image models are ignored");
        Vec::new()
    })
}

/// Returns what is wrong with the definitions of image models.
pub fn image_definition_problem(models: &Models) -> Option<String> {
    definitions::read(models)
        .err()
        .map(|error| error.to_string())
}

/// Finds a model by its kind, provider and ID.
pub fn find_task_model(
    models: &Models,
    kind: ModelKind,
    provider: &str,
    id: &str,
) -> Option<TaskModel> {
    let listed = task_models(models, kind, Some(provider));
    listed.into_iter().find(|model| model.id == id)
}

#[cfg(test)]
mod tests {
    use pi_providers::{ModelsOptions, ProviderConfig, Registration};
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_embedded_catalogs_are_complete() {
        let models = Models::new(ModelsOptions::default());
        crate::register_providers(&models).unwrap();
        for (kind, count) in [(ModelKind::Image, 64), (ModelKind::Classifier, 56)] {
            let listed = task_models(&models, kind, None);
            assert_eq!(listed.len(), count, "{kind:?}");
            assert!(listed.iter().all(|model| model.kind == kind));
        }
        assert_eq!(task_models(&models, ModelKind::Chat, None), []);
    }

    #[test]
    fn the_models_file_sets_base_url_and_compat() {
        let models = Models::new(ModelsOptions::default());
        let config: ProviderConfig = serde_json::from_value(serde_json::json!({
            "baseUrl": "http://127.0.0.1:1/ts",
            "apiKey": "k",
            "compat": {"imageInput": "images"},
        }))
        .unwrap();
        models
            .register("typesafe", Registration::ModelsFile(config))
            .unwrap();
        let jev = find_task_model(&models, ModelKind::Classifier, "typesafe", "jev-latest");
        let jev = jev.unwrap();
        assert_eq!(jev.base_url, "http://127.0.0.1:1/ts");
        assert_eq!(jev.compat_value("imageInput"), Some(&"images".into()));
        assert_eq!(jev.compat_value("sendImageOptInHeader"), Some(&true.into()));
    }
}
