//! Packages from git repositories, using the user's `git`.
//!
//! A checkout is built in a staging directory, including its dependencies, and moved into place atomically; an
//! update builds a new checkout from the fetched commits. No code of a repository runs: no hooks, no submodules,
//! no other transports than those a source can name, and no password prompts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_config::GitAddress;
use pi_env::Env;
use pi_fs::staging::{self, StagingDir};
use serde_json::{Map, Value};

use crate::command::{self, Command};
use crate::dir_ops::{self, CopyMode};
use crate::error::PackageError;
use crate::npm::{
    BuildRequirements, ExternalNpm, ModulesBuilder, PeerDependencies, lock_install_path,
    read_manifest,
};
use crate::progress::{InstallProgress, ProgressListener};

/// Timeout of a query command.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of the commands for packages.
const PACKAGE_SETTINGS: [&str; 4] = ["-c", "fetch.recurseSubmodules=false", "-c", "gc.auto=0"];

/// How the dependencies of a checkout are installed.
pub(crate) enum DependencyInstaller<'a> {
    Builtin(&'a ModulesBuilder<'a>),
    External(&'a ExternalNpm),
    /// Not installed: the checkout is only inspected.
    None,
}

/// A git package and the location of its checkout.
pub(crate) struct GitPackage<'a> {
    pub(crate) source: &'a GitAddress,
    pub(crate) checkout_dir: &'a Path,
    /// Empty directories are pruned up to this ancestor of the checkout.
    pub(crate) root: Option<PathBuf>,
    pub(crate) env: &'a Env,
    pub(crate) progress: &'a ProgressListener,
}

