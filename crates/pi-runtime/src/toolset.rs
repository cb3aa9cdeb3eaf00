//! The tools of a session: which there are, which the flags and settings let in, and which are
//! active from the start.
//!
//! The tools themselves are `pi-tools`' and the program's own. Which are active at the moment is the
//! session's matter; here it learns what there is to choose from.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::Tool;
use pi_ai::{Modality, Model};
use pi_tools::{
    EDIT_PROMPT, EditTool, FIND_PROMPT, FindTool, GREP_PROMPT, GrepTool, ImageLimits, ImagePolicy,
    LS_PROMPT, LocalFiles, LocalShell, LsTool, PathBase, READ_PROMPT, ReadTool, SharedImagePolicy,
    SharedSessionVariables, ShellEnvironment, ShellTool, ShellToolOptions, ToolContext, ToolPrompt,
    UserShell, WRITE_PROMPT, WriteTool,
};

/// The tools that are active unless flags or settings say otherwise.
const DEFAULT_TOOLS: [&str; 4] = ["read", "bash", "edit", "write"];

/// What children of pi find in their environment: that pi runs them.
pub const PROCESS_MARKS: [(&str, &str); 2] = [("PI_CODING_AGENT", "true"), ("AI_AGENT", "pi")];

/// Which tools there may be: `--tools`, `--exclude-tools`, `--no-builtin-tools`, `--no-tools`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSelection {
    /// `--tools`: no others exist, and all of these are active.
    pub allow: Option<Vec<String>>,
    /// `--exclude-tools`: these do not exist, whatever else is said.
    pub exclude: Vec<String>,
    /// What is active without being named.
    pub defaults: DefaultTools,
}

/// Which tools are active without being named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultTools {
    /// Those of the settings or the usual four, and all that extensions and programs bring.
    #[default]
    All,
    /// `--no-builtin-tools`: only what extensions and programs bring.
    NoBuiltin,
    /// `--no-tools`: none, and unless `--tools` names some there are none.
    None,
}

/// Where a tool comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolOrigin {
    /// It is one of pi's own.
    Builtin,
    /// The program that embeds pi brings it.
    Program,
    /// An extension brings it.
    Extension,
}

/// A tool and what the system prompt says of it.
#[derive(Clone)]
pub struct RegisteredTool {
    pub tool: Arc<dyn Tool>,
    /// Where it comes from.
    pub origin: ToolOrigin,
    /// One line for the prompt's list of tools; without one it is not listed there.
    pub snippet: Option<String>,
    /// Advice on its use.
    pub guidelines: Vec<String>,
}

impl RegisteredTool {
    /// Registers a tool of the program that embeds pi.
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

    /// Returns the name the model calls it by.
    pub fn name(&self) -> &str {
        &self.tool.declaration().name
    }
}

/// What tools are built for.
#[derive(Clone)]
pub struct ToolsetOptions {
    /// The directory they work in.
    pub cwd: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// The shell to use instead of bash (`shellPath`).
    pub shell_path: Option<PathBuf>,
    /// A line run before each command (`shellCommandPrefix`).
    pub command_prefix: Option<String>,
    /// Whether images are made to fit the model (`images.autoResize`).
    pub resize_images: bool,
    /// The environment of commands.
    pub environment: ShellEnvironment,
    /// What flags let in.
    pub selection: ToolSelection,
    /// What is active by default (`defaultTools`); the usual four when absent.
    pub default_tools: Option<Vec<String>>,
    /// Tools of the program's own; one takes the place of a built-in tool of the same name.
    pub custom: Vec<RegisteredTool>,
}

impl ToolsetOptions {
    /// Builds the usual tools for a directory, with the environment of this process.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home: std::env::home_dir(),
            shell_path: None,
            command_prefix: None,
            resize_images: true,
            environment: ShellEnvironment::inherited(None),
            selection: ToolSelection::default(),
            default_tools: None,
            custom: Vec::new(),
        }
    }
}

/// Returns the environment of commands: the given variables, on top of them more, and a folder of
/// tools first on the `PATH`.
pub(crate) fn command_environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    more: &[(String, String)],
    tools: &Path,
) -> ShellEnvironment {
    let more = more
        .iter()
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    ShellEnvironment::new(base.into_iter().chain(more), Some(tools))
}

/// The tools of a session and what they share with it. Clones share the tools.
#[derive(Clone)]
pub struct Toolset {
    tools: Vec<RegisteredTool>,
    selection: ToolSelection,
    default_tools: Option<Vec<String>>,
    resize_images: bool,
    images: SharedImagePolicy,
    session: SharedSessionVariables,
    user_shell: UserShell,
}

impl std::fmt::Debug for Toolset {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.tools.iter().map(RegisteredTool::name);
        formatter.debug_list().entries(names).finish()
    }
}

impl Toolset {
    /// Builds the tools.
    pub fn new(options: ToolsetOptions) -> Self {
        let paths = PathBase {
            cwd: options.cwd.clone(),
            home: options.home,
        };
        let context = ToolContext::new(paths, Arc::new(LocalFiles));
        let session = SharedSessionVariables::default();
        let shell = options
            .shell_path
            .map_or_else(LocalShell::default, LocalShell::at);
        let shell_options = ShellToolOptions {
            environment: options.environment.clone(),
            session: Some(session.clone()),
            command_prefix: options.command_prefix.clone(),
            ..ShellToolOptions::local(options.cwd.clone(), shell)
        };
        let user_shell = UserShell {
            cwd: options.cwd,
            processes: Arc::clone(&shell_options.processes),
            environment: options.environment,
            command_prefix: options.command_prefix,
            spill_directory: shell_options.spill_directory.clone(),
        };
        let mut toolset = Self {
            tools: Vec::new(),
            selection: options.selection,
            default_tools: options.default_tools,
            resize_images: options.resize_images,
            images: context.images.clone(),
            session,
            user_shell,
        };
        for tool in builtin_tools(&context, shell_options) {
            toolset.register(tool);
        }
        for tool in options.custom {
            toolset.register(tool);
        }
        toolset.set_image_policy_for(None);
        toolset
    }

