//! Completes a tree of packages: every dependency is met, as high up as it can lie.
//!
//! Pure: [`Resolver::wanted`] says which documents of the registry are needed next,
//! [`Resolver::advance`] goes on with those it is given. Packages that will do are kept where they are,
//! so that installing one package does not change the others.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::packument::{Packument, Release};
use super::platform::Platform;
use super::spec::{Spec, is_package_name};
use super::tree::{NodeId, NodeOrigin, Tree};
use crate::error::PackageError;

/// What pi itself gives to extensions, whatever a package says it needs.
const PROVIDED: [&str; 2] = ["typebox", "@sinclair/typebox"];

/// The scopes whose `pi-` packages pi gives to extensions.
const PROVIDED_SCOPES: [&str; 2] = ["@earendil-works/pi-", "@mariozechner/pi-"];

/// Returns whether extensions get a module from pi itself.
pub(crate) fn is_provided(name: &str) -> bool {
    PROVIDED.contains(&name) || PROVIDED_SCOPES.iter().any(|scope| name.starts_with(scope))
}

/// Whether packages that others expect beside them are installed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peers {
    /// They are not: pi gives its own modules, and the others are the user's matter.
    Ignored,
    /// They are, save those pi gives.
    Installed,
}

/// What is known of a package.
pub(crate) type Lookup = Result<Arc<Packument>, Arc<PackageError>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
    Peer,
}

/// A resolution under way.
pub(crate) struct Resolver {
    pub(crate) tree: Tree,
    pub(crate) known: HashMap<String, Lookup>,
    platform: Platform,
    peers: Peers,
    pending: VecDeque<NodeId>,
    /// Versions a lock file names, by package: of those that will do, one of these is taken.
    preferred: HashMap<String, BTreeSet<String>>,
    /// Optional dependencies that cannot be had here.
    given_up: HashSet<(NodeId, String)>,
}

impl Resolver {
    /// Starts with a tree, all of which is looked at.
    pub(crate) fn new(tree: Tree, platform: Platform, peers: Peers) -> Self {
        let mut pending = VecDeque::from([Tree::ROOT]);
        pending.extend(tree.below(Tree::ROOT));
        Self {
            tree,
            known: HashMap::new(),
            platform,
            peers,
            pending,
            preferred: HashMap::new(),
            given_up: HashSet::new(),
        }
    }

    /// Prefers the versions a lock file names.
    pub(crate) fn prefer(mut self, preferred: HashMap<String, BTreeSet<String>>) -> Self {
        self.preferred = preferred;
        self
    }

    /// Returns the packages whose documents are needed to go on; none when the tree is complete.
    pub(crate) fn wanted(&self) -> BTreeSet<String> {
        let mut wanted = BTreeSet::new();
        for node in &self.pending {
            for (name, text, need) in self.needs(*node) {
                let spec = Spec::parse(&text);
                if self.is_met(*node, &name, &spec, need) || matches!(spec.wanted(), Spec::Foreign)
                {
                    continue;
                }
                let package = spec.package(&name);
                if !self.known.contains_key(package) {
                    wanted.insert(package.to_owned());
                }
            }
        }
        wanted
    }

    /// Returns whether anything is left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Meets what can be met with the documents that are known.
    pub(crate) fn advance(&mut self) -> Result<(), PackageError> {
        let mut waiting = VecDeque::new();
        while let Some(node) = self.pending.pop_front() {
            if self.tree.is_removed(node) {
                continue;
            }
            if !self.meet(node)? {
                waiting.push_back(node);
            }
        }
        self.pending = waiting;
        Ok(())
    }

    /// Meets the needs of one package; `false` when a document is missing.
    fn meet(&mut self, node: NodeId) -> Result<bool, PackageError> {
        let mut is_complete = true;
        for (name, text, need) in self.needs(node) {
            if self.tree.is_removed(node) {
                return Ok(true);
            }
            let spec = Spec::parse(&text);
            if self.is_met(node, &name, &spec, need) {
                continue;
            }
            let release = match self.choose(node, &name, &spec, &text) {
                Ok(Some(release)) => release,
                Ok(None) => {
                    is_complete = false;
                    continue;
                }
                Err(error) => {
                    self.give_up(node, &name, need, error)?;
                    continue;
                }
            };
            self.place(node, &name, &spec, need, release)?;
        }
        Ok(is_complete)
    }

