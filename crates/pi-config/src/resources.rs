//! Resources: skills, prompt templates, themes, extensions, context files and system prompts.
//!
//! They come from the user's directories, the project's (if it is trusted), paths in the settings,
//! installed packages and the command line. [`load_resources`] finds them in order of precedence
//! and reports problems; it runs nothing and installs nothing.

mod agents;
mod builtin_extensions;
mod commands;
mod context_files;
mod entry_patterns;
mod front_matter;
pub(crate) mod location;
mod named_set;
mod package_resources;
mod path_glob;
mod prompt_templates;
mod provenance;
mod selection;
mod skills;
mod system_prompts;
mod template_arguments;
mod template_parameters;
mod themes;
mod toggles;
mod walk;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

pub use agents::{AgentDirectories, AgentFile, AgentSource, load_agents};
pub use builtin_extensions::{BuiltinExtension, BuiltinExtensions};
pub use context_files::ContextFile;
pub(crate) use location::{canonical, normalize, percent_decode, resolve};
pub(crate) use path_glob::GlobSegment;
pub use prompt_templates::{PromptTemplate, expand_prompt_template};
pub use selection::ResourceKind;
pub use skills::{Skill, SkillError, SkillListing, expand_skill_command, list_skills_for_model};
pub use template_arguments::split_arguments as split_template_arguments;
pub use template_parameters::TemplateParameter;
pub use toggles::{ListedResource, ProjectOverride, ResourceToggles};

use builtin_extensions::builtin_name;
use location::absolute;
use named_set::NamedSet;
use pi_env::Env;
use pi_protocol::settings::Settings;
use pi_protocol::{
    ConfigDiagnostic, ConfigScope, ProjectAccess, SourceInfo, SourceOrigin, SourceScope, ThemeFile,
};
use provenance::Provenance;
use selection::{ResourceCandidate, ResourceSelector, SelectedResources};
use skills::SkillSet;
use walk::{EntryKind, LooseSkills, Walk, kind_of};

use crate::packages::{MissingPackage, PackageAddress};
use crate::{AgentDir, SettingsStore};

/// Inputs of [`load_resources`].
#[derive(Debug, Clone)]
pub struct ResourceRequest {
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    pub env: Env,
    /// Resource lists are read per scope, not merged.
    pub settings: SettingsStore,
    /// Whether the project's resources are loaded.
    pub project: ProjectAccess,
    pub flags: ResourceFlags,
}

impl ResourceRequest {
    /// Makes the directories absolute, so the request does not depend on the process's working directory.
    fn with_absolute_dirs(&self) -> Self {
        Self {
            agent_dir: AgentDir::at(absolute(self.agent_dir.path())),
            cwd: absolute(&self.cwd),
            ..self.clone()
        }
    }
}

/// Resource options of the command line. Resources named here are loaded even if their kind is
/// otherwise disabled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceFlags {
    /// `--extension`: files, directories or package sources.
    pub extensions: Vec<String>,
    /// `--skill`: files or directories.
    pub skills: Vec<String>,
    /// `--prompt-template`: files or directories.
    pub prompt_templates: Vec<String>,
    /// `--theme`: files or directories.
    pub themes: Vec<String>,
    pub no_extensions: bool,
    /// `--no-mcp`: leaves out the built-in MCP servers, whatever else asks for them.
    pub no_mcp: bool,
    /// `--mcp-config`: files with MCP servers for this run.
    pub mcp_config: Vec<PathBuf>,
    pub no_skills: bool,
    pub no_prompt_templates: bool,
    pub no_themes: bool,
    pub no_context_files: bool,
    /// `--system-prompt`: text or a file.
    pub system_prompt: Option<String>,
    /// `--append-system-prompt`: text or files.
    pub append_system_prompt: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFile {
    /// The script, or a directory with an index script.
    pub path: PathBuf,
    pub source_info: SourceInfo,
}

