//! Chains two sets of hooks: first the extensions, then the embedding program.
//!
//! The second hook sees the result of the first and has the final say. Where only one can act
//! (running a command, canceling), the first that acts ends the chain.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    Decision, FinishedToolCall, HookError, PendingToolCall, ReviewedToolCall, SessionEvent,
    SharedMessage, ToolResultUpdate,
};
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::{AgentMessage, Model, ThinkingLevel};
use pi_providers::RequestHooks;
use pi_session::{EntryId, ForkPosition};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    AgentStart, AgentStartChanges, BoundaryDecision, CompactionCompleted, CompactionFailed,
    CompactionProposal, CompactionVerdict, HookFailure, InputVerdict, ModelSelected, SessionHooks,
    SessionShutdown, SessionStart, SessionSwitch, SettleBoundary, TreeMoved, TreeProposal,
    TreeVerdict, TurnBoundary, UserBashVerdict, UserCommand, UserInput,
};

/// Calls two sets of hooks in order.
pub(crate) struct HookChain {
    first: Arc<dyn SessionHooks>,
    second: Arc<dyn SessionHooks>,
}

impl HookChain {
    pub(crate) fn new(first: Arc<dyn SessionHooks>, second: Arc<dyn SessionHooks>) -> Self {
        Self { first, second }
    }
}

fn merge_decisions(first: BoundaryDecision, second: BoundaryDecision) -> BoundaryDecision {
    let mut entries = first.entries;
    entries.extend(second.entries);
    BoundaryDecision {
        entries,
        proceed: first.proceed || second.proceed,
    }
}

impl SessionHooks for HookChain {
    fn has_command(&self, name: &str) -> bool {
        self.first.has_command(name) || self.second.has_command(name)
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        if self.first.has_command(name) {
            self.first.run_command(name, arguments)
        } else {
            self.second.run_command(name, arguments)
        }
    }

    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        Box::pin(async move {
            match self.first.input(input.clone()).await {
                InputVerdict::Handled => InputVerdict::Handled,
                InputVerdict::Continue => self.second.input(input).await,
                InputVerdict::Replace { text, images } => {
                    let seen = UserInput {
                        text: text.clone(),
                        images: images.clone().unwrap_or_else(|| input.images.clone()),
                        ..input
                    };
                    match self.second.input(seen).await {
                        InputVerdict::Continue => InputVerdict::Replace { text, images },
                        verdict => verdict,
                    }
                }
            }
        })
    }

    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        Box::pin(async move {
            let mut changes = self.first.before_agent_start(start.clone()).await;
            let seen = AgentStart {
                sections: changes.sections.clone().unwrap_or(start.sections.clone()),
                tools: changes.tools.clone().unwrap_or(start.tools.clone()),
                ..start
            };
            let more = self.second.before_agent_start(seen).await;
            changes.messages.extend(more.messages);
            AgentStartChanges {
                messages: changes.messages,
                sections: more.sections.or(changes.sections),
                forced_prompt: more.forced_prompt.or(changes.forced_prompt),
                tools: more.tools.or(changes.tools),
            }
        })
    }

    fn context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        Box::pin(async move {
            let messages = self.first.context(messages, cancel).await?;
            self.second.context(messages, cancel).await
        })
    }

    fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        match (self.first.request_hooks(), self.second.request_hooks()) {
            (Some(first), Some(second)) => Some(Arc::new(RequestHookChain(first, second))),
            (first, second) => first.or(second),
        }
    }

    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            let first = self.first.tool_call(call.clone(), cancel).await?;
            if let Decision::Deny(_) = first.decision {
                return Ok(first);
            }
            let call = PendingToolCall {
                arguments: first.arguments,
                ..call
            };
            let second = self.second.tool_call(call, cancel).await?;
            let decision = match (first.decision, second.decision) {
                // A question stays one unless the other hooks deny the call.
                (question @ Decision::Ask(_), Decision::Allow | Decision::Ask(_)) => question,
                (_, decision) => decision,
            };
            Ok(ReviewedToolCall {
                decision,
                arguments: second.arguments,
            })
        })
    }

    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        Box::pin(async move {
            let first = self.first.tool_result(call, cancel).await?;
            let mut seen = call.clone();
            seen.apply(first.clone());
            let second = self.second.tool_result(&seen, cancel).await?;
            Ok(ToolResultUpdate {
                content: second.content.or(first.content),
                details: second.details.or(first.details),
                is_error: second.is_error.or(first.is_error),
                usage: second.usage.or(first.usage),
                terminate: second.terminate.or(first.terminate),
            })
        })
    }

    fn message_end<'a>(
        &'a self,
        message: &'a SharedMessage,
    ) -> BoxFuture<'a, Option<AgentMessage>> {
        Box::pin(async move {
            match self.first.message_end(message).await {
                Some(changed) => {
                    let seen = Arc::new(changed);
                    let again = self.second.message_end(&seen).await;
                    Some(again.unwrap_or_else(|| AgentMessage::clone(&seen)))
                }
                None => self.second.message_end(message).await,
            }
        })
    }

    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        Box::pin(async move {
            let first = self.first.turn_end(turn.clone()).await;
            merge_decisions(first, self.second.turn_end(turn).await)
        })
    }

    fn before_settle<'a>(&'a self, settle: SettleBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        Box::pin(async move {
            let first = self.first.before_settle(settle.clone()).await;
            merge_decisions(first, self.second.before_settle(settle).await)
        })
    }

    fn before_compact<'a>(
        &'a self,
        proposal: CompactionProposal<'a>,
    ) -> BoxFuture<'a, CompactionVerdict> {
        Box::pin(async move {
            match self.first.before_compact(proposal.clone()).await {
                CompactionVerdict::Proceed => self.second.before_compact(proposal).await,
                verdict => verdict,
            }
        })
    }

    fn compacted<'a>(&'a self, compacted: CompactionCompleted<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.first.compacted(compacted.clone()).await;
            self.second.compacted(compacted).await;
        })
    }

    fn compaction_failed(&self, failed: CompactionFailed) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.first.compaction_failed(failed.clone()).await;
            self.second.compaction_failed(failed).await;
        })
    }

    fn before_tree<'a>(&'a self, proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
        Box::pin(async move {
            let first = self.first.before_tree(proposal.clone()).await;
            if first.cancel {
                return first;
            }
            let second = self.second.before_tree(proposal).await;
            TreeVerdict {
                cancel: second.cancel,
                summary: second.summary.or(first.summary),
                instructions: second.instructions.or(first.instructions),
                replace_instructions: second.replace_instructions.or(first.replace_instructions),
                label: second.label.or(first.label),
            }
        })
    }

    fn tree<'a>(&'a self, moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.first.tree(moved.clone()).await;
            self.second.tree(moved).await;
        })
    }

    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        Box::pin(async move {
            match self.first.user_bash(command.clone()).await? {
                UserBashVerdict::Run => self.second.user_bash(command).await,
                verdict => Ok(verdict),
            }
        })
    }

    fn model_selected(&self, selected: ModelSelected) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.first.model_selected(selected.clone()).await;
            self.second.model_selected(selected).await;
        })
    }

    fn thinking_level_selected(
        &self,
        level: ThinkingLevel,
        previous: ThinkingLevel,
    ) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.first.thinking_level_selected(level, previous).await;
            self.second.thinking_level_selected(level, previous).await;
        })
    }

    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.first.on_event(event).await;
            self.second.on_event(event).await;
        })
    }

    fn session_start(&self, start: SessionStart) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.first.session_start(start.clone()).await;
            self.second.session_start(start).await;
        })
    }

    fn before_switch(&self, switch: SessionSwitch) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            self.first.before_switch(switch.clone()).await
                && self.second.before_switch(switch).await
        })
    }

    fn before_fork<'a>(
        &'a self,
        entry: &'a EntryId,
        position: ForkPosition,
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            self.first.before_fork(entry, position).await
                && self.second.before_fork(entry, position).await
        })
    }

    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.first.session_shutdown(shutdown.clone()).await;
            self.second.session_shutdown(shutdown).await;
        })
    }

    fn report(&self, failure: HookFailure) {
        self.first.report(failure);
    }
}

