//! `pi auth`: tells scripts whether a provider can be used, and hands them its credential.
//!
//! What a command line of it means is in `auth_command/request.rs`. Nothing is asked of a model, and of the network only the renewal of a sign-in.

mod request;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use pi_ai::{
    AuthKind, AuthOverrides, Credential, Env, ModelQuery, Models, ModelsOptions, NetworkAccess,
    ProviderConfig, RefreshOptions, Registration, ResolvedAuth, resolve_model,
};
use pi_config::{AgentDir, AuthFile, read_models_file};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use crate::output::{Exit, Failure, print};
use request::{AuthRequest, Check, Secret, Task, parse};

/// How long a credential may take to be found or renewed.
const LIMIT: Duration = Duration::from_secs(15);

const HELP: &str = "\
Usage:
  pi auth check              [--provider ID] [--model PATTERN] [--json] [--credentials] [--no-refresh]
  pi auth print-api-key      [--provider ID] [--model PATTERN]
  pi auth print-bearer-token [--provider ID] [--model PATTERN] [--min-expiry DURATION]

A provider or a model is needed.

check says ready, not_ready or invalid and exits with 0, 1 or 2. It renews a sign-in that has expired
unless --no-refresh is given; --credentials prints the credential, or adds it to the JSON.

print-api-key and print-bearer-token write the credential to standard output, for other programs.
A bearer token lives at least DURATION longer (such as 90s, 30m or 1h; 30m if it is not said).
";

/// Serves `pi auth …`; `words` are those after `auth`.
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
    let found = tokio::time::timeout(LIMIT, serve(&request, env));
    let outcome = found.await.unwrap_or_else(|_late| {
        Err(Failure::new(format!(
            "no credential was found within {} s",
            LIMIT.as_secs()
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
    let Loaded { models, is_broken } = load_models(&env);
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

/// The providers, and whether `models.json` could be understood.
struct Loaded {
    models: Models,
    is_broken: bool,
}

fn load_models(env: &Env) -> Loaded {
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
    Loaded { models, is_broken }
}

/// What `auth check` found out.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckResult {
    status: Status,
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    credentials: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ready,
    NotReady,
    Invalid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Reason {
    ProviderNotFound,
    CredentialsNotConfigured,
    CredentialNotAvailable,
    InvalidState,
}

impl CheckResult {
    fn not_ready(provider: &str, reason: Reason) -> Self {
        Self {
            status: Status::NotReady,
            provider: provider.to_owned(),
            reason: Some(reason),
            auth_type: None,
            credentials: None,
        }
    }

    fn invalid(provider: &str) -> Self {
        Self {
            status: Status::Invalid,
            ..Self::not_ready(provider, Reason::InvalidState)
        }
    }

    fn exit(&self) -> Exit {
        match self.status {
            Status::Ready => Exit::Success,
            Status::NotReady => Exit::Failure,
            Status::Invalid => Exit::Code(2),
        }
    }

    fn text(self, json: bool) -> Result<String, Failure> {
        if json {
            return Ok(pi_ai::json::to_string(&self)?);
        }
        Ok(self.credentials.unwrap_or_else(|| {
            match self.status {
                Status::Ready => "ready",
                Status::NotReady => "not_ready",
                Status::Invalid => "invalid",
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
        return CheckResult::not_ready(&provider, Reason::ProviderNotFound);
    };
    let missing = || CheckResult::not_ready(&provider, Reason::CredentialsNotConfigured);
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
        status: Status::Ready,
        provider: provider.clone(),
        reason: None,
        auth_type: Some(status.kind.as_str()),
        credentials: None,
    };
    if credentials && !refresh && status.kind == AuthKind::OAuth {
        // The token as it is stored, expired or not.
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
                None => return CheckResult::not_ready(&provider, Reason::CredentialNotAvailable),
            },
            Ok(Some(_)) => {}
            Ok(None) => return missing(),
            Err(_) => return CheckResult::invalid(&provider),
        }
    }
    result
}

/// Finds the provider that serves the model that was asked for.
async fn model_provider(request: &AuthRequest, models: &Models) -> Result<String, Failure> {
    // Between several providers the one with a credential is meant.
    let everything = RefreshOptions {
        network: NetworkAccess::None,
        ..RefreshOptions::default()
    };
    models.refresh(everything).await;
    let resolved = resolve_model(
        ModelQuery {
            provider: request.provider.as_deref(),
            pattern: request.model.as_deref().unwrap_or_default(),
            thinking: None,
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
            .hint("pi docs providers lists those there are; models.json may name more")
    };
    let auth = models.provider(&provider).ok_or_else(unknown)?.auth();
    let auth = auth.ok_or_else(|| Failure::new(format!("{provider} needs no credential")))?;
    let stored = models.authenticator().store().read(&provider).await?;
    let is_sign_in = matches!(stored, Some(Credential::OAuth(_)));
    let minimum_validity = match secret {
        Secret::ApiKey if is_sign_in => {
            return Err(
                Failure::new(format!("{provider} has a sign-in and no API key")).hint(format!(
                    "pi auth print-bearer-token --provider {provider} prints its token"
                )),
            );
        }
        Secret::BearerToken { .. } if !is_sign_in => {
            return Err(
                Failure::new(format!("there is no sign-in for {provider}")).hint(format!(
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
            "{provider} uses no key or token that can be printed"
        ))
    })
}

/// Returns the key or token of a request, wherever it is carried.
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
