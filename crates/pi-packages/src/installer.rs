//! Installs, updates and removes packages from any source.

use std::fs;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use pi_config::{
    AgentDir, GitAddress, NpmAddress, NpmVersion, PackageAddress, PackageLocations,
    installed_version,
};
use pi_env::{Env, env_vars};
use pi_fs::private;
use pi_fs::staging::StagingDir;
use pi_protocol::SourceScope;

use crate::error::PackageError;
use crate::git::{DependencyInstaller, GitPackage};
use crate::inspection::{PackageInspection, inspect};
use crate::npm::{
    ExternalNpm, ModulesBuilder, NpmConfig, NpmProject, RegistryClient, ScriptPolicy, UnpackLimits,
    ignore_content, unpack,
};
use crate::progress::{InstallProgress, ProgressListener};

/// Number of concurrent update checks.
const CONCURRENT_CHECKS: usize = 4;

/// Number of concurrent repository updates.
const CONCURRENT_GIT_UPDATES: usize = 4;

#[derive(Debug, Clone)]
pub struct InstallerOptions {
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    pub env: Env,
    /// The `npmCommand` setting: an external package manager.
    pub npm_command: Option<Vec<String>>,
    /// The `httpProxy` setting.
    pub proxy: Option<String>,
    pub scripts: ScriptPolicy,
    pub progress: ProgressListener,
}

impl InstallerOptions {
    /// Creates options with defaults for everything else.
    pub fn new(agent_dir: AgentDir, cwd: PathBuf, env: Env) -> Self {
        Self {
            agent_dir,
            cwd,
            env,
            npm_command: None,
            proxy: None,
            scripts: ScriptPolicy::default(),
            progress: ProgressListener::default(),
        }
    }
}

/// A package and the scope it is configured in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredPackage {
    pub address: PackageAddress,
    pub scope: SourceScope,
}

/// An update that the registry announces.
struct NpmUpdate {
    installed: Option<String>,
    latest: String,
}

/// Installs packages into the directories shared with the TypeScript pi.
#[derive(Debug, Clone)]
pub struct PackageInstaller {
    options: InstallerOptions,
    external: Option<ExternalNpm>,
}

impl PackageInstaller {
    /// Creates an installer without accessing the file system.
    pub fn new(options: InstallerOptions) -> Self {
        let external = ExternalNpm::from_setting(options.npm_command.as_deref());
        Self { options, external }
    }

    /// Installs a package. A local package is used in place.
    pub async fn install(&self, package: &ConfiguredPackage) -> Result<(), PackageError> {
        match &package.address {
            PackageAddress::Npm(npm) => {
                self.ensure_online(&package.address)?;
                self.install_npm(std::slice::from_ref(npm), package.scope)
                    .await
            }
            PackageAddress::Git(git) => {
                self.ensure_online(&package.address)?;
                self.install_git(git, package.scope).await
            }
            PackageAddress::Local(_) => Ok(()),
        }
    }

    /// Inspects a package before it is installed. The package is fetched into a temporary directory, without its
    /// dependencies.
    pub async fn inspect(
        &self,
        package: &ConfiguredPackage,
    ) -> Result<PackageInspection, PackageError> {
        let temporary = std::env::temp_dir();
        let staging =
            StagingDir::create(&temporary, "inspection").map_err(PackageError::disk(&temporary))?;
        let scratch = staging.path().join("scratch");
        fs::create_dir(&scratch).map_err(PackageError::disk(&scratch))?;
        let dir = match &package.address {
            PackageAddress::Local(_) => self.install_path(&package.address, package.scope),
            PackageAddress::Npm(npm) => {
                self.ensure_online(&package.address)?;
                let dir = staging.path().join("package");
                let root = self.locations().npm_root(package.scope);
                let registry = self.registry(&root, package.scope).await?;
                let builder = self.builder(&registry);
                let release = builder.choose(&npm.name, npm.version.as_deref()).await?;
                let mut archive = registry.archive(&release, &|_| {}).await?;
                unpack(&npm.name, &mut archive, &dir, UnpackLimits::DEFAULT)?;
                dir
            }
            PackageAddress::Git(git) => {
                self.ensure_online(&package.address)?;
                let dir = staging.path().join("package");
                let repository = self.git_package(git, &dir, SourceScope::Temporary);
                repository.install(DependencyInstaller::None).await?;
                dir
            }
        };
        let inspecting = tokio::task::spawn_blocking(move || {
            inspect(&dir, &scratch).map(|inspection| (inspection, staging))
        });
        let (inspection, _staging) = inspecting
            .await
            .map_err(|error| PackageError::malformed("package inspection", error))??;
        Ok(inspection)
    }

    pub async fn remove(&self, package: &ConfiguredPackage) -> Result<(), PackageError> {
        match &package.address {
            PackageAddress::Npm(npm) => self.remove_npm(npm, package.scope).await,
            PackageAddress::Git(git) => {
                let install_path = self.install_path(&package.address, package.scope);
                self.git_package(git, &install_path, package.scope)
                    .remove()
                    .await
            }
            PackageAddress::Local(_) => Ok(()),
        }
    }

