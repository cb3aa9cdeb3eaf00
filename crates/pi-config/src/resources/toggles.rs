//! Lists all resources with their enabled state, and toggles them in the settings.
//!
//! User settings enable or disable a resource. Project settings inherit that state, load the resource or unload
//! it, with an entry `+path` or `-path` in the list of its kind or in the filter of its package.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pi_protocol::settings::Settings;
use pi_protocol::settings::{PackageFilter, PackageSource};
use pi_protocol::{ConfigScope, ProjectAccess};
use pi_protocol::{SourceInfo, SourceOrigin, SourceScope};

use super::builtin_extensions::{BuiltinExtension, BuiltinExtensions};
use super::location::{canonical, relative, resolve};
use super::package_resources::filter_patterns;
use super::selection::{ResourceCandidate, ResourceKind, ResourceSelector};
use super::{ResourceRequest, ScopedSettings};
use crate::SettingsStore;
use crate::packages::PackageAddress;
use crate::settings::SettingsError;

/// The source of built-in extensions.
const BUILTIN_SOURCE: &str = "builtin";

/// A resource file or built-in extension, enabled or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedResource {
    pub kind: ResourceKind,
    pub enabled: bool,
    pub source_info: SourceInfo,
}

/// The project settings' override for a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectOverride {
    Inherit,
    Load,
    Unload,
}

/// All resources with their state in user and project settings.
#[derive(Debug)]
pub struct ResourceToggles {
    settings: SettingsStore,
    agent_dir: PathBuf,
    project_dir: PathBuf,
    request: ResourceRequest,
    user: Vec<ListedResource>,
    project: Vec<ListedResource>,
    /// The state in user settings, by kind and real path.
    inherited: HashMap<(ResourceKind, PathBuf), bool>,
}

impl ResourceToggles {
    /// Finds all resources, including the project's if it is trusted.
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

    /// Returns whether project settings can be changed.
    pub fn has_project(&self) -> bool {
        self.request.project.is_trusted()
    }

    /// Returns the resources with their state in the settings of a scope.
    pub fn resources(&self, scope: ConfigScope) -> &[ListedResource] {
        match scope {
            ConfigScope::User => &self.user,
            ConfigScope::Project => &self.project,
        }
    }

    /// Returns whether a resource also exists in user scope.
    pub fn is_inherited(&self, item: &ListedResource) -> bool {
        scope_of(item) == ConfigScope::User || self.inherited.contains_key(&key_of(item))
    }

    /// Returns the project settings' override for a resource.
    pub fn project_override(&self, item: &ListedResource) -> ProjectOverride {
        let settings = self.settings.scope(ConfigScope::Project);
        match item.source_info.origin {
            SourceOrigin::TopLevel => {
                override_in(item.kind.entries(&settings), &self.top_level_names(item))
            }
            SourceOrigin::Package => {
                let packages = settings.packages.as_deref().unwrap_or_default();
                let entry = packages
                    .iter()
                    .find(|entry| self.is_package_of(item, entry.source()));
                let Some(PackageSource::Filtered(filter)) = entry else {
                    return ProjectOverride::Inherit;
                };
                match filter_patterns(filter, item.kind) {
                    None => ProjectOverride::Inherit,
                    Some([]) if filter.autoload != Some(false) => ProjectOverride::Unload,
                    Some(entries) => override_in(entries, &[package_name(item)]),
                }
            }
        }
    }

