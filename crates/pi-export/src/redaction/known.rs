//! Known secrets: stored credentials, environment variables, values of `models.json`, and the
//! output of commands that provide them.

use pi_auth::{CommandReuse, Credential, CredentialStore, ValueTemplate};
use pi_env::Env;
use pi_providers::Models;
use secrecy::{ExposeSecret, SecretString};

use super::{Redactor, names};

/// Returns all stored keys and tokens. A credential that cannot be read is skipped: it could not be
/// recognized in text either.
pub async fn stored_secrets(credentials: &dyn CredentialStore) -> Redactor {
    Redactor::new(stored(credentials, &Env::process()).await)
}

/// Returns the values of environment variables whose names indicate a secret.
pub fn environment_secrets(env: &Env) -> Redactor {
    Redactor::new(of_environment(env))
}

/// Returns every secret this process may use, with pattern detection enabled; for text that is
/// shared.
pub async fn secrets_in_use(models: &Models, env: &Env) -> Redactor {
    let authenticator = models.authenticator();
    let mut secrets = stored(authenticator.store().as_ref(), env).await;
    secrets.extend(of_environment(env));
    secrets.extend(authenticator.used_secrets());
    for provider in models.providers() {
        let Some(auth) = provider.auth() else {
            continue;
        };
        let configured = auth.configured;
        for template in configured.api_key.iter().chain(configured.headers.values()) {
            secrets.extend(value(template, env).await);
        }
    }
    Redactor::new(secrets).with_pattern_detection()
}

async fn stored(credentials: &dyn CredentialStore, env: &Env) -> Vec<SecretString> {
    let stored = credentials.list().await.unwrap_or_default();
    let mut secrets = Vec::new();
    for info in stored {
        match credentials.read(&info.provider).await {
            Ok(Some(Credential::ApiKey(credential))) => {
                for (name, value) in &credential.env {
                    if names::is_secret(name) {
                        secrets.push(value.clone().into());
                    }
                }
                // The key as written, and its resolved value.
                if let Some(key) = credential.key {
                    secrets.extend(value(&ValueTemplate::from(key.clone()), env).await);
                    secrets.push(key);
                }
            }
            Ok(Some(Credential::OAuth(credential))) => {
                for (name, value) in &credential.extra {
                    if let Some(text) = value.as_str()
                        && names::is_secret(name)
                    {
                        secrets.push(text.into());
                    }
                }
                secrets.extend([credential.access, credential.refresh]);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(provider = info.provider, %error, "cannot read credential; it is not redacted");
            }
        }
    }
    secrets
}

/// Resolves a template, unless that would run a command.
async fn value(template: &ValueTemplate, env: &Env) -> Option<SecretString> {
    if template.is_command() {
        return None;
    }
    template.resolve(env, CommandReuse::Fresh).await.ok()
}

fn of_environment(env: &Env) -> Vec<SecretString> {
    let variables = env.variables().into_iter();
    let secrets = variables.filter(|(name, _)| names::is_secret(name));
    let values = secrets.map(|(_, value)| SecretString::from(value));
    // A path points to the secret; it is not the secret.
    values
        .filter(|value| !value.expose_secret().starts_with('/'))
        .collect()
}
