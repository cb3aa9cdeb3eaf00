//! OpenAI's Responses API, and the parts of it that Azure and Codex share.
//!
//! This file builds requests to OpenAI itself. [`input`] converts the transcript to input items and
//! [`decode`] decodes the response; [`super::azure_responses`] and [`super::codex_responses`] use
//! both, too.

mod call_ids;
pub(crate) mod compat;
pub(crate) mod completion;
pub(crate) mod decode;
pub(crate) mod error;
mod events;
pub(crate) mod input;
pub(crate) mod pricing;
pub(crate) mod reader;
pub(crate) mod request;
mod signature;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tools;

use futures_util::future::BoxFuture;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::ProviderError;
use pi_protocol::json::JsonObject;
use secrecy::ExposeSecret;
use serde_json::Value;

use self::compat::{ResponsesCompat, StrictByDefault};
use self::completion::UnknownStatus;
use self::decode::ResponsesDecoder;
use self::input::LeadingPrompt;
use self::pricing::{TierPricing, TierRule};
use self::reader::ReaderSettings;
use self::request::{EncodedConversation, ReasoningConfig, ServiceRules};
use self::tools::DefaultStrict;
use super::{
    AUTHORIZATION_HEADERS, BodyEncoding, Decoder, HttpExchange, HttpProtocol, copilot,
    missing_api_key,
};
use crate::options::ModelRequest;

/// xAI returns encrypted reasoning on request even if reasoning was not enabled.
const ALWAYS_REASONING_PROVIDER: &str = "xai";

const RULES: ServiceRules = ServiceRules {
    default_strict: DefaultStrict::False,
    leading_prompt: LeadingPrompt::Input,
};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpenAiResponses;

impl HttpProtocol for OpenAiResponses {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let compat = ResponsesCompat::for_model(&request.model, StrictByDefault::No);
            let base = request.model.base_url.trim_end_matches('/');
            Ok(HttpExchange {
                url: format!("{base}/responses"),
                headers: headers(request, &compat)?,
                body: body(request, &compat)?.into(),
                encoding: BodyEncoding::Json,
            })
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        let compat = ResponsesCompat::for_model(&request.model, StrictByDefault::No);
        let tier = request.options.text_option("serviceTier");
        Box::new(ResponsesDecoder::new(ReaderSettings {
            pricing: TierPricing::new(&request.model, tier, TierRule::AsReported),
            unknown_status: UnknownStatus::Fails,
            ..ReaderSettings::for_request(request, &compat)
        }))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        error::response_error(head, body)
    }
}

fn body(request: &ModelRequest, compat: &ResponsesCompat) -> Result<Value, ProviderError> {
    let model = &request.model;
    let conversation = EncodedConversation::for_request(request, compat, RULES)?;
    let mut body = JsonObject::new();
    body.insert("model".into(), model.id.clone().into());
    body.insert("input".into(), conversation.input.into());
    body.insert("stream".into(), true.into());
    request::add_cache_key(request, &mut body);
    request::add_cache_retention(request, compat, &mut body);
    body.insert("store".into(), false.into());
    if compat.max_output_tokens {
        request::add_output_limit(request, &mut body);
    }
    request::add_temperature(request, &mut body);
    request::add_service_tier(request, &mut body);
    EncodedConversation::add_tools(conversation.tools, &mut body);
    if let Some(choice) = request.options.tool_choice_value() {
        body.insert("tool_choice".into(), choice);
    }
    let reasoning = ReasoningConfig::for_request(request);
    match &reasoning {
        ReasoningConfig::On { .. } => {
            reasoning.add_to(&mut body);
            request::include_encrypted_reasoning(&mut body);
        }
        // Copilot's gateway rejects a request to disable reasoning.
        ReasoningConfig::Off(_) if model.provider == copilot::PROVIDER => {}
        ReasoningConfig::Off(_) | ReasoningConfig::Omitted => reasoning.add_to(&mut body),
    }
    if model.reasoning && model.provider == ALWAYS_REASONING_PROVIDER {
        request::include_encrypted_reasoning(&mut body);
    }
    request::merge_sampling_params(request, &mut body);
    Ok(Value::Object(body))
}

fn headers(
    request: &ModelRequest,
    compat: &ResponsesCompat,
) -> Result<HeaderOverrides, ProviderError> {
    let mut headers = request::affinity_headers(request, compat.session_affinity);
    match request::api_key(request) {
        Some(key) => {
            let bearer = format!("Bearer {}", key.expose_secret());
            headers.insert("authorization".into(), Some(bearer));
        }
        None if request.sends_any_header(&AUTHORIZATION_HEADERS) => {}
        None => return Err(missing_api_key(request)),
    }
    if request.model.provider == copilot::PROVIDER {
        headers.extend(copilot::headers(&request.messages));
    }
    Ok(headers)
}
