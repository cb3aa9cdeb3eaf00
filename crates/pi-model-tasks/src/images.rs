//! Image generation with OpenRouter's Chat Completions API.

use pi_http::HeaderOverrides;
use pi_protocol::{Modality, ModelKind, ProviderError, StopReason, Usage};
use pi_providers::Models;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::catalog::TaskModel;
use crate::post::{TaskClient, TaskOptions};

const OPENROUTER_IMAGES: &str = "openrouter-images";

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
    if model.kind != ModelKind::Image || model.api != OPENROUTER_IMAGES {
        let message = format!("{}/{} does not generate images", model.provider, model.id);
        return Err(ProviderError::invalid(message));
    }
    let client = TaskClient::new(models, model, options, HeaderOverrides::new()).await?;
    let client = client.without_default_retries(options);
    client.require_key()?;
    let url = format!("{}/chat/completions", client.base_url());
    let response = client.post(&url, &request_body(model, context)).await?;
    result.response_id = response["id"].as_str().map(str::to_owned);
    result.usage = usage(&response["usage"], model);
    let message = &response["choices"][0]["message"];
    if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
        let text = text.to_owned();
        result.output.push(ImageInput::Text { text });
    }
    let images = message["images"].as_array();
    let images = images.into_iter().flatten().filter_map(image);
    result.output.extend(images);
    Ok(())
}

fn request_body(model: &TaskModel, context: &ImageContext) -> Value {
    let parts: Vec<Value> = context
        .input
        .iter()
        .map(|input| match input {
            ImageInput::Text { text } => json!({"type": "text", "text": text}),
            ImageInput::Image { mime_type, data } => {
                let url = format!("data:{mime_type};base64,{data}");
                json!({"type": "image_url", "image_url": {"url": url}})
            }
        })
        .collect();
    let output = model.output.iter().flatten();
    let has_text = output.into_iter().any(|kind| *kind == Modality::Text);
    let modalities: &[&str] = if has_text {
        &["image", "text"]
    } else {
        &["image"]
    };
    json!({
        "model": model.id,
        "messages": [{"role": "user", "content": parts}],
        "stream": false,
        "modalities": modalities,
    })
}

/// Reads an image of a response; only data URLs are images.
fn image(value: &Value) -> Option<ImageInput> {
    let url = &value["image_url"];
    let url = url.as_str().or_else(|| url["url"].as_str())?;
    let (mime_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    (!mime_type.is_empty() && !data.is_empty()).then(|| ImageInput::Image {
        mime_type: mime_type.to_owned(),
        data: data.to_owned(),
    })
}

fn usage(value: &Value, model: &TaskModel) -> Option<Usage> {
    value.as_object()?;
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let details = &value["prompt_tokens_details"];
    let cache_write = count(&details["cache_write_tokens"]);
    // Writes are part of the cached tokens that the service reports.
    let cache_read = count(&details["cached_tokens"]).saturating_sub(cache_write);
    let prompt = count(&value["prompt_tokens"]);
    let input = prompt.saturating_sub(cache_read + cache_write);
    let output = count(&value["completion_tokens"]);
    let mut usage = Usage {
        input,
        output,
        cache_read,
        cache_write,
        total_tokens: input + output + cache_read + cache_write,
        ..Usage::default()
    };
    usage.apply_cost(&model.cost);
    Some(usage)
}

#[cfg(test)]
mod tests {
    use pi_env::Env;
    use pi_providers::{ModelsOptions, ProviderConfig, Registration};
    use pi_test_support::{ScriptedReply, ScriptedServer};
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::find_task_model;

    #[tokio::test]
    async fn images_and_texts_are_returned_with_their_cost() {
        let body = json!({
            "id": "im1",
            "choices": [{"message": {"content": "Here.", "images": [
                {"image_url": {"url": "data:image/png;base64,AAAA"}},
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
            json!([{"type": "text", "text": "Here."}, {"type": "image", "mimeType": "image/png", "data": "AAAA"}])
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