/// All loaded resources, in order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Unique by name.
    pub skills: Vec<Skill>,
    /// Unique by name.
    pub prompt_templates: Vec<PromptTemplate>,
    /// Unique by name.
    pub themes: Vec<ThemeFile>,
    /// Unique by file.
    pub extensions: Vec<ExtensionFile>,
    pub builtin_extensions: BuiltinExtensions,
    /// Files with MCP servers for this run.
    pub mcp_config_files: Vec<PathBuf>,
    /// Most general first.
    pub context_files: Vec<ContextFile>,
    /// Replaces the default system prompt.
    pub system_prompt: Option<String>,
    /// The file it was read from; `None` if it was given as text.
    pub system_prompt_source: Option<PathBuf>,
    /// Appended to the system prompt.
    pub append_system_prompt: Vec<String>,
    /// The files it was read from.
    pub append_system_prompt_sources: Vec<PathBuf>,
    pub missing_packages: Vec<MissingPackage>,
    /// Installed packages named by `--extension`, which are checked for updates at every start.
    pub temporary_packages: Vec<PackageAddress>,
    /// Problems with extensions named on the command line, which are fatal.
    pub extension_errors: Vec<ConfigDiagnostic>,
    pub diagnostics: Vec<ConfigDiagnostic>,
}

pub fn load_resources(request: &ResourceRequest) -> Resources {
    let request = &request.with_absolute_dirs();
    let settings = ScopedSettings::of(&request.settings);
    let mut selector = ResourceSelector::new(request, &settings);
    let configured = selector.select_configured();
    let command_line = selector.select_command_line();
    let known = Provenances::of(&configured, &command_line);

    let mut resources = Resources {
        missing_packages: std::mem::take(&mut selector.missing),
        temporary_packages: std::mem::take(&mut selector.temporary),
        diagnostics: std::mem::take(&mut selector.diagnostics),
        ..Resources::default()
    };
    let mut loader = ResourceLoader {
        request,
        known,
        walk: selector.walk,
    };
    loader.load_extensions(&configured, &command_line, &mut resources);
    loader.load_skills(&configured, &command_line, &mut resources);
    loader.load_prompt_templates(&configured, &command_line, &mut resources);
    loader.load_themes(&configured, &command_line, &mut resources);
    resources.diagnostics.extend(loader.walk.into_diagnostics());
    load_context_files(request, &mut resources);
    load_system_prompts(request, &mut resources);
    resources
}

/// The unmerged settings of each scope.
struct ScopedSettings {
    user: Arc<Settings>,
    project: Arc<Settings>,
}

impl ScopedSettings {
    fn of(settings: &SettingsStore) -> Self {
        Self {
            user: settings.scope(ConfigScope::User),
            project: settings.scope(ConfigScope::Project),
        }
    }
}

/// The provenance of all selected files, enabled or not.
struct Provenances(HashMap<PathBuf, Rc<Provenance>>);

impl Provenances {
    fn of(configured: &SelectedResources, command_line: &SelectedResources) -> Self {
        let mut known = HashMap::new();
        let mut learn = |candidates: &[ResourceCandidate], instead: Option<&Rc<Provenance>>| {
            for candidate in candidates {
                known
                    .entry(candidate.path.clone())
                    .or_insert_with(|| Rc::clone(instead.unwrap_or(&candidate.provenance)));
            }
        };
        learn(&configured.extensions, None);
        learn(&configured.skills, None);
        learn(&configured.prompts, None);
        learn(&configured.themes, None);
        let named = Rc::new(Provenance::command_line());
        learn(&command_line.extensions, Some(&named));
        learn(&command_line.skills, Some(&named));
        learn(&command_line.prompts, None);
        learn(&command_line.themes, None);
        Self(known)
    }

    /// Returns the provenance of a file or its nearest ancestor directory.
    fn find(&self, path: &Path) -> Option<SourceInfo> {
        if self.0.is_empty() {
            return None;
        }
        path.ancestors()
            .find_map(|ancestor| self.0.get(ancestor))
            .map(|provenance| provenance.of(path))
    }
}

/// Loads the selected files and those named on the command line.
struct ResourceLoader<'a> {
    request: &'a ResourceRequest,
    known: Provenances,
    walk: Walk,
}

