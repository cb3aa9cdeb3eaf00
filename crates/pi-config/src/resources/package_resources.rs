//! The resources of installed packages.
//!
//! A package lists its resources in its manifest or has them in the four conventional directories;
//! the settings entry of the package may filter them. A project's entry for a package the
//! user also has replaces the user's entry, or, with `autoload: false`, only modifies it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use pi_protocol::settings::{PackageFilter, PackageSource};
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};
use pi_protocol::{SourceOrigin, SourceScope};

use super::entry_patterns::{EntryPatterns, OverrideEntry, is_override};
use super::location::normalize;
use super::path_glob::PathGlob;
use super::provenance::Provenance;
use super::selection::{ResourceKind, ResourceSelector};
use super::walk::{EntryKind, kind_of};
use crate::packages::{
    Manifest, MissingPackage, PackageAddress, installed_version, provided_dependencies,
};

/// A package that is configured in some scope.
#[derive(Clone)]
struct PackageRequest<'a> {
    entry: &'a PackageSource,
    address: PackageAddress,
    scope: SourceScope,
    identity: String,
}

/// Returns the patterns of a filter for a kind, if it has any.
pub(super) fn filter_patterns(filter: &PackageFilter, kind: ResourceKind) -> Option<&[String]> {
    match kind {
        ResourceKind::Extensions => filter.extensions.as_deref(),
        ResourceKind::Skills => filter.skills.as_deref(),
        ResourceKind::Prompts => filter.prompts.as_deref(),
        ResourceKind::Themes => filter.themes.as_deref(),
    }
}

impl Manifest {
    fn entries(&self, kind: ResourceKind) -> Option<&[String]> {
        match kind {
            ResourceKind::Extensions => self.extensions.as_deref(),
            ResourceKind::Skills => self.skills.as_deref(),
            ResourceKind::Prompts => self.prompts.as_deref(),
            ResourceKind::Themes => self.themes.as_deref(),
        }
    }
}

