//! Which models a Copilot account may use, and the consent some of them need first.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::http::{TokenAnswer, TokenRequest};
use super::super::{OAuthContext, OAuthError};

const API_VERSION: &str = "2026-06-01";
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
const RETRIES: u32 = 2;
const RETRY_BUDGET: Duration = Duration::from_secs(5);

/// Whether to wait when the service says "too many requests".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateLimitPatience {
    /// Give up at once.
    None,
    /// Come back twice, within five seconds in all.
    SomeSeconds,
}

/// What an account may use.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccountModels {
    /// The models that work.
    pub(super) available: Vec<String>,
    /// The models that work once the person has consented to their terms.
    pub(super) awaiting_consent: Vec<String>,
}

struct AccountModel {
    id: String,
    in_picker: bool,
    policy: Option<String>,
}

impl AccountModels {
    /// Reads the service's list; `None` when there is none.
    ///
    /// Some individual accounts have no model in the picker although policies enable them. For
    /// these, and only these, the policies decide.
    pub(super) fn read(
        answer: &TokenAnswer,
        individual: bool,
        knows_model: fn(&str) -> bool,
    ) -> Option<Self> {
        let models: Vec<AccountModel> = answer
            .value("data")?
            .as_array()?
            .iter()
            .filter_map(read_model)
            .collect();
        let pick = |wanted: &dyn Fn(&AccountModel) -> bool| -> Vec<String> {
            models
                .iter()
                .filter(|model| wanted(model))
                .map(|model| model.id.clone())
                .collect()
        };
        let policy_is = |model: &AccountModel, state: &str| model.policy.as_deref() == Some(state);
        let picked = pick(&|model| model.in_picker && !policy_is(model, "disabled"));
        let by_policy = individual && picked.is_empty();
        let available = if by_policy {
            pick(&|model| policy_is(model, "enabled"))
        } else {
            picked
        };
        let awaiting_consent = pick(&|model| {
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
    let calls_tools = item
        .pointer("/capabilities/supports/tool_calls")
        .and_then(Value::as_bool);
    if calls_tools == Some(false) {
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

/// Asks for the account's models.
pub(super) async fn list(
    base_url: &str,
    token: &SecretString,
    patience: RateLimitPatience,
    context: &OAuthContext,
) -> Result<TokenAnswer, OAuthError> {
    let request = || {
        TokenRequest::get("the list of models", format!("{base_url}/models"))
            .bearer(token)
            .header("x-github-api-version", API_VERSION)
            .within(REQUEST_LIMIT)
    };
    send_patiently(request, patience, context).await?.ok()
}

/// Consents to the terms of models, one after the other, and returns those that worked. A service
/// that goes on saying "too many requests" ends it.
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
            TokenRequest::json("the model's policy", url, &json!({ "state": "enabled" }))
                .bearer(token)
                .header("openai-intent", "chat-policy")
                .header("x-interaction-type", "chat-policy")
                .within(REQUEST_LIMIT)
        };
        match send_patiently(request, RateLimitPatience::SomeSeconds, context).await {
            Ok(answer) if answer.is_success() => enabled.push(id.clone()),
            Ok(answer) if answer.status == 429 => break,
            Ok(answer) => tracing::warn!(id, status = answer.status, "a model was not enabled"),
            Err(error) => tracing::warn!(id, %error, "a model was not enabled"),
        }
    }
    enabled
}

async fn send_patiently(
    request: impl Fn() -> TokenRequest,
    patience: RateLimitPatience,
    context: &OAuthContext,
) -> Result<TokenAnswer, OAuthError> {
    let deadline = Instant::now() + RETRY_BUDGET;
    let mut retry = 0;
    loop {
        let answer = request().send(context).await?;
        if answer.status != 429 || patience == RateLimitPatience::None || retry == RETRIES {
            return Ok(answer);
        }
        let wait = match &answer.retry_after {
            // A date instead of seconds is further off than we are willing to wait.
            Some(text) => text.trim().parse().ok().map(Duration::try_from_secs_f64),
            None => Some(Ok(Duration::from_millis(500 << retry))),
        };
        match wait {
            Some(Ok(wait)) if wait < deadline.saturating_duration_since(Instant::now()) => {
                tokio::time::sleep(wait).await;
            }
            _ => return Ok(answer),
        }
        retry += 1;
    }
}
