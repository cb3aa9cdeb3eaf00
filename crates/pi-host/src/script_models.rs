//! The models that scripts of code mode list and use.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_codemode::{ModelDirectory, ModelTask, ModelTaskKind, ModelTaskResult};
use pi_model_tasks::{
    ClassificationContext, ImageContext, TaskOptions, classify, find_task_model, generate_images,
    task_models,
};
use pi_protocol::ModelKind;
use pi_providers::Models;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) struct ScriptModels(pub(crate) Models);

impl ScriptModels {
    fn chat_models(&self, provider: Option<&str>, only_available: bool) -> Vec<Value> {
        let models = if only_available {
            self.0.available()
        } else {
            self.0.all()
        };
        let models = models.iter();
        models
            .filter(|model| provider.is_none_or(|provider| model.provider == provider))
            .filter_map(|model| without_headers(model.without_password()))
            .collect()
    }
}

impl ModelDirectory for ScriptModels {
    fn models(&self, kind: &str, provider: Option<&str>, only_available: bool) -> Vec<Value> {
        let kinds = ModelKind::ALL.into_iter();
        let Some(kind) = kinds
            .filter(|it| *it != ModelKind::Chat)
            .find(|it| it.name() == kind)
        else {
            return self.chat_models(provider, only_available);
        };
        let models = task_models(&self.0, kind, provider).into_iter();
        models
            .filter(|model| !only_available || self.0.auth_status(&model.provider).is_some())
            .filter_map(without_headers)
            .collect()
    }

    fn prepare(&self, task: ModelTask) -> Result<BoxFuture<'static, ModelTaskResult>, String> {
        let kind = match task.kind {
            ModelTaskKind::Classify => ModelKind::Classifier,
            ModelTaskKind::GenerateImages => ModelKind::Image,
        };
        let model = find_task_model(&self.0, kind, &task.provider, &task.id);
        let model = model.ok_or_else(|| {
            format!(
                "unknown {} model {}/{}",
                kind.name(),
                task.provider,
                task.id
            )
        })?;
        let models = self.0.clone();
        let options = TaskOptions {
            cancel: task.cancel,
            ..TaskOptions::default()
        };
        let invalid = |error: serde_json::Error| format!("invalid context: {error}");
        Ok(match task.kind {
            ModelTaskKind::Classify => {
                let context: ClassificationContext =
                    pi_protocol::json::from_value(&task.context).map_err(invalid)?;
                if context.questions.is_empty() {
                    return Err("models.classify() needs at least one question".to_owned());
                }
                async move {
                    let result = classify(&models, &model, &context, &options).await;
                    ModelTaskResult {
                        value: json!(result),
                        usage: result.usage,
                        error: result.error_message,
                    }
                }
                .boxed()
            }
            ModelTaskKind::GenerateImages => {
                let context: ImageContext =
                    pi_protocol::json::from_value(&task.context).map_err(invalid)?;
                if context.input.is_empty() {
                    return Err("models.generateImages() needs input".to_owned());
                }
                async move {
                    let result = generate_images(&models, &model, &context, &options).await;
                    ModelTaskResult {
                        value: json!(result),
                        usage: result.usage,
                        error: result.error_message,
                    }
                }
                .boxed()
            }
        })
    }
}

/// Returns a model as JSON, without headers, which may contain credentials.
fn without_headers(model: impl Serialize) -> Option<Value> {
    let mut json = serde_json::to_value(model).ok()?;
    json.as_object_mut()?.remove("headers");
    Some(json)
}
