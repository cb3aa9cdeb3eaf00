//! The parts of a `package.json` that are needed for installation.
//!
//! Used for both files on disk and registry versions. Values of
//! unexpected types are treated as absent, because manifests in the wild contain many.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NpmManifest {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) dependencies: BTreeMap<String, String>,
    pub(crate) optional_dependencies: BTreeMap<String, String>,
    /// Without optional peers.
    pub(crate) peer_dependencies: BTreeMap<String, String>,
    /// Dependencies contained in the archive.
    pub(crate) bundled: BTreeSet<String>,
    pub(crate) bin: BTreeMap<String, String>,
    pub(crate) os: Vec<String>,
    pub(crate) cpu: Vec<String>,
    pub(crate) libc: Vec<String>,
    pub(crate) has_install_script: bool,
    /// The complete manifest, for the lock file.
    pub(crate) json: Map<String, Value>,
}

impl NpmManifest {
    pub(crate) fn from_json(json: Map<String, Value>) -> Self {
        let name = text(&json, "name");
        let optional_dependencies = table(&json, "optionalDependencies");
        let mut dependencies = table(&json, "dependencies");
        // A dependency in both lists is optional.
        dependencies.retain(|name, _| !optional_dependencies.contains_key(name));
        let bundled = match json
            .get("bundleDependencies")
            .or_else(|| json.get("bundledDependencies"))
        {
            Some(Value::Bool(true)) => dependencies.keys().cloned().collect(),
            Some(Value::Array(names)) => strings(names).collect(),
            _ => BTreeSet::new(),
        };
        let mut peer_dependencies = table(&json, "peerDependencies");
        if let Some(Value::Object(meta)) = json.get("peerDependenciesMeta") {
            peer_dependencies.retain(|name, _| {
                let about = meta.get(name).and_then(|about| about.get("optional"));
                about != Some(&Value::Bool(true))
            });
        }
        Self {
            version: text(&json, "version"),
            dependencies,
            optional_dependencies,
            peer_dependencies,
            bundled,
            bin: programs(&json, &name),
            os: list(&json, "os"),
            cpu: list(&json, "cpu"),
            libc: list(&json, "libc"),
            has_install_script: has_install_script(&json),
            name,
            json,
        }
    }

    /// Returns the install scripts in execution order.
    pub(crate) fn install_scripts(&self) -> Vec<(&'static str, String)> {
        let scripts = self.json.get("scripts").and_then(Value::as_object);
        ["preinstall", "install", "postinstall"]
            .into_iter()
            .filter_map(|name| Some((name, scripts?.get(name)?.as_str()?.to_owned())))
            .collect()
    }
}

fn has_install_script(json: &Map<String, Value>) -> bool {
    // The registry's abbreviated form has a flag instead of the scripts.
    let declared = json.get("hasInstallScript") == Some(&Value::Bool(true));
    let scripts = json.get("scripts").and_then(Value::as_object);
    let runs = |name: &str| scripts.is_some_and(|scripts| scripts.contains_key(name));
    declared || runs("preinstall") || runs("install") || runs("postinstall")
}

fn text(json: &Map<String, Value>, key: &str) -> String {
    let value = json.get(key).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

fn table(json: &Map<String, Value>, key: &str) -> BTreeMap<String, String> {
    let Some(Value::Object(entries)) = json.get(key) else {
        return BTreeMap::new();
    };
    let entries = entries.iter();
    entries
        .filter_map(|(name, spec)| Some((name.clone(), spec.as_str()?.to_owned())))
        .collect()
}

fn strings(values: &[Value]) -> impl Iterator<Item = String> + '_ {
    values.iter().filter_map(Value::as_str).map(str::to_owned)
}

fn list(json: &Map<String, Value>, key: &str) -> Vec<String> {
    match json.get(key) {
        Some(Value::Array(values)) => strings(values).collect(),
        Some(Value::String(value)) => vec![value.clone()],
        _ => Vec::new(),
    }
}

fn programs(json: &Map<String, Value>, name: &str) -> BTreeMap<String, String> {
    match json.get("bin") {
        Some(Value::String(path)) => {
            let base = name.rsplit_once('/').map_or(name, |(_, base)| base);
            BTreeMap::from([(base.to_owned(), path.clone())])
        }
        _ => table(json, "bin"),
    }
}
