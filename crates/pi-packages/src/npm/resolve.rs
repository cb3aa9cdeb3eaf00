//! Completes a tree of packages: satisfies every dependency, hoisted as high as possible.
//!
//! No I/O: [`DependencyResolver::missing_packuments`] returns the registry documents that are needed next, and
//! [`DependencyResolver::advance`] continues with those in `known`. Packages that already satisfy their dependents are kept,
//! so installing one package does not change the others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::packument::{Packument, Release};
use super::platform::NpmPlatform;
use super::spec::{DependencySpec, is_package_name};
use super::tree::{NodeId, NodeOrigin, PackageTree};
use crate::error::PackageError;

/// Modules that pi provides to extensions, regardless of a package's dependencies.
const PROVIDED: [&str; 2] = ["typebox", "@sinclair/typebox"];

/// Name prefixes of modules that pi provides to extensions.
const PROVIDED_SCOPES: [&str; 2] = ["@earendil-works/pi-", "@mariozechner/pi-"];

/// Returns whether pi provides a module to extensions.
pub(crate) fn is_provided(name: &str) -> bool {
    PROVIDED.contains(&name) || PROVIDED_SCOPES.iter().any(|scope| name.starts_with(scope))
}

/// Whether peer dependencies are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerDependencies {
    /// No: pi provides its own modules, and the user installs the others.
    Ignored,
    /// Yes, except those that pi provides.
    Installed,
}

/// The result of fetching a package document.
pub(crate) type PackumentLookup = Result<Arc<Packument>, Arc<PackageError>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DependencyKind {
    Required,
    Optional,
    Peer,
}

pub(crate) struct DependencyResolver {
    pub(crate) tree: PackageTree,
    pub(crate) known: HashMap<String, PackumentLookup>,
    platform: NpmPlatform,
    peers: PeerDependencies,
    pending: VecDeque<NodeId>,
    /// Versions from the lock file, by package, preferred among matching versions.
    preferred: HashMap<String, BTreeSet<String>>,
    /// Optional dependencies that could not be resolved.
    dropped: HashSet<(NodeId, String)>,
}

impl DependencyResolver {
    /// Starts with a tree; all of its packages are checked.
    pub(crate) fn new(tree: PackageTree, platform: NpmPlatform, peers: PeerDependencies) -> Self {
        let mut pending = VecDeque::from([PackageTree::ROOT]);
        pending.extend(tree.below(PackageTree::ROOT));
        Self {
            tree,
            known: HashMap::new(),
            platform,
            peers,
            pending,
            preferred: HashMap::new(),
            dropped: HashSet::new(),
        }
    }

    /// Sets the preferred versions, from the lock file.
    pub(crate) fn prefer(mut self, preferred: HashMap<String, BTreeSet<String>>) -> Self {
        self.preferred = preferred;
        self
    }

    /// Returns the packages whose documents are needed to continue; empty if the tree is complete.
    pub(crate) fn missing_packuments(&self) -> BTreeSet<String> {
        let mut missing = BTreeSet::new();
        for node in &self.pending {
            for (name, text, kind) in self.dependencies_of(*node) {
                let spec = DependencySpec::parse(&text);
                if self.is_satisfied(*node, &name, &spec, kind)
                    || matches!(spec.target(), DependencySpec::External)
                {
                    continue;
                }
                let package = spec.package(&name);
                if !self.known.contains_key(package) {
                    missing.insert(package.to_owned());
                }
            }
        }
        missing
    }

    /// Returns whether the tree is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Resolves as many dependencies as possible with the known documents.
    pub(crate) fn advance(&mut self) -> Result<(), PackageError> {
        let mut waiting = VecDeque::new();
        while let Some(node) = self.pending.pop_front() {
            if self.tree.is_removed(node) {
                continue;
            }
            if !self.resolve_node(node)? {
                waiting.push_back(node);
            }
        }
        self.pending = waiting;
        Ok(())
    }

    /// Resolves the dependencies of one package; returns `false` if a document is missing.
    fn resolve_node(&mut self, node: NodeId) -> Result<bool, PackageError> {
        let mut is_complete = true;
        for (name, text, kind) in self.dependencies_of(node) {
            if self.tree.is_removed(node) {
                return Ok(true);
            }
            let spec = DependencySpec::parse(&text);
            if self.is_satisfied(node, &name, &spec, kind) {
                continue;
            }
            let release = match self.choose(node, &name, &spec, &text) {
                Ok(Some(release)) => release,
                Ok(None) => {
                    is_complete = false;
                    continue;
                }
                Err(error) => {
                    self.drop_optional(node, &name, kind, error)?;
                    continue;
                }
            };
            self.place(node, &name, &spec, kind, release)?;
        }
        Ok(is_complete)
    }