    /// Updates packages: npm packages that are not pinned to a version, and
    /// repositories to their ref or the tip of their branch. Does nothing when offline.
    pub async fn update(&self, packages: &[ConfiguredPackage]) -> Result<(), PackageError> {
        if self.is_offline() {
            return Ok(());
        }
        for scope in [SourceScope::User, SourceScope::Project] {
            let candidates: Vec<&NpmAddress> = packages
                .iter()
                .filter(|package| package.scope == scope)
                .filter_map(|package| match &package.address {
                    PackageAddress::Npm(npm) if !npm.is_pinned() => Some(npm),
                    PackageAddress::Npm(_) | PackageAddress::Git(_) | PackageAddress::Local(_) => {
                        None
                    }
                })
                .collect();
            let (outdated, announced): (Vec<NpmAddress>, Vec<Option<NpmUpdate>>) =
                stream::iter(candidates)
                    .map(|npm| async move {
                        // If the check fails, installing reports the error.
                        let update = self.npm_update(npm, scope).await;
                        let is_current = matches!(update, Ok(None));
                        (!is_current).then(|| (npm.clone(), update.ok().flatten()))
                    })
                    .buffered(CONCURRENT_CHECKS)
                    .filter_map(std::future::ready)
                    .unzip()
                    .await;
            if !outdated.is_empty() {
                self.install_npm(&outdated, scope).await?;
                for (npm, update) in outdated.iter().zip(announced) {
                    self.report_unchanged(npm, update, scope);
                }
            }
        }
        let repositories = packages
            .iter()
            .filter_map(|package| match &package.address {
                PackageAddress::Git(git) => Some((git, package.scope)),
                PackageAddress::Npm(_) | PackageAddress::Local(_) => None,
            });
        stream::iter(repositories)
            .map(Ok)
            .try_for_each_concurrent(CONCURRENT_GIT_UPDATES, |(git, scope)| {
                self.install_git(git, scope)
            })
            .await
    }

    /// Reports a package that an installation left at its old version, for example because a package manager used
    /// cached metadata.
    fn report_unchanged(&self, npm: &NpmAddress, update: Option<NpmUpdate>, scope: SourceScope) {
        let Some(update) = update else { return };
        let dir = self.locations().npm_root(scope).join("node_modules");
        let installed = installed_version(&dir.join(&npm.name));
        if installed.is_some() && installed == update.installed {
            let source = PackageAddress::Npm(npm.clone());
            let note = format!(
                "warning: {source} is still {}, although the registry has {}; try again in a few minutes",
                installed.unwrap_or_default(),
                update.latest
            );
            self.options.progress.report(InstallProgress::Note(note));
        }
    }

    /// Updates installed temporary packages: npm packages that are not pinned to a version, and repositories unless
    /// their ref is the commit that is checked out. A package that cannot be updated is kept. Returns whether
    /// packages may have changed.
    pub async fn refresh(&self, packages: &[PackageAddress]) -> bool {
        if self.is_offline() {
            return false;
        }
        let mut has_changed = false;
        for address in packages {
            match self.refresh_package(address).await {
                Ok(changed) => has_changed |= changed,
                Err(error) => tracing::debug!(package = %address, %error, "refresh failed"),
            }
        }
        has_changed
    }

