//! The Responses API as hosted by Azure: a different URL and authentication, and deployments instead
//! of models.

use futures_util::future::BoxFuture;
use pi_env::env_vars;
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
use super::{BodyEncoding, Decoder, HttpExchange, HttpProtocol, missing_api_key};
use crate::options::ModelRequest;

const DEFAULT_API_VERSION: &str = "v1";

/// Hosts whose API starts at [`API_PATH`], whichever part of it the user configured.
const AZURE_HOST_SUFFIXES: [&str; 3] = [
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".ai.azure.com",
];
const API_PATH: &str = "/openai/v1";

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
    body.insert("model".into(), deployment(request).into());
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

/// Returns an option, or its environment variable.
fn setting(request: &ModelRequest, option: &str, variable: &str) -> Option<String> {
    let option_value = request.options.text_option(option).map(str::to_owned);
    option_value
        .or_else(|| request.environment().var(variable))
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

/// Returns the deployment that serves the model; their names are chosen by the user.
fn deployment(request: &ModelRequest) -> String {
    let model_id = &request.model.id;
    if let Some(name) = request.options.text_option("azureDeploymentName") {
        return name.to_owned();
    }
    let map = request
        .environment()
        .var(env_vars::AZURE_DEPLOYMENT_NAME_MAP);
    map.iter()
        .flat_map(|map| map.split(','))
        .filter_map(|entry| entry.split_once('='))
        .map(|(model, deployment)| (model.trim(), deployment.trim()))
        .rfind(|(model, deployment)| model == model_id && !deployment.is_empty())
        .map_or_else(|| model_id.clone(), |(_, deployment)| deployment.to_owned())
}

fn url(request: &ModelRequest) -> Result<String, ProviderError> {
    let version = setting(request, "azureApiVersion", env_vars::AZURE_API_VERSION)
        .unwrap_or_else(|| DEFAULT_API_VERSION.to_owned());
    let resource = || {
        let name = setting(request, "azureResourceName", env_vars::AZURE_RESOURCE_NAME)?;
        Some(format!("https://{name}.openai.azure.com{API_PATH}"))
    };
    let from_model = || Some(request.model.base_url.clone()).filter(|url| !url.trim().is_empty());
    let base = setting(request, "azureBaseUrl", env_vars::AZURE_BASE_URL)
        .or_else(resource)
        .or_else(from_model)
        .ok_or_else(|| {
            ProviderError::invalid(format!(
                "No base URL for Azure: set {} or {}",
                env_vars::AZURE_BASE_URL,
                env_vars::AZURE_RESOURCE_NAME
            ))
        })?;
    let mut url = base_url(&base)?;
    let path = format!("{}/responses", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.query_pairs_mut().append_pair("api-version", &version);
    Ok(url.into())
}

fn base_url(configured: &str) -> Result<reqwest::Url, ProviderError> {
    let mut url = reqwest::Url::parse(configured.trim()).map_err(|cause| {
        ProviderError::invalid(format!("Invalid Azure base URL: {configured}: {cause}"))
    })?;
    let on_azure = url.host_str().is_some_and(|host| {
        AZURE_HOST_SUFFIXES
            .iter()
            .any(|suffix| host.ends_with(suffix))
    });
    let needs_api_path = matches!(
        url.path().trim_end_matches('/'),
        "" | "/openai" | "/openai/v1/responses"
    );
    if on_azure && needs_api_path {
        url.set_path(API_PATH);
        url.set_query(None);
    }
    Ok(url)
}

#[cfg(test)]
mod tests;
