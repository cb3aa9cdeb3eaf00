//! The secrets that are known: stored ones, those of the environment, those of `models.json`, and what
//! commands printed in their place.

use pi_ai::{CommandReuse, Credential, CredentialStore, Env, Models, ValueTemplate};
use secrecy::{ExposeSecret, SecretString};

use super::{Redactor, names};

/// Returns every key and token that is stored. A credential that cannot be read is passed over: what
/// cannot be read here cannot be told apart from other text either.
pub async fn stored_secrets(credentials: &dyn CredentialStore) -> Redactor {
    Redactor::new(stored(credentials, &Env::process()).await)
}

/// Returns every secret of the environment: the values of variables whose names say so.
pub fn environment_secrets(env: &Env) -> Redactor {
    Redactor::new(of_environment(env))
}

/// Returns every secret that this process may use, and whatever looks like one: for what is passed on
/// to others.
pub async fn secrets_in_use(models: &Models, env: &Env) -> Redactor {
    let authenticator = models.authenticator();
    let mut secrets = stored(authenticator.store().as_ref(), env).await;
    secrets.extend(of_environment(env));
    secrets.extend(authenticator.command_outputs());
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
                // The key as it is written, and what it means.
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
            Err(error) => tracing::warn!(provider = info.provider, %error, "not redacted"),
        }
    }
    secrets
}

/// Returns what a template stands for, unless a command would have to run for it.
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
    // A path is where the secret is, not the secret.
    values
        .filter(|value| !value.expose_secret().starts_with('/'))
        .collect()
}
