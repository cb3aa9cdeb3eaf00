//! Tools and system prompt of the model.
//!
//! The transcript records both as changes; this file computes their current values. The agent
//! announces tool changes, the session announces prompt changes.

use std::sync::Arc;

use pi_agent::SharedMessage;
use pi_ai::transcript::{current_system_message, system_text};
use pi_ai::{AgentMessage, Message, MessageContent, SystemMessage};
use pi_context::{PromptSections, section_changes};
use pi_session::SessionError;
use pi_tools::{ImageResizeLimits, SessionVariables};

use super::status::ToolInfo;
use super::{AgentSession, lock};

impl AgentSession {
    pub fn active_tool_names(&self) -> Vec<String> {
        self.state().active_tools.clone()
    }

    pub fn all_tools(&self) -> Vec<ToolInfo> {
        let state = self.state();
        state.tools.tools().iter().map(ToolInfo::of).collect()
    }

    /// Restricts the model to these tools from the next turn on; unknown names are ignored.
    pub fn set_active_tools(&self, names: &[String]) {
        let tools = {
            let mut state = self.state();
            state.active_tools = state.tools.filter_known(names);
            state.tools.select(&state.active_tools)
        };
        self.0.agent.set_tools(tools);
    }

    /// Adds a tool or replaces the one with the same name, and activates it.
    pub fn register_tool(&self, tool: crate::toolset::RegisteredTool) {
        let names = {
            let mut state = self.state();
            let name = tool.name().to_owned();
            state.tools.register(tool);
            let active = state.active_tools.iter().cloned();
            active.chain([name]).collect::<Vec<_>>()
        };
        self.set_active_tools(&names);
    }

    /// Returns the current system prompt, including changes not announced to the model yet.
    pub fn system_prompt(&self) -> String {
        if let Some(forced) = &self.state().run.forced_prompt {
            return forced.clone();
        }
        system_text(&SystemMessage {
            sections: Some(self.sections().rendered()),
            ..SystemMessage::default()
        })
    }

    /// Returns the prompt without a hook's changes for the run.
    pub(super) fn base_sections(&self) -> PromptSections {
        let state = self.state();
        let prompt_inputs = lock(&self.0.prompt_inputs);
        prompt_inputs
            .prompt
            .sections(&state.tools.prompt_tools(&state.active_tools))
    }

    fn sections(&self) -> PromptSections {
        let overridden = self.state().run.sections.clone();
        overridden.unwrap_or_else(|| self.base_sections())
    }

    /// Returns the message that announces prompt changes to the model; `None` if there are none.
    pub(super) fn system_update(&self) -> Result<Option<SystemMessage>, SessionError> {
        let announced = self.transcript().projection()?.declared_sections();
        let changes = section_changes(&announced, &self.sections().rendered());
        Ok(changes.map(|sections| SystemMessage {
            content: MessageContent::Text(String::new()),
            sections: Some(sections),
            timestamp: self.0.env.now_ms(),
            ..SystemMessage::default()
        }))
    }

    /// Prepends pending prompt changes to a message that starts a run.
    pub(super) fn with_system_update(&self, message: AgentMessage) -> Vec<AgentMessage> {
        let update = self.system_update().unwrap_or_else(|error| {
            self.report("run", None, &error);
            None
        });
        let update = update.map(AgentMessage::from);
        update.into_iter().chain([message]).collect()
    }

    /// Replaces all system messages with the text a hook set for the run.
    pub(super) fn with_forced_prompt(&self, messages: Vec<SharedMessage>) -> Vec<SharedMessage> {
        let Some(forced) = self.state().run.forced_prompt.clone() else {
            return messages;
        };
        let is_system = |message: &SharedMessage| matches!(**message, AgentMessage::System(_));
        let systems: Vec<Message> = messages
            .iter()
            .filter(|message| is_system(message))
            .filter_map(|message| pi_agent::model_message(message))
            .collect();
        let current = current_system_message(&systems);
        let head = SystemMessage {
            content: MessageContent::Text(forced),
            timestamp: current
                .as_ref()
                .map_or_else(|| self.0.env.now_ms(), |current| current.timestamp),
            tools_added: current.and_then(|current| current.tools_added),
            ..SystemMessage::default()
        };
        let others = messages.into_iter().filter(|message| !is_system(message));
        std::iter::once(Arc::new(AgentMessage::from(head)))
            .chain(others)
            .collect()
    }

    /// Restores the tools the transcript declares, after a move in the tree.
    pub(super) fn restore_tools(&self) -> Result<(), SessionError> {
        let names = self.transcript().projection()?.tool_names();
        if let Some(names) = names {
            self.set_active_tools(&names);
        }
        Ok(())
    }

    /// Updates the session and model information of the tools.
    pub(super) fn update_tool_context(&self) {
        let (session_id, session_file) = self.with_session(|session| {
            let path = session.path().map(ToOwned::to_owned);
            (session.id().to_owned(), path)
        });
        let state = self.state();
        state.tools.set_image_policy_for(state.model.as_deref());
        let reasoning_level = state.thinking_level.as_str().to_owned();
        state.tools.session_variables().set(Some(SessionVariables {
            session_id,
            session_file,
            provider: state.model.as_ref().map(|model| model.provider.clone()),
            model: state.model.as_ref().map(|model| model.id.clone()),
            reasoning_level: Some(reasoning_level),
        }));
    }

    /// Returns the image limits of the model.
    pub(super) fn image_limits(&self) -> Option<ImageResizeLimits> {
        self.state().tools.image_policy().limits
    }
}
