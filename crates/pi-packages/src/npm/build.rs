//! Builds a `node_modules` directory: resolves dependencies, reuses existing packages and fetches missing ones.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Map, Value};

use super::locked_checksums::LockedChecksums;
use super::manifest::NpmManifest;
use super::packument::Release;
use super::platform::NpmPlatform;
use super::registry::RegistryClient;
use super::resolve::{DependencyResolver, PeerDependencies};
use super::scripts::{ScriptPolicy, run_scripts};
use super::tree::{NodeId, NodeOrigin, PackageTree};
use super::unpack::{UnpackLimits, unpack};
use super::{programs, spec::DependencySpec};
use crate::dir_ops::{self, CopyMode};
use crate::error::PackageError;
use crate::progress::{InstallProgress, ProgressListener};

/// Number of concurrent downloads; limited by disks rather than by registries.
const CONCURRENT_DOWNLOADS: usize = 8;

/// Bundled packages may have further dependencies, which need another round.
const MAX_ROUNDS: usize = 4;

/// The inputs of a build.
pub(crate) struct BuildRequirements<'a> {
    pub(crate) manifest: NpmManifest,
    /// A directory whose `node_modules` is reused where possible.
    pub(crate) existing: Option<&'a Path>,
    /// Releases to install exactly, by directory name.
    pub(crate) exact_releases: Vec<(String, Release)>,
    /// The packages of the lock file, whose versions are preferred.
    pub(crate) lock: Map<String, Value>,
    pub(crate) peers: PeerDependencies,
}

pub(crate) struct ModulesBuilder<'a> {
    pub(crate) registry: &'a RegistryClient,
    pub(crate) progress: &'a ProgressListener,
    pub(crate) scripts: &'a ScriptPolicy,
}

impl ModulesBuilder<'_> {
    /// Builds the `node_modules` of `dir`, which must not have one. Returns the planned tree, in
    /// which every package still has its origin.
    pub(crate) async fn build(
        &self,
        requirements: BuildRequirements<'_>,
        dir: &Path,
    ) -> Result<PackageTree, PackageError> {
        let BuildRequirements {
            manifest,
            existing,
            exact_releases,
            lock,
            peers,
        } = requirements;
        let mut tree = match existing {
            Some(existing) => PackageTree::load(manifest.clone(), existing)?,
            None => PackageTree::new(manifest.clone()),
        };
        let mut known = HashMap::new();
        for (name, release) in exact_releases {
            place_release(&mut tree, &name, release)?;
        }
        let preferred = locked_versions(&lock);
        let locked_checksums = LockedChecksums::of(&lock);
        let mut planned: Option<PackageTree> = None;
        for _ in 0..MAX_ROUNDS {
            let mut resolver = DependencyResolver::new(tree, NpmPlatform::current(), peers)
                .prefer(preferred.clone());
            resolver.known = known;
            self.resolve(&mut resolver).await?;
            known = std::mem::take(&mut resolver.known);
            let mut complete = resolver.finish();
            locked_checksums.apply(&mut complete);
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
            // Bundled packages are part of the tree now.
            tree = PackageTree::load(manifest.clone(), dir)?;
        }
        let planned = planned.unwrap_or_else(|| PackageTree::new(manifest));
        run_scripts(&planned, dir, self.scripts, self.progress).await?;
        programs::link_programs(&planned, dir)?;
        Ok(planned)
    }

    async fn resolve(&self, resolver: &mut DependencyResolver) -> Result<(), PackageError> {
        while !resolver.is_done() {
            let missing = resolver.missing_packuments();
            let found: Vec<_> = stream::iter(missing)
                .map(|name| async {
                    let document = self.registry.packument(&name).await;
                    (name, document.map(Arc::new).map_err(Arc::new))
                })
                .buffer_unordered(CONCURRENT_DOWNLOADS)
                .collect()
                .await;
            resolver.known.extend(found);
            self.progress.report(InstallProgress::Resolving {
                packages: resolver.known.len(),
            });
            resolver.advance()?;
        }
        Ok(())
    }

    /// Installs the packages of the tree that are missing in the directory, and removes those that are not
    /// part of the tree.
    async fn materialize(&self, tree: &PackageTree, dir: &Path) -> Result<(), PackageError> {
        let modules = dir.join("node_modules");
        fs::create_dir_all(&modules).map_err(PackageError::disk(&modules))?;
        let mut missing = Vec::new();
        // Parents first: a package directory contains its nested dependencies.
        for id in packages(tree) {
            let Some(node) = tree.node(id) else { continue };
            let path = dir.join(tree.path(id));
            match &node.origin {
                NodeOrigin::LocalDir(from) if *from != path => {
                    dir_ops::copy_dir(from, &path, CopyMode::HardLink, &["node_modules"])
                        .map_err(PackageError::disk(&path))?;
                }
                NodeOrigin::Link(target) => {
                    let above = path.parent().unwrap_or(&path);
                    fs::create_dir_all(above).map_err(PackageError::disk(above))?;
                    if fs::symlink_metadata(&path).is_err() {
                        dir_ops::link(target, &path).map_err(PackageError::disk(&path))?;
                    }
                }
                NodeOrigin::Archive(release) => missing.push(((**release).clone(), path)),
                NodeOrigin::LocalDir(_) | NodeOrigin::Root => {}
            }
        }
        let total = missing.len();
        let (done, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
        let report_progress = || {
            self.progress.report(InstallProgress::Fetching {
                done: done.load(Ordering::Relaxed),
                total,
                bytes: bytes.load(Ordering::Relaxed),
            });
        };
        let on_bytes = |count: u64| {
            bytes.fetch_add(count, Ordering::Relaxed);
            report_progress();
        };
        stream::iter(missing)
            .map(Ok)
            .try_for_each_concurrent(CONCURRENT_DOWNLOADS, |(release, path)| {
                let (on_bytes, report_progress, done) = (&on_bytes, &report_progress, &done);
                async move {
                    let mut archive = self.registry.archive(&release, on_bytes).await?;
                    let unpacking = tokio::task::spawn_blocking(move || {
                        let name =
                            format!("{}@{}", release.manifest.name, release.manifest.version);
                        unpack(&name, &mut archive, &path, UnpackLimits::DEFAULT)
                    });
                    unpacking
                        .await
                        .map_err(|error| PackageError::malformed("an archive", error))??;
                    done.fetch_add(1, Ordering::Relaxed);
                    report_progress();
                    Ok(())
                }
            })
            .await
    }
}

