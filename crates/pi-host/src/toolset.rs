//! The tools of a session: which exist, which are allowed by flags and settings, and which are
//! active initially.
//!
//! Sources provide the tools: `pi-tools`, extensions, and the embedding program. They may add and
//! remove tools at run time. The session decides which are currently active; this file provides the
//! choices.

mod tool_list;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_context::PromptTool;
use pi_core::{
    Environment, ExecutionMode, RegisteredTool, Tool, ToolExposure, ToolOrigin, ToolRegistry,
    ToolSource, Variables, merge_tools,
};
use pi_protocol::{Modality, Model, is_mcp_tool, matches_name_pattern};
use pi_tools::{
    BuiltinTools, ImagePolicy, ImageResizeLimits, SharedSessionVariables, UserShell,
    local_environment, put_on_path,
};
use tokio::sync::watch;

pub use tool_list::ToolListError;
use tool_list::{ToolList, changed, resolved};

/// Tools that are active by default.
const DEFAULT_TOOLS: [&str; 4] = ["read", "bash", "edit", "write"];

/// Environment variables that mark child processes of pi.
pub const PROCESS_MARKS: [(&str, &str); 2] = [("PI_CODING_AGENT", "true"), ("AI_AGENT", "pi")];

/// Tool flags: `--tools`, `--exclude-tools`, `--no-builtin-tools`, `--no-tools`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSelection {
    /// `--tools` with names and patterns: no others exist, and all of these are active.
    pub allow: Option<Vec<String>>,
    /// `--tools` with `+name` and `-name` entries: changes of the tools that are active by default.
    pub changes: Vec<String>,
    /// `--exclude-tools`: names and patterns of tools that do not exist; overrides all other options.
    pub exclude: Vec<String>,
    /// Tools that are active without being named.
    pub defaults: DefaultTools,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultTools {
    /// Those of the settings or the default ones, and all tools of extensions and embedding
    /// programs.
    #[default]
    All,
    /// `--no-builtin-tools`: only tools of extensions and embedding programs.
    NoBuiltin,
    /// `--no-tools`: none, and no tools exist unless `--tools` names some.
    None,
}

#[derive(Clone)]
pub struct ToolsetOptions {
    pub cwd: PathBuf,
    /// Where the tools work.
    pub environment: Arc<Environment>,
    /// A line to run before each command (`shellCommandPrefix`).
    pub command_prefix: Option<String>,
    /// Whether images are resized to fit the model (`images.autoResize`).
    pub resize_images: bool,
    pub selection: ToolSelection,
    /// Names of the tools that are active by default, or changes of a built-in list (`defaultTools`).
    pub default_tools: Option<Vec<String>>,
    /// Sources of further tools. A tool replaces a built-in one, or one of an earlier source, that
    /// has the same name.
    pub sources: Vec<Arc<dyn ToolSource>>,
}

impl ToolsetOptions {
    /// Options for a directory on the local machine, with the variables of this process.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            environment: Arc::new(local_environment()),
            command_prefix: None,
            resize_images: true,
            selection: ToolSelection::default(),
            default_tools: None,
            sources: Vec::new(),
        }
    }
}

/// Returns the variables that commands start with: the base variables, the additional ones, and the
/// tools directory first on the `PATH`.
pub(crate) fn command_variables(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    more: &[(String, String)],
    tools: &Path,
) -> Variables {
    let more = more
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let mut variables = base.into_iter().chain(more).collect();
    put_on_path(&mut variables, tools);
    variables
}

/// The tools of a session and the state shared with it. Clones share the sources.
#[derive(Clone)]
pub struct Toolset {
    /// Later sources override earlier ones; the first is `builtin` and the last `registered`.
    sources: Vec<watch::Receiver<Vec<RegisteredTool>>>,
    builtin: Arc<BuiltinTools>,
    /// Tools that were registered with the session.
    registered: Arc<ToolRegistry>,
    /// The tools of all sources, as of the last [`refresh`](Self::refresh).
    tools: Vec<RegisteredTool>,
    selection: ToolSelection,
    default_tools: Option<Vec<String>>,
    resize_images: bool,
    environment: Arc<Environment>,
    user_shell: UserShell,
}

impl std::fmt::Debug for Toolset {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.tools.iter().map(RegisteredTool::name);
        formatter.debug_list().entries(names).finish()
    }
}

impl Toolset {
    pub fn new(options: ToolsetOptions) -> Self {
        let environment = options.environment;
        let user_shell = UserShell {
            cwd: options.cwd,
            processes: Arc::clone(&environment.processes),
            vars: environment.vars.clone(),
            command_prefix: options.command_prefix.clone(),
            spill_directory: std::env::temp_dir(),
        };
        let builtin = Arc::new(BuiltinTools::new(options.command_prefix));
        let registered = Arc::new(ToolRegistry::default());
        let mut sources = vec![builtin.tools()];
        sources.extend(options.sources.iter().map(|source| source.tools()));
        sources.push(registered.tools());
        let mut toolset = Self {
            sources,
            builtin,
            registered,
            tools: Vec::new(),
            selection: options.selection,
            default_tools: options.default_tools,
            resize_images: options.resize_images,
            environment,
            user_shell,
        };
        toolset.tools = toolset.merged();
        toolset.set_image_policy_for(None);
        toolset
    }

