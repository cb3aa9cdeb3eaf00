//! Shared by Google's two APIs: the `GenerateContent` request, its streamed response and its errors.
//!
//! [`super::google_generative`] and [`super::google_vertex`] add the URL and the credential.

mod contents;
mod decode;
mod error;
mod family;
mod request;
#[cfg(test)]
mod tests;
mod thinking;

use pi_protocol::ProviderError;

pub(crate) use decode::GenerateContentDecoder;
pub(crate) use error::http_error;
pub(crate) use request::request_body;

/// Joins base URL, model resource and method; `alt=sse` requests server-sent events.
pub(crate) fn stream_url(base_url: &str, model_resource: &str) -> String {
    let base_url = base_url.trim_end_matches('/');
    format!("{base_url}/{model_resource}:streamGenerateContent?alt=sse")
}

/// Rejects a model ID that would address a resource other than a model.
pub(crate) fn checked_model_id(id: &str) -> Result<&str, ProviderError> {
    if id.is_empty() || id.contains("..") || id.contains(['?', '&', '#']) {
        return Err(ProviderError::invalid(format!(
            "Invalid Google model ID \"{id}\""
        )));
    }
    Ok(id)
}
