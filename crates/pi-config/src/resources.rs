//! Resources: skills, prompt templates, themes, extensions, context files and system prompts.
//!
//! They come from the user's directories, the project's (when it is trusted), paths in the settings,
//! installed packages and the command line. [`load_resources`] finds them in order of precedence
//! and tells what is wrong with them; it runs nothing and installs nothing.

mod context_files;
mod entry_patterns;
mod front_matter;
mod location;
mod named_set;
mod package_resources;
mod path_glob;
mod prompt_templates;
mod selection;
mod skills;
mod source_info;
mod system_prompts;
mod template_arguments;
mod themes;
mod toggles;
mod walk;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use pi_ai::Env;

pub use context_files::ContextFile;
pub(crate) use location::{percent_decode, resolve};
pub(crate) use path_glob::GlobSegment;
pub use prompt_templates::{PromptTemplate, expand_prompt_template};
pub use selection::ResourceKind;
pub use skills::{Skill, SkillError, SkillListing, expand_skill_command, list_skills_for_model};
pub use source_info::{SourceInfo, SourceOrigin, SourceScope};
pub use themes::ThemeFile;
pub use toggles::{ListedResource, ProjectOverride, ResourceToggles};

use context_files::ProjectContext;
use location::absolute;
use named_set::NamedSet;
use selection::{Candidate, Selected, Selector};
use skills::SkillSet;
use source_info::Provenance;
use walk::{EntryKind, LooseSkills, Walk, kind_of};

use crate::packages::{MissingPackage, PackageAddress};
use crate::{AgentDir, ConfigDiagnostic, ConfigScope, ProjectAccess, Settings, SettingsStore};

/// What to load resources for.
#[derive(Debug, Clone)]
pub struct ResourceRequest {
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    /// For the home directory.
    pub env: Env,
    /// The settings, whose lists of resources are read per scope.
    pub settings: SettingsStore,
    /// Whether the project's own resources count.
    pub project: ProjectAccess,
    /// What the command line says.
    pub flags: ResourceFlags,
}

impl ResourceRequest {
    /// Returns the same request, independent of the directory this process is in.
    fn with_absolute_dirs(&self) -> Self {
        Self {
            agent_dir: AgentDir::at(absolute(self.agent_dir.path())),
            cwd: absolute(&self.cwd),
            ..self.clone()
        }
    }
}

/// What the command line says about resources. Whatever is named here loads, also where the rest
/// of its kind is switched off.
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
    /// `--no-extensions`.
    pub no_extensions: bool,
    /// `--no-skills`.
    pub no_skills: bool,
    /// `--no-prompt-templates`.
    pub no_prompt_templates: bool,
    /// `--no-themes`.
    pub no_themes: bool,
    /// `--no-context-files`.
    pub no_context_files: bool,
    /// `--system-prompt`: a text or a file.
    pub system_prompt: Option<String>,
    /// `--append-system-prompt`: texts or files.
    pub append_system_prompt: Vec<String>,
}

/// An extension to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFile {
    /// Its script, or a directory whose index is the script.
    pub path: PathBuf,
    /// Where it came from.
    pub source_info: SourceInfo,
}

/// Everything that was found, in order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// Skills, one of each name.
    pub skills: Vec<Skill>,
    /// Prompt templates, one of each name.
    pub prompt_templates: Vec<PromptTemplate>,
    /// Themes, one of each name.
    pub themes: Vec<ThemeFile>,
    /// Extensions, each file once.
    pub extensions: Vec<ExtensionFile>,
    /// Context files, the most general first.
    pub context_files: Vec<ContextFile>,
    /// What replaces the system prompt.
    pub system_prompt: Option<String>,
    /// The file it was read from, if it was not given as text.
    pub system_prompt_source: Option<PathBuf>,
    /// What follows the system prompt.
    pub append_system_prompt: Vec<String>,
    /// The files of it that were read.
    pub append_system_prompt_sources: Vec<PathBuf>,
    /// Packages that are wanted and not installed.
    pub missing_packages: Vec<MissingPackage>,
    /// What is wrong with extensions the user asked for: a reason not to start.
    pub extension_errors: Vec<ConfigDiagnostic>,
    /// What else the user should know.
    pub diagnostics: Vec<ConfigDiagnostic>,
}