impl ResourceSelector<'_> {
    /// Adds the project's and the user's packages.
    pub(super) fn add_configured_packages(&mut self) {
        let mut requests: Vec<PackageRequest<'_>> = Vec::new();
        for scope in [SourceScope::Project, SourceScope::User] {
            let entries = self
                .settings(scope)
                .and_then(|settings| settings.packages.as_ref());
            for entry in entries.into_iter().flatten() {
                if let Some(address) = self.parse(entry.source()) {
                    let identity = self.locations().identity(&address, scope);
                    add_package_request(
                        &mut requests,
                        PackageRequest {
                            entry,
                            address,
                            scope,
                            identity,
                        },
                    );
                }
            }
        }
        for index in 0..requests.len() {
            let Some(request) = requests.get(index).cloned() else {
                continue;
            };
            let base = (request.scope == SourceScope::Project && is_override_entry(request.entry))
                .then(|| {
                    requests.iter().find(|other| {
                        other.scope == SourceScope::User && other.identity == request.identity
                    })
                })
                .flatten()
                .cloned()
                .unwrap_or_else(|| request.clone());
            self.add_package(&request, &base);
        }
    }

    /// Adds an argument of `--extension`: a file, a directory or a package.
    pub(super) fn add_command_line_package(&mut self, source: &str) {
        let Some(address) = self.parse(source) else {
            return;
        };
        let entry = PackageSource::from(source);
        let request = PackageRequest {
            entry: &entry,
            identity: String::new(),
            address,
            scope: SourceScope::Temporary,
        };
        self.add_package(&request, &request);
    }

    fn parse(&mut self, source: &str) -> Option<PackageAddress> {
        match PackageAddress::parse(source) {
            Ok(address) => Some(address),
            Err(error) => {
                self.diagnostics.push(ConfigDiagnostic {
                    level: DiagnosticLevel::Warning,
                    message: error.to_string(),
                    path: None,
                });
                None
            }
        }
    }

    /// Adds the resources of one package; `base` determines where it is installed.
    fn add_package(&mut self, request: &PackageRequest<'_>, base: &PackageRequest<'_>) {
        let root = self.locations().install_path(&base.address, base.scope);
        let kind = kind_of(&root);
        let is_local = matches!(base.address, PackageAddress::Local(_));
        let provenance = |base_dir: &Path| {
            Rc::new(Provenance {
                source: request.entry.source().to_owned(),
                scope: request.scope,
                origin: SourceOrigin::Package,
                base_dir: Some(base_dir.to_owned()),
            })
        };
        match kind {
            Some(EntryKind::File) if is_local => {
                let provenance = provenance(root.parent().unwrap_or(&root));
                self.add(ResourceKind::Extensions, root, &provenance, true);
            }
            Some(EntryKind::Directory) if is_installed(&base.address, &root) => {
                if request.scope == SourceScope::Temporary && !is_local {
                    self.temporary.push(request.address.clone());
                }
                let provenance = provenance(&root);
                let filter = filter_of(request.entry);
                let found = self.add_package_resources(&root, filter, &provenance);
                if is_local && !found {
                    self.add(ResourceKind::Extensions, root, &provenance, true);
                }
            }
            Some(EntryKind::File | EntryKind::Directory) | None => {
                self.report_missing(base, root);
            }
        }
    }

    fn report_missing(&mut self, request: &PackageRequest<'_>, install_path: PathBuf) {
        if matches!(request.address, PackageAddress::Local(_)) {
            // Arguments of `--extension` are reported with the extensions.
            if request.scope != SourceScope::Temporary {
                let message = "package path does not exist; fix it in the settings";
                self.diagnostics
                    .push(ConfigDiagnostic::warning(message, install_path));
            }
            return;
        }
        let message = format!("package {} is not installed", request.entry.source());
        self.diagnostics
            .push(ConfigDiagnostic::warning(message, &install_path));
        self.missing.push(MissingPackage {
            source: request.entry.source().to_owned(),
            address: request.address.clone(),
            scope: request.scope,
            install_path,
        });
    }

    /// Warns about an extension package that brings its own copies of packages that the program provides.
    fn check_dependencies(&mut self, root: &Path, manifest: Option<&Manifest>) {
        let has_extensions = match manifest {
            Some(manifest) => manifest.extensions.is_some(),
            None => kind_of(&root.join(ResourceKind::Extensions.dir())).is_some(),
        };
        let provided = provided_dependencies(root);
        if !has_extensions || provided.is_empty() {
            return;
        }
        let message = format!(
            "pi provides {}: list them in peerDependencies with the range \"*\" instead of dependencies",
            provided.join(", ")
        );
        let file = root.join("package.json");
        self.diagnostics
            .push(ConfigDiagnostic::warning(message, file));
    }

    /// Adds the resources of a package directory. Returns whether it is laid out as a package.
    fn add_package_resources(
        &mut self,
        root: &Path,
        filter: Option<&PackageFilter>,
        provenance: &Rc<Provenance>,
    ) -> bool {
        let manifest = Manifest::read(root);
        self.check_dependencies(root, manifest.as_ref());
        let Some(filter) = filter else {
            let mut found = manifest.is_some();
            for kind in ResourceKind::ALL {
                let files = match &manifest {
                    Some(manifest) => self.declared(root, kind, manifest.entries(kind)),
                    None if kind_of(&root.join(kind.dir())).is_some() => {
                        found = true;
                        self.conventional(root, kind)
                    }
                    None => Vec::new(),
                };
                self.add_all(kind, files, provenance, true);
            }
            return found;
        };
        for kind in ResourceKind::ALL {
            let patterns = filter_patterns(filter, kind);
            let is_delta = filter.autoload == Some(false);
            if is_delta && patterns.is_none_or(<[String]>::is_empty) {
                continue;
            }
            let declared = manifest
                .as_ref()
                .and_then(|manifest| manifest.entries(kind));
            // An empty manifest list means "none" only if there is no filter.
            let files = match declared {
                Some(entries) if patterns.is_none() || !entries.is_empty() => {
                    self.declared(root, kind, Some(entries))
                }
                Some(_) | None => self.conventional(root, kind),
            };
            match patterns {
                None => self.add_all(kind, files, provenance, true),
                Some(patterns) if is_delta => {
                    self.add_changed(kind, files, patterns, root, provenance);
                }
                Some([]) => self.add_all(kind, files, provenance, false),
                Some(patterns) => {
                    let patterns = EntryPatterns::new(patterns.iter().map(String::as_str));
                    for file in files {
                        let enabled = patterns.allow(&file, root);
                        self.add(kind, file, provenance, enabled);
                    }
                }
            }
        }
        true
    }

    fn add_all(
        &mut self,
        kind: ResourceKind,
        files: Vec<PathBuf>,
        provenance: &Rc<Provenance>,
        enabled: bool,
    ) {
        for file in files {
            self.add(kind, file, provenance, enabled);
        }
    }

    /// Adds only the files that a change matches.
    fn add_changed(
        &mut self,
        kind: ResourceKind,
        files: Vec<PathBuf>,
        patterns: &[String],
        root: &Path,
        provenance: &Rc<Provenance>,
    ) {
        let overrides = patterns.iter().map(|entry| OverrideEntry::new(entry));
        let overrides: Vec<OverrideEntry> = overrides.collect();
        for file in files {
            let decided = overrides
                .iter()
                .rev()
                .find_map(|entry| entry.decide(&file, root));
            if let Some(enabled) = decided {
                self.add(kind, file, provenance, enabled);
            }
        }
    }

    /// Collects the files of a manifest list, minus those excluded by its own overrides.
    fn declared(
        &mut self,
        root: &Path,
        kind: ResourceKind,
        entries: Option<&[String]>,
    ) -> Vec<PathBuf> {
        let entries = entries.unwrap_or_default();
        let mut files = Vec::new();
        for entry in entries.iter().filter(|entry| !is_override(entry)) {
            if entry.contains(['*', '?']) {
                for segments in PathGlob::new(entry).alternatives() {
                    for path in self.walk.glob(root, segments) {
                        self.collect_path(kind, path, &mut files);
                    }
                }
            } else {
                self.collect_path(kind, normalize(&root.join(entry)), &mut files);
            }
        }
        let overrides = EntryPatterns::overrides(entries);
        files.retain(|file| overrides.allow(file, root));
        files
    }

    fn conventional(&mut self, root: &Path, kind: ResourceKind) -> Vec<PathBuf> {
        self.collect_dir(kind, &root.join(kind.dir()))
    }
}

