//! Every resource there is, on or off, and the settings that switch it.
//!
//! In the user's settings a resource is on or off. The project's settings leave it as it is, load it or keep
//! it out: an entry `+path` or `-path`, in the list of its kind or in the filter of its package.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::location::{canonical, relative, resolve};
use super::selection::{Candidate, ResourceKind, Selector};
use super::{ResourceRequest, ScopedSettings, SourceInfo, SourceOrigin, SourceScope};
use crate::packages::PackageAddress;
use crate::settings::{PackageFilter, PackageSource, SettingsError};
use crate::{ConfigScope, ProjectAccess, Settings, SettingsStore};

/// A file that may be a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedResource {
    pub kind: ResourceKind,
    pub enabled: bool,
    /// Where it is and where it came from.
    pub source_info: SourceInfo,
}

/// What the project's settings say about a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectOverride {
    Inherit,
    Load,
    Unload,
}

/// All resources, as the user's settings and as the project's see them.
#[derive(Debug)]
pub struct ResourceToggles {
    settings: SettingsStore,
    agent_dir: PathBuf,
    project_dir: PathBuf,
    request: ResourceRequest,
    user: Vec<ListedResource>,
    project: Vec<ListedResource>,
    /// What counts for the user, by kind and real path.
    inherited: HashMap<(ResourceKind, PathBuf), bool>,
}

impl ResourceToggles {
    /// Finds all resources. Those of the project are among them if it is trusted.
    pub fn load(request: ResourceRequest) -> Self {
        let refused = SettingsStore::open(&request.agent_dir, &request.cwd, ProjectAccess::Denied);
        let user = list(&ResourceRequest {
            settings: refused,
            project: ProjectAccess::Denied,
            ..request.clone()
        });
        let project = if request.project.is_trusted() {
            list(&request)
        } else {
            user.clone()
        };
        let inherited = user
            .iter()
            .map(|item| (key_of(item), item.enabled))
            .collect();
        Self {
            settings: request.settings.clone(),
            agent_dir: request.agent_dir.path().to_owned(),
            project_dir: request.cwd.join(".pi"),
            request,
            user,
            project,
            inherited,
        }
    }

    /// Returns whether the project's settings can be changed.
    pub fn has_project(&self) -> bool {
        self.request.project.is_trusted()
    }

    /// Returns the resources as the settings of a scope see them.
    pub fn resources(&self, scope: ConfigScope) -> &[ListedResource] {
        match scope {
            ConfigScope::User => &self.user,
            ConfigScope::Project => &self.project,
        }
    }

    /// Returns whether the user has a resource, whatever the project says.
    pub fn is_inherited(&self, item: &ListedResource) -> bool {
        scope_of(item) == ConfigScope::User || self.inherited.contains_key(&key_of(item))
    }

    /// Returns what the project's settings say about a resource.
    pub fn project_override(&self, item: &ListedResource) -> ProjectOverride {
        let settings = self.settings.scope(ConfigScope::Project);
        match item.source_info.origin {
            SourceOrigin::TopLevel => {
                said(item.kind.entries(&settings), &self.top_level_names(item))
            }
            SourceOrigin::Package => {
                let packages = settings.packages.as_deref().unwrap_or_default();
                let entry = packages
                    .iter()
                    .find(|entry| self.is_package_of(item, entry.source()));
                let Some(PackageSource::Filtered(filter)) = entry else {
                    return ProjectOverride::Inherit;
                };
                match filter.patterns(item.kind) {
                    None => ProjectOverride::Inherit,
                    Some([]) if filter.autoload != Some(false) => ProjectOverride::Unload,
                    Some(entries) => said(entries, &[package_name(item)]),
                }
            }
        }
    }

    /// Switches a resource by its number: on or off in the user's settings, to the next state in the
    /// project's. What belongs to the project is not switched in the user's settings.
    pub fn toggle(&mut self, scope: ConfigScope, number: usize) -> Result<(), SettingsError> {
        let Some(item) = self.resources(scope).get(number).cloned() else {
            return Ok(());
        };
        let enabled = match scope {
            ConfigScope::User => {
                if scope_of(&item) != ConfigScope::User {
                    return Ok(());
                }
                self.switch_for_user(&item)?;
                !item.enabled
            }
            ConfigScope::Project => {
                let was_on = self.inherited_state(&item);
                let next = next_override(self.project_override(&item), was_on);
                self.override_in_project(&item, next)?;
                match next {
                    ProjectOverride::Inherit => was_on,
                    ProjectOverride::Load => true,
                    ProjectOverride::Unload => false,
                }
            }
        };
        let list = match scope {
            ConfigScope::User => &mut self.user,
            ConfigScope::Project => &mut self.project,
        };
        if let Some(item) = list.get_mut(number) {
            item.enabled = enabled;
        }
        Ok(())
    }

    fn inherited_state(&self, item: &ListedResource) -> bool {
        let known = self.inherited.get(&key_of(item)).copied();
        known.unwrap_or(match scope_of(item) {
            ConfigScope::User => item.enabled,
            ConfigScope::Project => true,
        })
    }

