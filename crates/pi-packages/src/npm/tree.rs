//! A `node_modules` directory as a tree of packages: read from disk, changed by the resolver, and written
//! down in the lock file.
//!
//! A package looks for a dependency in its own `node_modules`, then in that of the package around it,
//! up to the root. The tree holds no more than one package of a name at a place.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::manifest::Manifest;
use super::packument::Release;
use super::spec::is_package_name;
use crate::error::PackageError;

/// More packages than this are no honest tree.
const MAX_PACKAGES: usize = 20_000;

/// How deep packages may lie in each other.
const MAX_DEPTH: usize = 64;

/// A `package.json` larger than this is not read.
const MAX_MANIFEST_BYTES: u64 = 8 * 1024 * 1024;

/// A package in the tree, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(usize);

/// Where a package's files come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeOrigin {
    /// The directory that holds everything.
    Root,
    /// They lie in this directory.
    LocalDir(PathBuf),
    /// The directory is a link, which stays one.
    Link(PathBuf),
    /// They are to be fetched.
    Archive(Box<Release>),
}

/// A package and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) parent: Option<NodeId>,
    /// The name of its directory, with a scope's.
    pub(crate) dir: String,
    pub(crate) manifest: Manifest,
    pub(crate) origin: NodeOrigin,
    pub(crate) children: BTreeMap<String, NodeId>,
    /// It came inside the archive of a package around it.
    pub(crate) is_bundled: bool,
    /// The optional package that needs it, which is left out when this one cannot be had.
    pub(crate) optional_for: Option<NodeId>,
}

/// The tree; the root is the directory itself.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    removed: HashSet<NodeId>,
}

impl Tree {
    pub(crate) const ROOT: NodeId = NodeId(0);

    /// Creates a tree of nothing but what the root asks for.
    pub(crate) fn new(root: Manifest) -> Self {
        Self {
            nodes: vec![Node {
                parent: None,
                dir: String::new(),
                manifest: root,
                origin: NodeOrigin::Root,
                children: BTreeMap::new(),
                is_bundled: false,
                optional_for: None,
            }],
            removed: HashSet::new(),
        }
    }

    /// Reads the `node_modules` of a directory. What is not a package there is not part of the tree.
    pub(crate) fn load(root: Manifest, dir: &Path) -> Result<Self, PackageError> {
        let mut tree = Self::new(root);
        let mut pending = vec![(Self::ROOT, dir.join("node_modules"), 0)];
        while let Some((parent, modules, depth)) = pending.pop() {
            if depth > MAX_DEPTH {
                continue;
            }
            let is_bundle = tree
                .node(parent)
                .is_some_and(|node| node.is_bundled || !node.manifest.bundled.is_empty());
            for (name, path) in packages_in(&modules) {
                let Some(manifest) = read_manifest(&path) else {
                    continue;
                };
                let origin = match fs::read_link(&path) {
                    Ok(target) => NodeOrigin::Link(target),
                    Err(_) => NodeOrigin::LocalDir(path.clone()),
                };
                let is_link = matches!(origin, NodeOrigin::Link(_));
                let id = tree.add(parent, &name, manifest, origin)?;
                if let Some(node) = tree.node_mut(id) {
                    node.is_bundled = is_bundle;
                }
                if !is_link {
                    pending.push((id, path.join("node_modules"), depth + 1));
                }
            }
        }
        Ok(tree)
    }

    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0)
    }

    /// Puts a package below another.
    pub(crate) fn add(
        &mut self,
        parent: NodeId,
        dir: &str,
        manifest: Manifest,
        origin: NodeOrigin,
    ) -> Result<NodeId, PackageError> {
        if self.nodes.len() >= MAX_PACKAGES {
            return Err(PackageError::TooLarge {
                what: "the tree of dependencies".to_owned(),
                limit: format!("{MAX_PACKAGES} packages"),
            });
        }
        // Packages that need each other in ever other versions would nest for ever.
        if self.depth(parent) >= MAX_DEPTH {
            return Err(PackageError::TooLarge {
                what: format!("the nesting of {dir}"),
                limit: format!("{MAX_DEPTH} packages in each other"),
            });
        }
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node {
            parent: Some(parent),
            dir: dir.to_owned(),
            manifest,
            origin,
            children: BTreeMap::new(),
            is_bundled: false,
            optional_for: None,
        });
        if let Some(parent) = self.node_mut(parent) {
            parent.children.insert(dir.to_owned(), id);
        }
        Ok(id)
    }

    fn depth(&self, id: NodeId) -> usize {
        let parents = std::iter::successors(self.node(id), |node| self.node(node.parent?));
        parents.count()
    }

    /// Takes a package away, with everything in its directory.
    pub(crate) fn remove(&mut self, id: NodeId) {
        let Some(node) = self.node(id) else { return };
        let (parent, dir) = (node.parent, node.dir.clone());
        if let Some(parent) = parent.and_then(|parent| self.node_mut(parent)) {
            parent.children.remove(&dir);
        }
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            if self.removed.insert(id)
                && let Some(node) = self.node(id)
            {
                pending.extend(node.children.values());
            }
        }
    }

    pub(crate) fn is_removed(&self, id: NodeId) -> bool {
        self.removed.contains(&id)
    }

    /// Finds what a package gets for a dependency, starting in its own directory.
    pub(crate) fn find(&self, from: NodeId, name: &str) -> Option<NodeId> {
        let mut place = Some(from);
        while let Some(id) = place {
            let node = self.node(id)?;
            if let Some(found) = node.children.get(name) {
                return Some(*found);
            }
            place = node.parent;
        }
        None
    }

    /// Lists the packages below a place, the place itself left out.
    pub(crate) fn below(&self, place: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut pending = vec![place];
        while let Some(id) = pending.pop() {
            if let Some(node) = self.node(id) {
                pending.extend(node.children.values());
                found.extend(node.children.values());
            }
        }
        found
    }

    /// Tells the place of a package below the root, as `node_modules/a/node_modules/b`.
    pub(crate) fn place(&self, id: NodeId) -> String {
        let mut parts = Vec::new();
        let mut current = self.node(id);
        while let Some(node) = current
            && let Some(parent) = node.parent
        {
            parts.push(format!("node_modules/{}", node.dir));
            current = self.node(parent);
        }
        parts.reverse();
        parts.join("/")
    }

    /// Writes the tree down as npm's lock file does. `known` is the lock file so far, which may know the
    /// archives of packages that were there already.
    pub(crate) fn lock_file(&self, known: &Map<String, Value>) -> Value {
        let root = self.node(Self::ROOT).map(|node| &node.manifest);
        let name = root.map_or("", |root| root.name.as_str());
        let mut packages = Map::new();
        let dependencies = root.map(|root| json!(root.dependencies));
        packages.insert(
            String::new(),
            json!({"name": name, "dependencies": dependencies}),
        );
        let mut places: Vec<(String, NodeId)> = self
            .below(Self::ROOT)
            .into_iter()
            .map(|id| (self.place(id), id))
            .collect();
        places.sort();
        for (place, id) in places {
            if let Some(node) = self.node(id) {
                let entry = lock_entry(node, known.get(&place));
                packages.insert(place, Value::Object(entry));
            }
        }
        json!({"name": name, "lockfileVersion": 3, "requires": true, "packages": packages})
    }
}

