//! The protocol: authentication, and what the other files do in which order.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue};
use pi_env::env_vars::{BEDROCK_BEARER_TOKEN, BEDROCK_SKIP_AUTH};
use pi_http::{HeaderOverrides, HttpClient, ResponseHead};
use pi_protocol::{Diagnostic, ProviderError};
use pi_providers::wire::{
    BodyEncoding, Decoder, HttpExchange, HttpProtocol, OutgoingRequest, StreamEventParser,
};
use pi_providers::{ModelRequest, strict_tools_fallback};
use secrecy::{ExposeSecret, SecretString};

use crate::capabilities::BedrockCapabilities;
use crate::credentials::{AwsSettings, CredentialCache};
use crate::decode::ConverseDecoder;
use crate::endpoint::BedrockEndpoint;
use crate::event_stream::EventStreamParser;

/// AWS's own clients make three attempts.
const MIN_RETRIES: u32 = 2;

/// The Converse API. Clones share loaded credentials.
#[derive(Debug, Clone, Default)]
pub struct BedrockConverse {
    credentials: Arc<CredentialCache>,
}

impl HttpProtocol for BedrockConverse {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let settings = AwsSettings::from_request(request);
            let endpoint = BedrockEndpoint::resolve(request, &settings).await?;
            let capabilities = BedrockCapabilities::for_model(&request.model, &settings.env);
            Ok(HttpExchange {
                body: crate::request::body(request, capabilities, &endpoint.region)?.into(),
                url: endpoint.url,
                headers: HeaderOverrides::new(),
                encoding: BodyEncoding::Json,
            })
        })
    }

    fn decoder(&self, _request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(ConverseDecoder::default())
    }

    fn stream_event_parser(&self) -> Box<dyn StreamEventParser> {
        Box::new(EventStreamParser::default())
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        crate::error::response_error(head, body)
    }

    /// `start` follows the service's own start event.
    fn starts_with_headers(&self) -> bool {
        false
    }

    fn sign<'a>(
        &'a self,
        request: &'a ModelRequest,
        outgoing: &'a mut OutgoingRequest,
        http: &'a HttpClient,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            // Headers of the signature cannot be set by the caller.
            let reserved: Vec<HeaderName> = outgoing
                .headers
                .keys()
                .filter(|name| is_reserved(name))
                .cloned()
                .collect();
            for name in reserved {
                outgoing.headers.remove(name);
            }
            let settings = AwsSettings::from_request(request);
            match BedrockAuth::resolve(request, &settings) {
                BedrockAuth::None => Ok(()),
                BedrockAuth::Bearer(token) => {
                    let mut value =
                        HeaderValue::try_from(format!("Bearer {}", token.expose_secret()))
                            .map_err(|_invalid| {
                                ProviderError::auth(
                                    "The Bedrock bearer token contains invalid characters",
                                )
                            })?;
                    value.set_sensitive(true);
                    outgoing.headers.insert(AUTHORIZATION, value);
                    Ok(())
                }
                BedrockAuth::Signature => {
                    let region = BedrockEndpoint::resolve(request, &settings).await?.region;
                    let credentials = self.credentials.load(&settings, &region, http).await?;
                    crate::signature::sign(outgoing, credentials, &region, request.env.now_ms())
                }
            }
        })
    }

    fn min_retries(&self) -> u32 {
        MIN_RETRIES
    }

    fn fallback(
        &self,
        request: &ModelRequest,
        head: &ResponseHead,
        body: &str,
    ) -> Option<(ModelRequest, Diagnostic)> {
        strict_tools_fallback(request, head, body, "bedrock_strict_tools_fallback")
    }

    fn diagnose(
        &self,
        request: &ModelRequest,
        head: &ResponseHead,
        body: Option<&str>,
    ) -> Option<Diagnostic> {
        crate::error::diagnostic(head, body, request.env.now_ms())
    }
}

enum BedrockAuth {
    None,
    Bearer(SecretString),
    Signature,
}

impl BedrockAuth {
    fn resolve(request: &ModelRequest, settings: &AwsSettings) -> Self {
        if settings.env.var(BEDROCK_SKIP_AUTH).as_deref() == Some("1") {
            return Self::None;
        }
        let requested = request.options.text_option("bearerToken");
        requested
            .map(SecretString::from)
            .or_else(|| request.options.api_key.clone())
            .or_else(|| {
                settings
                    .env
                    .var(BEDROCK_BEARER_TOKEN)
                    .map(SecretString::from)
            })
            .map_or(Self::Signature, Self::Bearer)
    }
}

fn is_reserved(name: &HeaderName) -> bool {
    *name == AUTHORIZATION || *name == HOST || name.as_str().starts_with("x-amz-")
}