    /// Chooses the release for a need; none while its document is missing.
    fn choose(
        &self,
        node: NodeId,
        name: &str,
        spec: &Spec,
        text: &str,
    ) -> Result<Option<Release>, PackageError> {
        if !is_package_name(name) {
            return Err(PackageError::malformed(
                self.name_of(node),
                format!("{name:?} is not the name of a package"),
            ));
        }
        if matches!(spec.wanted(), Spec::Foreign) {
            return Err(PackageError::ForeignDependency {
                name: self.name_of(node),
                dependency: name.to_owned(),
                spec: text.to_owned(),
            });
        }
        let package = spec.package(name);
        let packument = match self.known.get(package) {
            None => return Ok(None),
            Some(Ok(packument)) => packument,
            Some(Err(error)) => return Err(repeated(error, package)),
        };
        let wanted = match spec {
            Spec::Alias { .. } => {
                let version = text.rsplit_once('@').map_or("", |(_, version)| version);
                if version.contains('/') { "" } else { version }
            }
            Spec::Range(_) | Spec::Tag(_) | Spec::Foreign => text,
        };
        let preferred = self.preferred.get(package).into_iter().flatten();
        let locked = preferred
            .filter(|version| spec.accepts(name, package, version))
            .filter(|_| matches!(spec.wanted(), Spec::Range(_)))
            .find_map(|version| packument.exactly(package, version));
        let release = match locked {
            Some(release) => release,
            None => packument.choose(package, spec.wanted(), wanted)?,
        };
        if !self.platform.takes(&release.manifest) {
            return Err(PackageError::WrongPlatform(format!(
                "{package}@{}",
                release.manifest.version
            )));
        }
        Ok(Some(release))
    }

    /// Leaves out an optional dependency, or the optional package that cannot do without this one.
    fn give_up(
        &mut self,
        node: NodeId,
        name: &str,
        need: Need,
        error: PackageError,
    ) -> Result<(), PackageError> {
        if need != Need::Required {
            tracing::debug!(name, %error, "an optional dependency is left out");
            self.given_up.insert((node, name.to_owned()));
            return Ok(());
        }
        let optional = self.tree.node(node).and_then(|node| node.optional_for);
        let Some(optional) = optional.filter(|optional| !self.tree.is_removed(*optional)) else {
            return Err(error);
        };
        let dir = self.tree.node(optional).map(|node| node.dir.clone());
        tracing::debug!(?dir, %error, "an optional dependency is left out");
        if let Some(dir) = dir {
            // Nobody tries again, except who cannot do without it.
            for place in self.everything() {
                self.given_up.insert((place, dir.clone()));
            }
        }
        self.tree.remove(optional);
        Ok(())
    }

    /// Puts a release where it serves most and hides nothing.
    fn place(
        &mut self,
        node: NodeId,
        name: &str,
        spec: &Spec,
        need: Need,
        release: Release,
    ) -> Result<(), PackageError> {
        let start = match need {
            Need::Required | Need::Optional => node,
            // A peer lies beside the package that expects it.
            Need::Peer => self.parent(node).unwrap_or(node),
        };
        let mut place = start;
        let mut next = Some(start);
        while let Some(candidate) = next {
            let Some(at) = self.tree.node(candidate) else {
                break;
            };
            if at.children.contains_key(name) {
                // What does not do here: everything above is hidden by it.
                break;
            }
            place = candidate;
            next = at.parent;
        }
        // Only the starting place can be taken by what does not do.
        if let Some(taken) = self.tree.node(place).and_then(|at| at.children.get(name)) {
            self.tree.remove(*taken);
        }
        let optional_for = match need {
            Need::Optional => None,
            Need::Required | Need::Peer => self.tree.node(node).and_then(|node| node.optional_for),
        };
        let manifest = release.manifest.clone();
        let origin = NodeOrigin::Archive(Box::new(release));
        let placed = self.tree.add(place, name, manifest, origin)?;
        if let Some(added) = self.tree.node_mut(placed) {
            added.optional_for = match need {
                Need::Optional => Some(placed),
                Need::Required | Need::Peer => optional_for,
            };
        }
        self.pending.push_back(placed);
        self.look_again(place, name);
        tracing::trace!(name, ?spec, place = %self.tree.place(placed), "placed");
        Ok(())
    }

