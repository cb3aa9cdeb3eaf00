//! Image generation with `/images/generations`, and `/images/edits` if there are input images.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_protocol::{ProviderError, Usage};
use reqwest::Url;
use serde_json::{Map, Value, json};

use super::{GeneratedImages, ImageContext, ImageInput, MAX_RESPONSE, picture};
use crate::catalog::TaskModel;
use crate::post::{RequestBody, TaskClient, http_url};

/// Images of a response; the rest is not read.
const MAX_IMAGES: usize = 16;

/// Fields of a definition that are not part of the model's description.
const PARAMETERS: &str = "parameters";
const COST_PER_IMAGE: &str = "costPerImage";

pub(super) async fn draw(
    client: &TaskClient,
    model: &TaskModel,
    context: &ImageContext,
    result: &mut GeneratedImages,
) -> Result<(), ProviderError> {
    let prompt = context.prompt();
    if prompt.is_empty() {
        return Err(ProviderError::invalid(
            "an image needs a text that describes it",
        ));
    }
    let parameters = model.extra.get(PARAMETERS).and_then(Value::as_object);
    let fields = fields(model, &prompt, parameters);
    let base_url = client.base_url();
    let pictures = context
        .input
        .iter()
        .any(|input| matches!(input, ImageInput::Image { .. }));
    let response = if pictures {
        let body = multipart(&fields, context, &boundary()?)?;
        client
            .post_body(&format!("{base_url}/images/edits"), body)
            .await?
    } else {
        let url = format!("{base_url}/images/generations");
        client.post(&url, &Value::Object(fields)).await?
    };
    result.response_id = response["id"].as_str().map(str::to_owned);
    let data = response["data"].as_array();
    let images: Vec<&Value> = data.into_iter().flatten().take(MAX_IMAGES).collect();
    result.usage = usage(&response["usage"], model, images.len());
    let mut left = MAX_RESPONSE;
    for image in images {
        if let Some(data) = image["b64_json"].as_str() {
            result.output.push(picture::from_base64(data)?);
        } else if let Some(url) = image["url"].as_str() {
            let picture = match picture::from_data_url(url)? {
                Some(picture) => picture,
                None => {
                    let bytes = client.download(picture_url(base_url, url)?, left).await?;
                    left = left.saturating_sub(bytes.len());
                    picture::from_bytes(&bytes)?
                }
            };
            result.output.push(picture);
        }
    }
    Ok(())
}

fn fields(
    model: &TaskModel,
    prompt: &str,
    parameters: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("model".to_owned(), model.id.clone().into());
    fields.insert("prompt".to_owned(), prompt.into());
    fields.insert("n".to_owned(), json!(1));
    for (name, value) in parameters.into_iter().flatten() {
        fields.insert(name.clone(), value.clone());
    }
    fields
}

fn boundary() -> Result<String, ProviderError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| ProviderError::invalid(format!("cannot generate a boundary: {error}")))?;
    Ok(format!("pi-{:032x}", u128::from_le_bytes(bytes)))
}

/// Builds a form with the fields and the input images.
fn multipart(
    fields: &Map<String, Value>,
    context: &ImageContext,
    boundary: &str,
) -> Result<RequestBody, ProviderError> {
    let mut bytes = Vec::new();
    let mut part = |head: &str, content: &[u8]| {
        bytes.extend_from_slice(
            format!("--{boundary}\r\ncontent-disposition: form-data; {head}\r\n\r\n").as_bytes(),
        );
        bytes.extend_from_slice(content);
        bytes.extend_from_slice(b"\r\n");
    };
    for (name, value) in fields {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        // Names come from the user's file; quotes and line breaks would end the header.
        let name: String = name
            .chars()
            .filter(|it| !it.is_control() && *it != '"')
            .collect();
        part(&format!("name=\"{name}\""), text.as_bytes());
    }
    let images = context.input.iter().filter_map(|input| match input {
        ImageInput::Image { data, .. } => Some(data),
        ImageInput::Text { .. } => None,
    });
    for (index, data) in images.enumerate() {
        let ImageInput::Image { mime_type, data } = picture::from_base64(data)? else {
            continue;
        };
        let decoded = BASE64_STANDARD.decode(data).map_err(|error| {
            ProviderError::invalid(format!("an image is not valid base64: {error}"))
        })?;
        let extension = mime_type.trim_start_matches("image/");
        let head = format!(
            "name=\"image[]\"; filename=\"image-{}.{extension}\"\r\ncontent-type: {mime_type}",
            index + 1
        );
        part(&head, &decoded);
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok(RequestBody {
        content_type: format!("multipart/form-data; boundary={boundary}"),
        bytes: bytes.into(),
    })
}

/// Returns where a picture is downloaded from: the server itself, or a public host. A response must not make us call
/// services of this machine or network.
fn picture_url(base_url: &str, url: &str) -> Result<Url, ProviderError> {
    let refused =
        || ProviderError::protocol("the response refers to an image at a URL that is not allowed");
    let base = Url::parse(base_url).ok().ok_or_else(refused)?;
    // Local servers may return paths.
    let url = http_url(url)
        .or_else(|| base.join(url).ok())
        .ok_or_else(refused)?;
    if url.origin() == base.origin() {
        return Ok(url);
    }
    let is_public = url.domain().is_some_and(|host| {
        host.contains('.')
            && ![".local", ".localhost", ".internal", ".lan"]
                .iter()
                .any(|end| host.trim_end_matches('.').ends_with(end))
    });
    if url.scheme() == "https" && is_public && url.username().is_empty() && url.password().is_none()
    {
        Ok(url)
    } else {
        Err(refused())
    }
}

/// Returns tokens and cost; `None` if the server reports none and the model has no price per image.
fn usage(value: &Value, model: &TaskModel, images: usize) -> Option<Usage> {
    let per_image = model.extra.get(COST_PER_IMAGE).and_then(Value::as_f64);
    if !value.is_object() && per_image.is_none() {
        return None;
    }
    let count = |name: &str| value[name].as_u64().unwrap_or(0);
    let cached = value["input_tokens_details"]["cached_tokens"]
        .as_u64()
        .unwrap_or(0);
    let prompt = count("input_tokens");
    let cache_read = cached.min(prompt);
    let mut usage = Usage {
        input: prompt - cache_read,
        cache_read,
        output: count("output_tokens"),
        total_tokens: prompt.saturating_add(count("output_tokens")),
        ..Usage::default()
    };
    usage.apply_cost(&model.cost);
    if let Some(price) = per_image.filter(|price| *price >= 0.0) {
        #[expect(clippy::cast_precision_loss, reason = "at most 16 images")]
        let cost = price * images as f64;
        usage.cost.output += cost;
        usage.cost.total += cost;
    }
    if let Some(total) = value["cost"].as_f64().filter(|total| *total >= 0.0) {
        usage.cost.total = total;
    }
    Some(usage)
}

#[cfg(test)]
mod tests;
