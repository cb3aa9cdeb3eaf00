//! Packages from git repositories, through the user's own `git`.
//!
//! A checkout is made beside its place, with its dependencies, and put there as a whole; an update makes a
//! new one from what was fetched. Nothing of a repository runs: no hooks, no submodules, no other
//! transports than those a source can name, and nobody is asked for a password.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_ai::Env;
use pi_config::GitAddress;
use serde_json::{Map, Value};

use crate::command::{self, Command};
use crate::dir_ops::{self, CopyMode, StagingDir};
use crate::error::PackageError;
use crate::npm::{Builder, ExternalNpm, Peers, Requirements, lock_place, read_manifest};
use crate::progress::{InstallProgress, ProgressListener};

/// How long a question about a repository may take.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);

/// What keeps git to itself, whatever the user's and the repository's configuration say.
const GUARDS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "advice.detachedHead=false",
];

/// Variables that would make git work on another repository, such as the one whose hook started us.
const HIDDEN: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
];

/// Who installs the dependencies of a checkout.
pub(crate) enum Dependencies<'a> {
    Ours(&'a Builder<'a>),
    External(&'a ExternalNpm),
    /// Nobody: the checkout is only looked at.
    None,
}

/// A repository, where its checkout belongs, and what to do with it.
pub(crate) struct GitPackage<'a> {
    pub(crate) source: &'a GitAddress,
    pub(crate) place: &'a Path,
    /// The directory above the place in which emptied directories are removed.
    pub(crate) root: Option<PathBuf>,
    pub(crate) env: &'a Env,
    pub(crate) progress: &'a ProgressListener,
}

