//! Google's Generative Language API: a base URL with its version, and an API key.
//!
//! Request body, response and errors are those of [`super::google_content`].

use futures_util::future::BoxFuture;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::ProviderError;
use secrecy::ExposeSecret;

use super::google_content::{
    GenerateContentDecoder, checked_model_id, http_error, request_body, stream_url,
};
use super::{BodyEncoding, Decoder, HttpExchange, HttpProtocol, TransportRetry, missing_api_key};
use crate::options::ModelRequest;

const DEFAULT_BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// The API key header of both of Google's APIs.
pub(super) const API_KEY_HEADER: &str = "x-goog-api-key";

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GoogleGenerative;

impl HttpProtocol for GoogleGenerative {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let Some(key) = &request.options.api_key else {
                return Err(missing_api_key(request));
            };
            Ok(HttpExchange {
                url: url(request)?,
                headers: HeaderOverrides::from([(
                    API_KEY_HEADER.to_owned(),
                    Some(key.expose_secret().to_owned()),
                )]),
                body: request_body(request)?.into(),
                encoding: BodyEncoding::Json,
            })
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(GenerateContentDecoder::new(request))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        http_error(head, body)
    }

    fn transport_retry(&self) -> TransportRetry {
        TransportRetry::IgnoreRetryAfter
    }
}

fn url(request: &ModelRequest) -> Result<String, ProviderError> {
    let id = checked_model_id(&request.model.id)?;
    let resource = if id.starts_with("models/") || id.starts_with("tunedModels/") {
        id.to_owned()
    } else {
        format!("models/{id}")
    };
    let base_url = match request.model.base_url.trim() {
        "" => DEFAULT_BASE_URL,
        base_url => base_url,
    };
    Ok(stream_url(base_url, &resource))
}

#[cfg(test)]
mod tests {
    use pi_protocol::ErrorClass;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::options::StreamOptions;
    use crate::wire::testing::{model, request};

    async fn prepare(model_fields: serde_json::Value) -> Result<HttpExchange, ProviderError> {
        let options = StreamOptions {
            api_key: Some("secret".into()),
            ..StreamOptions::default()
        };
        let model = model("google-generative-ai", model_fields);
        GoogleGenerative
            .prepare(&request(model, json!([]), options))
            .await
    }

    #[tokio::test]
    async fn the_url_is_base_and_model() {
        let cases = [
            ("http://h/v1beta", "a", "http://h/v1beta/models/a"),
            ("http://h/v1beta/", "models/a", "http://h/v1beta/models/a"),
            ("http://h", "tunedModels/a", "http://h/tunedModels/a"),
            (
                "",
                "a",
                "https://generativelanguage.googleapis.com/v1beta/models/a",
            ),
        ];
        for (base_url, id, expected) in cases {
            let exchange = prepare(json!({"id": id, "baseUrl": base_url}))
                .await
                .unwrap();
            assert_eq!(
                exchange.url,
                format!("{expected}:streamGenerateContent?alt=sse")
            );
            assert_eq!(
                exchange.headers["x-goog-api-key"].as_deref(),
                Some("secret")
            );
        }
        let error = prepare(json!({"id": "../files"})).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::InvalidRequest);
    }

    #[tokio::test]
    async fn a_missing_key_is_an_error() {
        let request = request(
            model("google-generative-ai", json!({})),
            json!([]),
            StreamOptions::default(),
        );
        let error = GoogleGenerative.prepare(&request).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Auth);
        assert_eq!(error.message, "No API key for provider mock");
    }
}