    /// Looks again at packages that may now find something else under a name.
    fn look_again(&mut self, place: NodeId, name: &str) {
        let concerned: Vec<NodeId> = std::iter::once(place)
            .chain(self.tree.below(place))
            .filter(|id| {
                let node = self.tree.node(*id);
                node.is_some_and(|node| {
                    node.manifest.dependencies.contains_key(name)
                        || node.manifest.optional_dependencies.contains_key(name)
                })
            })
            .collect();
        self.pending.extend(concerned);
    }

    fn everything(&self) -> Vec<NodeId> {
        let mut nodes = self.tree.below(Tree::ROOT);
        nodes.push(Tree::ROOT);
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

    fn needs(&self, node: NodeId) -> Vec<(String, String, Need)> {
        needs(&self.tree, node, self.peers)
            .into_iter()
            .filter(|(name, _, need)| {
                *need == Need::Required || !self.given_up.contains(&(node, name.clone()))
            })
            .collect()
    }

    fn is_met(&self, node: NodeId, name: &str, spec: &Spec, need: Need) -> bool {
        let Some(found) = self.tree.find(node, name).and_then(|id| self.tree.node(id)) else {
            return false;
        };
        // A peer of another version is the user's choice.
        need == Need::Peer
            || spec.accepts(name, &found.manifest.name, &found.manifest.version)
            || matches!(found.origin, NodeOrigin::Link(_))
    }

    /// Takes away what nothing needs, and returns the tree.
    pub(crate) fn finish(mut self) -> Tree {
        let mut used = HashSet::from([Tree::ROOT]);
        let mut pending = vec![Tree::ROOT];
        while let Some(node) = pending.pop() {
            let mut reached: Vec<NodeId> = needs(&self.tree, node, self.peers)
                .into_iter()
                .filter_map(|(name, _, _)| self.tree.find(node, &name))
                .collect();
            // What an archive brings stays with it.
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
        for unused in self.everything() {
            if !used.contains(&unused) {
                self.tree.remove(unused);
            }
        }
        self.tree
    }
}

/// Lists what a package needs that its archive does not bring.
fn needs(tree: &Tree, node: NodeId, peers: Peers) -> Vec<(String, String, Need)> {
    let Some(node) = tree.node(node) else {
        return Vec::new();
    };
    if matches!(node.origin, NodeOrigin::Link(_)) {
        return Vec::new();
    }
    let manifest = &node.manifest;
    // Before an archive is unpacked, what it brings is not known yet.
    let is_packed = matches!(node.origin, NodeOrigin::Archive(_));
    let list = |table: &BTreeMap<String, String>, need: Need| {
        let entries = table.iter();
        entries
            .filter(|(name, _)| !(is_packed && manifest.bundled.contains(*name)))
            .map(|(name, spec)| (name.clone(), spec.clone(), need))
            .collect::<Vec<_>>()
    };
    let mut needs = list(&manifest.dependencies, Need::Required);
    needs.extend(list(&manifest.optional_dependencies, Need::Optional));
    if peers == Peers::Installed {
        let mut expected = list(&manifest.peer_dependencies, Need::Peer);
        expected.retain(|(name, _, _)| !is_provided(name));
        needs.extend(expected);
    }
    needs
}

/// The same error again, for each who meets it.
fn repeated(error: &PackageError, package: &str) -> PackageError {
    match error {
        PackageError::UnknownPackage(_) => PackageError::UnknownPackage(package.to_owned()),
        PackageError::Network { url, problem } => PackageError::Network {
            url: url.clone(),
            problem: problem.clone(),
        },
        PackageError::Refused { url, status } => PackageError::Refused {
            url: url.clone(),
            status: *status,
        },
        PackageError::NoRegistry => PackageError::NoRegistry,
        other => PackageError::malformed(package, other),
    }
}

#[cfg(test)]
mod tests;
