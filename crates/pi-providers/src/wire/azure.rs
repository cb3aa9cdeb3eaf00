//! Addresses and deployments of Azure, for both APIs that it serves.

use pi_env::env_vars;
use pi_protocol::ProviderError;

use crate::options::ModelRequest;

pub(super) const PROVIDER: &str = "azure";

const DEFAULT_API_VERSION: &str = "v1";

/// Hosts whose API starts at [`API_PATH`], whichever part of it the user configured.
const AZURE_HOST_SUFFIXES: [&str; 3] = [
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".ai.azure.com",
];
const API_PATH: &str = "/openai/v1";

/// Returns an option, or its environment variable.
fn setting(request: &ModelRequest, option: &str, variable: &str) -> Option<String> {
    let option_value = request.options.text_option(option).map(str::to_owned);
    option_value
        .or_else(|| request.environment().var(variable))
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

/// Returns the deployment that serves the model; their names are chosen by the user.
pub(super) fn deployment(request: &ModelRequest) -> String {
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

pub(super) fn api_version(request: &ModelRequest) -> String {
    setting(request, "azureApiVersion", env_vars::AZURE_API_VERSION)
        .unwrap_or_else(|| DEFAULT_API_VERSION.to_owned())
}

/// Returns the base URL of a request. The environment overrides the model's.
pub(super) fn base_url(request: &ModelRequest) -> Result<reqwest::Url, ProviderError> {
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
    normalize(&base)
}

fn normalize(configured: &str) -> Result<reqwest::Url, ProviderError> {
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
