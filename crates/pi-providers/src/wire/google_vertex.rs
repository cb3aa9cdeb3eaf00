//! Gemini on Vertex AI: URLs by project and location, and an API key or a Google credential.
//!
//! Request body, response and errors are those of [`super::google_content`].

use pi_auth::GoogleCredentials;
use pi_env::{Env, env_vars};
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::ProviderError;

use super::google_content::{
    GenerateContentDecoder, checked_model_id, http_error, request_body, stream_url,
};
use super::google_generative::API_KEY_HEADER;
use super::{BodyEncoding, Decoder, HttpExchange, HttpProtocol, TransportRetry};
use crate::options::ModelRequest;
use futures_util::future::BoxFuture;
use secrecy::ExposeSecret;

const API_VERSION: &str = "v1";

/// The endpoint for API keys and for the location `global`.
const GLOBAL_BASE_URL: &str = "https://aiplatform.googleapis.com";

/// API key value that selects the Google credential instead of a key.
const CREDENTIALS_MARKER: &str = "gcp-vertex-credentials";

#[derive(Debug, Clone)]
pub(crate) struct GoogleVertex {
    credentials: GoogleCredentials,
}

impl GoogleVertex {
    /// Creates the protocol; clones share the credentials and their tokens.
    pub(crate) fn new(credentials: GoogleCredentials) -> Self {
        Self { credentials }
    }

    async fn bearer_headers(&self, env: &Env) -> Result<HeaderOverrides, ProviderError> {
        let token = self.credentials.token(env).await?;
        let bearer = format!("Bearer {}", token.access_token.expose_secret());
        let mut headers = HeaderOverrides::from([("authorization".to_owned(), Some(bearer))]);
        if let Some(project) = token.quota_project {
            headers.insert("x-goog-user-project".to_owned(), Some(project));
        }
        Ok(headers)
    }
}

impl HttpProtocol for GoogleVertex {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let env = request.environment();
            let body = request_body(request)?;
            let resource = model_resource(checked_model_id(&request.model.id)?);
            let (base_url, headers) = match api_key(request) {
                Some(key) => {
                    let base_url = custom_base_url(request)
                        .unwrap_or_else(|| format!("{GLOBAL_BASE_URL}/{API_VERSION}"));
                    let key = Some(key.to_owned());
                    let headers = HeaderOverrides::from([(API_KEY_HEADER.to_owned(), key)]);
                    (base_url, headers)
                }
                None => {
                    let base_url = match custom_base_url(request) {
                        Some(base_url) => base_url,
                        None => {
                            regional_base_url(&project(request, &env)?, &location(request, &env)?)
                        }
                    };
                    (base_url, self.bearer_headers(&env).await?)
                }
            };
            Ok(HttpExchange {
                url: stream_url(&base_url, &resource),
                headers,
                body: body.into(),
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

/// Returns the API key, unless it is a placeholder.
fn api_key(request: &ModelRequest) -> Option<&str> {
    let key = request.options.api_key.as_ref()?.expose_secret().trim();
    let is_placeholder = key.starts_with('<') && key.ends_with('>');
    (!key.is_empty() && key != CREDENTIALS_MARKER && !is_placeholder).then_some(key)
}

fn model_resource(id: &str) -> String {
    if ["publishers/", "projects/", "models/"]
        .iter()
        .any(|prefix| id.starts_with(prefix))
    {
        return id.to_owned();
    }
    match id.split_once('/') {
        Some((publisher, id)) => format!("publishers/{publisher}/models/{id}"),
        None => format!("publishers/google/models/{id}"),
    }
}

/// Returns the user's base URL, with a version. It replaces project and location.
fn custom_base_url(request: &ModelRequest) -> Option<String> {
    let base_url = request.model.base_url.trim().trim_end_matches('/');
    if base_url.is_empty() || base_url.contains("{location}") {
        return None;
    }
    let has_version = base_url.split('/').any(is_api_version);
    Some(if has_version {
        base_url.to_owned()
    } else {
        format!("{base_url}/{API_VERSION}")
    })
}

/// Whether a path segment is a version such as `v1`, `v1beta` or `v1beta1`.
fn is_api_version(segment: &str) -> bool {
    let Some(version) = segment.strip_prefix('v') else {
        return false;
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (major, minor) = version.split_once("beta").unwrap_or((version, ""));
    !major.is_empty() && is_number(major) && is_number(minor)
}

fn regional_base_url(project: &str, location: &str) -> String {
    let host = match location {
        "global" => GLOBAL_BASE_URL.to_owned(),
        // The multi-regions have separate hosts.
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        _ => format!("https://{location}-aiplatform.googleapis.com"),
    };
    format!("{host}/{API_VERSION}/projects/{project}/locations/{location}")
}

fn project(request: &ModelRequest, env: &Env) -> Result<String, ProviderError> {
    let option = request.options.text_option("project").map(str::to_owned);
    option
        .or_else(|| env.var(env_vars::GOOGLE_CLOUD_PROJECT))
        .or_else(|| env.var(env_vars::GCLOUD_PROJECT))
        .ok_or_else(|| {
            ProviderError::auth(
                "Vertex AI requires a project: set GOOGLE_CLOUD_PROJECT or the option \"project\"",
            )
        })
}

fn location(request: &ModelRequest, env: &Env) -> Result<String, ProviderError> {
    let option = request.options.text_option("location").map(str::to_owned);
    option
        .or_else(|| env.var(env_vars::GOOGLE_CLOUD_LOCATION))
        .ok_or_else(|| {
            ProviderError::auth(
                "Vertex AI requires a location: set GOOGLE_CLOUD_LOCATION (us-central1, global) or the option \"location\"",
            )
        })
}

#[cfg(test)]
mod tests;
