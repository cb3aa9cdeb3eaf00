//! The `pi` key of a package's `package.json`, which lists its resources.

use std::path::Path;

use serde_json::Value;

use crate::regular_file::{MAX_BYTES, read_prose};

/// The resource lists of a package. A list that is absent or malformed is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) extensions: Option<Vec<String>>,
    pub(crate) skills: Option<Vec<String>>,
    pub(crate) prompts: Option<Vec<String>>,
    pub(crate) themes: Option<Vec<String>>,
}

impl Manifest {
    /// Reads the manifest of a package directory; `None` if it declares no resources.
    pub(crate) fn read(directory: &Path) -> Option<Self> {
        let package = read_package_json(directory)?;
        let declared = package.get("pi")?.as_object()?;
        let list = |key: &str| {
            let entries = declared.get(key)?.as_array()?.iter();
            entries
                .map(|entry| entry.as_str().map(str::to_owned))
                .collect()
        };
        let manifest = Self {
            extensions: list("extensions"),
            skills: list("skills"),
            prompts: list("prompts"),
            themes: list("themes"),
        };
        // Without any list, the resources are found in the conventional directories.
        (manifest != Self::default()).then_some(manifest)
    }
}

/// Packages that the program provides to extensions.
const PROVIDED: [&str; 10] = [
    "@earendil-works/pi-agent-core",
    "@earendil-works/pi-ai",
    "@earendil-works/pi-coding-agent",
    "@earendil-works/pi-tui",
    "@mariozechner/pi-agent-core",
    "@mariozechner/pi-ai",
    "@mariozechner/pi-coding-agent",
    "@mariozechner/pi-tui",
    "@sinclair/typebox",
    "typebox",
];

/// Returns the dependencies of a package that the program provides, sorted.
pub(crate) fn provided_dependencies(directory: &Path) -> Vec<&'static str> {
    let Some(package) = read_package_json(directory) else {
        return Vec::new();
    };
    let dependencies = package.get("dependencies").and_then(Value::as_object);
    let is_listed = |name: &&str| dependencies.is_some_and(|listed| listed.contains_key(*name));
    PROVIDED.into_iter().filter(is_listed).collect()
}

/// Reads the version from a package's `package.json`.
pub fn installed_version(directory: &Path) -> Option<String> {
    let package = read_package_json(directory)?;
    Some(package.get("version")?.as_str()?.to_owned())
}

pub(super) fn read_package_json(directory: &Path) -> Option<Value> {
    let text = read_prose(&directory.join("package.json"), MAX_BYTES).ok()??;
    serde_json::from_str(&text).ok()
}
