//! Tests of the resolver against an in-memory registry.

use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use super::super::manifest::NpmManifest;
use super::*;

type RegistryTable = &'static [(&'static str, &'static str, &'static str)];

/// Builds registry documents from `(name, version, rest of package.json)`.
fn registry(table: RegistryTable) -> HashMap<String, PackumentLookup> {
    let mut documents: BTreeMap<&str, (String, Map<String, Value>)> = BTreeMap::new();
    for (name, version, more) in table {
        let mut manifest: Map<String, Value> = serde_json::from_str(more).unwrap();
        manifest.insert("dist".to_owned(), json!({"tarball": "http://127.0.0.1/x"}));
        let entry = documents.entry(name).or_default();
        entry.0 = (*version).to_owned();
        entry
            .1
            .insert((*version).to_owned(), Value::Object(manifest));
    }
    documents
        .into_iter()
        .map(|(name, (latest, versions))| {
            let text = json!({"dist-tags": {"latest": latest}, "versions": versions}).to_string();
            (
                name.to_owned(),
                Ok(Arc::new(serde_json::from_str(&text).unwrap())),
            )
        })
        .collect()
}

fn manifest(text: &str) -> NpmManifest {
    NpmManifest::from_json(serde_json::from_str(text).unwrap())
}

fn resolve_tree(
    tree: PackageTree,
    table: RegistryTable,
    peers: PeerDependencies,
) -> Result<PackageTree, PackageError> {
    let mut resolver = DependencyResolver::new(tree, NpmPlatform::current(), peers);
    let table = registry(table);
    while !resolver.is_done() {
        for name in resolver.missing_packuments() {
            let found = table.get(&name).cloned();
            let missing = || Err(Arc::new(PackageError::UnknownPackage(name.clone())));
            resolver
                .known
                .insert(name.clone(), found.unwrap_or_else(missing));
        }
        resolver.advance()?;
    }
    Ok(resolver.finish())
}

fn layout(tree: &PackageTree) -> Vec<String> {
    let mut paths: Vec<String> = tree
        .below(PackageTree::ROOT)
        .into_iter()
        .map(|id| {
            let path = tree.path(id).replace("node_modules/", "");
            let manifest = &tree.node(id).unwrap().manifest;
            format!("{path} = {}@{}", manifest.name, manifest.version)
        })
        .collect();
    paths.sort();
    paths
}

fn resolve(root: &str, table: RegistryTable) -> Result<Vec<String>, PackageError> {
    let tree = PackageTree::new(manifest(root));
    resolve_tree(tree, table, PeerDependencies::Ignored).map(|tree| layout(&tree))
}

