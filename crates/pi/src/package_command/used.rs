//! Installed packages and the installer, shared by commands and session start.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use pi_config::{AgentDir, MissingPackage, PackageAddress, PackageLocations, SettingsStore};
use pi_env::Env;
use pi_host::MissingPackageInstaller;
use pi_packages::{ConfiguredPackage, InstallerOptions, PackageInstaller, ScriptPolicy};
use pi_protocol::{ConfigDiagnostic, ConfigScope, DiagnosticLevel, SourceScope};

use crate::output::notice;

/// Installs missing packages when a session starts.
pub(crate) struct StartupInstaller {
    agent_dir: AgentDir,
    env: Env,
    /// Whether to write to stderr.
    is_verbose: AtomicBool,
}

impl StartupInstaller {
    pub(crate) fn new(agent_dir: AgentDir, env: Env) -> Self {
        Self {
            agent_dir,
            env,
            is_verbose: AtomicBool::new(true),
        }
    }

    /// Stops writing to stderr, since the application owns the terminal now.
    pub(crate) fn silence(&self) {
        self.is_verbose.store(false, Ordering::Relaxed);
    }
}

impl MissingPackageInstaller for StartupInstaller {
    fn install_missing<'a>(
        &'a self,
        missing: &'a [MissingPackage],
        cwd: &'a Path,
        settings: &'a SettingsStore,
    ) -> BoxFuture<'a, Vec<ConfigDiagnostic>> {
        Box::pin(async move {
            let installer = installer(&self.agent_dir, cwd, &self.env, settings);
            let mut problems = Vec::new();
            for package in missing {
                if self.is_verbose.load(Ordering::Relaxed) {
                    notice(&format!("Installing {}", package.source));
                }
                let wanted = ConfiguredPackage {
                    address: package.address.clone(),
                    scope: package.scope,
                };
                if let Err(error) = installer.install(&wanted).await {
                    let message = format!(
                        "package {source} skipped: {error}; it is tried again at the next start, \
                         `pi remove {source}{scope}` removes it",
                        source = package.source,
                        scope = match package.scope {
                            SourceScope::Project => " --local",
                            _ => "",
                        },
                    );
                    problems.push(ConfigDiagnostic {
                        level: DiagnosticLevel::Warning,
                        message,
                        path: None,
                    });
                }
            }
            problems
        })
    }

    fn refresh<'a>(
        &'a self,
        packages: &'a [PackageAddress],
        cwd: &'a Path,
        settings: &'a SettingsStore,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let installer = installer(&self.agent_dir, cwd, &self.env, settings);
            installer.refresh(packages).await
        })
    }
}

/// Returns the packages in the user and project settings. Invalid sources are reported when they are loaded.
pub(crate) fn used_packages(settings: &SettingsStore) -> Vec<ConfiguredPackage> {
    let scopes = [
        (ConfigScope::User, SourceScope::User),
        (ConfigScope::Project, SourceScope::Project),
    ];
    let mut used = Vec::new();
    for (scope, source_scope) in scopes {
        let settings = settings.scope(scope);
        for package in settings.packages.iter().flatten() {
            if let Ok(address) = PackageAddress::parse(package.source()) {
                used.push(ConfiguredPackage {
                    address,
                    scope: source_scope,
                });
            }
        }
    }
    used
}

/// Returns installer options from the settings.
pub(super) fn options(
    locations: PackageLocations<'_>,
    settings: &SettingsStore,
) -> InstallerOptions {
    let values = settings.settings();
    InstallerOptions {
        npm_command: values.npm_command.clone(),
        proxy: values.http_proxy().map(str::to_owned),
        ..InstallerOptions::new(
            locations.agent_dir.clone(),
            locations.cwd.to_owned(),
            locations.env.clone(),
        )
    }
}

/// Returns an installer without progress that runs the scripts allowed by the settings.
pub(crate) fn installer(
    agent_dir: &AgentDir,
    cwd: &Path,
    env: &Env,
    settings: &SettingsStore,
) -> PackageInstaller {
    let locations = PackageLocations {
        agent_dir,
        cwd,
        env,
    };
    let user = settings.scope(ConfigScope::User);
    let allowed = user.allow_install_scripts.iter().flatten().cloned();
    PackageInstaller::new(InstallerOptions {
        scripts: ScriptPolicy::allowing(allowed),
        ..options(locations, settings)
    })
}