    /// Chooses the release for a dependency; `None` if its document is missing.
    fn choose(
        &self,
        node: NodeId,
        name: &str,
        spec: &DependencySpec,
        text: &str,
    ) -> Result<Option<Release>, PackageError> {
        if !is_package_name(name) {
            return Err(PackageError::malformed(
                self.name_of(node),
                format!("{name:?} is not a valid package name"),
            ));
        }
        if matches!(spec.target(), DependencySpec::External) {
            return Err(PackageError::UnsupportedDependency {
                name: self.name_of(node),
                dependency: name.to_owned(),
                spec: text.to_owned(),
            });
        }
        let package = spec.package(name);
        let packument = match self.known.get(package) {
            None => return Ok(None),
            Some(Ok(packument)) => packument,
            Some(Err(error)) => return Err(copy_error(error, package)),
        };
        let version = match spec {
            DependencySpec::Alias { .. } => {
                let version = text.rsplit_once('@').map_or("", |(_, version)| version);
                if version.contains('/') { "" } else { version }
            }
            DependencySpec::Range(_) | DependencySpec::Tag(_) | DependencySpec::External => text,
        };
        let preferred = self.preferred.get(package).into_iter().flatten();
        let locked = preferred
            .filter(|version| spec.accepts(name, package, version))
            .filter(|_| matches!(spec.target(), DependencySpec::Range(_)))
            .find_map(|version| packument.exact_releases(package, version));
        let release = match locked {
            Some(release) => release,
            None => packument.choose(package, spec.target(), version)?,
        };
        if !self.platform.supports(&release.manifest) {
            return Err(PackageError::WrongPlatform(format!(
                "{package}@{}",
                release.manifest.version
            )));
        }
        Ok(Some(release))
    }

    /// Drops an optional dependency, or the optional package that requires this one.
    fn drop_optional(
        &mut self,
        node: NodeId,
        name: &str,
        kind: DependencyKind,
        error: PackageError,
    ) -> Result<(), PackageError> {
        if kind != DependencyKind::Required {
            tracing::debug!(name, %error, "skipped optional dependency");
            self.dropped.insert((node, name.to_owned()));
            return Ok(());
        }
        let optional = self.tree.node(node).and_then(|node| node.optional_for);
        let Some(optional) = optional.filter(|optional| !self.tree.is_removed(*optional)) else {
            return Err(error);
        };
        let dir = self.tree.node(optional).map(|node| node.dir.clone());
        tracing::debug!(?dir, %error, "skipped optional dependency");
        if let Some(dir) = dir {
            // Only packages that require it try again.
            for node in self.all_nodes() {
                self.dropped.insert((node, dir.clone()));
            }
        }
        self.tree.remove(optional);
        Ok(())
    }

    /// Places a release as high as possible without shadowing another version.
    fn place(
        &mut self,
        node: NodeId,
        name: &str,
        spec: &DependencySpec,
        kind: DependencyKind,
        release: Release,
    ) -> Result<(), PackageError> {
        let start = match kind {
            DependencyKind::Required | DependencyKind::Optional => node,
            // A peer is a sibling of the package that expects it.
            DependencyKind::Peer => self.parent(node).unwrap_or(node),
        };
        let mut parent = start;
        let mut next = Some(start);
        while let Some(candidate) = next {
            let Some(at) = self.tree.node(candidate) else {
                break;
            };
            if at.children.contains_key(name) {
                // An incompatible version here shadows everything above.
                break;
            }
            parent = candidate;
            next = at.parent;
        }
        // Only the start node itself can have an incompatible version.
        if let Some(taken) = self.tree.node(parent).and_then(|at| at.children.get(name)) {
            self.tree.remove(*taken);
        }
        let optional_for = match kind {
            DependencyKind::Optional => None,
            DependencyKind::Required | DependencyKind::Peer => {
                self.tree.node(node).and_then(|node| node.optional_for)
            }
        };
        let manifest = release.manifest.clone();
        let origin = NodeOrigin::Archive(Box::new(release));
        let placed = self.tree.add(parent, name, manifest, origin)?;
        if let Some(added) = self.tree.node_mut(placed) {
            added.optional_for = match kind {
                DependencyKind::Optional => Some(placed),
                DependencyKind::Required | DependencyKind::Peer => optional_for,
            };
        }
        self.pending.push_back(placed);
        self.requeue_dependents(parent, name);
        tracing::trace!(name, ?spec, path = %self.tree.path(placed), "placed");
        Ok(())
    }

