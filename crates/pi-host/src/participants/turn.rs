//! Points of a run where it may be changed or continued: complete messages, ends of turns, settling.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::ActivityOutcome;
use pi_protocol::{
    AgentMessage, ContextReplacement, Entry, EntryId, Message, SharedMessage, Usage,
};
use serde_json::Value;

use super::{CustomMessageDraft, Participants, ready};
use crate::session::BoundaryView;

/// Replaces messages, appends entries and continues runs.
pub trait TurnHook: Send + Sync {
    /// Called when a message is complete, before it is stored. A returned message of the same role
    /// replaces it; one of another role is ignored.
    fn message_end<'a>(
        &'a self,
        message: &'a SharedMessage,
    ) -> BoxFuture<'a, Option<AgentMessage>> {
        let _ = message;
        ready(None)
    }

    /// Called when a turn is over, before `turn_end`.
    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        let _ = turn;
        ready(BoundaryDecision::default())
    }

    /// Called when the session has nothing left to do, before it settles.
    fn before_settle<'a>(&'a self, settle: SettleBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        let _ = settle;
        ready(BoundaryDecision::default())
    }
}

/// A turn that is complete except for its `turn_end` event.
#[derive(Clone)]
pub struct TurnBoundary<'a> {
    pub message: &'a SharedMessage,
    pub tool_results: &'a [SharedMessage],
    pub message_entry_id: EntryId,
    pub tool_result_entry_ids: Vec<EntryId>,
    pub outcome: ActivityOutcome,
    /// Access to the context the model would see next.
    pub view: BoundaryView<'a>,
}

/// A session that is about to settle.
#[derive(Clone)]
pub struct SettleBoundary<'a> {
    pub outcome: ActivityOutcome,
    /// Access to the context the model would see next.
    pub view: BoundaryView<'a>,
}

/// The context the model would see if the run continued from here with the drafts appended.
#[derive(Debug, Clone)]
pub struct BoundaryContext {
    /// The entries behind the messages.
    pub entries: Vec<Arc<Entry>>,
    /// The messages of the transcript.
    pub messages: Vec<AgentMessage>,
    /// The messages sent to the model.
    pub model_messages: Vec<Message>,
    /// Queued messages.
    pub pending: Vec<AgentMessage>,
    /// Whether a run could continue from here.
    pub can_continue: bool,
}

/// A hook's decision at the end of a turn or before settling.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoundaryDecision {
    /// Entries to append, in order. One invalid entry discards all.
    pub entries: Vec<EntryDraft>,
    /// Whether to call the model once more.
    pub proceed: bool,
}

/// An entry a hook wants to append.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryDraft {
    Custom {
        /// The extension's name for this kind of entry.
        custom_type: String,
        data: Option<Value>,
    },
    CustomMessage(CustomMessageDraft),
    /// An edit of the model's context.
    ContextEdit {
        /// The entry to edit.
        target_id: EntryId,
        /// The new content; `None` omits the entry.
        replacement: Option<ContextReplacement>,
    },
    /// A summary of everything before.
    Compaction {
        summary: String,
        /// The first entry to keep; `None` keeps nothing.
        first_kept_entry_id: Option<EntryId>,
        details: Option<Value>,
        /// Tokens used to write the summary.
        usage: Option<Usage>,
    },
}

impl Participants {
    /// Every hook sees the message of the hooks before it.
    pub(crate) async fn message_end(&self, message: &SharedMessage) -> Option<AgentMessage> {
        let mut replaced: Option<SharedMessage> = None;
        for hook in &self.turn {
            let seen = replaced.as_ref().unwrap_or(message);
            if let Some(changed) = hook.message_end(seen).await {
                replaced = Some(Arc::new(changed));
            }
        }
        replaced.map(Arc::unwrap_or_clone)
    }

    /// The entries of all hooks are appended; one hook is enough to continue.
    pub(crate) async fn turn_end(&self, turn: TurnBoundary<'_>) -> BoundaryDecision {
        let mut decision = BoundaryDecision::default();
        for hook in &self.turn {
            decision.merge(hook.turn_end(turn.clone()).await);
        }
        decision
    }

    /// The entries of all hooks are appended; one hook is enough to continue.
    pub(crate) async fn before_settle(&self, settle: SettleBoundary<'_>) -> BoundaryDecision {
        let mut decision = BoundaryDecision::default();
        for hook in &self.turn {
            decision.merge(hook.before_settle(settle.clone()).await);
        }
        decision
    }
}

impl BoundaryDecision {
    fn merge(&mut self, later: Self) {
        self.entries.extend(later.entries);
        self.proceed |= later.proceed;
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::UserMessage;
    use pretty_assertions::assert_eq;

    use super::*;

    fn user(text: &str) -> AgentMessage {
        let content = text.into();
        AgentMessage::from(Message::from(UserMessage {
            content,
            ..UserMessage::default()
        }))
    }

    /// Appends its name to a message; the empty name changes nothing.
    struct AppendName(&'static str);

    impl TurnHook for AppendName {
        fn message_end<'a>(
            &'a self,
            message: &'a SharedMessage,
        ) -> BoxFuture<'a, Option<AgentMessage>> {
            let AgentMessage::User(sent) = &**message else {
                panic!("expected a user message")
            };
            let text = format!("{}{}", sent.content.joined_text(), self.0);
            ready((!self.0.is_empty()).then(|| user(&text)))
        }
    }

    async fn replaced(names: &[&'static str]) -> Option<AgentMessage> {
        let hooks = names.iter().map(|name| Arc::new(AppendName(name)));
        let participants = hooks
            .fold(
                Participants::builder(),
                crate::participants::ParticipantsBuilder::turn,
            )
            .build();
        let message = Arc::new(user("x"));
        participants.message_end(&message).await
    }

    #[tokio::test]
    async fn every_hook_sees_the_message_of_the_ones_before() {
        assert_eq!(replaced(&["a", "", "b"]).await, Some(user("xab")));
        assert_eq!(replaced(&[""]).await, None);
    }
}
