//! Trees of packages against a registry that is a table.

use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

use super::super::manifest::Manifest;
use super::*;

type Shelf = &'static [(&'static str, &'static str, &'static str)];

/// Makes a registry of `(name, version, more of its package.json)`.
fn registry(shelf: Shelf) -> HashMap<String, Lookup> {
    let mut documents: BTreeMap<&str, (String, Map<String, Value>)> = BTreeMap::new();
    for (name, version, more) in shelf {
        let mut about: Map<String, Value> = serde_json::from_str(more).unwrap();
        about.insert("dist".to_owned(), json!({"tarball": "http://127.0.0.1/x"}));
        let entry = documents.entry(name).or_default();
        entry.0 = (*version).to_owned();
        entry.1.insert((*version).to_owned(), Value::Object(about));
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

fn manifest(text: &str) -> Manifest {
    Manifest::from_json(serde_json::from_str(text).unwrap())
}

fn resolve_tree(tree: Tree, shelf: Shelf, peers: Peers) -> Result<Tree, PackageError> {
    let mut resolver = Resolver::new(tree, Platform::current(), peers);
    let shelf = registry(shelf);
    while !resolver.is_done() {
        for name in resolver.wanted() {
            let found = shelf.get(&name).cloned();
            let missing = || Err(Arc::new(PackageError::UnknownPackage(name.clone())));
            resolver
                .known
                .insert(name.clone(), found.unwrap_or_else(missing));
        }
        resolver.advance()?;
    }
    Ok(resolver.finish())
}

fn layout(tree: &Tree) -> Vec<String> {
    let mut places: Vec<String> = tree
        .below(Tree::ROOT)
        .into_iter()
        .map(|id| {
            let place = tree.place(id).replace("node_modules/", "");
            let manifest = &tree.node(id).unwrap().manifest;
            format!("{place} = {}@{}", manifest.name, manifest.version)
        })
        .collect();
    places.sort();
    places
}

fn resolve(root: &str, shelf: Shelf) -> Result<Vec<String>, PackageError> {
    let tree = Tree::new(manifest(root));
    resolve_tree(tree, shelf, Peers::Ignored).map(|tree| layout(&tree))
}

#[test]
fn shared_dependencies_rise_and_conflicts_nest() {
    let shelf: Shelf = &[
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
        resolve(r#"{"dependencies": {"a": "*", "b": "*"}}"#, shelf).unwrap(),
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
fn what_a_nested_package_hides_is_put_right() {
    // `a` brings c@2 into its own directory, where its child `e` must not find it.
    let shelf: Shelf = &[
        ("a", "1.0.0", r#"{"dependencies": {"c": "2", "e": "2"}}"#),
        ("c", "1.0.0", "{}"),
        ("c", "2.0.0", "{}"),
        ("e", "1.0.0", "{}"),
        ("e", "2.0.0", r#"{"dependencies": {"c": "1"}}"#),
    ];
    assert_eq!(
        resolve(r#"{"dependencies": {"a": "1", "c": "1", "e": "1"}}"#, shelf).unwrap(),
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
fn aliases_lie_under_their_own_name() {
    let shelf: Shelf = &[("real", "1.0.0", "{}"), ("real", "2.0.0", "{}")];
    assert_eq!(
        resolve(
            r#"{"dependencies": {"one": "npm:real@^1", "real": "2"}}"#,
            shelf
        )
        .unwrap(),
        ["one = real@1.0.0", "real = real@2.0.0"]
    );
}

#[test]
fn optional_dependencies_may_fail_with_all_they_need() {
    let shelf: Shelf = &[
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
    assert_eq!(resolve(root, shelf).unwrap(), ["a = a@1.0.0"]);
}

#[test]
fn required_dependencies_must_not_fail() {
    let shelf: Shelf = &[
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
        ("a", "the registry has no package gone"),
        (
            "b",
            "b wants x from git+ssh://h/o/r, which is not a registry",
        ),
        ("c", "c@1.0.0 does not run on this system"),
        ("d", r#"d: "../x" is not the name of a package"#),
    ] {
        let error = resolve(&format!(r#"{{"dependencies": {{"{root}": "1"}}}}"#), shelf);
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

#[test]
fn peers_lie_beside_or_stay_away() {
    let shelf: Shelf = &[
        (
            "a",
            "1.0.0",
            r#"{"peerDependencies": {"p": "1", "typebox": "*", "@earendil-works/pi-ai": "*", "o": "1"},
                "peerDependenciesMeta": {"o": {"optional": true}}}"#,
        ),
        ("p", "1.0.0", "{}"),
    ];
    let tree = || Tree::new(manifest(r#"{"dependencies": {"a": "1"}}"#));
    for (peers, expected) in [
        (Peers::Ignored, vec!["a = a@1.0.0"]),
        (Peers::Installed, vec!["a = a@1.0.0", "p = p@1.0.0"]),
    ] {
        let tree = resolve_tree(tree(), shelf, peers).unwrap();
        assert_eq!(layout(&tree), expected);
    }
}

#[test]
fn what_will_do_stays_and_what_nothing_needs_goes() {
    let shelf: Shelf = &[("new", "1.0.0", r#"{"dependencies": {"shared": "1"}}"#)];
    let mut tree = Tree::new(manifest(r#"{"dependencies": {"new": "1"}}"#));
    for (name, version) in [("shared", "1.4.0"), ("stray", "1.0.0")] {
        let manifest = manifest(&format!(r#"{{"name": "{name}", "version": "{version}"}}"#));
        let origin = NodeOrigin::LocalDir(name.into());
        tree.add(Tree::ROOT, name, manifest, origin).unwrap();
    }
    let tree = resolve_tree(tree, shelf, Peers::Ignored).unwrap();
    assert_eq!(layout(&tree), ["new = new@1.0.0", "shared = shared@1.4.0"]);
}

#[test]
fn circles_end() {
    let shelf: Shelf = &[
        ("a", "1.0.0", r#"{"dependencies": {"b": "1"}}"#),
        ("b", "1.0.0", r#"{"dependencies": {"a": "2"}}"#),
        ("a", "2.0.0", r#"{"dependencies": {"b": "1"}}"#),
    ];
    assert_eq!(
        resolve(r#"{"dependencies": {"a": "1"}}"#, shelf).unwrap(),
        ["a = a@1.0.0", "b = b@1.0.0", "b/a = a@2.0.0"]
    );
}
