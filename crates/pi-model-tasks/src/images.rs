//! Image generation. The files of the APIs build the body of a request and read the response.

mod openai;
mod openrouter;
mod picture;

use pi_http::HeaderOverrides;
use pi_protocol::{ModelKind, ProviderError, StopReason, Usage};
use pi_providers::Models;
use serde::{Deserialize, Serialize};

use crate::catalog::TaskModel;
use crate::post::{TaskClient, TaskOptions};

/// OpenRouter's Chat Completions.
const OPENROUTER_IMAGES: &str = "openrouter-images";

/// `/images/generations` and `/images/edits`, also of many local servers.
pub(crate) const OPENAI_IMAGES: &str = "openai-images";

/// Bytes of a response, and of all pictures that it refers to.
const MAX_RESPONSE: usize = 32 * 1024 * 1024;

/// What an image is drawn from.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ImageContext {
    pub input: Vec<ImageInput>,
}

/// A text or an image, as input and as output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum ImageInput {
    Text {
        text: String,
    },
    Image {
        mime_type: String,
        /// Base64.
        data: String,
    },
}

/// The result of an image request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedImages {
    pub api: String,
    pub provider: String,
    pub model: String,
    pub output: Vec<ImageInput>,
    pub stop_reason: StopReason,
    pub timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

/// Draws images. A failure is part of the result.
pub async fn generate_images(
    models: &Models,
    model: &TaskModel,
    context: &ImageContext,
    options: &TaskOptions,
) -> GeneratedImages {
    let mut result = GeneratedImages {
        api: model.api.clone(),
        provider: model.provider.clone(),
        model: model.id.clone(),
        output: Vec::new(),
        stop_reason: StopReason::Stop,
        timestamp: models.env().now_ms(),
        response_id: None,
        usage: None,
        error_message: None,
    };
    let drawing = draw(models, model, context, options, &mut result);
    let drawn = options.cancel.run_until_cancelled(Box::pin(drawing)).await;
    if let Err(error) = drawn.unwrap_or_else(|| Err(ProviderError::aborted())) {
        result.stop_reason = if options.cancel.is_cancelled() {
            StopReason::Aborted
        } else {
            StopReason::Error
        };
        result.error_message = Some(error.message);
    }
    result
}

async fn draw(
    models: &Models,
    model: &TaskModel,
    context: &ImageContext,
    options: &TaskOptions,
    result: &mut GeneratedImages,
) -> Result<(), ProviderError> {
    let is_openai = model.api == OPENAI_IMAGES;
    if model.kind != ModelKind::Image || !(is_openai || model.api == OPENROUTER_IMAGES) {
        let message = format!("{}/{} does not generate images", model.provider, model.id);
        return Err(ProviderError::invalid(message));
    }
    let client = TaskClient::new(models, model, options, HeaderOverrides::new()).await?;
    let client = client
        .without_default_retries(options)
        .with_max_response(MAX_RESPONSE);
    if is_openai {
        openai::draw(&client, model, context, result).await
    } else {
        client.require_key()?;
        openrouter::draw(&client, model, context, result).await
    }
}

impl ImageContext {
    /// Returns the texts of the input, joined by line breaks.
    fn prompt(&self) -> String {
        let texts = self.input.iter().filter_map(|input| match input {
            ImageInput::Text { text } => Some(text.as_str()),
            ImageInput::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use pi_env::Env;
    use pi_providers::{ModelsOptions, ProviderConfig, Registration};
    use pi_test_support::{ScriptedReply, ScriptedServer};
    use pretty_assertions::assert_eq;

    use serde_json::json;

    use super::*;
    use crate::find_task_model;

    #[tokio::test]
    async fn images_and_texts_are_returned_with_their_cost() {
        let body = json!({
            "id": "im1",
            "choices": [{"message": {"content": "Here.", "images": [
                {"image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
                {"image_url": {"url": "https://example.com/a.png"}},
            ]}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1}},
        });
        let failed = json!({"error": {"message": "no credit"}});
        let json_type = [("content-type", "application/json")];
        let server = ScriptedServer::start([
            ScriptedReply::full(200, &json_type, body.to_string()),
            ScriptedReply::full(402, &json_type, failed.to_string()),
        ])
        .await;
        let models = Models::new(ModelsOptions {
            env: Env::fixed::<&str, &str>([]),
            ..ModelsOptions::default()
        });
        let config: ProviderConfig =
            serde_json::from_value(json!({"baseUrl": server.url(), "apiKey": "k"})).unwrap();
        models
            .register("openrouter", Registration::ModelsFile(config))
            .unwrap();
        let id = "google/gemini-2.5-flash-image";
        let model = find_task_model(&models, ModelKind::Image, "openrouter", id).unwrap();
        let context: ImageContext =
            serde_json::from_value(json!({"input": [{"type": "text", "text": "a fox"}]})).unwrap();
        let options = TaskOptions::default();
        let drawn = generate_images(&models, &model, &context, &options).await;
        assert_eq!(drawn.error_message, None);
        assert_eq!(
            json!(drawn.output),
            json!([{"type": "text", "text": "Here."}, {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}])
        );
        let usage = drawn.usage.unwrap();
        assert_eq!(
            (usage.input, usage.cache_read, usage.cache_write),
            (6, 3, 1)
        );
        let request = &server.requests()[0];
        assert_eq!(request.target, "/chat/completions");
        assert_eq!(request.json()["modalities"], json!(["image", "text"]));
        let failed = generate_images(&models, &model, &context, &options).await;
        assert_eq!(failed.stop_reason, StopReason::Error);
        assert!(failed.error_message.unwrap().contains("no credit"));
    }
}
