//! Available and stored ways to authenticate.

use pi_auth::{AuthError, AuthKind};
use pi_providers::Models;

use crate::dialogs::LoginOption;

/// Returns every way to authenticate; for each provider, OAuth before API keys.
pub(super) fn login_options(models: &Models) -> Vec<LoginOption> {
    let mut options = Vec::new();
    for provider in models.providers() {
        let Some(auth) = provider.auth() else {
            continue;
        };
        let status = models.auth_status(provider.id());
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

/// Returns the stored credentials.
pub(super) async fn stored_logins(models: &Models) -> Result<Vec<LoginOption>, AuthError> {
    let stored = models.authenticator().store().list().await?;
    let named = stored.into_iter().map(|info| {
        let provider = models.provider(&info.provider);
        LoginOption {
            name: provider.map_or_else(
                || info.provider.clone(),
                |provider| provider.name().to_owned(),
            ),
            status: models.auth_status(&info.provider),
            provider: info.provider,
            kind: info.kind,
            is_guided: false,
        }
    });
    Ok(named.collect())
}
