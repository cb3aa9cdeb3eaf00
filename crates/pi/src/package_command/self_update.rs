//! The update check and self-update of pi.

use pi_config::SettingsStore;
use pi_env::{Env, env_vars};
use pi_packages::{ReleaseFeed, ReleaseInfo};

use super::{Packages, package_failure};
use crate::output::{Failure, notice};
use crate::version::VERSION;

/// Disables the update check.
const SKIP_VERSION_CHECK: &str = "PI_SKIP_VERSION_CHECK";

/// Replaces this binary with the latest release.
pub(super) async fn update_pi(packages: &Packages<'_>, force: bool) -> Result<String, Failure> {
    let env = packages.locations.env;
    let Some(channel) = channel(packages.settings, env) else {
        return Err(
            Failure::new("this build of pi cannot update itself: it has no release feed")
                .hint("update it with your package manager, or build a newer version")
                .hint("run pi update --extensions to update packages"),
        );
    };
    if env.var(env_vars::OFFLINE).is_some() {
        return Err(
            Failure::new("cannot check for releases: pi is offline").hint("unset PI_OFFLINE")
        );
    }
    let news = channel
        .latest()
        .await
        .map_err(|error| package_failure(&error))?;
    if !force && !news.is_newer_than(VERSION) {
        return Ok(format!("pi {VERSION} is the latest release\n"));
    }
    if let Some(notes) = &news.notes {
        notice(notes.trim());
    }
    notice(&format!("Updating pi to {}", news.version));
    let program = std::env::current_exe()?;
    let updated = channel.install(&news, &program, VERSION).await;
    updated.map_err(|error| package_failure(&error))?;
    Ok(format!("Updated pi from {VERSION} to {}\n", news.version))
}

/// Checks for a newer release, unless disabled.
pub(crate) async fn newer_release(settings: &SettingsStore, env: &Env) -> Option<ReleaseInfo> {
    if env.var(env_vars::OFFLINE).is_some() || env.var(SKIP_VERSION_CHECK).is_some() {
        return None;
    }
    let news = channel(settings, env)?.latest().await;
    news.inspect_err(|error| tracing::debug!(%error, "update check failed"))
        .ok()
        .filter(|news| news.is_newer_than(VERSION))
}

fn channel(settings: &SettingsStore, env: &Env) -> Option<ReleaseFeed> {
    let values = settings.settings();
    ReleaseFeed::built_in(env.clone(), values.http_proxy())
}