    /// Adds a tool, in the place of one of the same name; what flags exclude stays out.
    pub fn register(&mut self, tool: RegisteredTool) {
        if !self.selection.admits(tool.name()) {
            return;
        }
        let same = self
            .tools
            .iter_mut()
            .find(|known| known.name() == tool.name());
        match same {
            Some(known) => *known = tool,
            None => self.tools.push(tool),
        }
    }

    /// Returns all tools.
    pub fn tools(&self) -> &[RegisteredTool] {
        &self.tools
    }

    /// Returns a tool by its name.
    pub fn get(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// Returns those of the names that are tools, each once, in the order given.
    pub fn known(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for name in names {
            let name = name.as_ref();
            if self.get(name).is_some() && !known.iter().any(|known| known == name) {
                known.push(name.to_owned());
            }
        }
        known
    }

    /// Returns the tools of these names; names of no tool are passed over.
    pub fn select(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Arc<dyn Tool>> {
        self.known(names)
            .iter()
            .filter_map(|name| self.get(name))
            .map(|tool| Arc::clone(&tool.tool))
            .collect()
    }

    /// Returns the names of the tools that are active from the start.
    pub fn default_active(&self) -> Vec<String> {
        match (&self.selection.allow, self.selection.defaults) {
            (Some(allow), _) => self.known(allow),
            (None, DefaultTools::None) => Vec::new(),
            (None, DefaultTools::NoBuiltin) => self.known(self.brought()),
            (None, DefaultTools::All) => match &self.default_tools {
                Some(names) => self.known(names.iter().map(String::as_str).chain(self.brought())),
                None => self.known(DEFAULT_TOOLS.into_iter().chain(self.brought())),
            },
        }
    }

    /// Returns the names that are active when tools were built anew under a session: those that
    /// were, and everything that flags name or that is not built in.
    pub fn active_after_reload(&self, active: &[String]) -> Vec<String> {
        let active = active.iter().map(String::as_str);
        match &self.selection.allow {
            Some(allow) => self.known(active.chain(allow.iter().map(String::as_str))),
            None => self.known(active.chain(self.brought())),
        }
    }

    /// Returns the names of the tools that are not built in.
    fn brought(&self) -> impl Iterator<Item = &str> {
        self.tools
            .iter()
            .filter(|tool| tool.origin != ToolOrigin::Builtin)
            .map(RegisteredTool::name)
    }

    /// Makes tools treat images as the model of the moment needs it.
    pub fn set_image_policy_for(&self, model: Option<&Model>) {
        let resize = model
            .and_then(|model| model.input_limits.as_ref())
            .and_then(|limits| limits.images.as_ref())
            .and_then(|images| images.resize.as_ref());
        let limits = resize.map_or_else(ImageLimits::default, ImageLimits::from);
        self.images.set(ImagePolicy {
            limits: self.resize_images.then_some(limits),
            model_sees_images: model.is_none_or(|model| model.input.contains(&Modality::Image)),
        });
    }

    /// Returns how images are treated at the moment.
    pub fn image_policy(&self) -> ImagePolicy {
        self.images.get()
    }

    /// Returns what the model's commands learn of the session, for the session to fill in.
    pub fn session_variables(&self) -> &SharedSessionVariables {
        &self.session
    }

    /// Returns what runs the user's own commands.
    pub fn user_shell(&self) -> &UserShell {
        &self.user_shell
    }
}

impl ToolSelection {
    fn admits(&self, name: &str) -> bool {
        let is_excluded = self.exclude.iter().any(|excluded| excluded == name);
        let is_allowed = match (&self.allow, self.defaults) {
            (Some(allow), _) => allow.iter().any(|allowed| allowed == name),
            (None, DefaultTools::None) => false,
            (None, DefaultTools::All | DefaultTools::NoBuiltin) => true,
        };
        is_allowed && !is_excluded
    }
}

fn builtin_tools(context: &ToolContext, shell: ShellToolOptions) -> Vec<RegisteredTool> {
    #[cfg(windows)]
    let power_shell = ShellTool::power_shell(ShellToolOptions {
        processes: Arc::new(LocalShell::power_shell()),
        // The prefix is a line for bash.
        command_prefix: None,
        ..shell.clone()
    });
    let bash = ShellTool::bash(shell);
    let bash_prompt = bash.prompt();
    let context = || context.clone();
    let mut tools = vec![
        RegisteredTool::builtin(Arc::new(ReadTool::new(context())), READ_PROMPT),
        RegisteredTool::builtin(Arc::new(bash), bash_prompt),
    ];
    #[cfg(windows)]
    {
        let prompt = power_shell.prompt();
        tools.push(RegisteredTool::builtin(Arc::new(power_shell), prompt));
    }
    tools.extend([
        RegisteredTool::builtin(Arc::new(EditTool::new(context())), EDIT_PROMPT),
        RegisteredTool::builtin(Arc::new(WriteTool::new(context())), WRITE_PROMPT),
        RegisteredTool::builtin(Arc::new(GrepTool::new(context())), GREP_PROMPT),
        RegisteredTool::builtin(Arc::new(FindTool::new(context())), FIND_PROMPT),
        RegisteredTool::builtin(Arc::new(LsTool::new(context())), LS_PROMPT),
    ]);
    tools
}

#[cfg(test)]
mod tests;