    /// Returns the tools of the sources that the flags allow.
    fn merged(&self) -> Vec<RegisteredTool> {
        let tools = self.sources.iter().flat_map(|source| {
            let tools = source.borrow().clone();
            tools.into_iter()
        });
        merge_tools(tools.filter(|tool| self.selection.allows(tool.name())))
    }

    /// Applies changes of the sources. Returns the names of new tools that are active by default;
    /// `None` if nothing has changed.
    pub fn refresh(&mut self) -> Option<Vec<String>> {
        let mut is_changed = false;
        for source in &mut self.sources {
            is_changed |= source.borrow_and_update().has_changed();
        }
        if !is_changed {
            return None;
        }
        let tools = self.merged();
        let before = std::mem::replace(&mut self.tools, tools);
        let mut added = self.default_active();
        // A tool whose exposure widens is activated like a new one.
        added.retain(|name| {
            let mut known = before.iter().filter(|known| known.name() == name);
            !known.any(RegisteredTool::activates_on_registration)
        });
        Some(added)
    }

    /// Adds a tool or replaces the one with the same name, whatever its source; excluded tools are
    /// ignored. The next [`refresh`](Self::refresh) applies it.
    pub fn register(&self, tool: RegisteredTool) {
        self.registered.add(tool);
    }

    pub fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    /// Returns what the system prompt says about the active tools.
    pub fn prompt_tools<'tools>(&'tools self, active: &'tools [String]) -> Vec<PromptTool<'tools>> {
        let tools = active.iter().map(|name| {
            let tool = self.get(name);
            PromptTool {
                name,
                snippet: tool.and_then(|tool| tool.snippet.as_deref()),
                guidelines: tool.map_or(&[], |tool| tool.guidelines.as_slice()),
            }
        });
        tools.collect()
    }

    pub fn get(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Returns the names of tools that can be active, deduplicated, in the given order. Hidden tools cannot.
    pub fn filter_known(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for name in names {
            let name = name.as_ref();
            let tool = self.get(name);
            let is_visible =
                tool.is_some_and(|tool| tool.metadata.exposure != ToolExposure::Hidden);
            if is_visible && !known.iter().any(|known| known == name) {
                known.push(name.to_owned());
            }
        }
        known
    }

    /// Returns the tools with these names; unknown names are ignored.
    pub fn select(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Arc<dyn Tool>> {
        self.filter_known(names)
            .iter()
            .filter_map(|name| self.get(name))
            .map(|tool| Arc::clone(&tool.tool))
            .collect()
    }

    /// Returns the tools that other tools may call.
    pub fn callable<'tools>(
        &'tools self,
        active: &'tools [String],
    ) -> impl Iterator<Item = &'tools RegisteredTool> {
        self.tools.iter().filter(move |tool| {
            let is_active = active.iter().any(|active| active == tool.name());
            tool.metadata.exposure.is_callable(is_active)
        })
    }

    /// Returns those of the tools that must run alone.
    pub(crate) fn sequential(&self, names: &[String]) -> Vec<String> {
        let must_run_alone = |name: &&String| {
            let tool = self.get(name);
            tool.is_some_and(|tool| tool.tool.execution_mode() == ExecutionMode::Sequential)
        };
        names.iter().filter(must_run_alone).cloned().collect()
    }

    /// Returns the names of the initially active tools.
    pub fn default_active(&self) -> Vec<String> {
        if let Some(allow) = &self.selection.allow {
            return self.filter_known(self.allowed_names(allow));
        }
        let chosen = self.chosen_defaults();
        let chosen = chosen.iter().map(String::as_str);
        match self.selection.defaults {
            DefaultTools::None => self.filter_known(chosen),
            DefaultTools::All | DefaultTools::NoBuiltin => {
                self.filter_known(chosen.chain(self.non_builtin_names()))
            }
        }
    }

    /// Returns the tools that flags and settings activate by name, whether or not they exist.
    fn chosen_defaults(&self) -> Vec<String> {
        let base = match (self.selection.defaults, &self.default_tools) {
            (DefaultTools::None | DefaultTools::NoBuiltin, _) => Vec::new(),
            (DefaultTools::All, Some(entries)) => resolved(entries, &DEFAULT_TOOLS),
            (DefaultTools::All, None) => DEFAULT_TOOLS.map(str::to_owned).into(),
        };
        changed(base, &self.selection.changes)
    }

