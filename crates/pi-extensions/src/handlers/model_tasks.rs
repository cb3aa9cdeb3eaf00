//! Classifications and image requests of extensions.

use std::collections::BTreeMap;
use std::time::Duration;

use pi_ext::HostError;
use pi_http::HeaderOverrides;
use pi_model_tasks::{
    ClassificationContext, ImageContext, TaskModel, TaskOptions, classify, generate_images,
};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Caller;
use crate::calls::Pending;

/// A task for a model that does not chat.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskCall {
    number: u64,
    model: TaskModel,
    #[serde(flatten)]
    task: ModelTask,
    #[serde(default)]
    options: TaskCallOptions,
}

#[derive(Deserialize)]
#[serde(tag = "task", content = "context", rename_all = "camelCase")]
enum ModelTask {
    Classify(ClassificationContext),
    GenerateImages(ImageContext),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct TaskCallOptions {
    api_key: Option<String>,
    headers: Option<HeaderOverrides>,
    env: BTreeMap<String, String>,
    max_retries: Option<u32>,
    timeout_ms: Option<u64>,
    temperature: Option<f64>,
}

impl Caller<'_> {
    pub(super) fn run_model_task(&self, call: TaskCall) -> Result<Pending<Value>, HostError> {
        let job = self.bridge.start_job(call.number)?;
        let models = self.bridge.models.clone();
        Ok(self.bridge.spawn_on_runtime(async move {
            let options = TaskOptions {
                api_key: call.options.api_key.map(SecretString::from),
                headers: call.options.headers.unwrap_or_default(),
                env: call.options.env,
                max_retries: call.options.max_retries,
                timeout: call.options.timeout_ms.map(Duration::from_millis),
                temperature: call.options.temperature,
                cancel: job.cancel(),
            };
            let model = &call.model;
            Ok(match &call.task {
                ModelTask::Classify(context) => {
                    json!(classify(&models, model, context, &options).await)
                }
                ModelTask::GenerateImages(context) => {
                    json!(generate_images(&models, model, context, &options).await)
                }
            })
        }))
    }
}
