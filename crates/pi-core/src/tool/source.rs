//! Where tools come from: sources whose tools can change while sessions use them.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Tool, ToolMetadata};

/// Provides tools: the built-in ones, those of an extension, of a server or of the embedding
/// program.
///
/// A session reads the current tools before each request and each call, so a change applies to a
/// running session from its next turn on. Send an empty list before the source is dropped if its
/// tools end with it: receivers keep the last list.
pub trait ToolSource: Send + Sync {
    fn tools(&self) -> watch::Receiver<Vec<RegisteredTool>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Whether the tool is active without being named by flags, settings or the session.
    pub is_default_active: bool,
    pub metadata: ToolMetadata,
}

impl RegisteredTool {
    /// Registers a tool of the embedding program.
    pub fn new(tool: Arc<dyn Tool>) -> Self {
        Self {
            tool,
            origin: ToolOrigin::Program,
            snippet: None,
            guidelines: Vec::new(),
            is_default_active: true,
            metadata: ToolMetadata::default(),
        }
    }

    /// Whether the tool becomes active when it is registered.
    pub fn activates_on_registration(&self) -> bool {
        self.is_default_active && self.metadata.exposure.activates_on_registration()
    }

    pub fn name(&self) -> &str {
        &self.tool.declaration().name
    }
}

/// A source that is a list of tools.
#[derive(Default)]
pub struct ToolRegistry(watch::Sender<Vec<RegisteredTool>>);

impl ToolRegistry {
    pub fn new(tools: Vec<RegisteredTool>) -> Self {
        Self(watch::Sender::new(tools))
    }

    /// Adds a tool or replaces the one with the same name.
    pub fn add(&self, tool: RegisteredTool) {
        self.0.send_modify(|tools| put(tools, tool));
    }

    /// Removes a tool; returns whether there was one with this name.
    pub fn remove(&self, name: &str) -> bool {
        self.0.send_if_modified(|tools| {
            let before = tools.len();
            tools.retain(|tool| tool.name() != name);
            tools.len() < before
        })
    }
}

impl ToolSource for ToolRegistry {
    fn tools(&self) -> watch::Receiver<Vec<RegisteredTool>> {
        self.0.subscribe()
    }
}

/// Merges the tools of several sources. A tool replaces one with the same name from an earlier
/// source, at its place in the list.
pub fn merge_tools(tools: impl IntoIterator<Item = RegisteredTool>) -> Vec<RegisteredTool> {
    let mut merged = Vec::new();
    for tool in tools {
        put(&mut merged, tool);
    }
    merged
}

fn put(tools: &mut Vec<RegisteredTool>, tool: RegisteredTool) {
    let same = tools.iter_mut().find(|known| known.name() == tool.name());
    match same {
        Some(existing) => *existing = tool,
        None => tools.push(tool),
    }
}
