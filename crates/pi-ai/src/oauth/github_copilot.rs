//! The sign-in of GitHub Copilot: a code on another device, then a short-lived Copilot token.
//!
//! The GitHub token is stored as the refresh token and buys Copilot tokens. A Copilot token names
//! the host to use it at. What the account may use is kept beside it as `availableModelIds`.
//! Requests are signed with our own name, not with that of an editor.

mod models;

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::models::{AccountModels, RateLimitPatience};
use super::device_code::{DeviceFlow, FirstPoll};
use super::http::TokenRequest;
use super::token::milliseconds;
use super::{
    LoginEvent, LoginInteraction, LoginPrompt, OAuthContext, OAuthError, OAuthFlow,
    OAuthRequestAuth, unless_cancelled,
};
use crate::catalog::builtin_model;
use crate::credentials::OAuthCredential;
use crate::json::JsonObject;

const CLIENT_ID: &str = "Iv1.b507a08c87ecfe98";
const PUBLIC_DOMAIN: &str = "github.com";
const INDIVIDUAL_API: &str = "https://api.individual.githubcopilot.com";
const EXPIRY_SKEW: Duration = Duration::from_mins(5);

/// Signs in to GitHub Copilot, on github.com or on an enterprise's own host.
///
/// `{domain}` in an address stands for the host of the account.
#[derive(Debug, Clone)]
pub struct GithubCopilotOAuth {
    /// Where a device code is asked for.
    pub device_code_url: String,
    /// Where the code is exchanged for a GitHub token.
    pub access_token_url: String,
    /// Where the GitHub token buys a Copilot token.
    pub copilot_token_url: String,
    /// The Copilot service, instead of the one a token names.
    pub api_base_url: Option<String>,
    /// Says whether we know a model; only those are enabled for the account.
    pub knows_model: fn(&str) -> bool,
}

impl Default for GithubCopilotOAuth {
    fn default() -> Self {
        Self {
            device_code_url: "https://{domain}/login/device/code".to_owned(),
            access_token_url: "https://{domain}/login/oauth/access_token".to_owned(),
            copilot_token_url: "https://api.{domain}/copilot_internal/v2/token".to_owned(),
            api_base_url: None,
            knows_model: |id| builtin_model("github-copilot", id).is_some(),
        }
    }
}

impl GithubCopilotOAuth {
    async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let prompt = interaction.prompt(LoginPrompt::Text {
            message: "Host of your GitHub Enterprise (leave empty for github.com)".to_owned(),
            placeholder: Some("company.ghe.com".to_owned()),
        });
        let answer = unless_cancelled(cancel, prompt).await?;
        let enterprise = match answer.trim() {
            "" => None,
            text => Some(host_of(text).ok_or_else(|| {
                OAuthError::InvalidInput("that is not a host or an address".to_owned())
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
        let granted = flow.sign_in(context, interaction, cancel).await?;
        Ok(granted.require("access_token")?.into())
    }

    /// Buys a Copilot token with the GitHub token.
    async fn copilot_token(
        &self,
        github_token: SecretString,
        extra: JsonObject,
        context: &OAuthContext,
    ) -> Result<OAuthCredential, OAuthError> {
        let enterprise = enterprise_host(&extra);
        let url = at_domain(&self.copilot_token_url, enterprise.as_deref());
        let answer = TokenRequest::get("the Copilot token", url)
            .bearer(&github_token)
            .send(context)
            .await?
            .ok()?;
        let lifetime = Duration::try_from_secs_f64(answer.require_number("expires_at")?)
            .unwrap_or(Duration::MAX);
        Ok(OAuthCredential {
            access: answer.require("token")?.into(),
            refresh: github_token,
            expires: milliseconds(lifetime).saturating_sub(milliseconds(EXPIRY_SKEW)),
            extra,
        })
    }

    /// Enables the models that await the person's consent and notes which ones can be used.
    ///
    /// Without the list the sign-in is still good: requests show what the account may do.
    async fn with_models(
        &self,
        mut credential: OAuthCredential,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
    ) -> OAuthCredential {
        let account = match self
            .account_models(&credential, RateLimitPatience::SomeSeconds, context)
            .await
        {
            Ok(account) => account,
            Err(error) => {
                tracing::warn!(%error, "the models of the Copilot account are unknown");
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
        patience: RateLimitPatience,
        context: &OAuthContext,
    ) -> Result<AccountModels, OAuthError> {
        let base_url = self.base_url(credential);
        let answer = models::list(&base_url, &credential.access, patience, context).await?;
        AccountModels::read(&answer, base_url == INDIVIDUAL_API, self.knows_model)
            .ok_or_else(|| answer.protocol("has no list of models"))
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

/// Returns the host of an address or of a bare host name.
fn host_of(text: &str) -> Option<String> {
    let text = text.trim();
    let address = if text.contains("://") {
        Url::parse(text)
    } else {
        Url::parse(&format!("https://{text}"))
    };
    address.ok()?.host_str().map(str::to_owned)
}

fn enterprise_host(extra: &JsonObject) -> Option<String> {
    extra
        .get("enterpriseUrl")
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .and_then(host_of)
}

/// Returns the host a Copilot token names, as in `tid=1;proxy-ep=proxy.example.com;exp=2`.
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
                .account_models(credential, RateLimitPatience::None, context)
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