/// Places a release directly below the root, replacing another version of it.
fn place_release(tree: &mut PackageTree, name: &str, release: Release) -> Result<(), PackageError> {
    let there = tree
        .node(PackageTree::ROOT)
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
    tree.add(PackageTree::ROOT, name, manifest, origin)
        .map(drop)
}

/// Lists the packages of a tree, parents first.
pub(super) fn packages(tree: &PackageTree) -> impl Iterator<Item = NodeId> {
    let mut places: Vec<(String, NodeId)> = tree
        .below(PackageTree::ROOT)
        .into_iter()
        .map(|id| (tree.path(id), id))
        .collect();
    places.sort();
    places.into_iter().map(|(_, id)| id)
}

pub(super) fn is_new(tree: &PackageTree, id: NodeId) -> bool {
    let node = tree.node(id);
    node.is_some_and(|node| matches!(node.origin, NodeOrigin::Archive(_)))
}

fn has_bundle(tree: &PackageTree, id: NodeId) -> bool {
    let node = tree.node(id);
    node.is_some_and(|node| !node.manifest.bundled.is_empty())
}

/// Restores the origins of packages from an earlier round.
fn with_origins(mut tree: PackageTree, earlier: &PackageTree) -> PackageTree {
    let origins: HashMap<String, NodeOrigin> = packages(earlier)
        .filter_map(|id| Some((earlier.path(id), earlier.node(id)?.origin.clone())))
        .collect();
    for id in packages(&tree).collect::<Vec<_>>() {
        let path = tree.path(id);
        if let Some(origin) = origins.get(&path)
            && let Some(node) = tree.node_mut(id)
        {
            node.origin = origin.clone();
        }
    }
    tree
}

/// Returns the versions in a lock file, by package.
fn locked_versions(lock: &Map<String, Value>) -> HashMap<String, BTreeSet<String>> {
    let mut versions: HashMap<String, BTreeSet<String>> = HashMap::new();
    for (path, entry) in lock {
        if let Some((name, version)) = locked_package(path, entry) {
            let known = versions.entry(name.to_owned()).or_default();
            known.insert(version.to_owned());
        }
    }
    versions
}

/// Returns name and version of an entry of a lock file.
pub(super) fn locked_package<'a>(path: &'a str, entry: &'a Value) -> Option<(&'a str, &'a str)> {
    let dir = path.rsplit_once("node_modules/").map(|(_, name)| name);
    let name = entry.get("name").and_then(Value::as_str).or(dir)?;
    Some((name, entry.get("version").and_then(Value::as_str)?))
}

impl ModulesBuilder<'_> {
    /// Chooses the release for a source.
    pub(crate) async fn choose(
        &self,
        name: &str,
        version: Option<&str>,
    ) -> Result<Release, PackageError> {
        let packument = self.registry.packument(name).await?;
        let version = version.unwrap_or("latest");
        packument.choose(name, &DependencySpec::parse(version), version)
    }
}
