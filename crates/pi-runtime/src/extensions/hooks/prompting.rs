//! Hooks for user input and the contents of requests.

use std::sync::Arc;

use pi_core::{HookError, InputSource};
use pi_protocol::transcript::current_system_message;
use pi_protocol::{AgentMessage, Delivery, SharedMessage, SystemMessage};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ExtensionHooks;
use super::results::StartData;
use crate::extensions::front_end::ExtensionFailure;
use crate::hooks::{AgentStart, AgentStartChanges, InputVerdict, UserInput};

impl ExtensionHooks {
    pub(super) async fn handle_input(&self, input: UserInput) -> InputVerdict {
        let result = self.emit("input", || {
            json!({
                "text": input.text,
                "images": (!input.images.is_empty()).then_some(&input.images),
                "source": source_name(input.source),
                "streamingBehavior": input.delivery.map(|delivery| match delivery {
                    Delivery::Steer => "steer",
                    Delivery::FollowUp => "followUp",
                }),
            })
        });
        let Some(result) = result.await else {
            return InputVerdict::Continue;
        };
        let text = result.get("text").and_then(Value::as_str);
        match (result.get("action").and_then(Value::as_str), text) {
            (Some("handled"), _) => InputVerdict::Handled,
            (Some("transform"), Some(text)) => InputVerdict::Replace {
                text: text.to_owned(),
                images: result
                    .get("images")
                    .and_then(|images| serde_json::from_value(images.clone()).ok()),
            },
            _ => InputVerdict::Continue,
        }
    }

    pub(super) async fn handle_before_agent_start(&self, start: AgentStart) -> AgentStartChanges {
        let result = self.emit("before_agent_start", || {
            let prompt = pi_protocol::transcript::system_text(&SystemMessage {
                sections: Some(start.sections.rendered()),
                ..SystemMessage::default()
            });
            json!({
                "prompt": start.prompt,
                "images": (!start.images.is_empty()).then_some(&start.images),
                "systemPrompt": prompt,
                "systemPromptOptions": self.prompt_options(&start.tools),
            })
        });
        let data = result.await.map(serde_json::from_value::<StartData>);
        let Some(Ok(data)) = data else {
            return AgentStartChanges::default();
        };
        let options = data.options.unwrap_or_default();
        let active = options.selected_tools.as_ref().unwrap_or(&start.tools);
        let sections = match self.shared.bridge.session() {
            Ok(session) => options.sections(&session, active, &start.sections),
            Err(_) => start.sections.clone(),
        };
        AgentStartChanges {
            messages: data.messages.into_iter().map(Into::into).collect(),
            sections: (sections != start.sections).then_some(sections),
            forced_prompt: data.system_prompt,
            tools: options.selected_tools.filter(|tools| *tools != start.tools),
        }
    }

    pub(super) async fn handle_context(
        &self,
        messages: Vec<SharedMessage>,
        cancel: &CancellationToken,
    ) -> Result<Vec<SharedMessage>, HookError> {
        let mut messages = messages;
        if self.shared.bridge.has_handler("context") {
            let others = messages.iter().filter(|message| !is_system(message));
            let others: Vec<SharedMessage> = others.cloned().collect();
            if let Some(changed) = self.transform("context", &others, cancel).await {
                // The combined effect of the system messages, before the replaced conversation.
                let systems = messages.iter().filter(|message| is_system(message));
                let systems: Vec<_> = systems
                    .filter_map(|message| pi_core::model_message(message))
                    .collect();
                let head = current_system_message(&systems).map(AgentMessage::from);
                messages = head.map(Arc::new).into_iter().chain(changed).collect();
            }
        }
        if self.shared.bridge.has_handler("context_with_system")
            && let Some(changed) = self
                .transform("context_with_system", &messages, cancel)
                .await
        {
            messages = changed;
        }
        Ok(messages)
    }

    async fn transform(
        &self,
        name: &'static str,
        messages: &[SharedMessage],
        cancel: &CancellationToken,
    ) -> Option<Vec<SharedMessage>> {
        let request_to_json = Value::Array(messages.iter().map(|message| json!(message)).collect());
        let event = || json!({ "messages": request_to_json });
        let result = self.emit_cancellable(name, Some(cancel), event).await?;
        let returned = result.get("messages")?;
        if *returned == request_to_json {
            return None;
        }
        match serde_json::from_value::<Vec<AgentMessage>>(returned.clone()) {
            Ok(messages) => Some(messages.into_iter().map(Arc::new).collect()),
            Err(error) => {
                let failure = ExtensionFailure {
                    extension: None,
                    event: name.to_owned(),
                    error: format!("invalid messages: {error}"),
                    stack: None,
                };
                self.shared.bridge.ui.report_failure(failure).await;
                None
            }
        }
    }

    /// Returns the prompt options for the tools of a run.
    fn prompt_options(&self, tools: &[String]) -> Value {
        let session = self.shared.bridge.session();
        let mut options = session.map_or_else(
            |_| json!({ "sections": {} }),
            |session| self.shared.bridge.prompt_options(&session),
        );
        if let Some(options) = options.as_object_mut() {
            options.insert("selectedTools".to_owned(), json!(tools));
        }
        options
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
