//! Prepares requests: resolves the credential, headers and base URL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pi_auth::{AuthError, AuthOverrides, CommandReuse};
use pi_http::{HeaderOverrides, set_header};
use pi_protocol::{Message, Model, ProviderError};
use secrecy::ExposeSecret as _;
use tracing::{Instrument as _, Span};

use super::provider::Provider;
use super::{Models, attribution};
use crate::options::{ModelRequest, StreamOptions};
use pi_stream::AssistantStream;

/// Placeholders in base URLs, filled from the credential or the environment.
const PLACEHOLDERS: [&str; 2] = ["CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"];

/// Returns the span of a request. Its ID is unique in the process, because sessions share a log.
fn request_span(model: &Model) -> Span {
    static NEXT_REQUEST: AtomicU64 = AtomicU64::new(1);
    let id = NEXT_REQUEST.fetch_add(1, Ordering::Relaxed);
    tracing::info_span!("request", id, provider = %model.provider, model = %model.id)
}

impl Models {
    fn request(
        &self,
        model: &Arc<Model>,
        messages: Arc<[Message]>,
        options: StreamOptions,
    ) -> ModelRequest {
        ModelRequest {
            model: Arc::clone(model),
            messages,
            options,
            env: self.0.env.clone(),
        }
    }

    /// Sends a request to a model. Returns immediately; a missing credential or unknown provider
    /// ends the stream with an error.
    pub fn stream(
        &self,
        model: &Arc<Model>,
        messages: impl Into<Arc<[Message]>>,
        options: StreamOptions,
    ) -> AssistantStream {
        let models = self.clone();
        let request = self.request(model, messages.into(), options);
        let now = request.env.now_ms();
        let span = request_span(model);
        AssistantStream::produce(model, now, |writer| {
            let answer = async move {
                tracing::debug!("request started");
                let cancel = request.options.cancel.clone();
                match cancel.run_until_cancelled(models.prepare(request)).await {
                    Some(Ok((provider, request))) => writer.forward(provider.stream(request)).await,
                    Some(Err(cause)) => writer.fail(cause).await,
                    None => writer.fail(ProviderError::aborted()).await,
                }
            };
            answer.instrument(span)
        })
    }

    /// Like [`Models::stream`], but uses the wire protocol that the model names, bypassing any
    /// provider driver. Extensions that implement a driver can call this.
    pub fn stream_with_wire_api(
        &self,
        model: &Arc<Model>,
        messages: impl Into<Arc<[Message]>>,
        options: StreamOptions,
    ) -> AssistantStream {
        let models = self.clone();
        let request = self.request(model, messages.into(), options);
        let now = request.env.now_ms();
        AssistantStream::produce(model, now, |writer| async move {
            let cancel = request.options.cancel.clone();
            // Requests to an unknown provider use only what the caller supplies.
            let is_known = models.provider(&request.model.provider).is_some();
            let prepared = if is_known {
                let prepared = models.prepare(request);
                let prepared = cancel.run_until_cancelled(prepared).await;
                prepared.map(|prepared| prepared.map(|(_, request)| request))
            } else {
                Some(Ok(request))
            };
            match prepared {
                Some(Ok(request)) => writer.forward(models.0.wire.stream(request)).await,
                Some(Err(cause)) => writer.fail(cause).await,
                None => writer.fail(ProviderError::aborted()).await,
            }
        })
    }

    /// Looks up the provider and resolves the request's credential, headers and base URL.
    async fn prepare(
        &self,
        mut request: ModelRequest,
    ) -> Result<(Arc<dyn Provider>, ModelRequest), ProviderError> {
        let provider = self.provider(&request.model.provider).ok_or_else(|| {
            ProviderError::invalid(format!(
                "Unknown provider \"{}\"; add it to models.json or load the extension that \
                 provides it",
                request.model.provider
            ))
        })?;
        let options = &mut request.options;
        let mut headers = attribution::headers(
            &request.model,
            options.session_id.as_deref(),
            self.0.telemetry,
        );
        let mut base_url = None;
        if let Some(auth) = provider.auth() {
            let overrides = AuthOverrides {
                api_key: options.api_key.take(),
                env: options.env.clone(),
                ..AuthOverrides::default()
            };
            let authenticator = &self.0.authenticator;
            let found = authenticator
                .require(&auth, &self.0.env, &overrides)
                .await?;
            options.api_key = found.api_key;
            for (name, value) in found.env {
                options.env.entry(name).or_insert(value);
            }
            merge_headers(&mut headers, found.headers);
            base_url = found.base_url;
        }
        request.env = self.0.env.with_overrides(&options.env);
        if let Some(own) = &request.model.headers {
            let own = own
                .iter()
                .map(|(name, value)| (name.clone(), Some(value.clone())));
            merge_headers(&mut headers, own);
        }
        merge_headers(
            &mut headers,
            configured_headers(provider.as_ref(), &request).await?,
        );
        merge_headers(&mut headers, std::mem::take(&mut request.options.headers));
        request.options.headers = headers;
        let address = base_url.as_deref().unwrap_or(&request.model.base_url);
        let address = fill_placeholders(address, &request)?;
        if address != request.model.base_url {
            Arc::make_mut(&mut request.model).base_url = address;
        }
        Ok((provider, request))
    }
}

/// Resolves the headers configured for the model.
async fn configured_headers(
    provider: &dyn Provider,
    request: &ModelRequest,
) -> Result<HeaderOverrides, ProviderError> {
    let mut headers = HeaderOverrides::new();
    for (name, template) in provider.configured_headers(&request.model.id) {
        let value = template
            .resolve(&request.env, CommandReuse::Fresh)
            .await
            .map_err(|reason| AuthError::Unresolved {
                what: format!(
                    "header {name} of {}/{} in models.json",
                    request.model.provider, request.model.id
                ),
                reason,
            })?;
        headers.insert(name, Some(value.expose_secret().to_owned()));
    }
    Ok(headers)
}

/// Adds headers, replacing those with the same name in any case.
fn merge_headers(
    headers: &mut HeaderOverrides,
    over: impl IntoIterator<Item = (String, Option<String>)>,
) {
    for (name, value) in over {
        set_header(headers, &name, value);
    }
}

fn fill_placeholders(base_url: &str, request: &ModelRequest) -> Result<String, ProviderError> {
    let mut filled = base_url.to_owned();
    for name in PLACEHOLDERS {
        let placeholder = format!("{{{name}}}");
        if filled.contains(&placeholder) {
            let value = request.env.var(name).ok_or_else(|| {
                ProviderError::auth(format!(
                    "The base URL of {} requires {name}; set the variable or sign in again",
                    request.model.provider
                ))
            })?;
            filled = filled.replace(&placeholder, &value);
        }
    }
    Ok(filled)
}
