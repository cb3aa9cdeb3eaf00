//! Credentials of providers, as a user manages them.

use pi_auth::{AuthError, Credential, LoginInteraction, SignInRequest};
use pi_config::{SettingsError, SettingsStore};
use pi_env::Env;
use pi_protocol::{AuthKind, ConfigScope, LoginOption};
use pi_providers::Models;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::model_catalog::from_network;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SignInError {
    #[error("{0} does not require sign-in")]
    NotRequired(String),
    #[error("cannot store the ID of this installation")]
    DeviceId(#[source] SettingsError),
    #[error(transparent)]
    Auth(#[from] AuthError),
}

/// Signs in to the providers of a collection of models, and out of them.
#[derive(Debug, Clone)]
pub struct SignIn {
    models: Models,
    env: Env,
    settings: SettingsStore,
}

impl SignIn {
    pub fn new(models: &Models, env: &Env, settings: &SettingsStore) -> Self {
        Self {
            models: models.clone(),
            env: env.clone(),
            settings: settings.clone(),
        }
    }

    /// Returns every way to authenticate; for each provider, OAuth before API keys.
    pub fn options(&self) -> Vec<LoginOption> {
        let mut options = Vec::new();
        for provider in self.models.providers() {
            let Some(auth) = provider.auth() else {
                continue;
            };
            let status = self.models.auth_status(provider.id());
            let option = |name: &str, kind: AuthKind, is_guided: bool| LoginOption {
                provider: provider.id().to_owned(),
                name: name.to_owned(),
                kind,
                status: status.clone().filter(|status| status.kind == kind),
                is_guided,
            };
            if let Some(flow) = &auth.oauth {
                options.push(option(flow.name(), AuthKind::OAuth, true));
            }
            if let Some(key) = &auth.api_key {
                options.push(option(
                    provider.name(),
                    AuthKind::ApiKey,
                    key.needs_extra_fields(),
                ));
            }
        }
        options
    }

    /// Lists the providers with a stored credential.
    pub async fn stored(&self) -> Result<Vec<LoginOption>, AuthError> {
        let stored = self.models.authenticator().store().list().await?;
        let named = stored.into_iter().map(|info| {
            let provider = self.models.provider(&info.provider);
            LoginOption {
                name: provider.map_or_else(
                    || info.provider.clone(),
                    |provider| provider.name().to_owned(),
                ),
                status: self.models.auth_status(&info.provider),
                provider: info.provider,
                kind: info.kind,
                is_guided: false,
            }
        });
        Ok(named.collect())
    }

    /// Runs the sign-in of a provider and stores the credential.
    pub async fn sign_in(
        &self,
        provider: &str,
        kind: AuthKind,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<(), SignInError> {
        let found = self.models.provider(provider);
        let Some(auth) = found.and_then(|found| found.auth()) else {
            return Err(SignInError::NotRequired(provider.to_owned()));
        };
        let flow = auth.oauth.as_ref().filter(|_| kind == AuthKind::OAuth);
        let device_id = match flow {
            Some(flow) if flow.needs_device_id() => Some(self.device_id()?),
            Some(_) | None => None,
        };
        let request = SignInRequest {
            provider: &auth,
            kind,
            env: &self.env,
            device_id: device_id.as_deref(),
        };
        let authenticator = self.models.authenticator();
        Ok(authenticator.sign_in(request, interaction, cancel).await?)
    }

    /// Returns the UUID of this installation, and creates it at the first call.
    fn device_id(&self) -> Result<String, SignInError> {
        let stored = || {
            let stored = self.settings.scope(ConfigScope::User).device_id.clone();
            stored.and_then(|id| Uuid::parse_str(&id).ok())
        };
        if let Some(id) = stored() {
            return Ok(id.to_string());
        }
        let created = Uuid::new_v4();
        self.settings
            .update(ConfigScope::User, |settings| {
                // Another process may have stored one since the settings were read.
                let current = settings.device_id.as_deref();
                if current.is_none_or(|id| Uuid::parse_str(id).is_err()) {
                    settings.device_id = Some(created.to_string());
                }
            })
            .map_err(SignInError::DeviceId)?;
        Ok(stored().unwrap_or(created).to_string())
    }

    /// Stores an API key.
    pub async fn store_key(&self, provider: &str, key: String) -> Result<(), AuthError> {
        let store = self.models.authenticator().store();
        store.put(provider, Credential::api_key(key)).await
    }

    /// Deletes the stored credential of a provider, and lists its models again.
    pub async fn sign_out(&self, provider: &str) -> Result<(), AuthError> {
        let deleted = self.models.authenticator().store().delete(provider).await;
        self.models.refresh(from_network(Some(provider))).await;
        deleted
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::settings::Settings;
    use pi_providers::ModelsOptions;
    use pretty_assertions::assert_eq;

    use super::*;

    fn sign_in(stored: Option<&str>) -> SignIn {
        let settings = SettingsStore::in_memory(Settings {
            device_id: stored.map(str::to_owned),
            ..Settings::default()
        });
        let env = Env::fixed::<&str, &str>([]);
        SignIn::new(&Models::new(ModelsOptions::default()), &env, &settings)
    }

    #[test]
    fn the_device_id_is_created_once() {
        for stored in [None, Some("not a UUID")] {
            let sign_in = sign_in(stored);
            let created = sign_in.device_id().unwrap();
            assert!(Uuid::parse_str(&created).is_ok(), "{created}");
            let settings = sign_in.settings.scope(ConfigScope::User);
            assert_eq!(settings.device_id.as_ref(), Some(&created));
            assert_eq!(sign_in.device_id().unwrap(), created);
        }
        let known = "7D444840-9DC0-11D1-B245-5FFDCE74FAD2";
        let id = sign_in(Some(known)).device_id().unwrap();
        assert_eq!(id, known.to_lowercase());
    }
}
