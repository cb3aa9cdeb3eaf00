//! Image generation with OpenRouter's Chat Completions API.

use pi_protocol::{Modality, ProviderError, Usage};
use serde_json::{Value, json};

use super::picture;
use super::{GeneratedImages, ImageContext, ImageInput};
use crate::catalog::TaskModel;
use crate::post::TaskClient;

pub(super) async fn draw(
    client: &TaskClient,
    model: &TaskModel,
    context: &ImageContext,
    result: &mut GeneratedImages,
) -> Result<(), ProviderError> {
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
    for url in images.into_iter().flatten().filter_map(data_url) {
        if let Some(image) = picture::from_data_url(url)? {
            result.output.push(image);
        }
    }
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

/// Returns the data URL of an image of a response; other URLs are no images.
fn data_url(value: &Value) -> Option<&str> {
    let url = &value["image_url"];
    let url = url.as_str().or_else(|| url["url"].as_str())?;
    url.starts_with("data:").then_some(url)
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