impl ResourceLoader<'_> {
    fn load_extensions(
        &mut self,
        configured: &SelectedResources,
        command_line: &SelectedResources,
        resources: &mut Resources,
    ) {
        let configured = unless_disabled(&configured.extensions, self.request.flags.no_extensions);
        for path in self.merge(&command_line.extensions, configured, &[]) {
            let source_info = self.source_info(&path, ResourceKind::Extensions, &path);
            resources
                .extensions
                .push(ExtensionFile { path, source_info });
        }
        self.load_builtin_extensions(resources);
        for source in &self.request.flags.extensions {
            if builtin_name(source).is_some() {
                continue;
            }
            let is_path = matches!(PackageAddress::parse(source), Ok(PackageAddress::Local(_)));
            let path = self.resolve(source);
            if is_path && !path.exists() {
                let message = "extension path does not exist";
                resources
                    .extension_errors
                    .push(ConfigDiagnostic::error(message, path));
            }
        }
    }

    /// Determines the built-in extensions: the standard ones and those that settings or flags add, without those that settings
    /// or `--no-extensions` leave out.
    fn load_builtin_extensions(&self, resources: &mut Resources) {
        let flags = &self.request.flags;
        let mut builtin = BuiltinExtensions::default();
        if !flags.no_extensions {
            let settings = ScopedSettings::of(&self.request.settings);
            builtin = BuiltinExtensions::standard(settings.user.file_history());
            builtin.apply(settings.user.extensions.as_deref().unwrap_or_default());
            if self.request.project.is_trusted() {
                builtin.apply(settings.project.extensions.as_deref().unwrap_or_default());
            }
        }
        for source in &flags.extensions {
            if let Some(Err(message)) = builtin_name(source).map(|name| builtin.add(name)) {
                let error = ConfigDiagnostic::error(message, PathBuf::from(source));
                resources.extension_errors.push(error);
            }
        }
        if flags.no_mcp {
            builtin.remove(BuiltinExtension::Mcp);
        }
        resources.builtin_extensions = builtin;
        let files = flags
            .mcp_config
            .iter()
            .map(|file| self.request.cwd.join(file));
        resources.mcp_config_files = files.collect();
    }

    fn load_skills(
        &mut self,
        configured: &SelectedResources,
        command_line: &SelectedResources,
        resources: &mut Resources,
    ) {
        let flags = &self.request.flags;
        let configured = unless_disabled(&configured.skills, flags.no_skills);
        let mut set = SkillSet::new();
        for path in self.merge(&command_line.skills, configured, &flags.skills) {
            let files = match kind_of(&path) {
                Some(EntryKind::Directory) => self.walk.skill_files(&path, LooseSkills::TopLevel),
                Some(EntryKind::File) if has_extension(&path, "md") => vec![path],
                Some(EntryKind::File) => {
                    set.warn("skill path is not a Markdown file", &path);
                    continue;
                }
                None => {
                    set.warn("skill path does not exist", &path);
                    continue;
                }
            };
            for file in files {
                let real_file = self.walk.real_path(&file);
                set.load(&file, real_file, |file| {
                    let base = file.parent().unwrap_or(file);
                    self.source_info(file, ResourceKind::Skills, base)
                });
            }
        }
        let (skills, diagnostics) = set.finish();
        resources.skills = skills;
        resources.diagnostics.extend(diagnostics);
    }

    fn load_prompt_templates(
        &mut self,
        configured: &SelectedResources,
        command_line: &SelectedResources,
        resources: &mut Resources,
    ) {
        let flags = &self.request.flags;
        let configured = unless_disabled(&configured.prompts, flags.no_prompt_templates);
        let mut set = NamedSet::<PromptTemplate>::new("prompt template");
        for path in self.merge(&command_line.prompts, configured, &flags.prompt_templates) {
            let files = match kind_of(&path) {
                Some(EntryKind::Directory) => self.files_with_extension(&path, "md"),
                Some(EntryKind::File) if has_extension(&path, "md") => vec![path],
                Some(EntryKind::File) => continue,
                None => {
                    let message = "prompt template path does not exist";
                    resources
                        .diagnostics
                        .push(ConfigDiagnostic::error(message, path));
                    continue;
                }
            };
            for file in files {
                set.load(&file, |file| {
                    let base = file.parent().unwrap_or(file);
                    self.source_info(file, ResourceKind::Prompts, base)
                });
            }
        }
        let (templates, diagnostics) = set.finish();
        resources.prompt_templates = templates;
        resources.diagnostics.extend(diagnostics);
    }

    fn load_themes(
        &mut self,
        configured: &SelectedResources,
        command_line: &SelectedResources,
        resources: &mut Resources,
    ) {
        let flags = &self.request.flags;
        let configured = unless_disabled(&configured.themes, flags.no_themes);
        let mut set = NamedSet::<ThemeFile>::new("theme");
        for path in self.merge(&command_line.themes, configured, &flags.themes) {
            let files = match kind_of(&path) {
                Some(EntryKind::Directory) => self.files_with_extension(&path, "json"),
                Some(EntryKind::File) if has_extension(&path, "json") => vec![path],
                Some(EntryKind::File) => {
                    set.warn("theme path is not a JSON file", &path);
                    continue;
                }
                None => {
                    set.warn("theme path does not exist", &path);
                    continue;
                }
            };
            for file in files {
                set.load(&file, |file| {
                    let base = file.parent().unwrap_or(file);
                    self.source_info(file, ResourceKind::Themes, base)
                });
            }
        }
        let (themes, diagnostics) = set.finish();
        resources.themes = themes;
        resources.diagnostics.extend(diagnostics);
    }

    /// Merges resources from `--extension`, from the configuration and from the kind's own flag, in this
    /// order, without duplicate real paths.
    fn merge(
        &mut self,
        command_line: &[ResourceCandidate],
        configured: &[ResourceCandidate],
        named: &[String],
    ) -> Vec<PathBuf> {
        let mut seen = HashSet::new();
        let selected = command_line.iter().chain(configured);
        let mut paths: Vec<PathBuf> = selected
            .filter(|candidate| candidate.enabled)
            .map(|candidate| candidate.path.clone())
            .chain(named.iter().map(|path| self.resolve(path)))
            .collect();
        paths.retain(|path| seen.insert(self.walk.real_path(path)));
        paths
    }

    fn resolve(&self, path: &str) -> PathBuf {
        resolve(path, &self.request.cwd, &self.request.env)
    }

    fn files_with_extension(&mut self, dir: &Path, ending: &str) -> Vec<PathBuf> {
        let entries = self.walk.list(dir).into_iter();
        entries
            .filter(|entry| entry.kind == EntryKind::File && has_extension(&entry.path, ending))
            .map(|entry| entry.path)
            .collect()
    }

    /// Returns the provenance of a file; `base` is used if only the command line named it.
    fn source_info(&self, path: &Path, kind: ResourceKind, base: &Path) -> SourceInfo {
        if let Some(known) = self.known.find(path) {
            return known;
        }
        let user = self.request.agent_dir.path().join(kind.dir());
        let project = self.request.cwd.join(".pi").join(kind.dir());
        let (scope, root) = if path.starts_with(&user) {
            (SourceScope::User, user)
        } else if path.starts_with(&project) {
            (SourceScope::Project, project)
        } else {
            (SourceScope::Temporary, base.to_owned())
        };
        let base_dir = match kind {
            ResourceKind::Skills => base.to_owned(),
            ResourceKind::Extensions | ResourceKind::Prompts | ResourceKind::Themes => root,
        };
        SourceInfo {
            path: path.to_owned(),
            source: "local".to_owned(),
            scope,
            origin: SourceOrigin::TopLevel,
            base_dir: Some(base_dir),
        }
    }
}

