//! Built-in extensions whose parts are native: what each adds to a session.
//!
//! A session loads those that settings and flags leave enabled, after the trust decision. Extensions come first: a tool
//! or command that one of them registers replaces the native one with the same name.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_codemode::{CodemodeOptions, DEFAULT_WORKERS, WorkerSlots};
use pi_config::BuiltinExtension;
use pi_core::{Environment, FileOperations, RegisteredTool, ToolRegistry, ToolSource};
use pi_extensions::{ExtensionUi, SessionExtensions};
use pi_mcp::{McpPrompt, McpServers};
use pi_protocol::{
    CommandInfo, CommandSource, ConfigDiagnostic, SourceInfo, SourceOrigin, SourceScope,
};
use pi_sandbox::Sandbox;
use pi_tools::{LocalShell, confine_files};

use crate::host::Host;
use crate::participants::Participants;
use crate::runtime::SessionOptions;
use crate::script_models::ScriptModels;
use crate::session::AgentSession;
use crate::workspace::Workspace;
use crate::{llama_command, mcp};

/// What a built-in extension adds to a session.
#[derive(Default)]
pub struct NativeParts {
    pub tools: Vec<RegisteredTool>,
    /// Sources of further tools, which may change while the session uses them.
    pub tool_sources: Vec<Arc<dyn ToolSource>>,
    pub commands: Vec<NativeCommand>,
    /// Called after extensions; run the commands.
    pub participants: Participants,
    /// The MCP servers, for commands of clients.
    pub mcp: Option<McpServers>,
    /// Problems in files of the extension.
    pub diagnostics: Vec<ConfigDiagnostic>,
    /// Replaces the file operations of the tools.
    pub wrap_files: Option<WrapFiles>,
    /// Replaces the environment of the tools. Called last.
    pub wrap_environment: Option<WrapEnvironment>,
    /// Called once the session exists, before it starts.
    pub bind: Option<BindSession>,
}

/// Returns file operations over others.
type WrapFiles = Box<dyn Fn(Arc<dyn FileOperations>) -> Arc<dyn FileOperations> + Send + Sync>;

/// Returns the environment of the tools.
type WrapEnvironment = Box<dyn Fn(ConfinableEnvironment) -> Environment + Send + Sync>;

/// The environment of the tools, in any sandbox.
#[derive(Clone)]
pub struct ConfinableEnvironment {
    /// Without a sandbox.
    pub(crate) environment: Environment,
    pub(crate) shell: LocalShell,
}

impl ConfinableEnvironment {
    /// Returns the environment in a sandbox.
    pub fn confined(&self, sandbox: Option<&Arc<Sandbox>>) -> Environment {
        let mut environment = self.environment.clone();
        let shell = self.shell.clone().with_sandbox(sandbox.cloned());
        environment.processes = Arc::new(shell);
        if let Some(sandbox) = sandbox {
            confine_files(&mut environment, sandbox);
        }
        environment
    }
}

/// Connects an extension with the session that uses it.
type BindSession = Box<dyn Fn(&AgentSession) + Send + Sync>;

/// What a built-in extension keeps while its session is reloaded, by session: the extension is loaded anew then.
#[derive(Default)]
pub struct KeptParts(Mutex<HashMap<String, Box<dyn Any + Send>>>);

impl KeptParts {
    /// Keeps a value for the extension that is loaded next for a session. Without one, it is dropped.
    pub fn keep(&self, session: &str, value: impl Any + Send) {
        self.lock().insert(session.to_owned(), Box::new(value));
    }

    /// Returns what was kept.
    pub fn take<T: Any>(&self, session: &str) -> Option<T> {
        let value = self.lock().remove(session)?;
        value.downcast().ok().map(|value| *value)
    }

    /// Drops what no extension has taken.
    pub(crate) fn discard(&self, session: &str) {
        let unused = self.lock().remove(session);
        drop(unused);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Box<dyn Any + Send>>> {
        self.0.lock()
    }
}

/// What a built-in extension may use.
pub struct NativeContext<'build> {
    pub host: &'build Host,
    /// The ID of the session that is built.
    pub session: &'build str,
    pub workspace: &'build Workspace,
    pub ui: &'build Arc<dyn ExtensionUi>,
    /// What the session was started with.
    pub options: &'build SessionOptions,
    /// `None` if no files are loaded.
    pub(crate) extensions: Option<&'build SessionExtensions>,
}

