//! The update check and self-update of pi.

mod configured;

use pi_config::SettingsStore;
use pi_env::{Env, env_vars, release};
use pi_packages::{ReleaseFeed, ReleaseInfo};

use self::configured::UpdateCommand;
use super::{Packages, package_failure};
use crate::output::{Failure, notice};

/// Disables the update check.
const SKIP_VERSION_CHECK: &str = "PI_SKIP_VERSION_CHECK";

/// Replaces this binary with the latest release.
pub(super) async fn update_pi(packages: &Packages<'_>, force: bool) -> Result<String, Failure> {
    let env = packages.locations.env;
    let configured = UpdateCommand::of(&packages.settings.settings(), env);
    let Some(channel) = channel(packages.settings, env) else {
        if let Some(command) = configured.filter(|command| !command.needs_release()) {
            return command.run(None).await;
        }
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
    if !force && !news.is_newer_than(&release()) {
        return Ok(format!("pi {} is the latest release\n", release()));
    }
    if let Some(command) = configured {
        return command.run(Some(&news.version)).await;
    }
    if let Some(notes) = &news.notes {
        notice(notes.trim());
    }
    notice(&format!("Updating pi to {}", news.version));
    let program = std::env::current_exe()?;
    let updated = channel.install(&news, &program, &release()).await;
    updated.map_err(|error| package_failure(&error))?;
    Ok(format!(
        "Updated pi from {} to {}\n",
        release(),
        news.version
    ))
}

/// Checks for a newer release, unless disabled.
pub(crate) async fn newer_release(settings: &SettingsStore, env: &Env) -> Option<ReleaseInfo> {
    if env.var(env_vars::OFFLINE).is_some() || env.var(SKIP_VERSION_CHECK).is_some() {
        return None;
    }
    let news = channel(settings, env)?.latest().await;
    news.inspect_err(|error| tracing::debug!(%error, "update check failed"))
        .ok()
        .filter(|news| news.is_newer_than(&release()))
}

fn channel(settings: &SettingsStore, env: &Env) -> Option<ReleaseFeed> {
    let values = settings.settings();
    ReleaseFeed::built_in(env.clone(), values.http_proxy())
}
