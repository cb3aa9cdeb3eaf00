//! The tools of a session: which exist, which are allowed by flags and settings, and which are
//! active initially.
//!
//! The tools are implemented in `pi-tools` and by the embedding program. The session decides which
//! are currently active; this file provides the choices.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_context::PromptTool;
use pi_core::{Environment, ExecutionMode, Tool, Variables};
use pi_protocol::{Modality, Model};
use pi_tools::{
    EDIT_PROMPT, EditTool, FIND_PROMPT, FindTool, GREP_PROMPT, GrepTool, ImagePolicy,
    ImageResizeLimits, LS_PROMPT, LsTool, MutationQueue, READ_PROMPT, ReadTool, SharedImagePolicy,
    SharedSessionVariables, ShellTool, ShellToolOptions, ToolPrompt, UserShell, WRITE_PROMPT,
    WriteTool, local_environment, put_on_path,
};

/// Tools that are active by default.
const DEFAULT_TOOLS: [&str; 4] = ["read", "bash", "edit", "write"];

/// Environment variables that mark child processes of pi.
pub const PROCESS_MARKS: [(&str, &str); 2] = [("PI_CODING_AGENT", "true"), ("AI_AGENT", "pi")];

/// Tool flags: `--tools`, `--exclude-tools`, `--no-builtin-tools`, `--no-tools`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSelection {
    /// `--tools`: no others exist, and all of these are active.
    pub allow: Option<Vec<String>>,
    /// `--exclude-tools`: these do not exist; overrides all other options.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolOrigin {
    Builtin,
    /// Registered by the embedding program.
    Program,
    Extension,
}

/// A tool and its text in the system prompt.
#[derive(Clone)]
pub struct RegisteredTool {
    pub tool: Arc<dyn Tool>,
    pub origin: ToolOrigin,
    /// One line for the tool list of the prompt; without it the tool is not listed there.
    pub snippet: Option<String>,
    /// Rules for its use.
    pub guidelines: Vec<String>,
}

impl RegisteredTool {
    /// Registers a tool of the embedding program.
    pub fn new(tool: Arc<dyn Tool>) -> Self {
        Self {
            tool,
            origin: ToolOrigin::Program,
            snippet: None,
            guidelines: Vec::new(),
        }
    }

    fn builtin(tool: Arc<dyn Tool>, prompt: ToolPrompt) -> Self {
        Self {
            tool,
            origin: ToolOrigin::Builtin,
            snippet: Some(prompt.snippet.to_owned()),
            guidelines: prompt.guidelines.iter().map(|&it| it.to_owned()).collect(),
        }
    }

    pub fn name(&self) -> &str {
        &self.tool.declaration().name
    }
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
    /// Tools that are active by default (`defaultTools`); a built-in list if absent.
    pub default_tools: Option<Vec<String>>,
    /// Tools of the embedding program; they replace built-in tools of the same name.
    pub custom: Vec<RegisteredTool>,
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
            custom: Vec::new(),
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

/// The tools of a session and the state shared with it. Clones share the tools.
#[derive(Clone)]
pub struct Toolset {
    tools: Vec<RegisteredTool>,
    selection: ToolSelection,
    default_tools: Option<Vec<String>>,
    resize_images: bool,
    images: SharedImagePolicy,
    session: SharedSessionVariables,
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
        let images = SharedImagePolicy::default();
        let session = SharedSessionVariables::default();
        let shell_options = ShellToolOptions {
            session: Some(session.clone()),
            command_prefix: options.command_prefix.clone(),
            ..ShellToolOptions::default()
        };
        let user_shell = UserShell {
            cwd: options.cwd,
            processes: Arc::clone(&environment.processes),
            vars: environment.vars.clone(),
            command_prefix: options.command_prefix,
            spill_directory: shell_options.spill_directory.clone(),
        };
        let mut toolset = Self {
            tools: Vec::new(),
            selection: options.selection,
            default_tools: options.default_tools,
            resize_images: options.resize_images,
            images,
            session,
            environment,
            user_shell,
        };
        for tool in builtin_tools(&toolset.images, shell_options) {
            toolset.register(tool);
        }
        for tool in options.custom {
            toolset.register(tool);
        }
        toolset.set_image_policy_for(None);
        toolset
    }

