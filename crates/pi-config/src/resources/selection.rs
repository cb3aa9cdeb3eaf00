//! Selects resource files from packages, settings paths and the default directories.
//!
//! All candidates are kept in order of precedence, enabled or not according to patterns; the
//! files themselves are not opened here. The directories of an untrusted project are not searched.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use pi_protocol::ConfigDiagnostic;
use pi_protocol::SourceScope;
use pi_protocol::settings::Settings;

use super::builtin_extensions::builtin_name;
use super::entry_patterns::{EntryPatterns, is_pattern, with_home};
use super::location::resolve;
use super::provenance::Provenance;
use super::walk::{EntryKind, LooseSkills, Walk, kind_of};
use super::{ResourceRequest, ScopedSettings};
use crate::packages::{MissingPackage, PackageAddress, PackageLocations};

/// The kinds of resource files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    Extensions,
    Skills,
    Prompts,
    Themes,
}

impl ResourceKind {
    pub(crate) const ALL: [Self; 4] = [Self::Extensions, Self::Skills, Self::Prompts, Self::Themes];

    /// Returns the settings list of this kind.
    pub(super) fn entries(self, settings: &Settings) -> &[String] {
        let entries = match self {
            Self::Extensions => &settings.extensions,
            Self::Skills => &settings.skills,
            Self::Prompts => &settings.prompts,
            Self::Themes => &settings.themes,
        };
        entries.as_deref().unwrap_or_default()
    }

    /// Returns the name of the conventional directory.
    pub(crate) fn dir(self) -> &'static str {
        match self {
            Self::Extensions => "extensions",
            Self::Skills => "skills",
            Self::Prompts => "prompts",
            Self::Themes => "themes",
        }
    }
}

/// A file that may be loaded as a resource.
#[derive(Debug, Clone)]
pub(crate) struct ResourceCandidate {
    pub(crate) path: PathBuf,
    pub(crate) provenance: Rc<Provenance>,
    pub(crate) enabled: bool,
}

/// The candidates of one kind, unique by path; the first one wins.
#[derive(Debug, Default)]
struct ResourceCandidates {
    list: Vec<ResourceCandidate>,
    known: HashSet<PathBuf>,
}

impl ResourceCandidates {
    fn add(&mut self, path: PathBuf, provenance: &Rc<Provenance>, enabled: bool) {
        if self.known.insert(path.clone()) {
            self.list.push(ResourceCandidate {
                path,
                provenance: Rc::clone(provenance),
                enabled,
            });
        }
    }

    /// Sorts by precedence and removes duplicate real files.
    fn ranked(self, walk: &mut Walk) -> Vec<ResourceCandidate> {
        let mut list = self.list;
        pi_protocol::sort_by_key(&mut list, |candidate| candidate.provenance.rank());
        let mut seen = HashSet::new();
        list.retain(|candidate| seen.insert(walk.real_path(&candidate.path)));
        list
    }
}

/// The selected files by kind, in order of precedence.
#[derive(Debug, Default)]
pub(crate) struct SelectedResources {
    pub(crate) extensions: Vec<ResourceCandidate>,
    pub(crate) skills: Vec<ResourceCandidate>,
    pub(crate) prompts: Vec<ResourceCandidate>,
    pub(crate) themes: Vec<ResourceCandidate>,
}

/// Collects candidates.
pub(crate) struct ResourceSelector<'a> {
    pub(super) request: &'a ResourceRequest,
    settings: &'a ScopedSettings,
    pub(super) walk: Walk,
    pub(super) diagnostics: Vec<ConfigDiagnostic>,
    pub(super) missing: Vec<MissingPackage>,
    pub(super) temporary: Vec<PackageAddress>,
    extensions: ResourceCandidates,
    skills: ResourceCandidates,
    prompts: ResourceCandidates,
    themes: ResourceCandidates,
}

impl<'a> ResourceSelector<'a> {
    pub(crate) fn new(request: &'a ResourceRequest, settings: &'a ScopedSettings) -> Self {
        Self {
            request,
            settings,
            walk: Walk::new(),
            diagnostics: Vec::new(),
            missing: Vec::new(),
            temporary: Vec::new(),
            extensions: ResourceCandidates::default(),
            skills: ResourceCandidates::default(),
            prompts: ResourceCandidates::default(),
            themes: ResourceCandidates::default(),
        }
    }

    /// Collects the resources of the user's and the project's settings and directories.
    pub(crate) fn select_configured(&mut self) -> SelectedResources {
        self.add_configured_packages();
        for kind in ResourceKind::ALL {
            self.add_settings_paths(kind, SourceScope::Project);
            self.add_settings_paths(kind, SourceScope::User);
        }
        self.add_discovered();
        self.take_selected()
    }

    /// Collects the resources named by `--extension`.
    pub(crate) fn select_command_line(&mut self) -> SelectedResources {
        let named = self.request.flags.extensions.iter();
        for source in named.filter(|source| builtin_name(source).is_none()) {
            self.add_command_line_package(source);
        }
        self.take_selected()
    }

    fn take_selected(&mut self) -> SelectedResources {
        SelectedResources {
            extensions: std::mem::take(&mut self.extensions).ranked(&mut self.walk),
            skills: std::mem::take(&mut self.skills).ranked(&mut self.walk),
            prompts: std::mem::take(&mut self.prompts).ranked(&mut self.walk),
            themes: std::mem::take(&mut self.themes).ranked(&mut self.walk),
        }
    }

