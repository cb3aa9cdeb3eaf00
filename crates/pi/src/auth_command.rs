//! `pi auth`: checks and prints credentials for scripts.
//!
//! Calls no model; the only network access is a token refresh.

mod request;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use pi_auth::{AuthOverrides, Credential, ResolvedAuth};
use pi_config::{AgentDir, AuthFile, read_models_file};
use pi_env::Env;
use pi_host::{ModelQuery, UnlistedModels, resolve_model};
use pi_protocol::AuthKind;
use pi_providers::{
    Models, ModelsOptions, NetworkAccess, ProviderConfig, RefreshOptions, Registration,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use crate::output::{Exit, Failure, print};
use request::{AuthRequest, Check, Secret, Task, parse};

/// Limit for resolving or refreshing a credential.
const CREDENTIAL_TIMEOUT: Duration = Duration::from_secs(15);

const HELP: &str = "\
Usage:
  pi auth check              [--provider ID] [--model PATTERN] [--json] [--credentials] [--no-refresh]
  pi auth print-api-key      [--provider ID] [--model PATTERN]
  pi auth print-bearer-token [--provider ID] [--model PATTERN] [--min-expiry DURATION]

--provider or --model is required.

check prints ready, not_ready or invalid and exits with 0, 1 or 2. It refreshes an expired sign-in
unless --no-refresh is given; --credentials prints the credential, or adds it to the JSON.

print-api-key and print-bearer-token print the credential for other programs. A bearer token is valid
for at least DURATION (for example 90s, 30m or 1h; default 30m).
";

/// Runs `pi auth …`; `words` follow `auth`.
pub(crate) async fn run(words: Vec<OsString>, env: Env) -> Exit {
    let words: Vec<String> = words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let asks_for_help = words.iter().any(|word| word == "--help" || word == "-h");
    if asks_for_help || matches!(words.first().map(String::as_str), None | Some("help")) {
        return print(HELP);
    }
    let request = match parse(words) {
        Ok(request) => request,
        Err(wrong) => {
            wrong.failure.report();
            return wrong.exit;
        }
    };
    let found = tokio::time::timeout(CREDENTIAL_TIMEOUT, serve(&request, env));
    let outcome = found.await.unwrap_or_else(|_late| {
        Err(Failure::new(format!(
            "timed out after {} s while resolving the credential",
            CREDENTIAL_TIMEOUT.as_secs()
        )))
    });
    match outcome {
        Ok((text, exit)) => match print(&format!("{text}\n")) {
            Exit::Success => exit,
            failed => failed,
        },
        Err(failure) => {
            failure.report();
            request.task.failure_exit()
        }
    }
}

async fn serve(request: &AuthRequest, env: Env) -> Result<(String, Exit), Failure> {
    let LoadedModels { models, is_broken } = load_models(&env);
    match &request.task {
        Task::Check(check) => {
            let result = if is_broken {
                CheckResult::invalid(request.subject())
            } else {
                check_provider(request, *check, &models, &env).await
            };
            let exit = result.exit();
            Ok((result.text(check.json)?, exit))
        }
        Task::Print(secret) => {
            let secret = find_secret(request, secret, &models, &env).await?;
            Ok((secret.expose_secret().to_owned(), Exit::Success))
        }
    }
}

/// The providers, and whether `models.json` is invalid.
struct LoadedModels {
    models: Models,
    is_broken: bool,
}

fn load_models(env: &Env) -> LoadedModels {
    let directory = AgentDir::from_env(env);
    let models = Models::new(ModelsOptions {
        credentials: Arc::new(AuthFile::new(directory.auth_file())),
        env: env.clone(),
        ..ModelsOptions::default()
    });
    let providers = read_models_file::<ProviderConfig>(&directory.models_file());
    let is_broken = match providers {
        Ok(providers) => providers.into_iter().any(|(id, config)| {
            let outcome = models.register(&id, Registration::ModelsFile(config));
            outcome.is_err()
        }),
        Err(_) => true,
    };
    LoadedModels { models, is_broken }
}

/// The result of `auth check`.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckResult {
    status: AuthStatus,
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<NotReadyReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum AuthStatus {
    Ready,
    NotReady,
    Invalid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum NotReadyReason {
    ProviderNotFound,
    CredentialsNotConfigured,
    CredentialNotAvailable,
    InvalidState,
}

impl CheckResult {
    fn not_ready(provider: &str, reason: NotReadyReason) -> Self {
        Self {
            status: AuthStatus::NotReady,
            provider: provider.to_owned(),
            reason: Some(reason),
            auth_type: None,
            credentials: None,
        }
    }

    fn invalid(provider: &str) -> Self {
        Self {
            status: AuthStatus::Invalid,
            ..Self::not_ready(provider, NotReadyReason::InvalidState)
        }
    }

    fn exit(&self) -> Exit {
        match self.status {
            AuthStatus::Ready => Exit::Success,
            AuthStatus::NotReady => Exit::Failure,
            AuthStatus::Invalid => Exit::Code(2),
        }
    }

    fn text(self, json: bool) -> Result<String, Failure> {
        if json {
            return Ok(pi_protocol::json::to_string(&self)?);
        }
        Ok(self.credentials.unwrap_or_else(|| {
            match self.status {
                AuthStatus::Ready => "ready",
                AuthStatus::NotReady => "not_ready",
                AuthStatus::Invalid => "invalid",
            }
            .to_owned()
        }))
    }
}

async fn check_provider(
    request: &AuthRequest,
    check: Check,
    models: &Models,
    env: &Env,
) -> CheckResult {
    let Check {
        credentials,
        refresh,
        json: _,
    } = check;
    let invalid = || CheckResult::invalid(request.subject());
    let provider = match &request.model {
        Some(_) => match model_provider(request, models).await {
            Ok(provider) => provider,
            Err(_) => return invalid(),
        },
        None => request.subject().to_owned(),
    };
    let Some(found) = models.provider(&provider) else {
        return CheckResult::not_ready(&provider, NotReadyReason::ProviderNotFound);
    };
    let missing = || CheckResult::not_ready(&provider, NotReadyReason::CredentialsNotConfigured);
    let Some(auth) = found.auth() else {
        return missing();
    };
    let authenticator = models.authenticator();
    let status = match authenticator.check(&auth, env).await {
        Ok(Some(status)) => status,
        Ok(None) => return missing(),
        Err(_) => return CheckResult::invalid(&provider),
    };
    let mut result = CheckResult {
        status: AuthStatus::Ready,
        provider: provider.clone(),
        reason: None,
        auth_type: Some(status.kind.as_str()),
        credentials: None,
    };
    if credentials && !refresh && status.kind == AuthKind::OAuth {
        // The stored token, expired or not.
        let stored = authenticator.store().read(&provider).await;
        if let Ok(Some(Credential::OAuth(stored))) = stored {
            result.credentials = Some(stored.access.expose_secret().to_owned());
            return result;
        }
    }
    if refresh || credentials {
        let overrides = AuthOverrides::default();
        match authenticator.resolve(&auth, env, &overrides).await {
            Ok(Some(resolved)) if credentials => match secret_of(&resolved) {
                Some(secret) => result.credentials = Some(secret.expose_secret().to_owned()),
                None => {
                    return CheckResult::not_ready(
                        &provider,
                        NotReadyReason::CredentialNotAvailable,
                    );
                }
            },
            Ok(Some(_)) => {}
            Ok(None) => return missing(),
            Err(_) => return CheckResult::invalid(&provider),
        }
    }
    result
}

/// Finds the provider of the requested model.
async fn model_provider(request: &AuthRequest, models: &Models) -> Result<String, Failure> {
    // Among several providers, prefer the one with a credential.
    let everything = RefreshOptions {
        network: NetworkAccess::None,
        ..RefreshOptions::default()
    };
    models.refresh(everything).await;
    let resolved = resolve_model(
        ModelQuery {
            provider: request.provider.as_deref(),
            pattern: request.model.as_deref().unwrap_or_default(),
            unlisted: UnlistedModels::Rejected,
            ..ModelQuery::default()
        },
        models,
    )?;
    Ok(resolved.model.provider.clone())
}

async fn find_secret(
    request: &AuthRequest,
    secret: &Secret,
    models: &Models,
    env: &Env,
) -> Result<SecretString, Failure> {
    let provider = match &request.model {
        Some(_) => model_provider(request, models).await?,
        None => request.subject().to_owned(),
    };
    let unknown = || {
        Failure::new(format!("unknown provider \"{provider}\""))
            .hint("pi docs providers lists all providers; models.json can add more")
    };
    let auth = models.provider(&provider).ok_or_else(unknown)?.auth();
    let auth = auth.ok_or_else(|| Failure::new(format!("{provider} needs no credential")))?;
    let stored = models.authenticator().store().read(&provider).await?;
    let is_sign_in = matches!(stored, Some(Credential::OAuth(_)));
    let minimum_validity = match secret {
        Secret::ApiKey if is_sign_in => {
            return Err(
                Failure::new(format!("{provider} is signed in and has no API key")).hint(format!(
                    "pi auth print-bearer-token --provider {provider} prints its token"
                )),
            );
        }
        Secret::BearerToken { .. } if !is_sign_in => {
            return Err(
                Failure::new(format!("not signed in to {provider}")).hint(format!(
                    "pi auth print-api-key --provider {provider} prints a key"
                )),
            );
        }
        Secret::ApiKey => None,
        Secret::BearerToken { minimum_validity } => Some(*minimum_validity),
    };
    let overrides = AuthOverrides {
        minimum_validity,
        ..AuthOverrides::default()
    };
    let authenticator = models.authenticator();
    let resolved = authenticator.require(&auth, env, &overrides).await;
    authenticator.wait_for_refreshes().await;
    secret_of(&resolved?).ok_or_else(|| {
        Failure::new(format!(
            "{provider} has no key or token that can be printed"
        ))
    })
}

/// Returns the API key, or the token from the `Authorization` header.
fn secret_of(resolved: &ResolvedAuth) -> Option<SecretString> {
    if let Some(key) = &resolved.api_key {
        return Some(key.clone());
    }
    let authorization = resolved
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let (_, value) = authorization?;
    let (scheme, token) = value.as_deref()?.split_once(char::is_whitespace)?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim().to_owned().into())
}
