//! The external package manager set with `npmCommand`.
//!
//! It runs directly in the install directory, as in the TypeScript pi, without staging.

use std::path::Path;

use pi_config::NpmAddress;

use crate::command::{self, Command};
use crate::error::PackageError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExternalNpm {
    words: Vec<String>,
}

/// The command-line options of a package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackageManager {
    Npm,
    Pnpm,
    Bun,
}

impl ExternalNpm {
    /// Parses the setting; `None` if it is empty.
    pub(crate) fn from_setting(setting: Option<&[String]>) -> Option<Self> {
        let words = setting?.to_vec();
        words
            .first()
            .is_some_and(|program| !program.is_empty())
            .then_some(Self { words })
    }

    fn dialect(&self) -> PackageManager {
        // `mise exec -- pnpm` is pnpm.
        let separator = self.words.iter().rposition(|word| word == "--");
        let program = match separator {
            Some(position) => self.words.get(position + 1),
            None => self.words.first(),
        };
        let stem = program.map(|program| Path::new(program).file_stem().unwrap_or_default());
        match stem.and_then(|stem| stem.to_str()) {
            Some("bun") => PackageManager::Bun,
            Some("pnpm") => PackageManager::Pnpm,
            _ => PackageManager::Npm,
        }
    }

    /// Installs packages into a directory, without peer dependencies, which pi provides itself.
    pub(crate) async fn install(
        &self,
        root: &Path,
        sources: &[NpmAddress],
    ) -> Result<(), PackageError> {
        self.run(self.install_words(root, sources), None).await
    }

    fn install_words(&self, root: &Path, sources: &[NpmAddress]) -> Vec<String> {
        let root = root.to_string_lossy().into_owned();
        let mut words = vec!["install".to_owned()];
        words.extend(sources.iter().map(|source| match &source.version {
            Some(version) => format!("{}@{version}", source.name),
            None => source.name.clone(),
        }));
        let options: Vec<&str> = match self.dialect() {
            PackageManager::Bun => vec!["--cwd", &root, "--omit=peer"],
            PackageManager::Pnpm => vec![
                "--prefix",
                &root,
                "--config.auto-install-peers=false",
                "--config.strict-peer-dependencies=false",
                "--config.strict-dep-builds=false",
            ],
            PackageManager::Npm => vec!["--prefix", &root, "--legacy-peer-deps"],
        };
        words.extend(options.into_iter().map(str::to_owned));
        words
    }

    /// Removes a package from a directory.
    pub(crate) async fn remove(&self, root: &Path, name: &str) -> Result<(), PackageError> {
        let dir = root.to_string_lossy();
        let words: Vec<&str> = match self.dialect() {
            PackageManager::Bun => vec!["uninstall", name, "--cwd", &dir],
            PackageManager::Pnpm => vec!["uninstall", name, "--prefix", &dir],
            PackageManager::Npm => vec!["uninstall", name, "--prefix", &dir, "--legacy-peer-deps"],
        };
        let words = words.into_iter().map(str::to_owned).collect();
        self.run(words, None).await
    }

    /// Installs the dependencies of a directory's `package.json`.
    pub(crate) async fn install_dependencies(&self, dir: &Path) -> Result<(), PackageError> {
        self.run(vec!["install".to_owned()], Some(dir)).await
    }

    async fn run(&self, words: Vec<String>, dir: Option<&Path>) -> Result<(), PackageError> {
        let mut own = self.words.iter();
        let program = own.next().cloned().unwrap_or_default();
        let mut command = Command::new(program).args(own).args(words);
        if let Some(dir) = dir {
            command = command.directory(dir);
        }
        command::run(command).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn words(command: &[&str]) -> String {
        let setting: Vec<String> = command.iter().map(ToString::to_string).collect();
        let external = ExternalNpm::from_setting(Some(&setting)).unwrap();
        let source = |name: &str, version: Option<&str>| NpmAddress {
            name: name.to_owned(),
            version: version.map(str::to_owned),
        };
        let sources = [source("a", None), source("@s/b", Some("^1"))];
        external.install_words(Path::new("/r"), &sources).join(" ")
    }

    #[test]
    fn command_line_per_package_manager() {
        assert_eq!(
            words(&["npm"]),
            "install a @s/b@^1 --prefix /r --legacy-peer-deps"
        );
        assert_eq!(words(&["bun"]), "install a @s/b@^1 --cwd /r --omit=peer");
        assert!(words(&["mise", "exec", "node@20", "--", "pnpm"]).contains("auto-install-peers"));
        assert_eq!(ExternalNpm::from_setting(Some(&[])), None);
        assert_eq!(ExternalNpm::from_setting(None), None);
    }
}