impl GitPackage<'_> {
    /// Clones the repository, or brings an existing checkout up to its ref or its branch's end.
    pub(crate) async fn install(&self, dependencies: Dependencies<'_>) -> Result<(), PackageError> {
        self.check()?;
        let (parent, name) = self.parent_and_name();
        fs::create_dir_all(&parent).map_err(PackageError::disk(&parent))?;
        let lock = lock_place(&parent.join(format!(".{name}.pi-install"))).await?;
        dir_ops::remove_leftovers(&parent, &name);
        let installed = if self.place.exists() {
            self.update(&parent, &name, dependencies).await
        } else {
            self.clone_anew(&parent, &name, dependencies).await
        };
        drop(lock);
        if installed.is_err() {
            self.prune();
        }
        installed
    }

    /// Removes the checkout and the directories it leaves empty.
    pub(crate) async fn remove(&self) -> Result<(), PackageError> {
        let (parent, name) = self.parent_and_name();
        if parent.exists() {
            let lock = lock_place(&parent.join(format!(".{name}.pi-install"))).await?;
            if self.place.exists() {
                // Out of its place first, so that nobody sees half of it.
                let staging =
                    StagingDir::create(&parent, &name).map_err(PackageError::disk(&parent))?;
                let aside = staging.path().join("removed");
                fs::rename(self.place, aside).map_err(PackageError::disk(self.place))?;
            }
            remove_file(&self.marker())?;
            drop(lock);
        }
        self.prune();
        Ok(())
    }

    /// Returns whether the repository has something newer than the checkout.
    pub(crate) async fn has_update(&self) -> Result<bool, PackageError> {
        self.check()?;
        let head = self.ask(self.place, &["rev-parse", "HEAD"]).await?;
        let upstream = self.upstream(self.place).await;
        let reference = match &upstream {
            Some(branch) => format!("refs/heads/{branch}"),
            None => "HEAD".to_owned(),
        };
        let listing = self
            .ask(self.place, &["ls-remote", "origin", &reference])
            .await?;
        let remote = listing.split_whitespace().next().unwrap_or_default();
        Ok(!remote.is_empty() && remote != head.trim())
    }

    async fn clone_anew(
        &self,
        parent: &Path,
        name: &str,
        dependencies: Dependencies<'_>,
    ) -> Result<(), PackageError> {
        let staging = StagingDir::create(parent, name).map_err(PackageError::disk(parent))?;
        let checkout = staging.path().join("checkout");
        self.tell(format!("git clone {}", self.source.repository));
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
            .labeled(format!("git clone {}", self.source.repository));
        command::run(clone).await?;
        if let Some(reference) = &self.source.reference {
            self.check_out(&checkout, reference).await?;
        }
        self.finish(&staging, &checkout, dependencies).await
    }

    /// Checks out a branch, a tag or a commit; one the clone did not bring is fetched.
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
        dependencies: Dependencies<'_>,
    ) -> Result<(), PackageError> {
        self.tell(format!("git fetch {}", self.source.repository));
        let wanted = self.fetch().await?;
        let head = self.ask(self.place, &["rev-parse", "HEAD"]).await?;
        let is_unfinished = self.marker().exists() || lacks_dependencies(self.place);
        if head.trim() == wanted && !is_unfinished {
            return Ok(());
        }
        let staging = StagingDir::create(parent, name).map_err(PackageError::disk(parent))?;
        let checkout = staging.path().join("checkout");
        copy_repository(self.place, &checkout).map_err(PackageError::disk(self.place))?;
        self.run(&checkout, &["reset", "--quiet", "--hard", &wanted])
            .await?;
        self.finish(&staging, &checkout, dependencies).await
    }

    /// Fetches what the checkout should be at, and returns that commit.
    async fn fetch(&self) -> Result<String, PackageError> {
        let fetched = match &self.source.reference {
            Some(reference) => {
                self.run(self.place, &["fetch", "--quiet", "origin", reference])
                    .await?;
                "FETCH_HEAD".to_owned()
            }
            None => match self.upstream(self.place).await {
                Some(branch) => self.fetch_branch(&branch).await?,
                None => {
                    // A checkout without a branch follows the repository's own choice.
                    self.run(self.place, &["remote", "set-head", "origin", "--auto"])
                        .await
                        .ok();
                    let chosen = ["symbolic-ref", "refs/remotes/origin/HEAD"];
                    let chosen = self.ask(self.place, &chosen).await.unwrap_or_default();
                    let branch = chosen.trim().strip_prefix("refs/remotes/origin/");
                    self.fetch_branch(branch.unwrap_or("HEAD")).await?
                }
            },
        };
        let commit = format!("{fetched}^{{commit}}");
        let commit = self
            .ask(self.place, &["rev-parse", "--verify", "--quiet", &commit])
            .await?;
        Ok(commit.trim().to_owned())
    }

    async fn fetch_branch(&self, branch: &str) -> Result<String, PackageError> {
        let own = format!("refs/remotes/origin/{branch}");
        let specification = if branch == "HEAD" {
            format!("+HEAD:{own}")
        } else {
            format!("+refs/heads/{branch}:{own}")
        };
        let words = [
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "origin",
            &specification,
        ];
        self.run(self.place, &words).await?;
        Ok(own)
    }

    /// Returns the branch of the repository that the checkout follows.
    async fn upstream(&self, checkout: &Path) -> Option<String> {
        let words = ["rev-parse", "--abbrev-ref", "@{upstream}"];
        let answer = self.ask(checkout, &words).await.ok()?;
        let branch = answer.trim().strip_prefix("origin/")?;
        (!branch.is_empty() && !branch.starts_with('-')).then(|| branch.to_owned())
    }

    /// Installs the dependencies of a checkout and puts it in its place.
    async fn finish(
        &self,
        staging: &StagingDir,
        checkout: &Path,
        dependencies: Dependencies<'_>,
    ) -> Result<(), PackageError> {
        if let Some(manifest) = read_manifest(checkout) {
            match dependencies {
                Dependencies::None => {}
                Dependencies::External(npm) => {
                    self.tell("npmCommand".to_owned());
                    npm.install_dependencies(checkout).await?;
                }
                Dependencies::Ours(builder) => {
                    let is_needed = !manifest.dependencies.is_empty()
                        || !manifest.optional_dependencies.is_empty()
                        || !manifest.peer_dependencies.is_empty();
                    if is_needed {
                        let requirements = Requirements {
                            manifest,
                            existing: Some(checkout),
                            exactly: Vec::new(),
                            lock: locked_packages(checkout),
                            peers: Peers::Installed,
                        };
                        // Built apart: a checkout may hold links that lead out of it.
                        let built = staging.path().join("dependencies");
                        builder.build(requirements, &built).await?;
                        place_modules(&built, checkout).map_err(PackageError::disk(checkout))?;
                    }
                }
            }
        }
        dir_ops::replace_dir(checkout, self.place).map_err(PackageError::disk(self.place))?;
        remove_file(&self.marker())
    }

    /// Refuses what git would read as something else than a repository and a ref.
    fn check(&self) -> Result<(), PackageError> {
        let repository = &self.source.repository;
        let reference = self.source.reference.as_deref().unwrap_or_default();
        let is_transport = repository
            .split_once("::")
            .is_some_and(|(name, _)| !name.contains(['/', '@']));
        let words = [repository.as_str(), reference];
        let unsafe_word = words
            .into_iter()
            .find(|word| word.starts_with('-') || word.contains(char::is_control));
        if is_transport {
            return Err(PackageError::UnsafeGit(repository.clone()));
        }
        // A ref is one word: `a:b` and `+a` are instructions to fetch.
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

    /// Begins a command line of git in a directory.
    async fn git(&self, directory: &Path) -> Command {
        let guards = GUARDS.iter().flat_map(|guard| ["-c", guard]);
        let mut command = Command::new("git")
            .args(guards)
            .directory(directory)
            .hiding(&HIDDEN)
            .variable("GIT_TERMINAL_PROMPT", "0")
            .variable("GIT_ASKPASS", "")
            .variable("SSH_ASKPASS_REQUIRE", "never")
            .variable("GCM_INTERACTIVE", "never");
        if self.uses_plain_ssh(directory).await {
            command = command.variable("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        command
    }

    /// Returns whether git would start ssh as it comes, which then must not ask anything.
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
            .hiding(&HIDDEN)
            .within(QUESTION_LIMIT);
        command::run(question).await.is_err()
    }

    async fn run(&self, checkout: &Path, words: &[&str]) -> Result<String, PackageError> {
        let command = self.git(checkout).await.args(words);
        let label = format!("git {}", words.join(" "));
        command::run(command.labeled(label)).await
    }

    async fn ask(&self, checkout: &Path, words: &[&str]) -> Result<String, PackageError> {
        let command = self.git(checkout).await.args(words);
        let label = format!("git {}", words.join(" "));
        command::run(command.labeled(label).within(QUESTION_LIMIT)).await
    }

    fn parent_and_name(&self) -> (PathBuf, String) {
        let parent = self.place.parent().unwrap_or(self.place).to_owned();
        let name = self.place.file_name().unwrap_or_default();
        (parent, name.to_string_lossy().into_owned())
    }

    /// The file that the TypeScript pi leaves while an update is under way.
    fn marker(&self) -> PathBuf {
        let (parent, name) = self.parent_and_name();
        parent.join(format!(".{name}.pi-update-incomplete"))
    }

    /// Removes the directories above the place that are empty.
    fn prune(&self) {
        let Some(root) = &self.root else { return };
        let above = self.place.ancestors().skip(1);
        for dir in above.take_while(|dir| dir.starts_with(root) && *dir != root) {
            // The first one that holds something ends it.
            if fs::remove_dir(dir).is_err() && dir.exists() {
                return;
            }
        }
    }

    fn tell(&self, command: String) {
        self.progress.tell(InstallProgress::Running { command });
    }
}

/// Copies the repository of a checkout; its objects, which never change, are shared.
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

/// Moves what was built into a checkout, in place of what the repository had there.
fn place_modules(built: &Path, checkout: &Path) -> std::io::Result<()> {
    let modules = checkout.join("node_modules");
    match fs::symlink_metadata(&modules) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&modules)?,
        Ok(_) => fs::remove_file(&modules)?,
        Err(_) => {}
    }
    fs::rename(built.join("node_modules"), modules)
}

/// Reads the packages of a repository's lock file.
fn locked_packages(checkout: &Path) -> Map<String, Value> {
    let text = fs::read_to_string(checkout.join("package-lock.json")).unwrap_or_default();
    let lock: Value = serde_json::from_str(&text).unwrap_or_default();
    match lock.get("packages") {
        Some(Value::Object(packages)) => packages.clone(),
        _ => Map::new(),
    }
}

/// Returns whether a checkout lost dependencies it asks for.
fn lacks_dependencies(checkout: &Path) -> bool {
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
    fn git_is_asked_for_repositories_and_refs_only() {
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
                place: Path::new("/x"),
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
