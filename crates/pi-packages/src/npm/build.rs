//! Builds a `node_modules` directory: resolves, fetches what is missing, takes over what is there.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Map, Value};

use super::manifest::Manifest;
use super::packument::Release;
use super::platform::Platform;
use super::registry::Registry;
use super::resolve::{Peers, Resolver};
use super::scripts::{ScriptPolicy, run_scripts};
use super::tree::{NodeId, NodeOrigin, Tree};
use super::unpack::{Limits, unpack};
use super::{programs, spec::Spec};
use crate::dir_ops::{self, CopyMode};
use crate::error::PackageError;
use crate::progress::{InstallProgress, ProgressListener};

/// How many documents or archives are fetched at once. Registries do not mind more, disks do.
const AT_ONCE: usize = 8;

/// Archives may bring packages that need others; more rounds than this nobody needs.
const MAX_ROUNDS: usize = 4;

/// What a directory needs.
pub(crate) struct Requirements<'a> {
    /// The directory's own `package.json`.
    pub(crate) manifest: Manifest,
    /// A directory whose `node_modules` is taken over as far as it will do.
    pub(crate) existing: Option<&'a Path>,
    /// Packages to be had in exactly this release, by the name of their directory.
    pub(crate) exactly: Vec<(String, Release)>,
    /// The lock file, whose versions are preferred.
    pub(crate) lock: Map<String, Value>,
    /// What to do about packages expected beside others.
    pub(crate) peers: Peers,
}

/// What builds, and under which rules.
pub(crate) struct Builder<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) progress: &'a ProgressListener,
    pub(crate) scripts: &'a ScriptPolicy,
}

impl Builder<'_> {
    /// Builds the `node_modules` of `directory`, which has none yet. Returns the tree as it was planned, in
    /// which every package still says where it came from.
    pub(crate) async fn build(
        &self,
        requirements: Requirements<'_>,
        dir: &Path,
    ) -> Result<Tree, PackageError> {
        let Requirements {
            manifest,
            existing,
            exactly,
            lock,
            peers,
        } = requirements;
        let mut tree = match existing {
            Some(existing) => Tree::load(manifest.clone(), existing)?,
            None => Tree::new(manifest.clone()),
        };
        let mut known = HashMap::new();
        for (name, release) in exactly {
            place_exactly(&mut tree, &name, release)?;
        }
        let preferred = locked_versions(&lock);
        let mut planned: Option<Tree> = None;
        for _ in 0..MAX_ROUNDS {
            let mut resolver =
                Resolver::new(tree, Platform::current(), peers).prefer(preferred.clone());
            resolver.known = known;
            self.resolve(&mut resolver).await?;
            known = std::mem::take(&mut resolver.known);
            let complete = resolver.finish();
            self.materialize(&complete, dir).await?;
            let brings_more = packages(&complete)
                .any(|node| is_new(&complete, node) && has_bundle(&complete, node));
            planned = Some(match planned {
                None => complete,
                Some(earlier) => with_origins(complete, &earlier),
            });
            if !brings_more {
                break;
            }
            // What the archives brought is part of the tree now.
            tree = Tree::load(manifest.clone(), dir)?;
        }
        let planned = planned.unwrap_or_else(|| Tree::new(manifest));
        run_scripts(&planned, dir, self.scripts, self.progress).await?;
        programs::link_programs(&planned, dir)?;
        Ok(planned)
    }

    async fn resolve(&self, resolver: &mut Resolver) -> Result<(), PackageError> {
        while !resolver.is_done() {
            let wanted = resolver.wanted();
            let found: Vec<_> = stream::iter(wanted)
                .map(|name| async {
                    let document = self.registry.packument(&name).await;
                    (name, document.map(Arc::new).map_err(Arc::new))
                })
                .buffer_unordered(AT_ONCE)
                .collect()
                .await;
            resolver.known.extend(found);
            self.progress.tell(InstallProgress::Resolving {
                packages: resolver.known.len(),
            });
            resolver.advance()?;
        }
        Ok(())
    }

    /// Puts every package of the tree into the directory that is not there yet, and takes away what is not
    /// part of the tree.
    async fn materialize(&self, tree: &Tree, dir: &Path) -> Result<(), PackageError> {
        let modules = dir.join("node_modules");
        fs::create_dir_all(&modules).map_err(PackageError::disk(&modules))?;
        let mut missing = Vec::new();
        // The outer ones first: a directory holds those of its dependencies.
        for id in packages(tree) {
            let Some(node) = tree.node(id) else { continue };
            let place = dir.join(tree.place(id));
            match &node.origin {
                NodeOrigin::LocalDir(from) if *from != place => {
                    dir_ops::copy_dir(from, &place, CopyMode::HardLink, &["node_modules"])
                        .map_err(PackageError::disk(&place))?;
                }
                NodeOrigin::Link(target) => {
                    let above = place.parent().unwrap_or(&place);
                    fs::create_dir_all(above).map_err(PackageError::disk(above))?;
                    if fs::symlink_metadata(&place).is_err() {
                        dir_ops::link(target, &place).map_err(PackageError::disk(&place))?;
                    }
                }
                NodeOrigin::Archive(release) => missing.push(((**release).clone(), place)),
                NodeOrigin::LocalDir(_) | NodeOrigin::Root => {}
            }
        }
        let total = missing.len();
        let (done, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
        let tell = || {
            self.progress.tell(InstallProgress::Fetching {
                done: done.load(Ordering::Relaxed),
                total,
                bytes: bytes.load(Ordering::Relaxed),
            });
        };
        let on_bytes = |count: u64| {
            bytes.fetch_add(count, Ordering::Relaxed);
            tell();
        };
        stream::iter(missing)
            .map(Ok)
            .try_for_each_concurrent(AT_ONCE, |(release, place)| {
                let (on_bytes, tell, done) = (&on_bytes, &tell, &done);
                async move {
                    let mut archive = self.registry.archive(&release, on_bytes).await?;
                    let unpacking = tokio::task::spawn_blocking(move || {
                        let name =
                            format!("{}@{}", release.manifest.name, release.manifest.version);
                        unpack(&name, &mut archive, &place, Limits::USUAL)
                    });
                    unpacking
                        .await
                        .map_err(|error| PackageError::malformed("an archive", error))??;
                    done.fetch_add(1, Ordering::Relaxed);
                    tell();
                    Ok(())
                }
            })
            .await
    }
}

