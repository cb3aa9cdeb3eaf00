//! The checksums of a lock file. They apply to every archive that is fetched for it, whatever checksum the registry
//! reports: a published version never changes.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::build::{locked_package, packages};
use super::tree::{NodeOrigin, PackageTree};

/// The accepted checksums by package and version.
#[derive(Debug, Default)]
pub(super) struct LockedChecksums(HashMap<(String, String), BTreeSet<String>>);

impl LockedChecksums {
    /// Reads the packages of a lock file.
    pub(super) fn of(lock: &Map<String, Value>) -> Self {
        let mut checksums = Self::default();
        for (path, entry) in lock {
            if let Some((name, version)) = locked_package(path, entry)
                && let Some(integrity) = entry.get("integrity").and_then(Value::as_str)
            {
                let package = (name.to_owned(), version.to_owned());
                let known = checksums.0.entry(package).or_default();
                known.insert(integrity.to_owned());
            }
        }
        checksums
    }

    /// Replaces the checksums that the registry reported.
    pub(super) fn apply(&self, tree: &mut PackageTree) {
        for id in packages(tree).collect::<Vec<_>>() {
            let Some(node) = tree.node_mut(id) else {
                continue;
            };
            let NodeOrigin::Archive(release) = &mut node.origin else {
                continue;
            };
            let manifest = &release.manifest;
            let package = (manifest.name.clone(), manifest.version.clone());
            if let Some(locked) = self.0.get(&package) {
                let locked: Vec<&str> = locked.iter().map(String::as_str).collect();
                release.integrity = Some(locked.join(" "));
                release.shasum = None;
            }
        }
    }
}
