//! Events a session emits to its front ends.
//!
//! The JSON form is the one of RPC and JSON mode, field by field. Agent events are forwarded
//! unchanged; the other events come from the session. Listeners are called after the change is
//! written to the session file.

use std::sync::Arc;

use pi_context::CompactionReason;
use pi_protocol::{Answer, AssistantMessage, Request, RequestId, ThinkingLevel, Usage};
use pi_session::{Entry, EntryId};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::event::{AgentEvent, SharedMessage};

/// An event of a session.
#[derive(Debug, Clone, Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum SessionEvent {
    /// An agent run is over; the session may still continue on its own.
    AgentEnd {
        /// The messages added by this run.
        messages: Vec<SharedMessage>,
        /// Whether the session will retry after a delay.
        will_retry: bool,
    },
    /// The session has nothing left to do.
    AgentSettled,
    /// The queued messages changed.
    QueueUpdate {
        steering: Vec<String>,
        follow_up: Vec<String>,
    },
    /// An entry was appended that is not a message of the run.
    EntryAppended {
        entry: Arc<Entry>,
    },
    /// The session's name changed.
    SessionInfoChanged {
        /// The name; `None` if it was removed.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    ThinkingLevelChanged {
        level: ThinkingLevel,
    },
    CompactionStart {
        #[serde(serialize_with = "reason_name")]
        reason: CompactionReason,
    },
    /// A compaction ended or could not help.
    CompactionEnd {
        #[serde(serialize_with = "reason_name")]
        reason: CompactionReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<CompactionOutcome>,
        aborted: bool,
        /// Whether the failed request is sent again.
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// A failed turn will be retried after a delay.
    AutoRetryStart {
        /// The attempt, starting at 1.
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        /// Why the turn failed.
        error_message: String,
    },
    /// Retrying ended.
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        /// The last error, if no attempt succeeded.
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
        /// Whether the delay before the next attempt was canceled. Not sent to RPC clients.
        #[serde(skip)]
        canceled: bool,
    },
    /// A failed summary request will be retried after a delay.
    SummarizationRetryScheduled {
        /// The attempt, starting at 1.
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        /// Why the request failed.
        error_message: String,
    },
    /// The delay is over and the summary request is sent again.
    SummarizationRetryAttemptStart {
        #[serde(flatten)]
        source: SummarySource,
    },
    /// A summary request that had to be retried has finished.
    SummarizationRetryFinished,
    /// The user's shell command produced output.
    BashExecutionUpdate {
        /// The ID given with the command.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Value>,
        delta: String,
    },
    /// A tool call waits until a client allows or denies it.
    ApprovalRequested {
        request: Request,
    },
    /// A request was answered, or canceled with its run.
    ApprovalResolved {
        request: RequestId,
        answer: Answer,
    },
    /// An agent event; never [`AgentEvent::AgentEnd`].
    #[serde(untagged)]
    Agent(AgentEvent),
}

/// How retrying ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RetryEnd {
    Succeeded,
    Failed(String),
    /// The delay was canceled.
    Canceled,
}

/// The error clients see when the delay was canceled.
const RETRY_CANCELED: &str = "Retry canceled";

/// Purpose of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "source", rename_all = "camelCase")]
pub enum SummarySource {
    Compaction {
        #[serde(serialize_with = "reason_name")]
        reason: CompactionReason,
    },
    /// Summary of a branch that was left.
    BranchSummary,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionOutcome {
    pub summary: String,
    /// The first entry that stays in the context.
    pub first_kept_entry_id: Option<EntryId>,
    /// Context tokens before.
    pub tokens_before: u64,
    /// Estimated context tokens after.
    pub estimated_tokens_after: u64,
    /// Tokens used to write the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Data of the extension that wrote the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// How much of a growing message an update repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpdateFormat {
    /// Only the new part.
    #[default]
    Delta,
    /// The new part, and the message so far as `message` and `partial`, for older clients.
    Full,
}

impl SessionEvent {
    pub(crate) fn retry_ended(attempt: u32, end: RetryEnd) -> Self {
        let canceled = end == RetryEnd::Canceled;
        let (success, final_error) = match end {
            RetryEnd::Succeeded => (true, None),
            RetryEnd::Failed(error) => (false, Some(error)),
            RetryEnd::Canceled => (false, Some(RETRY_CANCELED.to_owned())),
        };
        Self::AutoRetryEnd {
            success,
            attempt,
            final_error,
            canceled,
        }
    }