fn unless_disabled(configured: &[ResourceCandidate], disabled: bool) -> &[ResourceCandidate] {
    if disabled { &[] } else { configured }
}

fn has_extension(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension == ending)
}

fn load_context_files(request: &ResourceRequest, resources: &mut Resources) {
    if request.flags.no_context_files {
        return;
    }
    resources.context_files = context_files::load(
        request.agent_dir.path(),
        &request.cwd,
        request.project,
        &mut resources.diagnostics,
    );
}

fn load_system_prompts(request: &ResourceRequest, resources: &mut Resources) {
    let diagnostics = &mut resources.diagnostics;
    let candidates = |name: &str| {
        let project = request
            .project
            .is_trusted()
            .then(|| request.cwd.join(".pi").join(name));
        project
            .into_iter()
            .chain([request.agent_dir.path().join(name)])
    };
    let replacement = match &request.flags.system_prompt {
        Some(value) => system_prompts::from_flag(value, &request.cwd, diagnostics),
        None => system_prompts::from_files(candidates("SYSTEM.md"), diagnostics),
    };
    if let Some(piece) = replacement {
        resources.system_prompt = Some(piece.text);
        resources.system_prompt_source = piece.path;
    }
    let appended: Vec<_> = if request.flags.append_system_prompt.is_empty() {
        system_prompts::from_files(candidates("APPEND_SYSTEM.md"), diagnostics)
            .into_iter()
            .collect()
    } else {
        let values = request.flags.append_system_prompt.iter();
        values
            .filter_map(|value| system_prompts::from_flag(value, &request.cwd, diagnostics))
            .collect()
    };
    for piece in appended {
        resources.append_system_prompt.push(piece.text);
        resources.append_system_prompt_sources.extend(piece.path);
    }
}