    /// Toggles the resource at an index: on or off in user settings, to the next override state in
    /// project settings. A project's resource cannot be toggled in user settings.
    pub fn toggle(&mut self, scope: ConfigScope, index: usize) -> Result<(), SettingsError> {
        let Some(item) = self.resources(scope).get(index).cloned() else {
            return Ok(());
        };
        let enabled = match scope {
            ConfigScope::User => {
                if scope_of(&item) != ConfigScope::User {
                    return Ok(());
                }
                self.toggle_for_user(&item)?;
                !item.enabled
            }
            ConfigScope::Project => {
                let was_enabled = self.inherited_state(&item);
                let next = next_override(self.project_override(&item), was_enabled);
                self.override_in_project(&item, next)?;
                match next {
                    ProjectOverride::Inherit => was_enabled,
                    ProjectOverride::Load => true,
                    ProjectOverride::Unload => false,
                }
            }
        };
        let list = match scope {
            ConfigScope::User => &mut self.user,
            ConfigScope::Project => &mut self.project,
        };
        if let Some(item) = list.get_mut(index) {
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

    fn toggle_for_user(&self, item: &ListedResource) -> Result<(), SettingsError> {
        let sign = if item.enabled { '-' } else { '+' };
        let source = item.source_info.source.clone();
        match item.source_info.origin {
            SourceOrigin::TopLevel if is_builtin(item) => {
                let name = item.source_info.path.to_string_lossy();
                self.settings.update(ConfigScope::User, |settings| {
                    let entries = entries_mut(settings, item.kind).get_or_insert_default();
                    entries.retain(|entry| target(entry) != name);
                    // They are on unless an entry turns them off.
                    if item.enabled {
                        entries.push(format!("-{name}"));
                    }
                })
            }
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
                let target = target(entry);
                let is_ours = is_override && names.iter().any(|name| name == target);
                let is_plain = next == ProjectOverride::Inherit && is_inherited && target == name;
                !is_ours && !is_plain
            });
            let sign = match next {
                ProjectOverride::Inherit => return,
                ProjectOverride::Load => '+',
                ProjectOverride::Unload => '-',
            };
            // List an inherited resource first, so the override applies to it.
            if is_inherited && !is_builtin(item) && !entries.contains(&name) {
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
                .all(|kind| filter_patterns(&filter, kind).is_none());
            if !says_nothing {
                *entry = PackageSource::Filtered(filter);
            } else if filter.autoload == Some(false) {
                packages.remove(position);
            } else {
                *entry = PackageSource::Unfiltered(filter.source);
            }
        })
    }

    /// Returns the names by which project lists may refer to a top-level resource.
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

    /// Returns the name of a resource in project lists: relative to the project, or absolute outside of it.
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

    /// Returns whether a package source in project settings is the package of a resource.
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

    /// Returns the source of a resource's package as written in project settings.
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
    let selected = ResourceSelector::new(request, &settings).select_configured();
    let listed = |kind: ResourceKind, candidates: Vec<ResourceCandidate>| {
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
        .chain(builtin_extensions(&settings, request.project))
        .collect()
}

/// Lists the built-in extensions with their state in the settings.
fn builtin_extensions(
    settings: &ScopedSettings,
    project: ProjectAccess,
) -> impl Iterator<Item = ListedResource> {
    let mut enabled = BuiltinExtensions::standard(settings.user.file_history());
    enabled.apply(ResourceKind::Extensions.entries(&settings.user));
    if project.is_trusted() {
        enabled.apply(ResourceKind::Extensions.entries(&settings.project));
    }
    let all = BuiltinExtension::ALL.into_iter();
    all.map(move |extension| ListedResource {
        kind: ResourceKind::Extensions,
        enabled: enabled.contains(extension),
        source_info: SourceInfo {
            path: format!("builtin:{}", extension.name()).into(),
            source: BUILTIN_SOURCE.to_owned(),
            scope: SourceScope::Temporary,
            origin: SourceOrigin::TopLevel,
            base_dir: None,
        },
    })
}

fn is_builtin(item: &ListedResource) -> bool {
    item.source_info.source == BUILTIN_SOURCE
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

fn next_override(current: ProjectOverride, was_enabled: bool) -> ProjectOverride {
    match (current, was_enabled) {
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

/// Returns the override of the last entry that matches one of the names.
fn override_in(entries: &[String], names: &[String]) -> ProjectOverride {
    let matches = |entry: &&String| names.iter().any(|name| name == target(entry));
    match entries.iter().rev().find(matches) {
        None => ProjectOverride::Inherit,
        Some(entry) if entry.starts_with(['!', '-']) => ProjectOverride::Unload,
        Some(_) => ProjectOverride::Load,
    }
}

/// Returns an entry without its prefix.
fn target(entry: &str) -> &str {
    entry.strip_prefix(['!', '+', '-']).unwrap_or(entry)
}

/// Returns the name of a resource in its package's filter.
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