/// Calls two sets of request hooks in order.
struct RequestHookChain(Arc<dyn RequestHooks>, Arc<dyn RequestHooks>);

impl RequestHooks for RequestHookChain {
    fn on_payload<'a>(&'a self, payload: Value, model: &'a Model) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let payload = self.0.on_payload(payload, model).await;
            self.1.on_payload(payload, model).await
        })
    }

    fn on_headers<'a>(
        &'a self,
        headers: HeaderOverrides,
        model: &'a Model,
    ) -> BoxFuture<'a, HeaderOverrides> {
        Box::pin(async move {
            let headers = self.0.on_headers(headers, model).await;
            self.1.on_headers(headers, model).await
        })
    }

    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.0.on_response(response, model).await;
            self.1.on_response(response, model).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use pi_core::InputSource;

    use super::*;

    /// Appends a letter to the input and allows or vetoes switches.
    struct AppendLetter(&'static str, bool);

    impl SessionHooks for AppendLetter {
        fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
            let text = format!("{}{}", input.text, self.0);
            Box::pin(std::future::ready(InputVerdict::Replace {
                text,
                images: None,
            }))
        }

        fn before_switch(&self, _switch: SessionSwitch) -> BoxFuture<'_, bool> {
            Box::pin(std::future::ready(self.1))
        }
    }

    #[tokio::test]
    async fn the_second_hook_sees_the_result_of_the_first_and_either_may_veto() {
        let chain = HookChain::new(
            Arc::new(AppendLetter("a", true)),
            Arc::new(AppendLetter("b", false)),
        );
        let typed = UserInput {
            text: "x".to_owned(),
            images: Vec::new(),
            source: InputSource::default(),
            delivery: None,
        };
        let verdict = chain.input(typed).await;
        let expected = InputVerdict::Replace {
            text: "xab".to_owned(),
            images: None,
        };
        assert_eq!(verdict, expected);
        let switch = SessionSwitch {
            reason: crate::hooks::StartReason::New,
            target_session_file: None,
        };
        assert!(!chain.before_switch(switch).await);
    }
}
