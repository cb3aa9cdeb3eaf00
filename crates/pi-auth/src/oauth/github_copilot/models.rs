//! Models available to a Copilot account, and the consent that some of them require.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::http::{TokenRequest, TokenResponse};
use super::super::{OAuthContext, OAuthError};

const API_VERSION: &str = "2026-06-01";
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
const RETRIES: u32 = 2;
const RETRY_BUDGET: Duration = Duration::from_secs(5);

/// How to handle rate limiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateLimitRetry {
    /// Fail immediately.
    None,
    /// Retry twice, within five seconds in total.
    Brief,
}

/// Models of an account.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccountModels {
    pub(super) available: Vec<String>,
    /// Models that require the user to accept their terms first.
    pub(super) awaiting_consent: Vec<String>,
}

struct AccountModel {
    id: String,
    in_picker: bool,
    policy: Option<String>,
}

impl AccountModels {
    /// Parses the service's model list; `None` if there is none.
    ///
    /// Some individual accounts have no model in the picker although policies enable them. For
    /// these accounts only, the policies decide.
    pub(super) fn read(
        response: &TokenResponse,
        individual: bool,
        knows_model: fn(&str) -> bool,
    ) -> Option<Self> {
        let models: Vec<AccountModel> = response
            .value("data")?
            .as_array()?
            .iter()
            .filter_map(read_model)
            .collect();
        let select_ids = |predicate: &dyn Fn(&AccountModel) -> bool| -> Vec<String> {
            models
                .iter()
                .filter(|model| predicate(model))
                .map(|model| model.id.clone())
                .collect()
        };
        let policy_is = |model: &AccountModel, state: &str| model.policy.as_deref() == Some(state);
        let picked = select_ids(&|model| model.in_picker && !policy_is(model, "disabled"));
        let by_policy = individual && picked.is_empty();
        let available = if by_policy {
            select_ids(&|model| policy_is(model, "enabled"))
        } else {
            picked
        };
        let awaiting_consent = select_ids(&|model| {
            policy_is(model, "unconfigured")
                && (model.in_picker || by_policy)
                && knows_model(&model.id)
        });
        Some(Self {
            available,
            awaiting_consent,
        })
    }
}

fn read_model(item: &Value) -> Option<AccountModel> {
    let supports_tools = item
        .pointer("/capabilities/supports/tool_calls")
        .and_then(Value::as_bool);
    if supports_tools == Some(false) {
        return None;
    }
    Some(AccountModel {
        id: item.get("id")?.as_str()?.to_owned(),
        in_picker: item.get("model_picker_enabled") == Some(&Value::Bool(true)),
        policy: item
            .pointer("/policy/state")
            .and_then(Value::as_str)
            .map(str::to_owned),
    })
}

pub(super) async fn list(
    base_url: &str,
    token: &SecretString,
    retry_policy: RateLimitRetry,
    context: &OAuthContext,
) -> Result<TokenResponse, OAuthError> {
    let request = || {
        TokenRequest::get("model list request", format!("{base_url}/models"))
            .bearer(token)
            .header("x-github-api-version", API_VERSION)
            .timeout(REQUEST_LIMIT)
    };
    send_with_retry(request, retry_policy, context).await?.ok()
}

/// Accepts the terms of models, one after the other, and returns those that succeeded. Stops if the
/// service keeps rate limiting.
pub(super) async fn enable(
    base_url: &str,
    token: &SecretString,
    ids: &[String],
    context: &OAuthContext,
) -> Vec<String> {
    let mut enabled = Vec::new();
    for id in ids {
        let request = || {
            let url = format!("{base_url}/models/{id}/policy");
            TokenRequest::json("model policy update", url, &json!({ "state": "enabled" }))
                .bearer(token)
                .header("openai-intent", "chat-policy")
                .header("x-interaction-type", "chat-policy")
                .timeout(REQUEST_LIMIT)
        };
        match send_with_retry(request, RateLimitRetry::Brief, context).await {
            Ok(response) if response.is_success() => enabled.push(id.clone()),
            Ok(response) if response.status == 429 => break,
            Ok(response) => tracing::warn!(id, status = response.status, "cannot enable model"),
            Err(error) => tracing::warn!(id, %error, "cannot enable model"),
        }
    }
    enabled
}

async fn send_with_retry(
    request: impl Fn() -> TokenRequest,
    retry_policy: RateLimitRetry,
    context: &OAuthContext,
) -> Result<TokenResponse, OAuthError> {
    let deadline = Instant::now() + RETRY_BUDGET;
    let mut retry = 0;
    loop {
        let response = request().send(context).await?;
        if response.status != 429 || retry_policy == RateLimitRetry::None || retry == RETRIES {
            return Ok(response);
        }
        let wait = match &response.retry_after {
            // A date instead of seconds is further away than we are willing to wait.
            Some(text) => text.trim().parse().ok().map(Duration::try_from_secs_f64),
            None => Some(Ok(Duration::from_millis(500 << retry))),
        };
        match wait {
            Some(Ok(wait)) if wait < deadline.saturating_duration_since(Instant::now()) => {
                tokio::time::sleep(wait).await;
            }
            _ => return Ok(response),
        }
        retry += 1;
    }
}
