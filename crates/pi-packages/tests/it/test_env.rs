//! Test environment with a home directory, a project and a registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_config::{AgentDir, PackageAddress, PackageLocations};
use pi_env::Env;
use pi_packages::{
    ConfiguredPackage, InstallProgress, InstallerOptions, PackageError, PackageInstaller,
    ProgressListener, ScriptPolicy,
};
use pi_protocol::SourceScope;
use pi_test_support::{FakeNpmRegistry, TempHome};

pub(crate) struct PackageTestEnv {
    pub(crate) home: TempHome,
    pub(crate) registry: FakeNpmRegistry,
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
    pub(crate) variables: BTreeMap<String, String>,
}

impl PackageTestEnv {
    pub(crate) fn new() -> Self {
        let home = TempHome::new();
        let registry = FakeNpmRegistry::start();
        home.write(".npmrc", format!("registry={}\n", registry.url()));
        fs::create_dir_all(home.path().join("project")).unwrap();
        let variables = BTreeMap::from([(
            "HOME".to_owned(),
            home.path().to_string_lossy().into_owned(),
        )]);
        Self {
            home,
            registry,
            notes: Arc::default(),
            variables,
        }
    }

    pub(crate) fn options(&self) -> InstallerOptions {
        let notes = Arc::clone(&self.notes);
        InstallerOptions {
            progress: ProgressListener::new(move |progress| {
                if let InstallProgress::Note(note) = progress {
                    notes.lock().unwrap().push(note);
                }
            }),
            ..InstallerOptions::new(
                AgentDir::at(self.path("agent")),
                self.path("project"),
                Env::fixed(self.variables.clone()),
            )
        }
    }

    pub(crate) fn installer(&self) -> PackageInstaller {
        PackageInstaller::new(self.options())
    }

    pub(crate) fn allowing(&self, name: &str) -> PackageInstaller {
        PackageInstaller::new(InstallerOptions {
            scripts: ScriptPolicy::allowing([name.to_owned()]),
            ..self.options()
        })
    }

    pub(crate) async fn install(&self, source: &str) -> Result<(), PackageError> {
        self.installer().install(&package(source)).await
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// Returns where a package is installed.
    pub(crate) fn installed_at(&self, package: &ConfiguredPackage) -> PathBuf {
        let options = self.options();
        let locations = PackageLocations {
            agent_dir: &options.agent_dir,
            cwd: &options.cwd,
            env: &options.env,
        };
        locations.install_path(&package.address, package.scope)
    }

    /// Reads a file in the user's npm directory.
    pub(crate) fn read(&self, path: &str) -> String {
        let path = self.path("agent/npm").join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Lists the files in the user's npm directory.
    pub(crate) fn tree(&self) -> Vec<String> {
        listing(&self.path("agent/npm"))
    }
}

pub(crate) fn package(source: &str) -> ConfiguredPackage {
    ConfiguredPackage {
        address: PackageAddress::parse(source).unwrap(),
        scope: SourceScope::User,
    }
}

/// A package named on the command line.
pub(crate) fn temporary(source: &str) -> ConfiguredPackage {
    ConfiguredPackage {
        scope: SourceScope::Temporary,
        ..package(source)
    }
}

pub(crate) fn addresses(sources: &[&str]) -> Vec<PackageAddress> {
    let sources = sources.iter();
    sources.map(|source| package(source).address).collect()
}

/// Lists the files below a directory, as relative paths.
pub(crate) fn listing(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(current) = pending.pop() {
        for entry in fs::read_dir(&current).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                pending.push(path);
            } else {
                let path = path.strip_prefix(dir).unwrap();
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}
