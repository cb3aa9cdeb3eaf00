//! The built-in tools as a source of tools.

use std::sync::Arc;

use pi_core::{RegisteredTool, Tool, ToolMetadata, ToolOrigin, ToolRegistry, ToolSource};
use serde_json::Value;
use tokio::sync::watch;

use crate::bash::{self, ShellTool, ShellToolOptions};
use crate::context::{SharedImagePolicy, ToolPrompt};
use crate::edit::{EDIT_PROMPT, EditTool};
use crate::find::{FIND_PROMPT, FindTool};
use crate::grep::{GREP_PROMPT, GrepTool};
use crate::ls::{LS_PROMPT, LsTool};
use crate::mutation_queue::MutationQueue;
use crate::read::{self, READ_PROMPT, ReadTool};
use crate::session_variables::SharedSessionVariables;
use crate::write::{WRITE_PROMPT, WriteTool};

/// The built-in tools of a session, and what it shares with them.
pub struct BuiltinTools {
    tools: ToolRegistry,
    images: SharedImagePolicy,
    session: SharedSessionVariables,
}

impl BuiltinTools {
    /// Creates the tools; `command_prefix` is run before each bash command.
    pub fn new(command_prefix: Option<String>) -> Self {
        let images = SharedImagePolicy::default();
        let session = SharedSessionVariables::default();
        let shell = ShellToolOptions {
            session: Some(session.clone()),
            command_prefix,
            ..ShellToolOptions::default()
        };
        Self {
            tools: ToolRegistry::new(registered(&images, shell)),
            images,
            session,
        }
    }

    /// Returns how images are prepared; the session keeps it up to date.
    pub fn images(&self) -> &SharedImagePolicy {
        &self.images
    }

    /// Returns the variables that describe the session to commands; the session keeps them up to
    /// date.
    pub fn session_variables(&self) -> &SharedSessionVariables {
        &self.session
    }
}

/// Returns the names of the built-in tools.
pub fn builtin_tool_names() -> Vec<String> {
    let tools = registered(&SharedImagePolicy::default(), ShellToolOptions::default());
    let names = tools.iter().map(|tool| tool.name().to_owned());
    names.collect()
}

impl ToolSource for BuiltinTools {
    fn tools(&self) -> watch::Receiver<Vec<RegisteredTool>> {
        self.tools.tools()
    }
}

fn registered(images: &SharedImagePolicy, shell: ShellToolOptions) -> Vec<RegisteredTool> {
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
        resolving_to(
            read::output_schema(),
            builtin(ReadTool::new(images.clone()), READ_PROMPT),
        ),
        resolving_to(bash::output_schema(), builtin(bash, bash_prompt)),
    ];
    #[cfg(windows)]
    {
        let prompt = power_shell.prompt();
        let tool = builtin(power_shell, prompt);
        tools.push(resolving_to(bash::output_schema(), tool));
    }
    tools.extend([
        builtin(EditTool::new(mutations.clone()), EDIT_PROMPT),
        builtin(WriteTool::new(mutations), WRITE_PROMPT),
        builtin(GrepTool::default(), GREP_PROMPT),
        builtin(FindTool::default(), FIND_PROMPT),
        builtin(LsTool::default(), LS_PROMPT),
    ]);
    tools
}

/// Adds the schema of a tool's structured content.
fn resolving_to(schema: Value, mut tool: RegisteredTool) -> RegisteredTool {
    tool.metadata.output_schema = Some(schema);
    tool
}

fn builtin(tool: impl Tool + 'static, prompt: ToolPrompt) -> RegisteredTool {
    RegisteredTool {
        tool: Arc::new(tool),
        origin: ToolOrigin::Builtin,
        snippet: Some(prompt.snippet.to_owned()),
        guidelines: prompt.guidelines.iter().map(|&it| it.to_owned()).collect(),
        is_default_active: true,
        metadata: ToolMetadata::default(),
    }
}