#[test]
fn shared_dependencies_are_hoisted_and_conflicts_nested() {
    let table: RegistryTable = &[
        ("a", "1.0.0", r#"{"dependencies": {"c": "^1.0.0"}}"#),
        (
            "b",
            "1.0.0",
            r#"{"dependencies": {"c": "^2.0.0", "d": "1"}}"#,
        ),
        ("c", "1.5.0", "{}"),
        ("c", "2.0.0", r#"{"dependencies": {"d": "1"}}"#),
        ("d", "1.1.0", r#"{"dependencies": {"a": "1"}}"#),
    ];
    assert_eq!(
        resolve(r#"{"dependencies": {"a": "*", "b": "*"}}"#, table).unwrap(),
        [
            "a = a@1.0.0",
            "b = b@1.0.0",
            "b/c = c@2.0.0",
            "c = c@1.5.0",
            "d = d@1.1.0"
        ]
    );
}

#[test]
fn shadowed_dependencies_are_resolved_again() {
    // c@2 is nested in `a`, where `a`'s child `e` must not resolve it.
    let table: RegistryTable = &[
        ("a", "1.0.0", r#"{"dependencies": {"c": "2", "e": "2"}}"#),
        ("c", "1.0.0", "{}"),
        ("c", "2.0.0", "{}"),
        ("e", "1.0.0", "{}"),
        ("e", "2.0.0", r#"{"dependencies": {"c": "1"}}"#),
    ];
    assert_eq!(
        resolve(r#"{"dependencies": {"a": "1", "c": "1", "e": "1"}}"#, table).unwrap(),
        [
            "a = a@1.0.0",
            "a/c = c@2.0.0",
            "a/e = e@2.0.0",
            "a/e/c = c@1.0.0",
            "c = c@1.0.0",
            "e = e@1.0.0"
        ]
    );
}

#[test]
fn aliases_are_installed_under_their_own_name() {
    let table: RegistryTable = &[("real", "1.0.0", "{}"), ("real", "2.0.0", "{}")];
    assert_eq!(
        resolve(
            r#"{"dependencies": {"one": "npm:real@^1", "real": "2"}}"#,
            table
        )
        .unwrap(),
        ["one = real@1.0.0", "real = real@2.0.0"]
    );
}

#[test]
fn failed_optional_dependencies_are_dropped() {
    let table: RegistryTable = &[
        (
            "a",
            "1.0.0",
            r#"{"optionalDependencies": {"other-os": "1", "gone": "1", "deep": "1"}}"#,
        ),
        ("other-os", "1.0.0", r#"{"os": ["nowhere"]}"#),
        (
            "deep",
            "1.0.0",
            r#"{"dependencies": {"gone": "1", "left": "1"}}"#,
        ),
        ("left", "1.0.0", "{}"),
    ];
    let root = r#"{"dependencies": {"a": "1"}}"#;
    assert_eq!(resolve(root, table).unwrap(), ["a = a@1.0.0"]);
}

#[test]
fn failed_required_dependency_is_an_error() {
    let table: RegistryTable = &[
        ("a", "1.0.0", r#"{"dependencies": {"gone": "1"}}"#),
        (
            "b",
            "1.0.0",
            r#"{"dependencies": {"x": "git+ssh://h/o/r"}}"#,
        ),
        ("c", "1.0.0", r#"{"os": ["nowhere"]}"#),
        ("d", "1.0.0", r#"{"dependencies": {"../x": "1"}}"#),
    ];
    for (root, expected) in [
        ("a", "package not found in the registry: gone"),
        (
            "b",
            "b depends on x from git+ssh://h/o/r, which is not a registry",
        ),
        ("c", "c@1.0.0 does not support this platform"),
        ("d", r#"d: "../x" is not a valid package name"#),
    ] {
        let error = resolve(&format!(r#"{{"dependencies": {{"{root}": "1"}}}}"#), table);
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

#[test]
fn peers_are_siblings_or_ignored() {
    let table: RegistryTable = &[
        (
            "a",
            "1.0.0",
            r#"{"peerDependencies": {"p": "1", "typebox": "*", "@earendil-works/pi-ai": "*", "o": "1"},
                "peerDependenciesMeta": {"o": {"optional": true}}}"#,
        ),
        ("p", "1.0.0", "{}"),
    ];
    let tree = || PackageTree::new(manifest(r#"{"dependencies": {"a": "1"}}"#));
    for (peers, expected) in [
        (PeerDependencies::Ignored, vec!["a = a@1.0.0"]),
        (
            PeerDependencies::Installed,
            vec!["a = a@1.0.0", "p = p@1.0.0"],
        ),
    ] {
        let tree = resolve_tree(tree(), table, peers).unwrap();
        assert_eq!(layout(&tree), expected);
    }
}

#[test]
fn satisfied_packages_are_kept_and_unneeded_removed() {
    let table: RegistryTable = &[("new", "1.0.0", r#"{"dependencies": {"shared": "1"}}"#)];
    let mut tree = PackageTree::new(manifest(r#"{"dependencies": {"new": "1"}}"#));
    for (name, version) in [("shared", "1.4.0"), ("stray", "1.0.0")] {
        let manifest = manifest(&format!(r#"{{"name": "{name}", "version": "{version}"}}"#));
        let origin = NodeOrigin::LocalDir(name.into());
        tree.add(PackageTree::ROOT, name, manifest, origin).unwrap();
    }
    let tree = resolve_tree(tree, table, PeerDependencies::Ignored).unwrap();
    assert_eq!(layout(&tree), ["new = new@1.0.0", "shared = shared@1.4.0"]);
}

#[test]
fn dependency_cycles_terminate() {
    let table: RegistryTable = &[
        ("a", "1.0.0", r#"{"dependencies": {"b": "1"}}"#),
        ("b", "1.0.0", r#"{"dependencies": {"a": "2"}}"#),
        ("a", "2.0.0", r#"{"dependencies": {"b": "1"}}"#),
    ];
    assert_eq!(
        resolve(r#"{"dependencies": {"a": "1"}}"#, table).unwrap(),
        ["a = a@1.0.0", "b = b@1.0.0", "b/a = a@2.0.0"]
    );
}
