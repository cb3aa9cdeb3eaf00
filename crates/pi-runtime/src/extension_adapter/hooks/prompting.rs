//! Hooks for user input and the contents of requests.

use std::sync::Arc;

use pi_core::{Delivery, HookError, InputSource, SharedMessage};
use pi_extensions::events::{
    BeforeAgentStart, ContextEvent, ContextResult, ContextWithSystem, ExtensionEvent, InputEvent,
};
use pi_protocol::transcript::current_system_message;
use pi_protocol::{AgentMessage, SystemMessage};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::session::draft;
use super::ExtensionHooks;
use crate::hooks::{AgentStart, AgentStartChanges, InputVerdict, UserInput};

impl ExtensionHooks {
    pub(super) async fn handle_input(&self, input: UserInput) -> InputVerdict {
        let event = || InputEvent {
            text: &input.text,
            images: (!input.images.is_empty()).then_some(input.images.as_slice()),
            source: source_name(input.source),
            streaming_behavior: input.delivery.map(|delivery| match delivery {
                Delivery::Steer => "steer",
                Delivery::FollowUp => "followUp",
            }),
        };
        let Some(result) = self.extensions.emit(None, event).await else {
            return InputVerdict::Continue;
        };
        match (result.action.as_deref(), result.text) {
            (Some("handled"), _) => InputVerdict::Handled,
            (Some("transform"), Some(text)) => InputVerdict::Replace {
                text,
                images: result.images,
            },
            _ => InputVerdict::Continue,
        }
    }

    pub(super) async fn handle_before_agent_start(&self, start: AgentStart) -> AgentStartChanges {
        let event = || BeforeAgentStart {
            prompt: &start.prompt,
            images: (!start.images.is_empty()).then_some(start.images.as_slice()),
            system_prompt: pi_protocol::transcript::system_text(&SystemMessage {
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
    }

    pub(super) async fn handle_context(
        &self,
        messages: Vec<SharedMessage>,
        cancel: &CancellationToken,
    ) -> Result<Vec<SharedMessage>, HookError> {
        let mut messages = messages;
        if self.extensions.has_handler::<ContextEvent>() {
            let others = messages.iter().filter(|message| !is_system(message));
            let others: Vec<SharedMessage> = others.cloned().collect();
            let event = |messages| ContextEvent { messages };
            if let Some(changed) = self.transform(&others, cancel, event).await {
                // The combined effect of the system messages, before the replaced conversation.
                let systems = messages.iter().filter(|message| is_system(message));
                let systems: Vec<_> = systems
                    .filter_map(|message| pi_core::model_message(message))
                    .collect();
                let head = current_system_message(&systems).map(AgentMessage::from);
                messages = head.map(Arc::new).into_iter().chain(changed).collect();
            }
        }
        if self.extensions.has_handler::<ContextWithSystem>() {
            let event = |messages| ContextWithSystem { messages };
            if let Some(changed) = self.transform(&messages, cancel, event).await {
                messages = changed;
            }
        }
        Ok(messages)
    }

    async fn transform<Event: ExtensionEvent<Result = ContextResult>>(
        &self,
        messages: &[SharedMessage],
        cancel: &CancellationToken,
        event: impl FnOnce(Arc<Value>) -> Event,
    ) -> Option<Vec<SharedMessage>> {
        let given = messages.iter().map(|message| json!(message)).collect();
        let given = Arc::new(Value::Array(given));
        let event = || event(Arc::clone(&given));
        let result = self.extensions.emit(Some(cancel), event).await?;
        if result.messages == *given {
            return None;
        }
        match serde_json::from_value::<Vec<AgentMessage>>(result.messages) {
            Ok(messages) => Some(messages.into_iter().map(Arc::new).collect()),
            Err(error) => {
                let error = format!("invalid messages: {error}");
                self.extensions
                    .report_event_failure(Event::NAME, error)
                    .await;
                None
            }
        }
    }
}

fn source_name(source: InputSource) -> &'static str {
    match source {
        InputSource::Interactive | InputSource::Cli => "interactive",
        InputSource::Rpc => "rpc",
        InputSource::Extension => "extension",
    }
}

fn is_system(message: &SharedMessage) -> bool {
    matches!(**message, AgentMessage::System(_))
}