    fn switch_for_user(&self, item: &ListedResource) -> Result<(), SettingsError> {
        let sign = if item.enabled { '-' } else { '+' };
        let source = item.source_info.source.clone();
        match item.source_info.origin {
            SourceOrigin::TopLevel => {
                let base = item.source_info.base_dir.as_deref();
                let name = relative(base.unwrap_or(&self.agent_dir), &item.source_info.path);
                self.settings.update(ConfigScope::User, |settings| {
                    let entries = entries_mut(settings, item.kind).get_or_insert_default();
                    entries.retain(|entry| target(entry) != name);
                    entries.push(format!("{sign}{name}"));
                })
            }
            SourceOrigin::Package => {
                let name = package_name(item);
                self.settings.update(ConfigScope::User, |settings| {
                    let packages = settings.packages.iter_mut().flatten();
                    let mut packages = packages.filter(|entry| entry.source() == source);
                    if let Some(entry) = packages.next() {
                        let mut filter = filter_of(entry);
                        let patterns = patterns_mut(&mut filter, item.kind).get_or_insert_default();
                        patterns.retain(|entry| target(entry) != name);
                        patterns.push(format!("{sign}{name}"));
                        *entry = PackageSource::Filtered(filter);
                    }
                })
            }
        }
    }

    fn override_in_project(
        &self,
        item: &ListedResource,
        next: ProjectOverride,
    ) -> Result<(), SettingsError> {
        match item.source_info.origin {
            SourceOrigin::TopLevel => self.override_top_level(item, next),
            SourceOrigin::Package => self.override_package(item, next),
        }
    }

    fn override_top_level(
        &self,
        item: &ListedResource,
        next: ProjectOverride,
    ) -> Result<(), SettingsError> {
        let is_inherited = self.is_inherited(item);
        let path = item.source_info.path.to_string_lossy().into_owned();
        let name = if is_inherited {
            path
        } else {
            self.project_name(item)
        };
        let names = self.top_level_names(item);
        self.settings.update(ConfigScope::Project, |settings| {
            let entries = entries_mut(settings, item.kind).get_or_insert_default();
            entries.retain(|entry| {
                let is_override = entry.starts_with(['!', '+', '-']);
                let about = target(entry);
                let is_ours = is_override && names.iter().any(|name| name == about);
                let is_plain = next == ProjectOverride::Inherit && is_inherited && about == name;
                !is_ours && !is_plain
            });
            let sign = match next {
                ProjectOverride::Inherit => return,
                ProjectOverride::Load => '+',
                ProjectOverride::Unload => '-',
            };
            // What is not the project's own is named first, so that there is something to switch.
            if is_inherited && !entries.contains(&name) {
                entries.push(name.clone());
            }
            entries.push(format!("{sign}{name}"));
        })
    }

    fn override_package(
        &self,
        item: &ListedResource,
        next: ProjectOverride,
    ) -> Result<(), SettingsError> {
        let name = package_name(item);
        self.settings.update(ConfigScope::Project, |settings| {
            let packages = settings.packages.get_or_insert_default();
            let position = packages
                .iter()
                .position(|entry| self.is_package_of(item, entry.source()));
            let position = match position {
                Some(position) => position,
                None if next == ProjectOverride::Inherit => return,
                None => {
                    packages.push(PackageSource::Filtered(PackageFilter {
                        source: self.source_for_project(item),
                        autoload: Some(false),
                        ..PackageFilter::default()
                    }));
                    packages.len() - 1
                }
            };
            let Some(entry) = packages.get_mut(position) else {
                return;
            };
            let mut filter = filter_of(entry);
            let list = patterns_mut(&mut filter, item.kind);
            let kept = list.get_or_insert_default();
            kept.retain(|entry| target(entry) != name);
            match next {
                ProjectOverride::Inherit => {}
                ProjectOverride::Load => kept.push(format!("+{name}")),
                ProjectOverride::Unload => kept.push(format!("-{name}")),
            }
            if kept.is_empty() {
                *list = None;
            }
            let says_nothing = ResourceKind::ALL
                .into_iter()
                .all(|kind| filter.patterns(kind).is_none());
            if !says_nothing {
                *entry = PackageSource::Filtered(filter);
            } else if filter.autoload == Some(false) {
                packages.remove(position);
            } else {
                *entry = PackageSource::Unfiltered(filter.source);
            }
        })
    }

    /// The ways in which the project's lists may name a resource that stands on its own.
    fn top_level_names(&self, item: &ListedResource) -> Vec<String> {
        let path = &item.source_info.path;
        let mut names = vec![
            self.project_name(item),
            path.to_string_lossy().into_owned(),
            relative(&self.project_dir, path),
        ];
        names.extend(
            item.source_info
                .base_dir
                .as_deref()
                .map(|base| relative(base, path)),
        );
        names
    }

    /// How the project's lists name a resource: its own from its directory, others by their path.
    fn project_name(&self, item: &ListedResource) -> String {
        let path = &item.source_info.path;
        match scope_of(item) {
            ConfigScope::User => path.to_string_lossy().into_owned(),
            ConfigScope::Project => {
                let base = item.source_info.base_dir.as_deref();
                relative(base.unwrap_or(&self.project_dir), path)
            }
        }
    }