/// What of a manifest the lock file repeats.
const LOCKED_KEYS: [&str; 11] = [
    "license",
    "dependencies",
    "optionalDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "bundleDependencies",
    "bin",
    "engines",
    "os",
    "cpu",
    "libc",
];

fn lock_entry(node: &Node, known: Option<&Value>) -> Map<String, Value> {
    let manifest = &node.manifest;
    let mut entry = Map::new();
    if manifest.name != node.dir {
        entry.insert("name".to_owned(), json!(manifest.name));
    }
    entry.insert("version".to_owned(), json!(manifest.version));
    match &node.origin {
        NodeOrigin::Archive(release) => {
            entry.insert("resolved".to_owned(), json!(release.archive));
            if let Some(integrity) = &release.integrity {
                entry.insert("integrity".to_owned(), json!(integrity));
            }
        }
        NodeOrigin::LocalDir(_) => {
            let same = known.filter(|known| {
                known.get("version").and_then(Value::as_str) == Some(&manifest.version)
            });
            for key in ["resolved", "integrity"] {
                if let Some(value) = same.and_then(|known| known.get(key)) {
                    entry.insert(key.to_owned(), value.clone());
                }
            }
        }
        NodeOrigin::Link(target) => {
            return Map::from_iter([
                ("resolved".to_owned(), json!(target)),
                ("link".to_owned(), json!(true)),
            ]);
        }
        NodeOrigin::Root => {}
    }
    if node.is_bundled {
        entry.insert("inBundle".to_owned(), json!(true));
    }
    if node.optional_for.is_some() {
        entry.insert("optional".to_owned(), json!(true));
    }
    if manifest.has_install_script {
        entry.insert("hasInstallScript".to_owned(), json!(true));
    }
    for key in LOCKED_KEYS {
        if let Some(value) = manifest.json.get(key) {
            entry.insert(key.to_owned(), value.clone());
        }
    }
    entry
}

/// Lists the packages in a `node_modules` directory: those with a scope too, without npm's own directories.
fn packages_in(modules: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for (name, path) in entries(modules) {
        if name.starts_with('@') {
            for (own, path) in entries(&path) {
                found.push((format!("{name}/{own}"), path));
            }
        } else {
            found.push((name, path));
        }
    }
    found.retain(|(name, _)| is_package_name(name));
    found.sort();
    found
}

fn entries(dir: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            entry.path().is_dir().then(|| (name, entry.path()))
        })
        .collect()
}

/// Reads the `package.json` of a directory; `None` where there is no usable one.
pub(crate) fn read_manifest(dir: &Path) -> Option<Manifest> {
    let file = dir.join("package.json");
    let metadata = fs::metadata(&file).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_MANIFEST_BYTES {
        return None;
    }
    let text = fs::read_to_string(&file).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    serde_json::from_str(text).ok().map(Manifest::from_json)
}
