//! Tool calls before and after they run.

use futures_util::future::BoxFuture;
use pi_core::{
    Decision, FinishedToolCall, HookError, PendingToolCall, ReviewedToolCall, ToolResultUpdate,
};
use tokio_util::sync::CancellationToken;

use super::{Participants, ready};

/// Decides about tool calls, and may change their arguments and results.
pub trait ToolPolicy: Send + Sync {
    /// Called before a tool runs. An error blocks the call.
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        let _ = cancel;
        ready(Ok(ReviewedToolCall::allow(call.arguments)))
    }

    /// Called after a tool has run, before its end is published.
    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        let _ = (call, cancel);
        ready(Ok(ToolResultUpdate::default()))
    }
}

impl Participants {
    /// Every policy sees the arguments of the policies before it; the first that denies the call or
    /// fails decides. A question of one stays unless another denies the call.
    pub(crate) async fn tool_call(
        &self,
        call: PendingToolCall,
        cancel: &CancellationToken,
    ) -> Result<ReviewedToolCall, HookError> {
        let mut call = call;
        let mut decision = Decision::Allow;
        for policy in &self.tool_policy {
            let reviewed = policy.tool_call(call.clone(), cancel).await?;
            match (&decision, reviewed.decision) {
                (_, Decision::Deny(reason)) => return Ok(ReviewedToolCall::deny(reason)),
                (Decision::Allow, question @ Decision::Ask(_)) => decision = question,
                _ => {}
            }
            call.arguments = reviewed.arguments;
        }
        Ok(ReviewedToolCall {
            decision,
            arguments: call.arguments,
        })
    }

    /// Every policy sees the result as the policies before it changed it; the last change of each
    /// part applies.
    pub(crate) async fn tool_result(
        &self,
        call: &FinishedToolCall,
        cancel: &CancellationToken,
    ) -> Result<ToolResultUpdate, HookError> {
        let mut update = ToolResultUpdate::default();
        let Some((first, others)) = self.tool_policy.split_first() else {
            return Ok(update);
        };
        merge(&mut update, first.tool_result(call, cancel).await?);
        for policy in others {
            let mut seen = call.clone();
            seen.apply(update.clone());
            merge(&mut update, policy.tool_result(&seen, cancel).await?);
        }
        Ok(update)
    }
}

fn merge(update: &mut ToolResultUpdate, later: ToolResultUpdate) {
    let earlier = std::mem::take(update);
    let replaces_text = later.content.is_some();
    let structured_content = later
        .structured_content
        .or(earlier.structured_content.filter(|_| !replaces_text));
    *update = ToolResultUpdate {
        structured_content,
        content: later.content.or(earlier.content),
        details: later.details.or(earlier.details),
        is_error: later.is_error.or(earlier.is_error),
        usage: later.usage.or(earlier.usage),
        terminate: later.terminate.or(earlier.terminate),
    };
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use pi_core::DenialReason;
    use pi_protocol::json::JsonObject;
    use pi_protocol::{InputBlock, ToolCall, ToolOutput};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    /// Adds its name to the arguments and to the result, or blocks the call.
    struct NamedPolicy {
        name: &'static str,
        blocks: bool,
        seen: Mutex<Vec<String>>,
    }

    impl NamedPolicy {
        fn new(name: &'static str, blocks: bool) -> Arc<Self> {
            Arc::new(Self {
                name,
                blocks,
                seen: Mutex::default(),
            })
        }
    }

    impl ToolPolicy for NamedPolicy {
        fn tool_call<'a>(
            &'a self,
            mut call: PendingToolCall,
            _cancel: &'a CancellationToken,
        ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
            let keys: Vec<&str> = call.arguments.keys().map(String::as_str).collect();
            self.seen.lock().push(keys.join(","));
            if self.blocks {
                return ready(Ok(blocked(self.name)));
            }
            call.arguments.insert(self.name.to_owned(), json!(true));
            ready(Ok(ReviewedToolCall::allow(call.arguments)))
        }

        fn tool_result<'a>(
            &'a self,
            call: &'a FinishedToolCall,
            _cancel: &'a CancellationToken,
        ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
            let text = pi_protocol::join_text(&call.output.content);
            ready(Ok(ToolResultUpdate {
                content: Some(vec![InputBlock::text(format!("{text}{}", self.name))]),
                is_error: self.blocks.then_some(true),
                ..ToolResultUpdate::default()
            }))
        }
    }

    fn blocked(reason: &str) -> ReviewedToolCall {
        ReviewedToolCall::deny(DenialReason {
            text: Some(reason.to_owned()),
            terminate: false,
        })
    }

    fn pending() -> PendingToolCall {
        PendingToolCall {
            response: None,
            call: ToolCall::default(),
            arguments: JsonObject::new(),
            parent: None,
        }
    }

    fn participants(policies: &[Arc<NamedPolicy>]) -> Participants {
        let policies = policies.iter().map(Arc::clone);
        policies
            .fold(
                Participants::builder(),
                crate::participants::ParticipantsBuilder::tool_policy,
            )
            .build()
    }

    #[tokio::test]
    async fn arguments_accumulate_until_a_policy_blocks_the_call() {
        let cancel = CancellationToken::new();
        let [a, b] = [NamedPolicy::new("a", false), NamedPolicy::new("b", false)];
        let verdict = participants(&[a, b]).tool_call(pending(), &cancel).await;
        let ReviewedToolCall {
            decision,
            arguments,
        } = verdict.unwrap();
        assert_eq!(decision, Decision::Allow);
        assert_eq!(json!(arguments), json!({"a": true, "b": true}));

        let policies = [
            NamedPolicy::new("a", false),
            NamedPolicy::new("b", true),
            NamedPolicy::new("c", true),
        ];
        let verdict = participants(&policies).tool_call(pending(), &cancel).await;
        assert_eq!(verdict.unwrap(), blocked("b"));
        let seen = policies.map(|policy| policy.seen.lock().clone());
        assert_eq!(seen, [vec![String::new()], vec!["a".to_owned()], vec![]]);
    }

    #[tokio::test]
    async fn every_policy_sees_the_changed_result() {
        let policies = [NamedPolicy::new("a", true), NamedPolicy::new("b", false)];
        let call = FinishedToolCall {
            pending: pending(),
            output: ToolOutput::text("x"),
            is_error: false,
        };
        let update = participants(&policies)
            .tool_result(&call, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(
            update,
            ToolResultUpdate {
                content: Some(vec![InputBlock::text("xab")]),
                is_error: Some(true),
                ..ToolResultUpdate::default()
            }
        );
    }
}