    /// Adds a tool or replaces the one with the same name; excluded tools are ignored.
    pub fn register(&mut self, tool: RegisteredTool) {
        if !self.selection.allows(tool.name()) {
            return;
        }
        let same = self
            .tools
            .iter_mut()
            .find(|known| known.name() == tool.name());
        match same {
            Some(existing) => *existing = tool,
            None => self.tools.push(tool),
        }
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

    /// Returns the names that are tools, deduplicated, in the given order.
    pub fn filter_known(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for name in names {
            let name = name.as_ref();
            if self.get(name).is_some() && !known.iter().any(|known| known == name) {
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
        match (&self.selection.allow, self.selection.defaults) {
            (Some(allow), _) => self.filter_known(allow),
            (None, DefaultTools::None) => Vec::new(),
            (None, DefaultTools::NoBuiltin) => self.filter_known(self.non_builtin_names()),
            (None, DefaultTools::All) => match &self.default_tools {
                Some(names) => self.filter_known(
                    names
                        .iter()
                        .map(String::as_str)
                        .chain(self.non_builtin_names()),
                ),
                None => {
                    self.filter_known(DEFAULT_TOOLS.into_iter().chain(self.non_builtin_names()))
                }
            },
        }
    }

    /// Returns the active tool names after a reload: those active before, and all that flags name
    /// or that are not built in.
    pub fn active_after_reload(&self, active: &[String]) -> Vec<String> {
        let active = active.iter().map(String::as_str);
        match &self.selection.allow {
            Some(allow) => self.filter_known(active.chain(allow.iter().map(String::as_str))),
            None => self.filter_known(active.chain(self.non_builtin_names())),
        }
    }

    /// Returns the names of tools that are not built in.
    fn non_builtin_names(&self) -> impl Iterator<Item = &str> {
        self.tools
            .iter()
            .filter(|tool| tool.origin != ToolOrigin::Builtin)
            .map(RegisteredTool::name)
    }

    /// Sets how tools treat images for a model.
    pub fn set_image_policy_for(&self, model: Option<&Model>) {
        let resize = model
            .and_then(|model| model.input_limits.as_ref())
            .and_then(|limits| limits.images.as_ref())
            .and_then(|images| images.resize.as_ref());
        let limits = resize.map_or_else(ImageResizeLimits::default, ImageResizeLimits::from);
        self.images.set(ImagePolicy {
            limits: self.resize_images.then_some(limits),
            model_supports_images: model.is_none_or(|model| model.input.contains(&Modality::Image)),
        });
    }

    pub fn image_policy(&self) -> ImagePolicy {
        self.images.get()
    }

    /// Returns the environment variables that describe the session to shell commands; the session
    /// fills them in.
    pub fn session_variables(&self) -> &SharedSessionVariables {
        &self.session
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
    fn allows(&self, name: &str) -> bool {
        let is_excluded = self.exclude.iter().any(|excluded| excluded == name);
        let is_allowed = match (&self.allow, self.defaults) {
            (Some(allow), _) => allow.iter().any(|allowed| allowed == name),
            (None, DefaultTools::None) => false,
            (None, DefaultTools::All | DefaultTools::NoBuiltin) => true,
        };
        is_allowed && !is_excluded
    }
}

fn builtin_tools(images: &SharedImagePolicy, shell: ShellToolOptions) -> Vec<RegisteredTool> {
    #[cfg(windows)]
    let power_shell = ShellTool::power_shell(ShellToolOptions {
        // The prefix is a line for bash.
        command_prefix: None,
        ..shell.clone()
    });
    let bash = ShellTool::bash(shell);
    let bash_prompt = bash.prompt();
    let mutations = MutationQueue::default();
    let mut tools = vec![
        RegisteredTool::builtin(Arc::new(ReadTool::new(images.clone())), READ_PROMPT),
        RegisteredTool::builtin(Arc::new(bash), bash_prompt),
    ];
    #[cfg(windows)]
    {
        let prompt = power_shell.prompt();
        tools.push(RegisteredTool::builtin(Arc::new(power_shell), prompt));
    }
    tools.extend([
        RegisteredTool::builtin(Arc::new(EditTool::new(mutations.clone())), EDIT_PROMPT),
        RegisteredTool::builtin(Arc::new(WriteTool::new(mutations)), WRITE_PROMPT),
        RegisteredTool::builtin(Arc::new(GrepTool::default()), GREP_PROMPT),
        RegisteredTool::builtin(Arc::new(FindTool::default()), FIND_PROMPT),
        RegisteredTool::builtin(Arc::new(LsTool::default()), LS_PROMPT),
    ]);
    tools
}

#[cfg(test)]
mod tests;
