//! Tools and system prompt of the model.
//!
//! The transcript records both as changes; this file computes their current values and the message that announces a
//! change.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::MutexGuard;
use pi_context::{PromptSections, SystemPromptParts, section_changes};
use pi_core::{LoadoutChanges, RegisteredTool};
use pi_protocol::transcript::{ToolChanges, active_tools, current_system_message, system_text};
use pi_protocol::{
    AgentMessage, McpServerStatus, Message, MessageContent, SessionEvent, SharedMessage,
    SystemMessage, TaskStatus, Tool,
};
use pi_session::{ContextOutline, SessionError};
use pi_tools::{ImageResizeLimits, SessionVariables};

use super::expansion::PromptExpansion;
use super::state::SessionState;
use super::status::ToolInfo;
use super::{AgentSession, PromptInputs};
use crate::toolset::Toolset;

/// Tools and system prompt of a session.
#[derive(Clone, Copy)]
pub struct ToolsAndPrompt<'session> {
    pub(super) session: &'session AgentSession,
}

impl AgentSession {
    pub fn tools(&self) -> ToolsAndPrompt<'_> {
        ToolsAndPrompt { session: self }
    }
}

impl<'session> ToolsAndPrompt<'session> {
    pub fn toolset(self) -> Toolset {
        self.state_with_tools().tools.clone()
    }

    pub fn resources(self) -> Arc<dyn PromptExpansion> {
        Arc::clone(&self.session.0.prompt_inputs.lock().resources)
    }

    /// Returns the inputs of the system prompt.
    pub(crate) fn prompt_parts(self) -> SystemPromptParts {
        self.session.0.prompt_inputs.lock().prompt.clone()
    }

    /// Replaces the inputs and resources of future prompts.
    pub(crate) fn set_resources(
        self,
        prompt: SystemPromptParts,
        resources: Arc<dyn PromptExpansion>,
    ) {
        *self.session.0.prompt_inputs.lock() = PromptInputs { prompt, resources };
    }