    /// Requeues packages for which a name may now resolve differently.
    fn requeue_dependents(&mut self, parent: NodeId, name: &str) {
        let affected: Vec<NodeId> = std::iter::once(parent)
            .chain(self.tree.below(parent))
            .filter(|id| {
                let node = self.tree.node(*id);
                node.is_some_and(|node| {
                    node.manifest.dependencies.contains_key(name)
                        || node.manifest.optional_dependencies.contains_key(name)
                })
            })
            .collect();
        self.pending.extend(affected);
    }

    fn all_nodes(&self) -> Vec<NodeId> {
        let mut nodes = self.tree.below(PackageTree::ROOT);
        nodes.push(PackageTree::ROOT);
        nodes
    }

    fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.tree.node(node)?.parent
    }

    fn name_of(&self, node: NodeId) -> String {
        let name = self.tree.node(node).map(|node| node.manifest.name.clone());
        name.filter(|name| !name.is_empty())
            .unwrap_or_else(|| "the package".to_owned())
    }

    fn dependencies_of(&self, node: NodeId) -> Vec<(String, String, DependencyKind)> {
        dependencies_of(&self.tree, node, self.peers)
            .into_iter()
            .filter(|(name, _, kind)| {
                *kind == DependencyKind::Required || !self.dropped.contains(&(node, name.clone()))
            })
            .collect()
    }

    fn is_satisfied(
        &self,
        node: NodeId,
        name: &str,
        spec: &DependencySpec,
        kind: DependencyKind,
    ) -> bool {
        let Some(found) = self.tree.find(node, name).and_then(|id| self.tree.node(id)) else {
            return false;
        };
        // A peer of a different version is the user's choice.
        kind == DependencyKind::Peer
            || spec.accepts(name, &found.manifest.name, &found.manifest.version)
            || matches!(found.origin, NodeOrigin::Link(_))
    }

    /// Removes unneeded packages and returns the tree.
    pub(crate) fn finish(mut self) -> PackageTree {
        let mut used = HashSet::from([PackageTree::ROOT]);
        let mut pending = vec![PackageTree::ROOT];
        while let Some(node) = pending.pop() {
            let mut reached: Vec<NodeId> = dependencies_of(&self.tree, node, self.peers)
                .into_iter()
                .filter_map(|(name, _, _)| self.tree.find(node, &name))
                .collect();
            // Bundled packages stay with their archive.
            let children = self.tree.node(node).map(|node| &node.children);
            reached.extend(children.into_iter().flatten().filter_map(|(_, child)| {
                let is_bundled = self.tree.node(*child).is_some_and(|child| child.is_bundled);
                is_bundled.then_some(*child)
            }));
            for found in reached {
                if used.insert(found) {
                    pending.push(found);
                }
            }
        }
        for unused in self.all_nodes() {
            if !used.contains(&unused) {
                self.tree.remove(unused);
            }
        }
        self.tree
    }
}

/// Lists the dependencies of a package that are not bundled in its archive.
fn dependencies_of(
    tree: &PackageTree,
    node: NodeId,
    peers: PeerDependencies,
) -> Vec<(String, String, DependencyKind)> {
    let Some(node) = tree.node(node) else {
        return Vec::new();
    };
    if matches!(node.origin, NodeOrigin::Link(_)) {
        return Vec::new();
    }
    let manifest = &node.manifest;
    // Bundled packages are unknown until the archive is unpacked.
    let is_packed = matches!(node.origin, NodeOrigin::Archive(_));
    let list = |table: &BTreeMap<String, String>, kind: DependencyKind| {
        let entries = table.iter();
        entries
            .filter(|(name, _)| !(is_packed && manifest.bundled.contains(*name)))
            .map(|(name, spec)| (name.clone(), spec.clone(), kind))
            .collect::<Vec<_>>()
    };
    let mut needs = list(&manifest.dependencies, DependencyKind::Required);
    needs.extend(list(
        &manifest.optional_dependencies,
        DependencyKind::Optional,
    ));
    if peers == PeerDependencies::Installed {
        let mut expected = list(&manifest.peer_dependencies, DependencyKind::Peer);
        expected.retain(|(name, _, _)| !is_provided(name));
        needs.extend(expected);
    }
    needs
}

/// Copies an error, for each dependent that encounters it.
fn copy_error(error: &PackageError, package: &str) -> PackageError {
    match error {
        PackageError::UnknownPackage(_) => PackageError::UnknownPackage(package.to_owned()),
        PackageError::Network { url, problem } => PackageError::Network {
            url: url.clone(),
            problem: problem.clone(),
        },
        PackageError::HttpStatus { url, status } => PackageError::HttpStatus {
            url: url.clone(),
            status: *status,
        },
        PackageError::NoRegistry => PackageError::NoRegistry,
        other => PackageError::malformed(package, other),
    }
}

#[cfg(test)]
mod tests;