/// Finds and loads the resources.
pub fn load_resources(request: &ResourceRequest) -> Resources {
    let request = &request.with_absolute_dirs();
    let settings = ScopedSettings::of(&request.settings);
    let mut selector = Selector::new(request, &settings);
    let configured = selector.select_configured();
    let command_line = selector.select_command_line();
    let known = Provenances::of(&configured, &command_line);

    let mut resources = Resources {
        missing_packages: std::mem::take(&mut selector.missing),
        diagnostics: std::mem::take(&mut selector.diagnostics),
        ..Resources::default()
    };
    let mut loader = Loader {
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

/// The settings as each scope says them.
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

/// What is known of the files that were selected, enabled or not.
struct Provenances(HashMap<PathBuf, Rc<Provenance>>);

impl Provenances {
    fn of(configured: &Selected, command_line: &Selected) -> Self {
        let mut known = HashMap::new();
        let mut learn = |candidates: &[Candidate], instead: Option<&Rc<Provenance>>| {
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

    /// Finds what is known of a file or a directory around it.
    fn find(&self, path: &Path) -> Option<SourceInfo> {
        if self.0.is_empty() {
            return None;
        }
        path.ancestors()
            .find_map(|ancestor| self.0.get(ancestor))
            .map(|provenance| provenance.of(path))
    }
}

/// Loads the selected files and those the command line names.
struct Loader<'a> {
    request: &'a ResourceRequest,
    known: Provenances,
    walk: Walk,
}

impl Loader<'_> {
    fn load_extensions(
        &mut self,
        configured: &Selected,
        command_line: &Selected,
        resources: &mut Resources,
    ) {
        let configured = wanted(&configured.extensions, self.request.flags.no_extensions);
        for path in self.merge(&command_line.extensions, configured, &[]) {
            let source_info = self.source_info(&path, ResourceKind::Extensions, &path);
            resources
                .extensions
                .push(ExtensionFile { path, source_info });
        }
        for source in &self.request.flags.extensions {
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

    fn load_skills(
        &mut self,
        configured: &Selected,
        command_line: &Selected,
        resources: &mut Resources,
    ) {
        let flags = &self.request.flags;
        let configured = wanted(&configured.skills, flags.no_skills);
        let mut set = SkillSet::new();
        for path in self.merge(&command_line.skills, configured, &flags.skills) {
            let files = match kind_of(&path) {
                Some(EntryKind::Directory) => self.walk.skill_files(&path, LooseSkills::AtTheTop),
                Some(EntryKind::File) if has_ending(&path, "md") => vec![path],
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
        configured: &Selected,
        command_line: &Selected,
        resources: &mut Resources,
    ) {
        let flags = &self.request.flags;
        let configured = wanted(&configured.prompts, flags.no_prompt_templates);
        let mut set = NamedSet::<PromptTemplate>::new("prompt template");
        for path in self.merge(&command_line.prompts, configured, &flags.prompt_templates) {
            let files = match kind_of(&path) {
                Some(EntryKind::Directory) => self.files_with_ending(&path, "md"),
                Some(EntryKind::File) if has_ending(&path, "md") => vec![path],
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
        configured: &Selected,
        command_line: &Selected,
        resources: &mut Resources,
    ) {
        let flags = &self.request.flags;
        let configured = wanted(&configured.themes, flags.no_themes);
        let mut set = NamedSet::<ThemeFile>::new("theme");
        for path in self.merge(&command_line.themes, configured, &flags.themes) {
            let files = match kind_of(&path) {
                Some(EntryKind::Directory) => self.files_with_ending(&path, "json"),
                Some(EntryKind::File) if has_ending(&path, "json") => vec![path],
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

    /// Puts what `--extension` brought before what was configured before what a flag of its own
    /// names, each real path once.
    fn merge(
        &mut self,
        command_line: &[Candidate],
        configured: &[Candidate],
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

    fn files_with_ending(&mut self, dir: &Path, ending: &str) -> Vec<PathBuf> {
        let entries = self.walk.list(dir).into_iter();
        entries
            .filter(|entry| entry.kind == EntryKind::File && has_ending(&entry.path, ending))
            .map(|entry| entry.path)
            .collect()
    }

    /// Says where a file came from; `base` serves when nothing but the command line named it.
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

fn wanted(configured: &[Candidate], switched_off: bool) -> &[Candidate] {
    if switched_off { &[] } else { configured }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|extension| extension == ending)
}

fn load_context_files(request: &ResourceRequest, resources: &mut Resources) {
    if request.flags.no_context_files {
        return;
    }
    let project = if request.project.is_denied() {
        ProjectContext::LeaveOut
    } else {
        ProjectContext::Read
    };
    resources.context_files = context_files::load(
        request.agent_dir.path(),
        &request.cwd,
        project,
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
