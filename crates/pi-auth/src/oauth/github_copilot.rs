//! GitHub Copilot sign-in: device-code flow, then a short-lived Copilot token.
//!
//! The GitHub token is stored as the refresh token and is exchanged for Copilot tokens. A Copilot
//! token names the host to use. The models available to the account are stored with it as
//! `availableModelIds`. Requests identify as pi, not as an editor.

mod models;

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use pi_protocol::json::JsonObject;
use pi_protocol::{LoginEvent, LoginPrompt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::models::{AccountModels, RateLimitRetry};
use super::device_code::{DeviceFlow, FirstPoll};
use super::http::TokenRequest;
use super::token::milliseconds;
use super::{
    LoginInteraction, OAuthContext, OAuthError, OAuthFlow, OAuthRequestAuth, unless_cancelled,
};
use crate::credentials::OAuthCredential;

const CLIENT_ID: &str = "Iv1.b507a08c87ecfe98";
const PUBLIC_DOMAIN: &str = "github.com";
const INDIVIDUAL_API: &str = "https://api.individual.githubcopilot.com";
const EXPIRY_SKEW: Duration = Duration::from_mins(5);

/// GitHub Copilot sign-in, on github.com or an enterprise host.
///
/// `{domain}` in a URL is replaced by the account's host.
#[derive(Debug, Clone)]
pub struct GithubCopilotOAuth {
    /// Device authorization endpoint.
    pub device_code_url: String,
    /// Endpoint that exchanges the code for a GitHub token.
    pub access_token_url: String,
    /// Endpoint that exchanges the GitHub token for a Copilot token.
    pub copilot_token_url: String,
    /// Copilot API to use instead of the one the token names.
    pub api_base_url: Option<String>,
    /// Whether pi knows a model; only known models are enabled for the account.
    pub knows_model: fn(&str) -> bool,
}

impl GithubCopilotOAuth {
    /// Uses the public service. The function returns whether pi knows a model.
    pub fn new(knows_model: fn(&str) -> bool) -> Self {
        Self {
            device_code_url: "https://{domain}/login/device/code".to_owned(),
            access_token_url: "https://{domain}/login/oauth/access_token".to_owned(),
            copilot_token_url: "https://api.{domain}/copilot_internal/v2/token".to_owned(),
            api_base_url: None,
            knows_model,
        }
    }

    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let prompt = interaction.prompt(LoginPrompt::Text {
            message: "GitHub Enterprise host (leave empty for github.com)".to_owned(),
            placeholder: Some("company.ghe.com".to_owned()),
        });
        let response = unless_cancelled(cancel, prompt).await?;
        let enterprise =
            match response.trim() {
                "" => None,
                text => Some(host_of(text).ok_or_else(|| {
                    OAuthError::InvalidInput("not a valid host or URL".to_owned())
                })?),
            };
        let github_token = self
            .github_token(enterprise.as_deref(), context, interaction, cancel)
            .await?;
        let finish = async {
            let mut extra = JsonObject::new();
            if let Some(enterprise) = enterprise {
                extra.insert("enterpriseUrl".to_owned(), Value::from(enterprise));
            }
            let credential = self.copilot_token(github_token, extra, context).await?;
            Ok(self.with_models(credential, context, interaction).await)
        };
        unless_cancelled(cancel, finish).await
    }

    async fn github_token(
        &self,
        enterprise: Option<&str>,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<SecretString, OAuthError> {
        let flow = DeviceFlow {
            device_url: at_domain(&self.device_code_url, enterprise),
            token_url: at_domain(&self.access_token_url, enterprise),
            client_id: CLIENT_ID,
            fields: &[("scope", "read:user")],
            first: FirstPoll::Delayed,
        };
        let tokens = flow.sign_in(context, interaction, cancel).await?;
        Ok(tokens.require("access_token")?.into())
    }

    /// Exchanges the GitHub token for a Copilot token.
    async fn copilot_token(
        &self,
        github_token: SecretString,
        extra: JsonObject,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let enterprise = enterprise_host(&extra);
        let url = at_domain(&self.copilot_token_url, enterprise.as_deref());
        let response = TokenRequest::get("Copilot token request", url)
            .bearer(&github_token)
            .send(context)
            .await?
            .ok()?;
        let lifetime = Duration::try_from_secs_f64(response.require_number("expires_at")?)
            .unwrap_or(Duration::MAX);
        Ok(OAuthCredential {
            access: response.require("token")?.into(),
            refresh: github_token,
            expires: milliseconds(lifetime).saturating_sub(milliseconds(EXPIRY_SKEW)),
            extra,
        })
    }

    /// Enables the models that need the user's consent and records which models are available.
    ///
    /// The sign-in is valid without the list: requests show what the account may use.
    async fn with_models(
        &self,
        mut credential: OAuthCredential,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
    ) -> OAuthCredential {
        let account = match self
            .account_models(&credential, RateLimitRetry::Brief, context)
            .await
        {
            Ok(account) => account,
            Err(error) => {
                tracing::warn!(%error, "cannot list the Copilot account's models");
                return credential;
            }
        };
        let mut available = account.available;
        if !account.awaiting_consent.is_empty() {
            interaction.notify(LoginEvent::progress("Enabling models"));
            let base_url = self.base_url(&credential);
            for id in models::enable(
                &base_url,
                &credential.access,
                &account.awaiting_consent,
                context,
            )
            .await
            {
                if !available.contains(&id) {
                    available.push(id);
                }
            }
        }
        set_available(&mut credential, available);
        credential
    }

    async fn account_models(
        &self,
        credential: &OAuthCredential,
        retry_policy: RateLimitRetry,
        context: &OAuthContext,
    ) -> Result<AccountModels, OAuthError> {
        let base_url = self.base_url(credential);
        let response = models::list(&base_url, &credential.access, retry_policy, context).await?;
        AccountModels::read(&response, base_url == INDIVIDUAL_API, self.knows_model)
            .ok_or_else(|| response.protocol("has no list of models"))
    }

    fn base_url(&self, credential: &OAuthCredential) -> String {
        if let Some(base_url) = &self.api_base_url {
            return base_url.clone();
        }
        proxy_host(credential.access.expose_secret())
            .map(|host| {
                let host = host
                    .strip_prefix("proxy.")
                    .map_or_else(|| host.to_owned(), |rest| format!("api.{rest}"));
                format!("https://{host}")
            })
            .or_else(|| {
                let enterprise = enterprise_host(&credential.extra)?;
                Some(format!("https://copilot-api.{enterprise}"))
            })
            .unwrap_or_else(|| INDIVIDUAL_API.to_owned())
    }
}

fn at_domain(template: &str, enterprise: Option<&str>) -> String {
    template.replace("{domain}", enterprise.unwrap_or(PUBLIC_DOMAIN))
}

/// Returns the host of a URL or a bare host name.
fn host_of(text: &str) -> Option<String> {
    let text = text.trim();
    let url = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("https://{text}"))
    };
    url.ok()?.host_str().map(str::to_owned)
}