/// Keeps one entry per package: the project's takes precedence over the user's; both are kept if the project's
/// only modifies the user's.
fn add_package_request<'a>(requests: &mut Vec<PackageRequest<'a>>, new: PackageRequest<'a>) {
    let known = requests
        .iter_mut()
        .find(|known| known.identity == new.identity);
    match (known, new.scope) {
        (None, _) => requests.push(new),
        (Some(known), SourceScope::Project) => *known = new,
        (Some(known), SourceScope::User | SourceScope::Temporary) => {
            if known.scope == SourceScope::Project && is_override_entry(known.entry) {
                requests.push(new);
            }
        }
    }
}

fn filter_of(entry: &PackageSource) -> Option<&PackageFilter> {
    match entry {
        PackageSource::Unfiltered(_) => None,
        PackageSource::Filtered(filter) => Some(filter),
    }
}

/// Returns whether an entry only modifies another one.
fn is_override_entry(entry: &PackageSource) -> bool {
    filter_of(entry).is_some_and(|filter| filter.autoload == Some(false))
}

fn is_installed(address: &PackageAddress, root: &Path) -> bool {
    match address {
        PackageAddress::Npm(npm) => {
            installed_version(root).is_some_and(|version| npm.accepts(&version))
        }
        PackageAddress::Git(_) | PackageAddress::Local(_) => true,
    }
}
