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

const OPENAI: &str = "openai";
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// The effort of requests that have the actual one in their input.
const FIXED_EFFORT: &str = "medium";

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
            effort: effort_updates(request, &compat),
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
    let chatgpt = is_chatgpt_sign_in(request);
    let effort_updates = effort_updates(request, compat);
    let conversation = EncodedConversation::with_effort_updates(
        request,
        compat,
        RULES,
        effort_updates.as_deref(),
    )?;
    let mut body = JsonObject::new();
    body.insert("model".into(), model.id.clone().into());
    body.insert("input".into(), conversation.input.into());
    body.insert("stream".into(), true.into());
    request::add_cache_key(request, &mut body);
    if !chatgpt {
        request::add_cache_retention(request, compat, &mut body);
    }
    body.insert("store".into(), false.into());
    if compat.max_output_tokens && !chatgpt {
        request::add_output_limit(request, &mut body);
    }
    if !chatgpt {
        request::add_temperature(request, &mut body);
    }
    request::add_service_tier(request, &mut body);
    EncodedConversation::add_tools(conversation.tools, &mut body);
    if let Some(choice) = request.options.tool_choice_value() {
        body.insert("tool_choice".into(), choice);
    }
    let reasoning = match ReasoningConfig::for_request(request) {
        ReasoningConfig::On { summary, .. } if effort_updates.is_some() => ReasoningConfig::On {
            effort: FIXED_EFFORT.to_owned(),
            summary,
        },
        reasoning => reasoning,
    };
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

/// Returns whether the key is a token of a ChatGPT sign-in: API keys of OpenAI start with `sk-`.
/// Such requests must not have some of the fields.
fn is_chatgpt_sign_in(request: &ModelRequest) -> bool {
    request.model.provider == OPENAI
        && request.model.base_url == OPENAI_BASE_URL
        && request::api_key(request).is_some_and(|key| !key.expose_secret().starts_with("sk-"))
}

/// Returns the effort if it is sent as an item of the input. Its field in the request then never
/// changes, so that the cached prompt survives a change of the effort.
fn effort_updates(request: &ModelRequest, compat: &ResponsesCompat) -> Option<String> {
    if !compat.effort_in_history || !request.model.reasoning || is_chatgpt_sign_in(request) {
        return None;
    }
    request::effort(request)
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
