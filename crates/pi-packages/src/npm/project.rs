//! The install directory: its `package.json`, its lock file, and installing and removing packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_config::{NpmAddress, acquire_lock};
use pi_fs::staging::{self, StagingDir};
use pi_fs::{LockDir, LockError, LockTiming, NewFileMode, atomic_file};
use serde_json::{Map, Value, json};

use super::build::{BuildRequirements, ModulesBuilder};
use super::manifest::NpmManifest;
use super::resolve::PeerDependencies;
use super::spec::DependencySpec;
use crate::error::PackageError;

/// Timeouts for waiting for another installation in the same directory, and for detecting one that was
/// killed.
const TIMING: LockTiming = LockTiming {
    stale: Duration::from_secs(12),
    patience: Duration::from_mins(10),
    max_delay: Duration::from_secs(1),
    renewal: Some(Duration::from_secs(4)),
};

const MODULES: &str = "node_modules";

/// Keeps installed packages out of an enclosing git repository.
const GIT_IGNORE: &str = "*\n!.gitignore\n";

/// A locked directory with `package.json` and `node_modules`.
pub(crate) struct NpmProject {
    root: PathBuf,
    _lock: LockDir,
}

impl NpmProject {
    /// Locks the directory, creating it if necessary.
    pub(crate) async fn open(root: &Path) -> Result<Self, PackageError> {
        fs::create_dir_all(root).map_err(PackageError::disk(root))?;
        ignore_content(root)?;
        let manifest = root.join("package.json");
        let text = pretty(&json!({"name": "pi-extensions", "private": true}));
        atomic_file::create(&manifest, text.as_bytes(), NewFileMode::Default)
            .map_err(PackageError::disk(&manifest))?;
        let lock = lock_install_path(&root.join(".pi-install")).await?;
        staging::remove_leftovers(root, MODULES);
        Ok(Self {
            root: root.to_owned(),
            _lock: lock,
        })
    }

    /// Installs or updates packages.
    pub(crate) async fn install(
        &self,
        builder: &ModulesBuilder<'_>,
        sources: &[NpmAddress],
    ) -> Result<(), PackageError> {
        let mut package = self.read("package.json")?;
        let mut exact_releases = Vec::new();
        for source in sources {
            let release = builder
                .choose(&source.name, source.version.as_deref())
                .await?;
            let saved = saved_spec(source.version.as_deref(), &release.manifest.version);
            let dependencies = package.entry("dependencies").or_insert_with(|| json!({}));
            if let Some(dependencies) = dependencies.as_object_mut() {
                dependencies.insert(source.name.clone(), json!(saved));
                dependencies.sort_keys();
            }
            exact_releases.push((source.name.clone(), release));
        }
        self.change(builder, package, exact_releases).await
    }

    /// Removes a package and the dependencies that only it needed.
    pub(crate) async fn remove(
        &self,
        builder: &ModulesBuilder<'_>,
        name: &str,
    ) -> Result<(), PackageError> {
        let mut package = self.read("package.json")?;
        for key in ["dependencies", "optionalDependencies", "devDependencies"] {
            if let Some(Value::Object(dependencies)) = package.get_mut(key) {
                dependencies.shift_remove(name);
            }
        }
        self.change(builder, package, Vec::new()).await
    }

    /// Builds the dependencies of `package` in a staging directory and moves them into place atomically.
    async fn change(
        &self,
        builder: &ModulesBuilder<'_>,
        package: Map<String, Value>,
        exact_releases: Vec<(String, super::Release)>,
    ) -> Result<(), PackageError> {
        let staging =
            StagingDir::create(&self.root, MODULES).map_err(PackageError::disk(&self.root))?;
        let known = self.read("package-lock.json").unwrap_or_default();
        let lock = match known.get("packages") {
            Some(Value::Object(packages)) => packages.clone(),
            _ => Map::new(),
        };
        let requirements = BuildRequirements {
            manifest: NpmManifest::from_json(package.clone()),
            existing: Some(&self.root),
            exact_releases,
            lock: lock.clone(),
            peers: PeerDependencies::Ignored,
        };
        let tree = builder.build(requirements, staging.path()).await?;
        let (new, path) = (staging.path().join(MODULES), self.root.join(MODULES));
        staging::replace_dir(&new, &path).map_err(PackageError::disk(&path))?;
        self.write("package.json", &Value::Object(package))?;
        self.write("package-lock.json", &tree.lock_file(&lock))
    }

    fn read(&self, name: &str) -> Result<Map<String, Value>, PackageError> {
        let path = self.root.join(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(PackageError::disk(&path)(error)),
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        serde_json::from_str(text)
            .map_err(|error| PackageError::malformed(path.display().to_string(), error))
    }

    fn write(&self, name: &str, value: &Value) -> Result<(), PackageError> {
        let path = self.root.join(name);
        atomic_file::write(&path, pretty(value).as_bytes(), NewFileMode::Default)
            .map_err(PackageError::disk(&path))
    }
}

/// Locks an install path, waiting for other processes.
pub(crate) async fn lock_install_path(path: &Path) -> Result<LockDir, PackageError> {
    let dir = path.parent().unwrap_or(path);
    acquire_lock(path, TIMING)
        .await
        .map_err(|error| match error {
            LockError::Held => PackageError::Busy(dir.to_owned()),
            LockError::Io(error) => PackageError::disk(dir)(error),
        })
}

/// Creates a `.gitignore` that ignores the contents of a directory.
pub(crate) fn ignore_content(dir: &Path) -> Result<(), PackageError> {
    let path = dir.join(".gitignore");
    atomic_file::create(&path, GIT_IGNORE.as_bytes(), NewFileMode::Default)
        .map(drop)
        .map_err(PackageError::disk(&path))
}

fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("{text}\n")
}

/// Returns the version range to save in `package.json`, as npm does: the requested range,
/// or a caret range.
fn saved_spec(requested: Option<&str>, version: &str) -> String {
    match requested {
        Some(requested)
            if matches!(DependencySpec::parse(requested), DependencySpec::Range(_))
                && pi_config::NpmVersion::parse(requested).is_none()
                && requested.trim() != "*" =>
        {
            requested.to_owned()
        }
        _ => format!("^{version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_range_matches_npm() {
        for (requested, expected) in [
            (None, "^1.2.3"),
            (Some("latest"), "^1.2.3"),
            (Some("1.2.3"), "^1.2.3"),
            (Some("*"), "^1.2.3"),
            (Some("~1.2"), "~1.2"),
            (Some("1.x || 2"), "1.x || 2"),
        ] {
            assert_eq!(saved_spec(requested, "1.2.3"), expected, "{requested:?}");
        }
    }
}