    /// Returns whether a source of the project's settings is the package of a resource.
    fn is_package_of(&self, item: &ListedResource, source: &str) -> bool {
        if source == item.source_info.source {
            return true;
        }
        let own = self.local_dir(&item.source_info.source, scope_of(item));
        own.is_some() && own == self.local_dir(source, ConfigScope::Project)
    }

    fn local_dir(&self, source: &str, scope: ConfigScope) -> Option<PathBuf> {
        match PackageAddress::parse(source) {
            Ok(PackageAddress::Local(path)) => {
                Some(resolve(&path, self.base(scope), &self.request.env))
            }
            Ok(PackageAddress::Npm(_) | PackageAddress::Git(_)) | Err(_) => None,
        }
    }

    /// How the project's settings name the package of a resource.
    fn source_for_project(&self, item: &ListedResource) -> String {
        let source = &item.source_info.source;
        match self.local_dir(source, scope_of(item)) {
            Some(dir) => {
                let path = relative(&self.project_dir, &dir);
                if path.is_empty() {
                    ".".to_owned()
                } else {
                    path
                }
            }
            None => source.clone(),
        }
    }

    fn base(&self, scope: ConfigScope) -> &Path {
        match scope {
            ConfigScope::User => &self.agent_dir,
            ConfigScope::Project => &self.project_dir,
        }
    }
}

fn list(request: &ResourceRequest) -> Vec<ListedResource> {
    let request = &request.with_absolute_dirs();
    let settings = ScopedSettings::of(&request.settings);
    let selected = Selector::new(request, &settings).select_configured();
    let listed = |kind: ResourceKind, candidates: Vec<Candidate>| {
        candidates.into_iter().map(move |candidate| ListedResource {
            kind,
            enabled: candidate.enabled,
            source_info: candidate.provenance.of(&candidate.path),
        })
    };
    listed(ResourceKind::Extensions, selected.extensions)
        .chain(listed(ResourceKind::Skills, selected.skills))
        .chain(listed(ResourceKind::Prompts, selected.prompts))
        .chain(listed(ResourceKind::Themes, selected.themes))
        .collect()
}

fn key_of(item: &ListedResource) -> (ResourceKind, PathBuf) {
    (item.kind, canonical(&item.source_info.path))
}

fn scope_of(item: &ListedResource) -> ConfigScope {
    match item.source_info.scope {
        SourceScope::Project => ConfigScope::Project,
        SourceScope::User | SourceScope::Temporary => ConfigScope::User,
    }
}

fn next_override(current: ProjectOverride, was_on: bool) -> ProjectOverride {
    match (current, was_on) {
        (ProjectOverride::Inherit, true) | (ProjectOverride::Load, false) => {
            ProjectOverride::Unload
        }
        (ProjectOverride::Inherit, false) | (ProjectOverride::Unload, true) => {
            ProjectOverride::Load
        }
        (ProjectOverride::Unload, false) | (ProjectOverride::Load, true) => {
            ProjectOverride::Inherit
        }
    }
}

/// What the last entry about any of these names says.
fn said(entries: &[String], names: &[String]) -> ProjectOverride {
    let about = |entry: &&String| names.iter().any(|name| name == target(entry));
    match entries.iter().rev().find(about) {
        None => ProjectOverride::Inherit,
        Some(entry) if entry.starts_with(['!', '-']) => ProjectOverride::Unload,
        Some(_) => ProjectOverride::Load,
    }
}

/// What an entry is about, without its sign.
fn target(entry: &str) -> &str {
    entry.strip_prefix(['!', '+', '-']).unwrap_or(entry)
}

/// How the filter of a package names a resource.
fn package_name(item: &ListedResource) -> String {
    let path = &item.source_info.path;
    let base = item.source_info.base_dir.as_deref();
    relative(base.or(path.parent()).unwrap_or(path), path)
}

fn filter_of(entry: &PackageSource) -> PackageFilter {
    match entry {
        PackageSource::Unfiltered(source) => PackageFilter {
            source: source.clone(),
            ..PackageFilter::default()
        },
        PackageSource::Filtered(filter) => filter.clone(),
    }
}

fn patterns_mut(filter: &mut PackageFilter, kind: ResourceKind) -> &mut Option<Vec<String>> {
    match kind {
        ResourceKind::Extensions => &mut filter.extensions,
        ResourceKind::Skills => &mut filter.skills,
        ResourceKind::Prompts => &mut filter.prompts,
        ResourceKind::Themes => &mut filter.themes,
    }
}

fn entries_mut(settings: &mut Settings, kind: ResourceKind) -> &mut Option<Vec<String>> {
    match kind {
        ResourceKind::Extensions => &mut settings.extensions,
        ResourceKind::Skills => &mut settings.skills,
        ResourceKind::Prompts => &mut settings.prompts,
        ResourceKind::Themes => &mut settings.themes,
    }
}
