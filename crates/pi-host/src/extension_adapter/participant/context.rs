//! The messages of requests.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::HookError;
use pi_extensions::events::{ContextEvent, ContextResult, ContextWithSystem, ExtensionEvent};
use pi_protocol::transcript::current_system_message;
use pi_protocol::{AgentMessage, SharedMessage};
use pi_providers::RequestHooks;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ExtensionParticipant;
use super::request::WireHooks;
use crate::participants::ContextHook;

impl ContextHook for ExtensionParticipant {
    fn context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        Box::pin(async move {
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
        })
    }

    fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        Some(Arc::new(WireHooks(self.extensions.clone())))
    }
}

impl ExtensionParticipant {
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
        match pi_protocol::json::from_value::<Vec<AgentMessage>>(&result.messages) {
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

fn is_system(message: &SharedMessage) -> bool {
    matches!(**message, AgentMessage::System(_))
}