impl GitPackage<'_> {
    /// Clones the repository, or updates an existing checkout to its ref or the tip of its branch.
    pub(crate) async fn install(
        &self,
        dependencies: DependencyInstaller<'_>,
    ) -> Result<(), PackageError> {
        self.check()?;
        let (parent, name) = self.parent_and_name();
        fs::create_dir_all(&parent).map_err(PackageError::disk(&parent))?;
        let lock = lock_install_path(&parent.join(format!(".{name}.pi-install"))).await?;
        staging::remove_leftovers(&parent, &name);
        let installed = if self.checkout_dir.exists() {
            self.update(&parent, &name, dependencies).await
        } else {
            self.clone_repository(&parent, &name, dependencies).await
        };
        drop(lock);
        if installed.is_err() {
            self.prune();
        }
        installed
    }

    /// Removes the checkout and parent directories that become empty.
    pub(crate) async fn remove(&self) -> Result<(), PackageError> {
        let (parent, name) = self.parent_and_name();
        if parent.exists() {
            let lock = lock_install_path(&parent.join(format!(".{name}.pi-install"))).await?;
            if self.checkout_dir.exists() {
                // Move it away first, so the removal is atomic for readers.
                let staging =
                    StagingDir::create(&parent, &name).map_err(PackageError::disk(&parent))?;
                let aside = staging.path().join("removed");
                fs::rename(self.checkout_dir, aside)
                    .map_err(PackageError::disk(self.checkout_dir))?;
            }
            remove_file(&self.marker())?;
            drop(lock);
        }
        self.prune();
        Ok(())
    }

    /// Returns whether the repository has newer commits than the checkout.
    pub(crate) async fn has_update(&self) -> Result<bool, PackageError> {
        self.check()?;
        let head = self
            .query(self.checkout_dir, &["rev-parse", "HEAD"])
            .await?;
        let upstream = self.upstream(self.checkout_dir).await;
        let reference = match &upstream {
            Some(branch) => format!("refs/heads/{branch}"),
            None => "HEAD".to_owned(),
        };
        let listing = self
            .query(self.checkout_dir, &["ls-remote", "origin", &reference])
            .await?;
        let remote = listing.split_whitespace().next().unwrap_or_default();
        Ok(!remote.is_empty() && remote != head.trim())
    }

    /// Returns whether the ref is a commit hash, at least seven digits of it, and checked out.
    pub(crate) async fn is_at_commit(&self) -> bool {
        let Some(reference) = self.source.reference.as_deref() else {
            return false;
        };
        let is_hash = (7..=64).contains(&reference.len())
            && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            return false;
        }
        let head = self.query(self.checkout_dir, &["rev-parse", "HEAD"]).await;
        head.is_ok_and(|head| head.starts_with(&reference.to_ascii_lowercase()))
    }

    async fn clone_repository(
        &self,
        parent: &Path,
        name: &str,
        dependencies: DependencyInstaller<'_>,
    ) -> Result<(), PackageError> {
        let staging = StagingDir::create(parent, name).map_err(PackageError::disk(parent))?;
        let checkout = staging.path().join("checkout");
        self.report_command(format!("git clone {}", self.source.repository));
        let clone = self
            .git(parent)
            .await
            .args([
                "clone",
                "--no-recurse-submodules",
                "--template=",
                "--quiet",
                "--",
            ])
            .args([self.source.repository.as_ref(), checkout.as_os_str()])
            .label(format!("git clone {}", self.source.repository));
        command::run(clone).await?;
        if let Some(reference) = &self.source.reference {
            self.check_out(&checkout, reference).await?;
        }
        self.finish(&staging, &checkout, dependencies).await
    }

    /// Checks out a branch, tag or commit, fetching it if the clone does not contain it.
    async fn check_out(&self, checkout: &Path, reference: &str) -> Result<(), PackageError> {
        let direct = self
            .run(checkout, &["checkout", "--quiet", reference, "--"])
            .await;
        if direct.is_ok() {
            return Ok(());
        }
        self.run(
            checkout,
            &["fetch", "--quiet", "--no-tags", "origin", reference],
        )
        .await?;
        self.run(checkout, &["checkout", "--quiet", "--detach", "FETCH_HEAD"])
            .await
            .map(drop)
    }

    async fn update(
        &self,
        parent: &Path,
        name: &str,
        dependencies: DependencyInstaller<'_>,
    ) -> Result<(), PackageError> {
        self.report_command(format!("git fetch {}", self.source.repository));
        let target = self.fetch().await?;
        let head = self
            .query(self.checkout_dir, &["rev-parse", "HEAD"])
            .await?;
        let is_unfinished = self.marker().exists() || is_missing_dependencies(self.checkout_dir);
        if head.trim() == target && !is_unfinished {
            return Ok(());
        }
        let staging = StagingDir::create(parent, name).map_err(PackageError::disk(parent))?;
        let checkout = staging.path().join("checkout");
        copy_repository(self.checkout_dir, &checkout)
            .map_err(PackageError::disk(self.checkout_dir))?;
        self.run(&checkout, &["reset", "--quiet", "--hard", &target])
            .await?;
        self.finish(&staging, &checkout, dependencies).await
    }

    /// Fetches the commit that the checkout should be at and returns it.
    async fn fetch(&self) -> Result<String, PackageError> {
        let fetched = match &self.source.reference {
            Some(reference) => {
                self.run(
                    self.checkout_dir,
                    &["fetch", "--quiet", "origin", reference],
                )
                .await?;
                "FETCH_HEAD".to_owned()
            }
            None => match self.upstream(self.checkout_dir).await {
                Some(branch) => self.fetch_branch(&branch).await?,
                None => {
                    // A checkout without a branch follows the repository's default branch.
                    self.run(
                        self.checkout_dir,
                        &["remote", "set-head", "origin", "--auto"],
                    )
                    .await
                    .ok();
                    let chosen = ["symbolic-ref", "refs/remotes/origin/HEAD"];
                    let chosen = self
                        .query(self.checkout_dir, &chosen)
                        .await
                        .unwrap_or_default();
                    let branch = chosen.trim().strip_prefix("refs/remotes/origin/");
                    self.fetch_branch(branch.unwrap_or("HEAD")).await?
                }
            },
        };
        let commit = format!("{fetched}^{{commit}}");
        let commit = self
            .query(
                self.checkout_dir,
                &["rev-parse", "--verify", "--quiet", &commit],
            )
            .await?;
        Ok(commit.trim().to_owned())
    }

    async fn fetch_branch(&self, branch: &str) -> Result<String, PackageError> {
        let tracking_ref = format!("refs/remotes/origin/{branch}");
        let specification = if branch == "HEAD" {
            format!("+HEAD:{tracking_ref}")
        } else {
            format!("+refs/heads/{branch}:{tracking_ref}")
        };
        let args = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "origin",
            &specification,
        ];
        self.run(self.checkout_dir, &args).await?;
        Ok(tracking_ref)
    }

    /// Returns the upstream branch of the checkout.
    async fn upstream(&self, checkout: &Path) -> Option<String> {
        let args = ["rev-parse", "--abbrev-ref", "@{upstream}"];
        let output = self.query(checkout, &args).await.ok()?;
        let branch = output.trim().strip_prefix("origin/")?;
        (!branch.is_empty() && !branch.starts_with('-')).then(|| branch.to_owned())
    }

    /// Installs the dependencies of a checkout and moves it into place.
    async fn finish(
        &self,
        staging: &StagingDir,
        checkout: &Path,
        dependencies: DependencyInstaller<'_>,
    ) -> Result<(), PackageError> {
        if let Some(manifest) = read_manifest(checkout) {
            match dependencies {
                DependencyInstaller::None => {}
                DependencyInstaller::External(npm) => {
                    self.report_command("npmCommand".to_owned());
                    npm.install_dependencies(checkout).await?;
                }
                DependencyInstaller::Builtin(builder) => {
                    let is_needed = !manifest.dependencies.is_empty()
                        || !manifest.optional_dependencies.is_empty()
                        || !manifest.peer_dependencies.is_empty();
                    if is_needed {
                        let requirements = BuildRequirements {
                            manifest,
                            existing: Some(checkout),
                            exact_releases: Vec::new(),
                            lock: locked_packages(checkout),
                            peers: PeerDependencies::Installed,
                        };
                        // Build outside of the checkout, which may contain symlinks that point out of it.
                        let built = staging.path().join("dependencies");
                        builder.build(requirements, &built).await?;
                        place_modules(&built, checkout).map_err(PackageError::disk(checkout))?;
                    }
                }
            }
        }
        staging::replace_dir(checkout, self.checkout_dir)
            .map_err(PackageError::disk(self.checkout_dir))?;
        remove_file(&self.marker())
    }

    /// Rejects values that git could interpret as something other than a repository and a ref.
    fn check(&self) -> Result<(), PackageError> {
        let repository = &self.source.repository;
        let reference = self.source.reference.as_deref().unwrap_or_default();
        let is_transport = repository
            .split_once("::")
            .is_some_and(|(name, _)| !name.contains(['/', '@']));
        let args = [repository.as_str(), reference];
        let unsafe_word = args
            .into_iter()
            .find(|word| word.starts_with('-') || word.contains(char::is_control));
        if is_transport {
            return Err(PackageError::UnsafeGit(repository.clone()));
        }
        // Only a plain ref is allowed: `a:b` and `+a` are refspecs.
        if reference.contains([':', ' ', '~', '^', '?', '*', '[', '\\'])
            || reference.starts_with('+')
            || reference.contains("..")
            || reference.contains("@{")
        {
            return Err(PackageError::UnsafeGit(reference.to_owned()));
        }
        match unsafe_word {
            Some(word) => Err(PackageError::UnsafeGit(word.to_owned())),
            None => Ok(()),
        }
    }

    /// Creates a git command in a directory.
    async fn git(&self, directory: &Path) -> Command {
        let mut command = Command::new("git")
            .args(pi_git::options())
            .args(PACKAGE_SETTINGS)
            .directory(directory)
            .without_variables(&pi_git::REPOSITORY_VARIABLES)
            .variable("GIT_TERMINAL_PROMPT", "0")
            .variable("GIT_ASKPASS", "")
            .variable("SSH_ASKPASS_REQUIRE", "never")
            .variable("GCM_INTERACTIVE", "never");
        if self.uses_plain_ssh(directory).await {
            command = command.variable("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        command
    }

    /// Returns whether git would use the default ssh command, for which prompts must be disabled.
    async fn uses_plain_ssh(&self, directory: &Path) -> bool {
        let repository = &self.source.repository;
        if !repository.starts_with("ssh://") && !repository.starts_with("git@") {
            return false;
        }
        let is_set = |name: &str| self.env.var(name).is_some();
        if is_set("GIT_SSH_COMMAND") || is_set("GIT_SSH") {
            return false;
        }
        let question = Command::new("git")
            .args(["config", "--get", "core.sshCommand"])
            .directory(directory)
            .without_variables(&pi_git::REPOSITORY_VARIABLES)
            .timeout(QUERY_TIMEOUT);
        command::run(question).await.is_err()
    }

    async fn run(&self, checkout: &Path, args: &[&str]) -> Result<String, PackageError> {
        let command = self.git(checkout).await.args(args);
        let label = format!("git {}", args.join(" "));
        command::run(command.label(label)).await
    }

    async fn query(&self, checkout: &Path, args: &[&str]) -> Result<String, PackageError> {
        let command = self.git(checkout).await.args(args);
        let label = format!("git {}", args.join(" "));
        command::run(command.label(label).timeout(QUERY_TIMEOUT)).await
    }

    fn parent_and_name(&self) -> (PathBuf, String) {
        let parent = self
            .checkout_dir
            .parent()
            .unwrap_or(self.checkout_dir)
            .to_owned();
        let name = self.checkout_dir.file_name().unwrap_or_default();
        (parent, name.to_string_lossy().into_owned())
    }

    /// The marker file that the TypeScript pi creates during an update.
    fn marker(&self) -> PathBuf {
        let (parent, name) = self.parent_and_name();
        parent.join(format!(".{name}.pi-update-incomplete"))
    }

    /// Removes empty parent directories.
    fn prune(&self) {
        let Some(root) = &self.root else { return };
        let above = self.checkout_dir.ancestors().skip(1);
        for dir in above.take_while(|dir| dir.starts_with(root) && *dir != root) {
            // Fails at the first directory that is not empty.
            if fs::remove_dir(dir).is_err() && dir.exists() {
                return;
            }
        }
    }

    fn report_command(&self, command: String) {
        self.progress.report(InstallProgress::Running { command });
    }
}

/// Copies the repository of a checkout; objects are immutable and hard-linked.
fn copy_repository(from: &Path, to: &Path) -> std::io::Result<()> {
    let (from, to) = (from.join(".git"), to.join(".git"));
    dir_ops::copy_dir(&from, &to, CopyMode::Copy, &["objects"])?;
    dir_ops::copy_dir(
        &from.join("objects"),
        &to.join("objects"),
        CopyMode::HardLink,
        &[],
    )
}

/// Moves the built `node_modules` into a checkout, replacing the repository's own.
fn place_modules(built: &Path, checkout: &Path) -> std::io::Result<()> {
    let modules = checkout.join("node_modules");
    match fs::symlink_metadata(&modules) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&modules)?,
        Ok(_) => fs::remove_file(&modules)?,
        Err(_) => {}
    }
    fs::rename(built.join("node_modules"), modules)
}

