//! A `node_modules` directory as a tree of packages: read from disk, changed by the resolver, and serialized
//! to the lock file.
//!
//! A package resolves a dependency in its own `node_modules`, then in that of its parent package,
//! up to the root. Each node has at most one child per name.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::manifest::NpmManifest;
use super::packument::Release;
use super::spec::is_package_name;
use crate::error::PackageError;

const MAX_PACKAGES: usize = 20_000;

/// Maximum nesting of packages.
const MAX_DEPTH: usize = 64;

/// Larger `package.json` files are ignored.
const MAX_MANIFEST_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(usize);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeOrigin {
    /// The install directory itself.
    Root,
    /// Already present in this directory.
    LocalDir(PathBuf),
    /// A symlink, which is preserved.
    Link(PathBuf),
    /// Must be fetched.
    Archive(Box<Release>),
}

#[derive(Debug, Clone)]
pub(crate) struct PackageNode {
    pub(crate) parent: Option<NodeId>,
    /// Directory name, including the scope.
    pub(crate) dir: String,
    pub(crate) manifest: NpmManifest,
    pub(crate) origin: NodeOrigin,
    pub(crate) children: BTreeMap<String, NodeId>,
    /// Contained in the archive of an ancestor.
    pub(crate) is_bundled: bool,
    /// The optional package that needs it, which is dropped if this package cannot be installed.
    pub(crate) optional_for: Option<NodeId>,
}

#[derive(Debug, Clone)]
pub(crate) struct PackageTree {
    nodes: Vec<PackageNode>,
    removed: HashSet<NodeId>,
}

impl PackageTree {
    pub(crate) const ROOT: NodeId = NodeId(0);

    /// Creates a tree with only the root.
    pub(crate) fn new(root: NpmManifest) -> Self {
        Self {
            nodes: vec![PackageNode {
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

    /// Reads the `node_modules` of a directory; entries that are not packages are ignored.
    pub(crate) fn load(root: NpmManifest, dir: &Path) -> Result<Self, PackageError> {
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

    pub(crate) fn node(&self, id: NodeId) -> Option<&PackageNode> {
        self.nodes.get(id.0)
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut PackageNode> {
        self.nodes.get_mut(id.0)
    }

    /// Adds a package as a child.
    pub(crate) fn add(
        &mut self,
        parent: NodeId,
        dir: &str,
        manifest: NpmManifest,
        origin: NodeOrigin,
    ) -> Result<NodeId, PackageError> {
        if self.nodes.len() >= MAX_PACKAGES {
            return Err(PackageError::TooLarge {
                what: "dependency tree".to_owned(),
                limit: format!("{MAX_PACKAGES} packages"),
            });
        }
        // Packages that depend on each other in ever different versions would nest forever.
        if self.depth(parent) >= MAX_DEPTH {
            return Err(PackageError::TooLarge {
                what: format!("nesting of {dir}"),
                limit: format!("{MAX_DEPTH} levels"),
            });
        }
        let id = NodeId(self.nodes.len());
        self.nodes.push(PackageNode {
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

    /// Removes a package and its descendants.
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

    /// Resolves a dependency as Node does, starting in the package's own directory.
    pub(crate) fn find(&self, from: NodeId, name: &str) -> Option<NodeId> {
        let mut node_id = Some(from);
        while let Some(id) = node_id {
            let node = self.node(id)?;
            if let Some(found) = node.children.get(name) {
                return Some(*found);
            }
            node_id = node.parent;
        }
        None
    }

    /// Lists the descendants of a node.
    pub(crate) fn below(&self, node_id: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut pending = vec![node_id];
        while let Some(id) = pending.pop() {
            if let Some(node) = self.node(id) {
                pending.extend(node.children.values());
                found.extend(node.children.values());
            }
        }
        found
    }

    /// Returns the path of a package relative to the root, such as `node_modules/a/node_modules/b`.
    pub(crate) fn path(&self, id: NodeId) -> String {
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

    /// Serializes the tree as npm's lock file. `known` is the previous lock file, which may contain the
    /// archive URLs of packages that are kept.
    pub(crate) fn lock_file(&self, known: &Map<String, Value>) -> Value {
        let root = self.node(Self::ROOT).map(|node| &node.manifest);
        let name = root.map_or("", |root| root.name.as_str());
        let mut packages = Map::new();
        let dependencies = root.map(|root| json!(root.dependencies));
        packages.insert(
            String::new(),
            json!({"name": name, "dependencies": dependencies}),
        );
        let mut paths: Vec<(String, NodeId)> = self
            .below(Self::ROOT)
            .into_iter()
            .map(|id| (self.path(id), id))
            .collect();
        paths.sort();
        for (path, id) in paths {
            if let Some(node) = self.node(id) {
                let entry = lock_entry(node, known.get(&path));
                packages.insert(path, Value::Object(entry));
            }
        }
        json!({"name": name, "lockfileVersion": 3, "requires": true, "packages": packages})
    }
}

/// Keys of a manifest that are copied to the lock file.
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

fn lock_entry(node: &PackageNode, known: Option<&Value>) -> Map<String, Value> {
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

/// Lists the packages in a `node_modules` directory, including scoped ones, without npm's internal directories.
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

/// Reads the `package.json` of a directory; `None` if it is missing or invalid.
pub(crate) fn read_manifest(dir: &Path) -> Option<NpmManifest> {
    let file = dir.join("package.json");
    let metadata = fs::metadata(&file).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_MANIFEST_BYTES {
        return None;
    }
    let text = fs::read_to_string(&file).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    serde_json::from_str(text).ok().map(NpmManifest::from_json)
}
