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

/// Options of npm. Its audit advice would install peer dependencies.
const NPM_OPTIONS: [&str; 3] = ["--legacy-peer-deps", "--no-audit", "--no-fund"];

const PNPM_OPTIONS: [&str; 3] = [
    "--config.auto-install-peers=false",
    "--config.strict-peer-dependencies=false",
    "--config.strict-dep-builds=false",
];

impl PackageManager {
    fn from_program(program: &str) -> Option<Self> {
        let stem = Path::new(program).file_stem()?.to_str()?;
        match stem {
            "npm" => Some(Self::Npm),
            "pnpm" => Some(Self::Pnpm),
            "bun" => Some(Self::Bun),
            _ => None,
        }
    }
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
        // `mise exec -- pnpm` and `corepack pnpm` are pnpm.
        let separator = self.words.iter().rposition(|word| word == "--");
        let named = match separator {
            Some(position) => self
                .words
                .get(position + 1)
                .and_then(|program| PackageManager::from_program(program)),
            None => self
                .words
                .iter()
                .find_map(|word| PackageManager::from_program(word)),
        };
        named.unwrap_or(PackageManager::Npm)
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
        let root = real_path(root);
        let mut words = vec!["install".to_owned()];
        words.extend(sources.iter().map(|source| match &source.version {
            Some(version) => format!("{}@{version}", source.name),
            None => source.name.clone(),
        }));
        let options: Vec<&str> = match self.dialect() {
            PackageManager::Bun => vec!["--cwd", &root, "--omit=peer"],
            PackageManager::Pnpm => [&["--prefix", &root], &PNPM_OPTIONS[..]].concat(),
            PackageManager::Npm => [&["--prefix", &root], &NPM_OPTIONS[..]].concat(),
        };
        words.extend(options.into_iter().map(str::to_owned));
        words
    }

    /// Removes a package from a directory.
    pub(crate) async fn remove(&self, root: &Path, name: &str) -> Result<(), PackageError> {
        let dir = real_path(root);
        let words: Vec<&str> = match self.dialect() {
            PackageManager::Bun => vec!["uninstall", name, "--cwd", &dir],
            PackageManager::Pnpm => vec!["uninstall", name, "--prefix", &dir],
            PackageManager::Npm => {
                [&["uninstall", name, "--prefix", &dir], &NPM_OPTIONS[..]].concat()
            }
        };
        let words = words.into_iter().map(str::to_owned).collect();
        self.run(words, None).await
    }

    /// Installs the dependencies of a directory's `package.json`, without those for development and peers.
    pub(crate) async fn install_dependencies(&self, dir: &Path) -> Result<(), PackageError> {
        self.run(self.dependency_words(), Some(dir)).await
    }

    fn dependency_words(&self) -> Vec<String> {
        let words: Vec<&str> = match self.dialect() {
            PackageManager::Bun => vec!["install", "--omit=dev", "--omit=peer"],
            PackageManager::Pnpm => [&["install", "--prod"], &PNPM_OPTIONS[..]].concat(),
            PackageManager::Npm => [&["install", "--omit=dev"], &NPM_OPTIONS[..]].concat(),
        };
        words.into_iter().map(str::to_owned).collect()
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

/// npm writes incorrect paths into its lock file if the directory is reached through a symbolic link.
fn real_path(root: &Path) -> String {
    let real = root.canonicalize();
    let root = real.as_deref().unwrap_or(root);
    root.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn external(command: &[&str]) -> ExternalNpm {
        let setting: Vec<String> = command.iter().map(ToString::to_string).collect();
        ExternalNpm::from_setting(Some(&setting)).unwrap()
    }

    fn words(command: &[&str]) -> String {
        let source = |name: &str, version: Option<&str>| NpmAddress {
            name: name.to_owned(),
            version: version.map(str::to_owned),
        };
        let sources = [source("a", None), source("@s/b", Some("^1"))];
        external(command)
            .install_words(Path::new("/r"), &sources)
            .join(" ")
    }

    #[test]
    fn command_line_per_package_manager() {
        assert_eq!(
            words(&["npm"]),
            "install a @s/b@^1 --prefix /r --legacy-peer-deps --no-audit --no-fund"
        );
        assert_eq!(words(&["bun"]), "install a @s/b@^1 --cwd /r --omit=peer");
        for wrapped in [
            &["mise", "exec", "node@20", "--", "pnpm"][..],
            &["corepack", "pnpm"],
        ] {
            assert!(words(wrapped).contains("auto-install-peers"), "{wrapped:?}");
        }
        for (command, expected) in [
            (
                "npm",
                "install --omit=dev --legacy-peer-deps --no-audit --no-fund",
            ),
            ("bun", "install --omit=dev --omit=peer"),
        ] {
            assert_eq!(external(&[command]).dependency_words().join(" "), expected);
        }
        assert_eq!(ExternalNpm::from_setting(Some(&[])), None);
        assert_eq!(ExternalNpm::from_setting(None), None);
    }
}
