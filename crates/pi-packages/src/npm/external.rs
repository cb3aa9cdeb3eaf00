//! The user's own package manager, where the setting `npmCommand` names one.
//!
//! It works in the directory itself, as it does for the TypeScript pi; what it does there is its own matter.

use std::path::Path;

use pi_config::NpmAddress;

use crate::command::{self, Command};
use crate::error::PackageError;

/// A command that installs packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExternalNpm {
    words: Vec<String>,
}

/// Which options a package manager understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Npm,
    Pnpm,
    Bun,
}

impl ExternalNpm {
    /// Reads the setting; an empty one is none.
    pub(crate) fn from_setting(setting: Option<&[String]>) -> Option<Self> {
        let words = setting?.to_vec();
        words
            .first()
            .is_some_and(|program| !program.is_empty())
            .then_some(Self { words })
    }

    fn dialect(&self) -> Dialect {
        // `mise exec -- pnpm` is pnpm.
        let separator = self.words.iter().rposition(|word| word == "--");
        let program = match separator {
            Some(position) => self.words.get(position + 1),
            None => self.words.first(),
        };
        let stem = program.map(|program| Path::new(program).file_stem().unwrap_or_default());
        match stem.and_then(|stem| stem.to_str()) {
            Some("bun") => Dialect::Bun,
            Some("pnpm") => Dialect::Pnpm,
            _ => Dialect::Npm,
        }
    }

    /// Installs packages into a directory. What pi gives to extensions is not installed beside them.
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
            Dialect::Bun => vec!["--cwd", &root, "--omit=peer"],
            Dialect::Pnpm => vec![
                "--prefix",
                &root,
                "--config.auto-install-peers=false",
                "--config.strict-peer-dependencies=false",
                "--config.strict-dep-builds=false",
            ],
            Dialect::Npm => vec!["--prefix", &root, "--legacy-peer-deps"],
        };
        words.extend(options.into_iter().map(str::to_owned));
        words
    }

    /// Removes a package from a directory.
    pub(crate) async fn remove(&self, root: &Path, name: &str) -> Result<(), PackageError> {
        let dir = root.to_string_lossy();
        let words: Vec<&str> = match self.dialect() {
            Dialect::Bun => vec!["uninstall", name, "--cwd", &dir],
            Dialect::Pnpm => vec!["uninstall", name, "--prefix", &dir],
            Dialect::Npm => vec!["uninstall", name, "--prefix", &dir, "--legacy-peer-deps"],
        };
        let words = words.into_iter().map(str::to_owned).collect();
        self.run(words, None).await
    }

    /// Installs what the `package.json` of a directory asks for.
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
    fn every_package_manager_in_its_own_words() {
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
