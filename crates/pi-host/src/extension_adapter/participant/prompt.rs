//! Changes of a run before it starts.

use futures_util::future::BoxFuture;
use pi_extensions::events::BeforeAgentStart;
use pi_protocol::SystemMessage;
use pi_protocol::transcript::system_text;

use super::super::session::draft;
use super::ExtensionParticipant;
use crate::participants::{AgentStart, AgentStartChanges, PromptHook};

impl PromptHook for ExtensionParticipant {
    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        Box::pin(async move {
            let event = || BeforeAgentStart {
                message_type: if start.message.is_some() {
                    "custom"
                } else {
                    "user"
                },
                prompt: start.message.is_none().then_some(start.prompt.as_str()),
                message: start.message.as_ref(),
                images: (!start.images.is_empty()).then_some(start.images.as_slice()),
                system_prompt: system_text(&SystemMessage {
                    sections: Some(start.sections.rendered()),
                    ..SystemMessage::default()
                }),
                system_prompt_options: self.extensions.prompt_options(&start.tools),
            };
            let Some(result) = self.extensions.emit(None, event).await else {
                return AgentStartChanges::default();
            };
            let options = result.options.unwrap_or_default();
            let active = options.selected_tools.as_ref().unwrap_or(&start.tools);
            let sections = self
                .extensions
                .changed_sections(&options, active, &start.sections);
            AgentStartChanges {
                messages: result.messages.into_iter().map(draft).collect(),
                sections: (sections != start.sections).then_some(sections),
                forced_prompt: result.system_prompt,
                tools: options.selected_tools.filter(|tools| *tools != start.tools),
            }
        })
    }
}