fn enterprise_host(extra: &JsonObject) -> Option<String> {
    extra
        .get("enterpriseUrl")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .and_then(host_of)
}

/// Returns the host that a Copilot token names, as in `tid=1;proxy-ep=proxy.example.com;exp=2`.
fn proxy_host(token: &str) -> Option<&str> {
    token
        .split(';')
        .find_map(|field| field.trim().strip_prefix("proxy-ep="))
        .filter(|host| {
            !host.is_empty()
                && host
                    .chars()
                    .all(|character| character.is_ascii_alphanumeric() || ".-:".contains(character))
        })
}

fn set_available(credential: &mut OAuthCredential, available: Vec<String>) {
    credential
        .extra
        .insert("availableModelIds".to_owned(), Value::from(available));
}

impl OAuthFlow for GithubCopilotOAuth {
    fn name(&self) -> &'static str {
        "GitHub Copilot"
    }

    fn is_subscription(&self) -> bool {
        true
    }

    fn rotates_refresh_token(&self) -> bool {
        false
    }

    fn login<'a>(
        &'a self,
        context: &'a OAuthContext,
        interaction: &'a dyn LoginInteraction,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        self.sign_in(context, interaction, cancel).boxed()
    }

    fn refresh<'a>(
        &'a self,
        credential: &'a OAuthCredential,
        context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        self.copilot_token(
            credential.refresh.clone(),
            credential.extra.clone(),
            context,
        )
        .boxed()
    }

    fn enrich<'a>(
        &'a self,
        credential: &'a OAuthCredential,
        context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<Option<OAuthCredential>, OAuthError>> {
        async move {
            let account = self
                .account_models(credential, RateLimitRetry::None, context)
                .await?;
            let mut credential = credential.clone();
            set_available(&mut credential, account.available);
            Ok(Some(credential))
        }
        .boxed()
    }

    fn request_auth(&self, credential: &OAuthCredential) -> OAuthRequestAuth {
        OAuthRequestAuth {
            api_key: Some(credential.access.clone()),
            base_url: Some(self.base_url(credential)),
            ..OAuthRequestAuth::default()
        }
    }
}
