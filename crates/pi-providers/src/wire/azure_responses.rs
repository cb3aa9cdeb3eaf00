//! The Responses API as hosted by Azure: a different URL and authentication, and deployments instead
//! of models.

use futures_util::future::BoxFuture;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::ProviderError;
use pi_protocol::json::JsonObject;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::openai_responses::compat::{ResponsesCompat, StrictByDefault};
use super::openai_responses::decode::ResponsesDecoder;
use super::openai_responses::error;
use super::openai_responses::input::LeadingPrompt;
use super::openai_responses::reader::ReaderSettings;
use super::openai_responses::request::{self, EncodedConversation, ReasoningConfig, ServiceRules};
use super::openai_responses::tools::DefaultStrict;
use super::{BodyEncoding, Decoder, HttpExchange, HttpProtocol, azure, missing_api_key};
use crate::options::ModelRequest;

const RULES: ServiceRules = ServiceRules {
    default_strict: DefaultStrict::False,
    leading_prompt: LeadingPrompt::Input,
};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AzureResponses;

impl HttpProtocol for AzureResponses {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            let compat = ResponsesCompat::for_model(&request.model, StrictByDefault::Yes);
            let key = request::api_key(request).ok_or_else(|| missing_api_key(request))?;
            let headers = HeaderOverrides::from([(
                "api-key".to_owned(),
                Some(key.expose_secret().to_owned()),
            )]);
            Ok(HttpExchange {
                url: url(request)?,
                headers,
                body: body(request, &compat)?.into(),
                encoding: BodyEncoding::Json,
            })
        })
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        let compat = ResponsesCompat::for_model(&request.model, StrictByDefault::Yes);
        let settings = ReaderSettings::for_request(request, &compat);
        Box::new(ResponsesDecoder::new(settings))
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        error::response_error(head, body)
    }
}

fn body(request: &ModelRequest, compat: &ResponsesCompat) -> Result<Value, ProviderError> {
    let conversation = EncodedConversation::for_request(request, compat, RULES)?;
    let mut body = JsonObject::new();
    body.insert("model".into(), azure::deployment(request).into());
    body.insert("input".into(), conversation.input.into());
    body.insert("stream".into(), true.into());
    request::add_cache_key(request, &mut body);
    body.insert("store".into(), false.into());
    request::add_output_limit(request, &mut body);
    request::add_temperature(request, &mut body);
    EncodedConversation::add_tools(conversation.tools, &mut body);
    if let Some(choice) = request.options.tool_choice_value() {
        body.insert("tool_choice".into(), choice);
    }
    let reasoning = ReasoningConfig::for_request(request);
    reasoning.add_to(&mut body);
    if matches!(reasoning, ReasoningConfig::On { .. }) {
        request::include_encrypted_reasoning(&mut body);
    }
    request::merge_sampling_params(request, &mut body);
    Ok(Value::Object(body))
}

fn url(request: &ModelRequest) -> Result<String, ProviderError> {
    let mut url = azure::base_url(request)?;
    let path = format!("{}/responses", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.query_pairs_mut()
        .append_pair("api-version", &azure::api_version(request));
    Ok(url.into())
}

#[cfg(test)]
mod tests;