    /// Returns the settings of a scope; `None` for an untrusted project.
    pub(super) fn settings(&self, scope: SourceScope) -> Option<&'a Settings> {
        match scope {
            SourceScope::User => Some(&self.settings.user),
            SourceScope::Project if self.request.project.is_trusted() => {
                Some(&self.settings.project)
            }
            SourceScope::Project | SourceScope::Temporary => None,
        }
    }

    pub(super) fn locations(&self) -> PackageLocations<'a> {
        PackageLocations {
            agent_dir: &self.request.agent_dir,
            cwd: &self.request.cwd,
            env: &self.request.env,
        }
    }

    pub(super) fn add(
        &mut self,
        kind: ResourceKind,
        path: PathBuf,
        provenance: &Rc<Provenance>,
        enabled: bool,
    ) {
        let candidates = match kind {
            ResourceKind::Extensions => &mut self.extensions,
            ResourceKind::Skills => &mut self.skills,
            ResourceKind::Prompts => &mut self.prompts,
            ResourceKind::Themes => &mut self.themes,
        };
        candidates.add(path, provenance, enabled);
    }

    /// Adds the files of a settings list's plain paths; its patterns determine which are enabled.
    fn add_settings_paths(&mut self, kind: ResourceKind, scope: SourceScope) {
        let Some(settings) = self.settings(scope) else {
            return;
        };
        let env = &self.request.env;
        let entries = kind.entries(settings).iter();
        let entries: Vec<String> = entries.map(|entry| with_home(entry, env)).collect();
        let base = self.locations().base(scope);
        let mut files = Vec::new();
        let is_path = |entry: &&String| !is_pattern(entry) && builtin_name(entry).is_none();
        for entry in entries.iter().filter(is_path) {
            let path = resolve(entry, &base, &self.request.env);
            self.collect_path(kind, path, &mut files);
        }
        if files.is_empty() {
            return;
        }
        let patterns = entries.iter().map(String::as_str);
        let patterns = EntryPatterns::new(patterns.filter(|entry| is_pattern(entry)));
        let provenance = Rc::new(Provenance::configured(scope));
        for file in files {
            let enabled = patterns.allow(&file, &base);
            self.add(kind, file, &provenance, enabled);
        }
    }

    /// Collects a single file, or the resources of a directory.
    pub(super) fn collect_path(
        &mut self,
        kind: ResourceKind,
        path: PathBuf,
        files: &mut Vec<PathBuf>,
    ) {
        match kind_of(&path) {
            Some(EntryKind::File) => files.push(path),
            Some(EntryKind::Directory) => files.extend(self.collect_dir(kind, &path)),
            None => {}
        }
    }

    /// Collects the resources of a directory named by settings or a package.
    pub(super) fn collect_dir(&mut self, kind: ResourceKind, dir: &Path) -> Vec<PathBuf> {
        match kind {
            ResourceKind::Extensions => self.walk.extension_files(dir),
            ResourceKind::Skills => self.walk.skill_files(dir, LooseSkills::TopLevel),
            ResourceKind::Prompts => self.walk.files_below(dir, ".md"),
            ResourceKind::Themes => self.walk.files_below(dir, ".json"),
        }
    }

    fn add_discovered(&mut self) {
        let home_skills = self
            .request
            .env
            .home_dir()
            .map(|home| home.join(".agents").join("skills"));
        if self.request.project.is_trusted() {
            for kind in ResourceKind::ALL {
                self.discover_dir(kind, SourceScope::Project);
            }
            for dir in project_agents_dirs(&self.request.cwd) {
                if Some(&dir) != home_skills.as_ref() {
                    self.discover_agents_skills(&dir, SourceScope::Project);
                }
            }
        }
        for kind in ResourceKind::ALL {
            self.discover_dir(kind, SourceScope::User);
        }
        if let Some(dir) = home_skills {
            self.discover_agents_skills(&dir, SourceScope::User);
        }
    }

    fn discover_dir(&mut self, kind: ResourceKind, scope: SourceScope) {
        let base = self.locations().base(scope);
        let dir = base.join(kind.dir());
        let files = match kind {
            ResourceKind::Extensions => self.walk.extension_files(&dir),
            ResourceKind::Skills => self.walk.skill_files(&dir, LooseSkills::TopLevel),
            ResourceKind::Prompts => self.walk.files_in(&dir, ".md"),
            ResourceKind::Themes => self.walk.files_in(&dir, ".json"),
        };
        self.add_discovered_files(kind, scope, &base, files);
    }

    fn discover_agents_skills(&mut self, dir: &Path, scope: SourceScope) {
        let files = self.walk.skill_files(dir, LooseSkills::Nested);
        let base = dir.parent().unwrap_or(dir);
        self.add_discovered_files(ResourceKind::Skills, scope, base, files);
    }

    fn add_discovered_files(
        &mut self,
        kind: ResourceKind,
        scope: SourceScope,
        base: &Path,
        files: Vec<PathBuf>,
    ) {
        if files.is_empty() {
            return;
        }
        let entries = self
            .settings(scope)
            .map_or(&[][..], |settings| kind.entries(settings));
        let env = &self.request.env;
        let entries: Vec<String> = entries.iter().map(|entry| with_home(entry, env)).collect();
        let overrides = EntryPatterns::overrides(&entries);
        let provenance = Rc::new(Provenance::discovered(scope, base));
        for file in files {
            let enabled = overrides.allow(&file, base);
            self.add(kind, file, &provenance, enabled);
        }
    }
}

/// Lists the `.agents/skills` directories from the working directory up to its repository root, or up to the
/// file system root if there is no repository.
fn project_agents_dirs(cwd: &Path) -> Vec<PathBuf> {
    let repository = cwd.ancestors().find(|dir| dir.join(".git").exists());
    let mut dirs = Vec::new();
    for dir in cwd.ancestors() {
        dirs.push(dir.join(".agents").join("skills"));
        if Some(dir) == repository {
            break;
        }
    }
    dirs
}