    /// Locks the state after applying changes of the tool sources: new tools become active, and
    /// removed ones can no longer be called.
    pub(super) fn state_with_tools(self) -> MutexGuard<'session, SessionState> {
        let mut state = self.session.0.state();
        if let Some(added) = state.tools.refresh() {
            state.loadout_tools = None;
            let mut active = self.session.0.machine().selection().active_tools.clone();
            active.extend(added);
            self.select_tools(&state.tools, &active);
        }
        state
    }

    /// Selects the tools. Those that stay keep their place, so that another order of the same names changes nothing.
    fn select_tools(self, tools: &Toolset, names: &[String]) {
        let selected = tools.filter_known(names);
        let current = self.session.0.machine().selection().active_tools.clone();
        let kept = current.iter().filter(|name| selected.contains(name));
        let active = tools.filter_known(kept.chain(&selected));
        let sequential = tools.sequential(&active);
        let is_changed = {
            let mut machine = self.session.0.machine();
            let selection = machine.selection_mut();
            let is_changed = selection.active_tools != active;
            selection.active_tools.clone_from(&active);
            selection.sequential_tools = sequential;
            is_changed
        };
        if is_changed {
            self.session
                .0
                .log_change(SessionEvent::ActiveToolsChanged { tools: active });
        }
    }

    /// Notifies the listeners of the state of the MCP servers.
    pub(crate) async fn publish_servers(self, servers: Vec<McpServerStatus>) {
        let event = SessionEvent::McpStatus { servers };
        self.session.0.publish(event).await;
    }

    /// Notifies the listeners of the state of a sub-agent.
    pub async fn publish_task(self, task: TaskStatus) {
        let task = Box::new(task);
        let event = SessionEvent::TaskUpdate { task };
        self.session.0.publish(event).await;
    }

    pub fn active_names(self) -> Vec<String> {
        let _state = self.state_with_tools();
        self.session.0.machine().selection().active_tools.clone()
    }

    pub fn all(self) -> Vec<ToolInfo> {
        let state = self.state_with_tools();
        state.tools.tools().iter().map(ToolInfo::of).collect()
    }

    /// Restricts the model to these tools from the next turn on; unknown names are ignored.
    pub fn set_active(self, names: &[String]) {
        let state = self.state_with_tools();
        self.select_tools(&state.tools, names);
    }

    /// Adds a tool or replaces the one with the same name. A new tool becomes active, unless its registration says
    /// otherwise.
    pub fn register(self, tool: RegisteredTool) {
        self.session.0.state().tools.register(tool);
        drop(self.state_with_tools());
    }

    /// Returns the tools that other tools may call.
    pub(crate) fn callable(self) -> Vec<RegisteredTool> {
        let active = self.active_names();
        let state = self.session.0.state();
        state.tools.callable(&active).cloned().collect()
    }

    /// Returns the current system prompt, including changes not announced to the model yet.
    pub fn system_prompt(self) -> String {
        if let Some(forced) = &self.session.0.state().run.forced_prompt {
            return forced.clone();
        }
        system_text(&SystemMessage {
            sections: Some(self.sections().rendered()),
            ..SystemMessage::default()
        })
    }

    /// Returns the prompt without a hook's changes for the run.
    pub(super) fn base_sections(self) -> PromptSections {
        let active = self.active_names();
        let state = self.session.0.state();
        let prompt_inputs = self.session.0.prompt_inputs.lock();
        let mut tools = state.tools.prompt_tools(&active);
        tools.retain(|tool| !state.loadout.hides(tool.name));
        prompt_inputs.prompt.sections(&tools)
    }

    fn sections(self) -> PromptSections {
        let overridden = self.session.0.state().run.sections.clone();
        overridden.unwrap_or_else(|| self.base_sections())
    }

    /// Returns the message that announces changes of prompt and tools to the model; `None` if there are none.
    pub(super) fn system_update(self) -> Result<Option<SystemMessage>, SessionError> {
        let active = self.active_names();
        let (tools, loadout) = {
            let state = self.session.0.state();
            (state.tools.select(&active), state.loadout.clone())
        };
        let sections = self.sections().rendered();
        let mut transcript = self.session.0.transcript();
        let sections = section_changes(&transcript.projection()?.declared_sections(), &sections);
        let declared = transcript
            .messages()?
            .iter()
            .filter_map(|message| match &**message {
                AgentMessage::System(system) => Some(&**system),
                _ => None,
            });
        let current: Vec<_> = tools
            .iter()
            .map(|tool| described(tool.declaration(), &loadout))
            .collect();
        let current: Vec<_> = current.iter().map(AsRef::as_ref).collect();
        let changes = ToolChanges::between(&active_tools(declared), &current);
        if sections.is_none() && changes.is_empty() {
            return Ok(None);
        }
        Ok(Some(SystemMessage {
            content: MessageContent::Text(String::new()),
            sections,
            tools_added: (!changes.added.is_empty()).then_some(changes.added),
            tools_removed: (!changes.removed.is_empty()).then_some(changes.removed),
            timestamp: self.session.0.env.now_ms(),
            ..SystemMessage::default()
        }))
    }

    /// Replaces all system messages with the text a hook set for the run.
    pub(super) fn with_forced_prompt(self, messages: Vec<SharedMessage>) -> Vec<SharedMessage> {
        let Some(forced) = self.session.0.state().run.forced_prompt.clone() else {
            return messages;
        };
        let is_system = |message: &SharedMessage| matches!(**message, AgentMessage::System(_));
        let systems: Vec<Message> = messages
            .iter()
            .filter(|message| is_system(message))
            .filter_map(|message| pi_core::model_message(message))
            .collect();
        let current = current_system_message(&systems);
        let head = SystemMessage {
            content: MessageContent::Text(forced),
            timestamp: current
                .as_ref()
                .map_or_else(|| self.session.0.env.now_ms(), |current| current.timestamp),
            tools_added: current.and_then(|current| current.tools_added),
            ..SystemMessage::default()
        };
        let others = messages.into_iter().filter(|message| !is_system(message));
        std::iter::once(Arc::new(AgentMessage::from(head)))
            .chain(others)
            .collect()
    }

    /// Restores the tools the transcript declares, after a move in the tree.
    pub(super) fn restore_tools(self) -> Result<(), SessionError> {
        let names = self.declared_tools()?.tool_names;
        if let Some(names) = names {
            self.set_active(&names);
        }
        Ok(())
    }

    /// Activates the tools that a resumed conversation declares.
    pub(super) fn restore_resumed_tools(self) -> Result<(), SessionError> {
        let ContextOutline {
            tool_names: declared,
            mentioned_tools: mentioned,
            ..
        } = self.declared_tools()?;
        if let Some(declared) = declared {
            let state = self.state_with_tools();
            let active = state.tools.active_after_resume(declared, &mentioned);
            self.select_tools(&state.tools, &active);
        }
        Ok(())
    }

    /// Returns what the conversation declares, without reading all of it.
    fn declared_tools(self) -> Result<ContextOutline, SessionError> {
        let transcript = self.session.0.transcript();
        transcript.session().current_branch().context_outline()
    }

    /// Updates the session and model information of the tools.
    pub(super) fn update_tool_context(self) {
        let (session_id, session_file) = self.session.history().with_session(|session| {
            let path = session.path().map(ToOwned::to_owned);
            (session.id().to_owned(), path)
        });
        let (model, level) = (
            self.session.selection().model(),
            self.session.selection().thinking_level(),
        );
        let limits_model = self.session.selection().limits_model();
        let state = self.session.0.state();
        state.tools.set_image_policy_for(limits_model.as_deref());
        state.tools.session_variables().set(Some(SessionVariables {
            session_id,
            session_file,
            provider: model.as_ref().map(|model| model.provider.clone()),
            model: model.as_ref().map(|model| model.id.clone()),
            reasoning_level: Some(level.as_str().to_owned()),
        }));
    }

    /// Applies the image limits of the model that answered last, if the selected one is virtual.
    pub(super) fn follow_routed_model(self) {
        if let Some(routed) = self.session.selection().routed_model() {
            let state = self.session.0.state();
            state.tools.set_image_policy_for(Some(&routed.model));
        }
    }

    /// Returns the image limits of the model.
    pub(super) fn image_limits(self) -> Option<ImageResizeLimits> {
        self.follow_routed_model();
        self.session.0.state().tools.image_policy().limits
    }
}

/// Returns the declaration of a tool, with the description that an active tool sets.
fn described<'tool>(declaration: &'tool Tool, loadout: &LoadoutChanges) -> Cow<'tool, Tool> {
    match loadout.descriptions.get(&declaration.name) {
        Some(description) => Cow::Owned(Tool {
            description: description.clone(),
            ..declaration.clone()
        }),
        None => Cow::Borrowed(declaration),
    }
}
