//! What Google's two APIs share: the `GenerateContent` request, its streamed answer and its errors.
//!
//! [`super::google_generative`] and [`super::google_vertex`] add the address and the credential.

mod contents;
mod decode;
mod error;
mod family;
mod request;
#[cfg(test)]
mod tests;
mod thinking;

pub(crate) use decode::GenerateContentDecoder;
pub(crate) use error::http_error;
pub(crate) use request::request_body;

use crate::error::ProviderError;

/// Joins an address: base, resource of the model, method. The answer is a stream of events.
pub(crate) fn stream_url(base_url: &str, model_resource: &str) -> String {
    let base_url = base_url.trim_end_matches('/');
    format!("{base_url}/{model_resource}:streamGenerateContent?alt=sse")
}

/// Refuses a model id that would lead to another resource than a model.
pub(crate) fn checked_model_id(id: &str) -> Result<&str, ProviderError> {
    if id.is_empty() || id.contains("..") || id.contains(['?', '&', '#']) {
        return Err(ProviderError::invalid(format!(
            "\"{id}\" is not the id of a Google model"
        )));
    }
    Ok(id)
}