impl NativeContext<'_> {
    /// Whether an extension registers a tool with this name.
    pub fn has_extension_tool(&self, name: &str) -> bool {
        let tools = self.extensions.map(SessionExtensions::tool_sources);
        tools.is_some_and(|tools| tools.iter().any(|(tool, _)| tool == name))
    }
}

/// A slash command of a built-in extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeCommand {
    /// The name without the slash.
    pub name: &'static str,
    pub description: &'static str,
}

/// A built-in extension with native parts.
#[derive(Clone, Copy)]
pub struct NativeExtension {
    extension: BuiltinExtension,
    /// Returns what the extension adds to a session in a workspace.
    load: fn(&NativeContext<'_>) -> NativeParts,
}

impl NativeExtension {
    pub const fn new(
        extension: BuiltinExtension,
        load: fn(&NativeContext<'_>) -> NativeParts,
    ) -> Self {
        Self { extension, load }
    }
}

/// The extensions of every host, in the order their tools and commands are listed. Those of
/// [`HostOptions::native_extensions`](crate::HostOptions::native_extensions) follow.
const NATIVE_EXTENSIONS: [NativeExtension; 4] = [
    NativeExtension::new(BuiltinExtension::Codemode, load_codemode),
    NativeExtension::new(BuiltinExtension::ToolSearch, load_tool_search),
    NativeExtension::new(BuiltinExtension::LlamaCpp, llama_command::load),
    NativeExtension::new(BuiltinExtension::Mcp, mcp::load),
];

/// Environment variable with the number of scripts that may run at the same time.
const MAX_WORKERS: &str = "PI_CODEMODE_MAX_WORKERS";

fn load_codemode(context: &NativeContext<'_>) -> NativeParts {
    let workspace = context.workspace;
    let workers = workspace.env.var(MAX_WORKERS);
    let workers = workers.and_then(|count| count.parse().ok());
    let workers = workers.filter(|count| *count > 0);
    let settings = workspace.settings.clone();
    let options = CodemodeOptions {
        settings: Arc::new(move || settings.settings().codemode.clone()),
        models: Some(Arc::new(ScriptModels(workspace.models.clone()))),
        workers: WorkerSlots::of_process(workers.unwrap_or(DEFAULT_WORKERS)),
        directory: std::env::temp_dir(),
    };
    NativeParts {
        tools: vec![pi_codemode::codemode(options)],
        ..NativeParts::default()
    }
}

fn load_tool_search(_context: &NativeContext<'_>) -> NativeParts {
    NativeParts {
        tools: vec![pi_tool_search::tool_search()],
        ..NativeParts::default()
    }
}

/// The native extensions of a session, without what extensions replace.
#[derive(Default)]
pub(crate) struct NativeExtensions(Vec<(BuiltinExtension, NativeParts)>);

/// Tools and commands of extensions: their names and the files that register them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RegisteredNames {
    pub(crate) tools: Vec<(String, SourceInfo)>,
    pub(crate) commands: Vec<(String, SourceInfo)>,
}

impl NativeExtensions {
    /// Loads the enabled extensions and reports what is replaced.
    pub(crate) fn load(
        context: &NativeContext<'_>,
        registered: &RegisteredNames,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Self {
        let enabled = &context.workspace.resources.builtin_extensions;
        let mut loaded = Vec::new();
        let further = context.host.options().native_extensions;
        for NativeExtension { extension, load } in NATIVE_EXTENSIONS.iter().chain(further).copied()
        {
            if enabled.contains(extension) {
                let mut parts = load(context);
                diagnostics.append(&mut parts.diagnostics);
                parts.remove_replaced(extension, registered, diagnostics);
                loaded.push((extension, parts));
            }
        }
        Self(loaded)
    }

    /// Returns the tools that never change.
    pub(crate) fn tools(&self) -> Arc<dyn ToolSource> {
        let tools = self.0.iter().flat_map(|(_, parts)| parts.tools.clone());
        Arc::new(ToolRegistry::new(tools.collect()))
    }

    pub(crate) fn tool_sources(&self) -> Vec<Arc<dyn ToolSource>> {
        let sources = self.0.iter().flat_map(|(_, parts)| &parts.tool_sources);
        sources.cloned().collect()
    }

    /// Connects the extensions with the session that uses them.
    pub(crate) fn bind(&self, session: &AgentSession) {
        for bind in self.0.iter().filter_map(|(_, parts)| parts.bind.as_ref()) {
            bind(session);
        }
    }

    /// Returns the file operations of the tools over those of the environment.
    pub(crate) fn wrap_files(&self, files: Arc<dyn FileOperations>) -> Arc<dyn FileOperations> {
        let wrappers = self
            .0
            .iter()
            .filter_map(|(_, parts)| parts.wrap_files.as_ref());
        wrappers.fold(files, |files, wrap| wrap(files))
    }

    /// Returns the environment of the tools.
    pub(crate) fn wrap_environment(
        &self,
        environment: &ConfinableEnvironment,
    ) -> Option<Environment> {
        let mut wrappers = self
            .0
            .iter()
            .filter_map(|(_, parts)| parts.wrap_environment.as_ref());
        wrappers.next().map(|wrap| wrap(environment.clone()))
    }

    pub(crate) fn mcp(&self) -> Option<McpServers> {
        self.0.iter().find_map(|(_, parts)| parts.mcp.clone())
    }

    pub(crate) fn participants(&self) -> Participants {
        let parts = self.0.iter().map(|(_, parts)| parts.participants.clone());
        parts.fold(Participants::default(), Participants::then)
    }

    pub(crate) fn commands(&self) -> Vec<CommandInfo> {
        let commands = self.0.iter().flat_map(|(extension, parts)| {
            let commands = parts.commands.iter();
            commands.map(|command| CommandInfo {
                name: command.name.to_owned(),
                description: Some(command.description.to_owned()),
                source: CommandSource::Extension,
                source_info: source_info(*extension),
            })
        });
        let prompts = self
            .mcp()
            .map_or_else(Vec::new, |servers| servers.prompts());
        let prompts = prompts.into_iter().map(|prompt| CommandInfo {
            name: prompt.command(),
            description: Some(prompt_description(&prompt)),
            source: CommandSource::Prompt,
            source_info: source_info(BuiltinExtension::Mcp),
        });
        commands.chain(prompts).collect()
    }
}

/// Describes a prompt of a server, with its arguments.
fn prompt_description(prompt: &McpPrompt) -> String {
    let description = prompt.description.as_deref().unwrap_or_default();
    let words = [prompt.argument_hint(), description.to_owned()];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" · ")
}

impl NativeParts {
    fn remove_replaced(
        &mut self,
        extension: BuiltinExtension,
        registered: &RegisteredNames,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) {
        let mut is_kept = |kind: &str, name: &str, others: &[(String, SourceInfo)]| {
            let other = others.iter().find(|(other, _)| other == name);
            if let Some((_, source)) = other {
                let path = source.path.display();
                let builtin = extension.name();
                let message = format!("builtin:{builtin}: {kind} {name} is replaced by {path}");
                diagnostics.push(ConfigDiagnostic::warning(message, source.path.clone()));
            }
            other.is_none()
        };
        self.tools
            .retain(|tool| is_kept("tool", tool.name(), &registered.tools));
        self.commands
            .retain(|command| is_kept("command", command.name, &registered.commands));
    }
}

fn source_info(extension: BuiltinExtension) -> SourceInfo {
    SourceInfo {
        path: format!("builtin:{}", extension.name()).into(),
        source: "builtin".to_owned(),
        scope: SourceScope::Temporary,
        origin: SourceOrigin::TopLevel,
        base_dir: None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn file(path: &str) -> SourceInfo {
        SourceInfo {
            path: path.into(),
            ..source_info(BuiltinExtension::ToolSearch)
        }
    }

    #[test]
    fn what_an_extension_registers_is_replaced_with_a_warning() {
        let mut parts = NativeParts {
            tools: vec![pi_tool_search::tool_search()],
            commands: vec![NativeCommand {
                name: "find",
                description: "Find tools",
            }],
            ..NativeParts::default()
        };
        let registered = RegisteredNames {
            tools: vec![("tool_search".to_owned(), file("/x.js"))],
            commands: vec![("other".to_owned(), file("/x.js"))],
        };
        let mut diagnostics = Vec::new();
        parts.remove_replaced(BuiltinExtension::ToolSearch, &registered, &mut diagnostics);
        assert!(parts.tools.is_empty());
        assert_eq!(parts.commands.len(), 1);
        assert_eq!(
            diagnostics[0].message_with_path(),
            "builtin:tool-search: tool tool_search is replaced by /x.js"
        );
        assert_eq!(diagnostics.len(), 1);
        let loaded = NativeExtensions(vec![(BuiltinExtension::ToolSearch, parts)]);
        assert_eq!(loaded.commands()[0].source_info.source, "builtin");
    }
}
