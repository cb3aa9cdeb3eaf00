//! `pi update`: packages, model catalogs and pi.

use std::time::Duration;

use pi_config::PackageAddress;
use pi_env::env_vars;
use pi_host::{Host, HostOptions, TrustFlag, Workspace, WorkspaceOptions};
use pi_packages::ConfiguredPackage;
use pi_protocol::SourceScope;
use pi_providers::{NetworkAccess, RefreshOptions};
use tokio_util::sync::CancellationToken;

use super::request::UpdateTarget;
use super::{Packages, package_failure, self_update, used_packages};
use crate::output::{Failure, notice};

/// Limit for refreshing all catalogs.
const CATALOGS_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) async fn update(
    packages: &Packages<'_>,
    target: &UpdateTarget,
) -> Result<String, Failure> {
    match target {
        UpdateTarget::Models => refresh_catalogs(packages).await,
        UpdateTarget::Packages(source) => update_packages(packages, source.as_deref()).await,
        UpdateTarget::Pi { force, is_chosen } => {
            if !is_chosen {
                notice("Packages were not updated. Run pi update --extensions to update them.");
            }
            self_update::update_pi(packages, *force).await
        }
        UpdateTarget::Everything { force } => {
            let done = update_packages(packages, None).await?;
            notice(done.trim_end());
            self_update::update_pi(packages, *force).await
        }
    }
}

async fn update_packages(packages: &Packages<'_>, source: Option<&str>) -> Result<String, Failure> {
    let mut used = used_packages(packages.settings);
    if let Some(source) = source {
        let wanted = PackageAddress::parse(source)?;
        let locations = packages.locations;
        let identity = locations.identity(&wanted, SourceScope::Temporary);
        used.retain(|package: &ConfiguredPackage| {
            locations.identity(&package.address, package.scope) == identity
        });
        if used.is_empty() {
            return Err(packages.unknown(source));
        }
    }
    if packages.locations.env.var(env_vars::OFFLINE).is_some() {
        notice("PI_OFFLINE is set: nothing was updated.");
    }
    let updated = packages.installer(&[]).update(&used).await;
    updated.map_err(|error| package_failure(&error))?;
    Ok(match source {
        Some(source) => format!("Updated {source}\n"),
        None => "Updated packages\n".to_owned(),
    })
}

/// Refreshes the model list of every provider with a credential.
async fn refresh_catalogs(packages: &Packages<'_>) -> Result<String, Failure> {
    let locations = packages.locations;
    if locations.env.var(env_vars::OFFLINE).is_some() {
        return Err(
            Failure::new("cannot update model catalogs: pi is offline").hint("unset PI_OFFLINE")
        );
    }
    let host = Host::new(HostOptions {
        trust: Some(TrustFlag::Deny),
        ..HostOptions::new(locations.agent_dir.clone(), locations.env.clone())
    });
    let options = WorkspaceOptions::default();
    let workspace = Workspace::load(&host, &options, locations.cwd).await;
    let cancel = CancellationToken::new();
    let refreshing = workspace.models.refresh(RefreshOptions {
        network: NetworkAccess::Allowed,
        force: true,
        providers: None,
        cancel: cancel.clone(),
    });
    let report = tokio::time::timeout(CATALOGS_TIMEOUT, refreshing)
        .await
        .map_err(|_elapsed| {
            cancel.cancel();
            Failure::new(format!(
                "timed out after {} s while updating model catalogs",
                CATALOGS_TIMEOUT.as_secs()
            ))
            .hint("updates received so far are kept; try again")
        })?;
    if !report.errors.is_empty() {
        let errors = report.errors.iter();
        let problems: Vec<String> = errors
            .map(|(provider, error)| format!("{provider}: {error}"))
            .collect();
        return Err(Failure::new(format!(
            "some model catalogs could not be updated: {}",
            problems.join("; ")
        )));
    }
    Ok("Model catalogs are up to date\n".to_owned())
}