    async fn refresh_package(&self, address: &PackageAddress) -> Result<bool, PackageError> {
        let scope = SourceScope::Temporary;
        match address {
            PackageAddress::Npm(npm) => {
                if npm.is_pinned() || self.npm_update(npm, scope).await?.is_none() {
                    return Ok(false);
                }
                self.install_npm(std::slice::from_ref(npm), scope).await?;
            }
            PackageAddress::Git(git) => {
                let install_path = self.install_path(address, scope);
                if self
                    .git_package(git, &install_path, scope)
                    .is_at_commit()
                    .await
                {
                    return Ok(false);
                }
                self.install_git(git, scope).await?;
            }
            PackageAddress::Local(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the packages that have updates. Packages whose check fails are left out.
    pub async fn outdated(&self, packages: &[ConfiguredPackage]) -> Vec<ConfiguredPackage> {
        if self.is_offline() {
            return Vec::new();
        }
        stream::iter(packages.to_vec())
            .map(|package| async move {
                let has_update = self.has_update(&package).await;
                has_update.then_some(package)
            })
            .buffered(CONCURRENT_CHECKS)
            .filter_map(std::future::ready)
            .collect()
            .await
    }

    async fn has_update(&self, package: &ConfiguredPackage) -> bool {
        let install_path = self.install_path(&package.address, package.scope);
        if package.address.is_pinned() || !install_path.exists() {
            return false;
        }
        let found = match &package.address {
            PackageAddress::Npm(npm) => {
                let update = self.npm_update(npm, package.scope).await;
                update.map(|update| update.is_some())
            }
            PackageAddress::Git(git) => {
                self.git_package(git, &install_path, package.scope)
                    .has_update()
                    .await
            }
            PackageAddress::Local(_) => Ok(false),
        };
        found.unwrap_or_else(|error| {
            tracing::debug!(package = %package.address, %error, "update check failed");
            false
        })
    }

    /// Returns the update of a package, if there is one.
    async fn npm_update(
        &self,
        npm: &NpmAddress,
        scope: SourceScope,
    ) -> Result<Option<NpmUpdate>, PackageError> {
        let root = self.locations().npm_root(scope);
        let registry = self.registry(&root, scope).await?;
        let builder = self.builder(&registry);
        let latest = builder.choose(&npm.name, npm.version.as_deref()).await?;
        let latest = latest.manifest.version;
        let installed = installed_version(&root.join("node_modules").join(&npm.name));
        let is_newer = match installed.as_deref().and_then(NpmVersion::parse) {
            Some(installed) => NpmVersion::parse(&latest).is_some_and(|latest| latest > installed),
            None => true,
        };
        Ok(is_newer.then_some(NpmUpdate { installed, latest }))
    }

    async fn install_npm(
        &self,
        sources: &[NpmAddress],
        scope: SourceScope,
    ) -> Result<(), PackageError> {
        let root = self.locations().npm_root(scope);
        self.prepare(scope)?;
        let project = NpmProject::open(&root).await?;
        if let Some(external) = &self.external {
            return external.install(&root, sources).await;
        }
        let registry = self.registry(&root, scope).await?;
        project.install(&self.builder(&registry), sources).await
    }

    async fn remove_npm(&self, npm: &NpmAddress, scope: SourceScope) -> Result<(), PackageError> {
        let root = self.locations().npm_root(scope);
        if !root.exists() {
            return Ok(());
        }
        let project = NpmProject::open(&root).await?;
        if let Some(external) = &self.external {
            return external.remove(&root, &npm.name).await;
        }
        let registry = self.registry(&root, scope).await?;
        project.remove(&self.builder(&registry), &npm.name).await
    }

    async fn install_git(&self, git: &GitAddress, scope: SourceScope) -> Result<(), PackageError> {
        let address = PackageAddress::Git(git.clone());
        let install_path = self.install_path(&address, scope);
        self.prepare(scope)?;
        if let Some(root) = self.locations().git_root(scope) {
            fs::create_dir_all(&root).map_err(PackageError::disk(&root))?;
            ignore_content(&root)?;
        }
        let package = self.git_package(git, &install_path, scope);
        if let Some(external) = &self.external {
            return package
                .install(DependencyInstaller::External(external))
                .await;
        }
        // Do not use the checkout's configuration: a repository must not control where requests and tokens go.
        let root = self.locations().npm_root(scope);
        let registry = self.registry(&root, scope).await?;
        let builder = self.builder(&registry);
        package
            .install(DependencyInstaller::Builtin(&builder))
            .await
    }

    fn git_package<'a>(
        &'a self,
        source: &'a GitAddress,
        install_path: &'a Path,
        scope: SourceScope,
    ) -> GitPackage<'a> {
        GitPackage {
            source,
            checkout_dir: install_path,
            root: self.locations().git_root(scope),
            env: &self.options.env,
            progress: &self.options.progress,
        }
    }

    fn builder<'a>(&'a self, registry: &'a RegistryClient) -> ModulesBuilder<'a> {
        ModulesBuilder {
            registry,
            progress: &self.options.progress,
            scripts: &self.options.scripts,
        }
    }

    /// Returns the registry for packages of a scope. A project's configuration applies only to its own packages,
    /// which are installed only if the project is trusted.
    async fn registry(
        &self,
        root: &Path,
        scope: SourceScope,
    ) -> Result<RegistryClient, PackageError> {
        let project = (scope == SourceScope::Project).then_some(self.options.cwd.as_path());
        let config = NpmConfig::load(root, project, &self.options.env).await?;
        let proxy = self.options.proxy.as_deref();
        Ok(RegistryClient::new(config, self.options.env.clone(), proxy))
    }

    /// Creates the private directory for temporary packages.
    fn prepare(&self, scope: SourceScope) -> Result<(), PackageError> {
        if scope != SourceScope::Temporary {
            return Ok(());
        }
        let dir = self.options.agent_dir.tmp().join("extensions");
        fs::create_dir_all(&dir).map_err(PackageError::disk(&dir))?;
        private::restrict_directory(&dir).map_err(PackageError::disk(&dir))
    }

    fn install_path(&self, address: &PackageAddress, scope: SourceScope) -> PathBuf {
        self.locations().install_path(address, scope)
    }

    fn locations(&self) -> PackageLocations<'_> {
        PackageLocations {
            agent_dir: &self.options.agent_dir,
            cwd: &self.options.cwd,
            env: &self.options.env,
        }
    }

    fn is_offline(&self) -> bool {
        self.options.env.var(env_vars::OFFLINE).is_some()
    }

    fn ensure_online(&self, address: &PackageAddress) -> Result<(), PackageError> {
        if self.is_offline() {
            return Err(PackageError::Offline {
                what: address.to_string(),
            });
        }
        Ok(())
    }
}