/// Reads the packages from a repository's lock file.
fn locked_packages(checkout: &Path) -> Map<String, Value> {
    let text = fs::read_to_string(checkout.join("package-lock.json")).unwrap_or_default();
    let lock: Value = serde_json::from_str(&text).unwrap_or_default();
    match lock.get("packages") {
        Some(Value::Object(packages)) => packages.clone(),
        _ => Map::new(),
    }
}

/// Returns whether a checkout declares dependencies that are not installed.
fn is_missing_dependencies(checkout: &Path) -> bool {
    let modules = checkout.join("node_modules");
    read_manifest(checkout).is_some_and(|manifest| {
        let mut names = manifest.dependencies.keys();
        names.any(|name| !modules.join(name).exists())
    })
}

fn remove_file(path: &Path) -> Result<(), PackageError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(PackageError::disk(path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_repositories_and_refs_are_accepted() {
        let env = Env::fixed([("HOME", "/nowhere")]);
        let progress = ProgressListener::default();
        let check = |repository: &str, reference: Option<&str>| {
            let source = GitAddress {
                repository: repository.to_owned(),
                host: "h.x".to_owned(),
                path: "o/r".to_owned(),
                reference: reference.map(str::to_owned),
            };
            let package = GitPackage {
                source: &source,
                checkout_dir: Path::new("/x"),
                root: None,
                env: &env,
                progress: &progress,
            };
            package.check().is_ok()
        };
        for (repository, reference, expected) in [
            ("https://h.x/o/r", None, true),
            ("ssh://git@h.x:22/o/r", Some("v1.2"), true),
            ("git@h.x:o/r", Some("feature/a-b"), true),
            ("https://[::1]:8080/o/r", None, true),
            ("https://h.x/o/r", Some("0123456789abcdef"), true),
            ("ext::sh -c evil", None, false),
            ("fd::17", None, false),
            ("--upload-pack=evil", None, false),
            ("-u", None, false),
            ("https://h.x/o/r", Some("--upload-pack=evil"), false),
            ("https://h.x/o/r", Some("+a:b"), false),
            ("https://h.x/o/r", Some("a:refs/heads/main"), false),
            ("https://h.x/o/r", Some("a..b"), false),
            ("https://h.x/o/r", Some("@{-1}"), false),
            ("https://h.x/o/r", Some("a b"), false),
        ] {
            assert_eq!(
                check(repository, reference),
                expected,
                "{repository} {reference:?}"
            );
        }
    }
}
