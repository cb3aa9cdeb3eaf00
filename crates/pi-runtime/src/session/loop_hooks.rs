//! Connects a session to the agent loop: persists messages, compacts between turns, forwards
//! events.
//!
//! As the loop's hooks, it stores every message before its `message_end`, compacts between turns
//! and calls the session's hooks; as a listener, it forwards events. It holds the session weakly,
//! since the session owns the agent.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pi_agent::{
    AgentEvent, AgentHooks, AgentListener, FinishedToolCall, FinishedTurn, HookError, LoopContext,
    LoopUpdate, PendingToolCall, SharedMessage, ToolCallVerdict, ToolResultUpdate, TurnDecision,
};
use pi_ai::{AgentMessage, AssistantMessage, Message, StopReason};
use pi_session::{RecoveryState, to_model_messages};
use tokio_util::sync::CancellationToken;

use super::{AgentSession, SessionCore, images};
use crate::error_text::describe_error;
use crate::event::SessionEvent;
use crate::hooks::ActivityOutcome;

pub(super) struct LoopHooks(Weak<SessionCore>);

impl LoopHooks {
    pub(super) fn new(core: Weak<SessionCore>) -> Self {
        Self(core)
    }

    fn session(&self) -> Result<AgentSession, HookError> {
        let core = self.0.upgrade();
        core.map(AgentSession)
            .ok_or_else(|| HookError::new("the session was closed"))
    }
}

impl AgentListener for LoopHooks {
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(session) = self.session() else { return };
            if matches!(event, AgentEvent::MessageUpdate { .. }) {
                // By far the most frequent event, and it needs no other handling.
                let step = SessionEvent::Agent(event.clone());
                session.publish_with_hooks(step).await;
            } else {
                Box::pin(session.forward_event(event)).await;
            }
        })
    }
}

impl AgentHooks for LoopHooks {
    fn prepare_next_turn<'a>(
        &'a self,
        _turn: &'a FinishedTurn,
        _context: LoopContext,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LoopUpdate, HookError>> {
        Box::pin(async move {
            let session = self.session()?;
            session.compact_between_turns().await;
            let update = session
                .system_update()
                .map_err(|error| hook_error(&error))?;
            Ok(LoopUpdate {
                messages: update.into_iter().map(AgentMessage::from).collect(),
                ..LoopUpdate::default()
            })
        })
    }

    fn transform_context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        Box::pin(async move {
            let session = self.session()?;
            let messages = session.0.hooks.context(messages, cancel).await?;
            Ok(session.with_forced_prompt(messages))
        })
    }

    fn convert_to_model(
        &self,
        messages: Vec<SharedMessage>,
    ) -> BoxFuture<'_, Result<Vec<Message>, HookError>> {
        Box::pin(async move {
            let session = self.session()?;
            let mut messages = to_model_messages(messages.iter().map(Arc::as_ref));
            if session.0.settings.settings().images.block_images() {
                images::block(&mut messages);
            }
            Ok(messages)
        })
    }

    fn before_tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolCallVerdict, HookError>> {
        Box::pin(async move { self.session()?.0.hooks.tool_call(call, cancel).await })
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        Box::pin(async move {
            let session = self.session()?;
            let mut update = session.0.hooks.tool_result(call, cancel).await?;
            let content = update.content.as_ref().unwrap_or(&call.output.content);
            if images::has_images(content) {
                let limits = session.image_limits();
                update.content =
                    Some(images::fit_tool_result_images(content.clone(), limits, cancel).await);
            }
            Ok(update)
        })
    }

    fn finish_message<'a>(
        &'a self,
        message: SharedMessage,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<SharedMessage, HookError>> {
        Box::pin(async move { self.session()?.record(message).await })
    }

    fn finish_turn<'a>(
        &'a self,
        turn: &'a FinishedTurn,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<TurnDecision, HookError>> {
        Box::pin(async move { Ok(self.session()?.finish_turn(turn).await) })
    }
}

fn hook_error(error: &pi_session::SessionError) -> HookError {
    HookError::new(describe_error(error))
}

impl AgentSession {
    /// Lets the hooks replace a message, then stores it.
    async fn record(&self, message: SharedMessage) -> Result<SharedMessage, HookError> {
        let message = match self.0.hooks.message_end(&message).await {
            Some(other) if has_same_role(&other, &message) => Arc::new(other),
            Some(_) | None => message,
        };
        if self.state().run.storage_failed || !is_stored_as_message(&message) {
            return Ok(message);
        }
        let recorded = {
            let mut transcript = self.transcript();
            transcript
                .append_message((*message).clone())
                .inspect(|entry| transcript.record_entry(&message, entry))
        };
        let mut state = self.state();
        match recorded {
            Ok(entry) => {
                if let AgentMessage::Assistant(response) = &*message {
                    state.run.outcome = outcome_of(response);
                    if !matches!(response.stop_reason, StopReason::Error | StopReason::Length) {
                        state.run.recovery = RecoveryState::NotAttempted;
                    }
                    state.run.last_response = Some((Arc::clone(&message), entry.id.clone()));
                }
                Ok(message)
            }
            Err(error) => {
                state.run.storage_failed = true;
                Err(hook_error(&error))
            }
        }
    }

    /// Forwards an agent event and performs the session's work for it.
    async fn forward_event(&self, event: &AgentEvent) {
        if let AgentEvent::MessageStart { message } = event
            && let AgentMessage::User(user) = &**message
        {
            self.state().run.recovery = RecoveryState::NotAttempted;
            self.unqueue(&user.content).await;
        }
        self.publish_with_hooks(match event {
            AgentEvent::AgentEnd { messages } => SessionEvent::AgentEnd {
                messages: messages.clone(),
                will_retry: self.will_retry(messages),
            },
            step => SessionEvent::Agent(step.clone()),
        })
        .await;
        match event {
            AgentEvent::MessageEnd { message } => {
                if let AgentMessage::Assistant(response) = &**message
                    && response.stop_reason != StopReason::Error
                {
                    self.finish_retry_success().await;
                }
            }
            AgentEvent::TurnEnd { tool_results, .. } => {
                let results = {
                    let transcript = self.transcript();
                    let ids = tool_results.iter();
                    ids.filter_map(|result| transcript.entry_of(result))
                        .collect()
                };
                self.state().run.last_results = results;
                self.flush_custom_messages().await;
            }
            _ => {}
        }
    }
}

fn outcome_of(response: &AssistantMessage) -> ActivityOutcome {
    match response.stop_reason {
        StopReason::Aborted => ActivityOutcome::Aborted,
        StopReason::Error => ActivityOutcome::Error,
        _ => ActivityOutcome::Completed,
    }
}

/// Returns whether the role is one that runs add; other roles are stored where they are created.
fn is_stored_as_message(message: &AgentMessage) -> bool {
    matches!(
        message,
        AgentMessage::System(_)
            | AgentMessage::User(_)
            | AgentMessage::Assistant(_)
            | AgentMessage::ToolResult(_)
            | AgentMessage::Custom(_)
    )
}

fn has_same_role(one: &AgentMessage, other: &AgentMessage) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}