    /// Returns the names of a list, then the tools that its patterns match.
    fn allowed_names<'tools>(
        &'tools self,
        allow: &'tools [String],
    ) -> impl Iterator<Item = &'tools str> {
        let is_declared = |name: &&str| {
            let tool = self.get(name);
            tool.is_some_and(|tool| tool.metadata.exposure.activates_on_registration())
        };
        let matching = self.tools.iter().map(RegisteredTool::name).filter(|name| {
            allow
                .iter()
                .any(|pattern| matches_name_pattern(pattern, name))
        });
        let names = allow.iter().map(String::as_str).chain(matching);
        names.filter(is_declared)
    }

    /// Returns the active tool names after a reload: those active before, those that flags or changed settings name,
    /// and those that are not built in.
    pub fn active_after_reload(&self, active: &[String], before: &Self) -> Vec<String> {
        let active = active.iter().map(String::as_str);
        if let Some(allow) = &self.selection.allow {
            return self.filter_known(active.chain(self.allowed_names(allow)));
        }
        let known = before.chosen_defaults();
        let mut added = self.chosen_defaults();
        added.retain(|name| !known.contains(name));
        let added = added.iter().map(String::as_str);
        self.filter_known(active.chain(added).chain(self.non_builtin_names()))
    }

    /// Returns the active tool names of a resumed session: those that it declares, those that are not built in and that
    /// it does not mention, and the changes of the flags. Flags that select tools themselves come first.
    pub(crate) fn active_after_resume(
        &self,
        declared: Vec<String>,
        mentioned: &HashSet<String>,
    ) -> Vec<String> {
        if self.selection.allow.is_some() || self.selection.defaults != DefaultTools::All {
            return self.default_active();
        }
        let new = self
            .non_builtin_names()
            .filter(|name| !mentioned.contains(*name));
        let tools = declared.into_iter().chain(new.map(str::to_owned)).collect();
        self.filter_known(changed(tools, &self.selection.changes))
    }

    /// Returns the names of tools that are not built in and active by default.
    fn non_builtin_names(&self) -> impl Iterator<Item = &str> {
        self.tools
            .iter()
            .filter(|tool| tool.origin != ToolOrigin::Builtin && tool.activates_on_registration())
            .map(RegisteredTool::name)
    }

    /// Sets how tools treat images for a model.
    pub fn set_image_policy_for(&self, model: Option<&Model>) {
        let resize = model
            .and_then(|model| model.input_limits.as_ref())
            .and_then(|limits| limits.images.as_ref())
            .and_then(|images| images.resize.as_ref());
        let limits = resize.map_or_else(ImageResizeLimits::default, ImageResizeLimits::from);
        self.builtin.images().set(ImagePolicy {
            limits: self.resize_images.then_some(limits),
            model_supports_images: model.is_none_or(|model| model.input.contains(&Modality::Image)),
        });
    }

    pub fn image_policy(&self) -> ImagePolicy {
        self.builtin.images().get()
    }

    /// Returns the environment variables that describe the session to shell commands; the session
    /// fills them in.
    pub fn session_variables(&self) -> &SharedSessionVariables {
        self.builtin.session_variables()
    }

    /// Returns where the tools work.
    pub fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    /// Returns the shell for the user's commands.
    pub fn user_shell(&self) -> &UserShell {
        &self.user_shell
    }
}

impl ToolSelection {
    /// Sets the entries of `--tools`: names and patterns, or changes.
    pub fn set_list(&mut self, entries: Vec<String>) -> Result<(), ToolListError> {
        (self.allow, self.changes) = match ToolList::of(entries)? {
            ToolList::Allow(entries) => (Some(entries), Vec::new()),
            ToolList::Change(entries) => (None, entries),
        };
        Ok(())
    }

    fn allows(&self, name: &str) -> bool {
        let is_excluded = self
            .exclude
            .iter()
            .any(|pattern| matches_name_pattern(pattern, name));
        let is_allowed = match (&self.allow, self.defaults) {
            (Some(allow), _) => {
                allow
                    .iter()
                    .any(|pattern| matches_name_pattern(pattern, name))
                    || (is_mcp_tool(name) && keeps_mcp_tools(allow))
            }
            (None, DefaultTools::None) => {
                let named = changed(Vec::new(), &self.changes);
                named.iter().any(|allowed| allowed == name)
            }
            (None, DefaultTools::All | DefaultTools::NoBuiltin) => true,
        };
        is_allowed && !is_excluded
    }
}

/// Whether a list of tools leaves those of MCP servers registered: it names none of them. They are declared only if an entry
/// matches, and stay reachable through other tools.
fn keeps_mcp_tools(allow: &[String]) -> bool {
    let names_mcp_tools = allow.iter().any(|entry| entry.starts_with("mcp__"));
    !allow.is_empty() && !names_mcp_tools
}

#[cfg(test)]
mod tests;