/// Puts a release directly below the root, in place of another one of that name.
fn place_exactly(tree: &mut Tree, name: &str, release: Release) -> Result<(), PackageError> {
    let there = tree
        .node(Tree::ROOT)
        .and_then(|root| root.children.get(name));
    if let Some(there) = there.copied() {
        let node = tree.node(there);
        let is_same = node.is_some_and(|node| {
            node.manifest.name == release.manifest.name
                && node.manifest.version == release.manifest.version
                && matches!(node.origin, NodeOrigin::LocalDir(_))
        });
        if is_same {
            return Ok(());
        }
        tree.remove(there);
    }
    let manifest = release.manifest.clone();
    let origin = NodeOrigin::Archive(Box::new(release));
    tree.add(Tree::ROOT, name, manifest, origin).map(drop)
}

/// Lists the packages of a tree, the outer ones first.
fn packages(tree: &Tree) -> impl Iterator<Item = NodeId> {
    let mut places: Vec<(String, NodeId)> = tree
        .below(Tree::ROOT)
        .into_iter()
        .map(|id| (tree.place(id), id))
        .collect();
    places.sort();
    places.into_iter().map(|(_, id)| id)
}

pub(super) fn is_new(tree: &Tree, id: NodeId) -> bool {
    let node = tree.node(id);
    node.is_some_and(|node| matches!(node.origin, NodeOrigin::Archive(_)))
}

fn has_bundle(tree: &Tree, id: NodeId) -> bool {
    let node = tree.node(id);
    node.is_some_and(|node| !node.manifest.bundled.is_empty())
}

/// Remembers where packages of an earlier round came from.
fn with_origins(mut tree: Tree, earlier: &Tree) -> Tree {
    let origins: HashMap<String, NodeOrigin> = packages(earlier)
        .filter_map(|id| Some((earlier.place(id), earlier.node(id)?.origin.clone())))
        .collect();
    for id in packages(&tree).collect::<Vec<_>>() {
        let place = tree.place(id);
        if let Some(origin) = origins.get(&place)
            && let Some(node) = tree.node_mut(id)
        {
            node.origin = origin.clone();
        }
    }
    tree
}

/// Reads the versions of a lock file, by package.
fn locked_versions(lock: &Map<String, Value>) -> HashMap<String, BTreeSet<String>> {
    let mut versions: HashMap<String, BTreeSet<String>> = HashMap::new();
    for (place, entry) in lock {
        let dir = place.rsplit_once("node_modules/").map(|(_, name)| name);
        let name = entry.get("name").and_then(Value::as_str).or(dir);
        let version = entry.get("version").and_then(Value::as_str);
        if let (Some(name), Some(version)) = (name, version) {
            let known = versions.entry(name.to_owned()).or_default();
            known.insert(version.to_owned());
        }
    }
    versions
}

impl Builder<'_> {
    /// Chooses the release a source names.
    pub(crate) async fn choose(
        &self,
        name: &str,
        version: Option<&str>,
    ) -> Result<Release, PackageError> {
        let packument = self.registry.packument(name).await?;
        let wanted = version.unwrap_or("latest");
        packument.choose(name, &Spec::parse(wanted), wanted)
    }
}
