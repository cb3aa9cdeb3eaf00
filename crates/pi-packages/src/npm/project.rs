//! The directory packages are installed into: its `package.json`, its lock, and changes to what it holds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_config::atomic_file::{self, NewFileMode};
use pi_config::{LockDir, LockError, LockTiming, NpmAddress};
use serde_json::{Map, Value, json};

use super::build::{Builder, Requirements};
use super::manifest::Manifest;
use super::resolve::Peers;
use super::spec::Spec;
use crate::dir_ops::{self, StagingDir};
use crate::error::PackageError;

/// How long to wait for another installation in the same directory, and how soon one that was killed is
/// believed to be gone.
const TIMING: LockTiming = LockTiming {
    stale: Duration::from_secs(12),
    patience: Duration::from_mins(10),
    renewal: Duration::from_secs(4),
};

/// Where packages lie in a directory.
const MODULES: &str = "node_modules";

/// Keeps a repository around the directory from taking up what is installed.
const GIT_IGNORE: &str = "*\n!.gitignore\n";

/// A directory with `package.json` and `node_modules`, locked for this program.
pub(crate) struct NpmProject {
    root: PathBuf,
    _lock: LockDir,
}

impl NpmProject {
    /// Opens the directory, creating it if need be, once nobody else works in it.
    pub(crate) async fn open(root: &Path) -> Result<Self, PackageError> {
        fs::create_dir_all(root).map_err(PackageError::disk(root))?;
        ignore_content(root)?;
        let manifest = root.join("package.json");
        let text = pretty(&json!({"name": "pi-extensions", "private": true}));
        atomic_file::create(&manifest, text.as_bytes(), NewFileMode::Default)
            .map_err(PackageError::disk(&manifest))?;
        let lock = lock_place(&root.join(".pi-install")).await?;
        dir_ops::remove_leftovers(root, MODULES);
        Ok(Self {
            root: root.to_owned(),
            _lock: lock,
        })
    }

    /// Installs packages, or brings them up to what their sources name.
    pub(crate) async fn install(
        &self,
        builder: &Builder<'_>,
        sources: &[NpmAddress],
    ) -> Result<(), PackageError> {
        let mut package = self.read("package.json")?;
        let mut exactly = Vec::new();
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
            exactly.push((source.name.clone(), release));
        }
        self.change(builder, package, exactly).await
    }

    /// Removes a package and what only it needed.
    pub(crate) async fn remove(
        &self,
        builder: &Builder<'_>,
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

    /// Builds what `package` asks for beside the directory, and puts it in place as a whole.
    async fn change(
        &self,
        builder: &Builder<'_>,
        package: Map<String, Value>,
        exactly: Vec<(String, super::Release)>,
    ) -> Result<(), PackageError> {
        let staging =
            StagingDir::create(&self.root, MODULES).map_err(PackageError::disk(&self.root))?;
        let known = self.read("package-lock.json").unwrap_or_default();
        let lock = match known.get("packages") {
            Some(Value::Object(packages)) => packages.clone(),
            _ => Map::new(),
        };
        let requirements = Requirements {
            manifest: Manifest::from_json(package.clone()),
            existing: Some(&self.root),
            exactly,
            lock: lock.clone(),
            peers: Peers::Ignored,
        };
        let tree = builder.build(requirements, staging.path()).await?;
        let (new, place) = (staging.path().join(MODULES), self.root.join(MODULES));
        dir_ops::replace_dir(&new, &place).map_err(PackageError::disk(&place))?;
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

/// Waits until nobody else works at a place.
pub(crate) async fn lock_place(place: &Path) -> Result<LockDir, PackageError> {
    let dir = place.parent().unwrap_or(place);
    LockDir::acquire(place, TIMING)
        .await
        .map_err(|error| match error {
            LockError::Held => PackageError::Busy(dir.to_owned()),
            LockError::Io(error) => PackageError::disk(dir)(error),
        })
}

/// Keeps git from seeing what lies in a directory.
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

/// What `package.json` says about an installed package, as npm writes it: the range that was asked for,
/// or anything compatible.
fn saved_spec(asked: Option<&str>, version: &str) -> String {
    match asked {
        Some(asked)
            if matches!(Spec::parse(asked), Spec::Range(_))
                && pi_config::NpmVersion::parse(asked).is_none()
                && asked.trim() != "*" =>
        {
            asked.to_owned()
        }
        _ => format!("^{version}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_says_what_npm_would() {
        for (asked, expected) in [
            (None, "^1.2.3"),
            (Some("latest"), "^1.2.3"),
            (Some("1.2.3"), "^1.2.3"),
            (Some("*"), "^1.2.3"),
            (Some("~1.2"), "~1.2"),
            (Some("1.x || 2"), "1.x || 2"),
        ] {
            assert_eq!(saved_spec(asked, "1.2.3"), expected, "{asked:?}");
        }
    }
}
