//! pi's own releases: whether there is a newer one, and putting it in place.

use pi_ai::{Env, env_vars};
use pi_config::SettingsStore;
use pi_packages::{ReleaseFeed, ReleaseInfo};

use super::{Packages, told};
use crate::output::{Failure, notice};
use crate::version::VERSION;

/// Keeps pi from asking for newer releases by itself.
const SKIP_VERSION_CHECK: &str = "PI_SKIP_VERSION_CHECK";

/// Installs the newest release in place of this program.
pub(super) async fn update_pi(packages: &Packages<'_>, force: bool) -> Result<String, Failure> {
    let env = packages.locations.env;
    let Some(channel) = channel(packages.settings, env) else {
        return Err(Failure::new(
            "this build of pi does not update itself: it knows no release feed",
        )
        .hint(
            "update it the way it was installed: with your package manager, or with a newer build",
        )
        .hint("pi update --extensions updates packages"));
    };
    if env.var(env_vars::OFFLINE).is_some() {
        return Err(
            Failure::new("releases come from the network, and pi is offline")
                .hint("start without PI_OFFLINE"),
        );
    }
    let news = channel.latest().await.map_err(|error| told(&error))?;
    if !force && !news.is_newer_than(VERSION) {
        return Ok(format!("pi {VERSION} is the newest release\n"));
    }
    if let Some(notes) = &news.notes {
        notice(notes.trim());
    }
    notice(&format!("Updating pi to {}", news.version));
    let program = std::env::current_exe()?;
    let updated = channel.install(&news, &program, VERSION).await;
    updated.map_err(|error| told(&error))?;
    Ok(format!("Updated pi from {VERSION} to {}\n", news.version))
}

/// Asks whether there is a newer release; nothing is asked where the user does not want that.
pub(crate) async fn newer_release(settings: &SettingsStore, env: &Env) -> Option<ReleaseInfo> {
    if env.var(env_vars::OFFLINE).is_some() || env.var(SKIP_VERSION_CHECK).is_some() {
        return None;
    }
    let news = channel(settings, env)?.latest().await;
    news.inspect_err(|error| tracing::debug!(%error, "no news of releases"))
        .ok()
        .filter(|news| news.is_newer_than(VERSION))
}

fn channel(settings: &SettingsStore, env: &Env) -> Option<ReleaseFeed> {
    let values = settings.settings();
    ReleaseFeed::built_in(env.clone(), values.http_proxy())
}