    /// Serializes the event as one line of JSON, without the line feed.
    pub fn to_json(&self, form: UpdateFormat) -> serde_json::Result<String> {
        match (self, form) {
            (
                Self::Agent(AgentEvent::MessageUpdate {
                    message,
                    assistant_message_event,
                    ..
                }),
                UpdateFormat::Full,
            ) => {
                let message = message.snapshot();
                let update = FullUpdate {
                    r#type: "message_update",
                    usage: &message.usage,
                    message: Assistant::of(&message),
                    assistant_message_event: FullAssistantEvent {
                        event: assistant_message_event,
                        partial: Assistant::of(&message),
                    },
                };
                pi_protocol::json::to_string(&update)
            }
            _ => pi_protocol::json::to_string(self),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FullUpdate<'event> {
    r#type: &'static str,
    usage: &'event Usage,
    message: Assistant<'event>,
    assistant_message_event: FullAssistantEvent<'event>,
}

#[derive(Serialize)]
struct FullAssistantEvent<'event> {
    #[serde(flatten)]
    event: &'event pi_protocol::AssistantMessageEvent,
    partial: Assistant<'event>,
}

/// An assistant message with its role.
#[derive(Serialize)]
struct Assistant<'event> {
    role: &'static str,
    #[serde(flatten)]
    message: &'event AssistantMessage,
}

impl<'event> Assistant<'event> {
    fn of(message: &'event AssistantMessage) -> Self {
        Self {
            role: "assistant",
            message,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn reason_name<S: Serializer>(reason: &CompactionReason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(reason.as_str())
}

#[cfg(test)]
mod tests {
    use pi_protocol::{AssistantMessageEvent, MessageBuilder, Model};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn model() -> Model {
        pi_providers::FauxProvider::new().model()
    }

    fn json_of(event: &SessionEvent, form: UpdateFormat) -> Value {
        serde_json::from_str(&event.to_json(form).unwrap()).unwrap()
    }

    #[test]
    fn events_have_the_protocol_fields_and_omit_absent_ones() {
        let cases = [
            (SessionEvent::AgentSettled, json!({"type": "agent_settled"})),
            (
                SessionEvent::Agent(AgentEvent::TurnStart),
                json!({"type": "turn_start"}),
            ),
            (
                SessionEvent::AgentEnd {
                    messages: Vec::new(),
                    will_retry: true,
                },
                json!({"type": "agent_end", "messages": [], "willRetry": true}),
            ),
            (
                SessionEvent::QueueUpdate {
                    steering: vec!["a".to_owned()],
                    follow_up: Vec::new(),
                },
                json!({"type": "queue_update", "steering": ["a"], "followUp": []}),
            ),
            (
                SessionEvent::SessionInfoChanged { name: None },
                json!({"type": "session_info_changed"}),
            ),
            (
                SessionEvent::ThinkingLevelChanged {
                    level: ThinkingLevel::High,
                },
                json!({"type": "thinking_level_changed", "level": "high"}),
            ),
            (
                SessionEvent::CompactionEnd {
                    reason: CompactionReason::Overflow,
                    result: None,
                    aborted: true,
                    will_retry: false,
                    error_message: None,
                },
                json!({"type": "compaction_end", "reason": "overflow", "aborted": true, "willRetry": false}),
            ),
            (
                SessionEvent::SummarizationRetryAttemptStart {
                    source: SummarySource::Compaction {
                        reason: CompactionReason::Manual,
                    },
                },
                json!({"type": "summarization_retry_attempt_start", "source": "compaction", "reason": "manual"}),
            ),
            (
                SessionEvent::SummarizationRetryAttemptStart {
                    source: SummarySource::BranchSummary,
                },
                json!({"type": "summarization_retry_attempt_start", "source": "branchSummary"}),
            ),
            (
                SessionEvent::BashExecutionUpdate {
                    id: Some(json!("r1")),
                    delta: "x".to_owned(),
                },
                json!({"type": "bash_execution_update", "id": "r1", "delta": "x"}),
            ),
        ];
        for (event, expected) in cases {
            assert_eq!(json_of(&event, UpdateFormat::Delta), expected);
        }
    }

    #[test]
    fn an_update_carries_the_delta_and_on_request_the_full_message() {
        let mut builder = MessageBuilder::new(&model(), 7);
        let block = builder.open_text();
        builder.append_text(block, "hel");
        builder.append_text(block, "lo");
        let event = SessionEvent::Agent(AgentEvent::message_update(
            builder.live(),
            AssistantMessageEvent::TextDelta {
                content_index: 0,
                delta: "lo".to_owned(),
            },
        ));
        let delta = json_of(&event, UpdateFormat::Delta);
        let names: Vec<_> = delta.as_object().unwrap().keys().collect();
        assert_eq!(names, ["type", "usage", "assistantMessageEvent"]);
        let inner = json!({"type": "text_delta", "contentIndex": 0, "delta": "lo"});
        assert_eq!(delta["assistantMessageEvent"], inner);

        let full = json_of(&event, UpdateFormat::Full);
        assert_eq!(full["message"]["role"], "assistant");
        assert_eq!(full["message"]["content"][0]["text"], "hello");
        assert_eq!(full["assistantMessageEvent"]["delta"], "lo");
        assert_eq!(full["assistantMessageEvent"]["partial"], full["message"]);
    }
}
