//! Points where hooks may append entries and continue the run: the end of a turn, and settling.

use std::sync::Arc;

use pi_context::estimate::context_tokens;
use pi_context::{CompactionResult, SummaryAuthor, to_model_messages};
use pi_core::{FinishedTurn, TurnDecision};
use pi_protocol::{
    AgentMessage, CompactionEntry, ContextEditEntry, CustomEntry, CustomMessageEntry, Entry,
    EntryBody, Message, SessionEvent,
};
use pi_session::{NewSession, Projection, Session, SessionError};

use super::AgentSession;
use super::transcript::Transcript;
use crate::participants::{
    BoundaryContext, BoundaryDecision, EntryDraft, HookFailure, SettleBoundary, TurnBoundary,
};

/// Computes the context the model would see next, on demand.
#[derive(Clone, Copy)]
pub struct BoundaryView<'a> {
    session: &'a AgentSession,
    point: BoundaryPoint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoundaryPoint {
    TurnEnd,
    Settle,
}

impl BoundaryPoint {
    fn event(self) -> &'static str {
        match self {
            Self::TurnEnd => "turn_end",
            Self::Settle => "agent_before_settle",
        }
    }
}

impl BoundaryView<'_> {
    /// Returns the context with these entries appended, or an error for the first invalid entry.
    pub fn context(&self, drafts: &[EntryDraft]) -> Result<BoundaryContext, SessionError> {
        self.session.turn_end().boundary_context(self.point, drafts)
    }
}

/// What hooks decide at the end of a turn and of a run.
#[derive(Clone, Copy)]
pub(super) struct TurnEnd<'session> {
    session: &'session AgentSession,
}

impl AgentSession {
    pub(super) fn turn_end(&self) -> TurnEnd<'_> {
        TurnEnd { session: self }
    }
}

impl<'session> TurnEnd<'session> {
    /// Runs the hooks at the end of a turn.
    pub(super) async fn run_turn_end_hook(self, turn: &FinishedTurn) -> TurnDecision {
        let (message_entry_id, tool_result_entry_ids) = {
            let transcript = self.session.0.transcript();
            let results = turn.tool_results.iter();
            let ids = results.filter_map(|result| transcript.entry_of(result));
            (transcript.entry_of(&turn.message), ids.collect())
        };
        let Some(message_entry_id) = message_entry_id else {
            return TurnDecision::Default;
        };
        let outcome = self.session.0.machine().last_outcome();
        let decision = self.session.0.participants.turn_end(TurnBoundary {
            message: &turn.message,
            tool_results: &turn.tool_results,
            message_entry_id,
            tool_result_entry_ids,
            outcome,
            view: self.view(BoundaryPoint::TurnEnd),
        });
        let decision = decision.await;
        if self.follow_decision(BoundaryPoint::TurnEnd, decision).await {
            TurnDecision::Continue
        } else {
            TurnDecision::Default
        }
    }

    /// Runs the hooks before settling; returns whether they want another turn.
    pub(super) async fn run_settle_hook(self) -> bool {
        let outcome = self.session.0.machine().last_outcome();
        let view = self.view(BoundaryPoint::Settle);
        let boundary = SettleBoundary { outcome, view };
        let decision = self.session.0.participants.before_settle(boundary).await;
        self.follow_decision(BoundaryPoint::Settle, decision).await
    }

    fn view(self, point: BoundaryPoint) -> BoundaryView<'session> {
        BoundaryView {
            session: self.session,
            point,
        }
    }

    /// Appends the entries of a decision and returns whether to call the model once more.
    async fn follow_decision(self, point: BoundaryPoint, decision: BoundaryDecision) -> bool {
        if !decision.entries.is_empty() {
            // Validate first: one invalid draft discards them all.
            let applied = match self.boundary_context(point, &decision.entries) {
                Ok(_) => self.append_drafts(decision.entries),
                Err(error) => Err(error),
            };
            match applied {
                Ok(entries) => {
                    for entry in entries {
                        self.session
                            .0
                            .publish(SessionEvent::EntryAppended { entry })
                            .await;
                    }
                }
                Err(error) => self.session.0.report(point.event(), None, &error),
            }
        }
        if !decision.proceed {
            return false;
        }
        let can_continue = self
            .boundary_context(point, &[])
            .is_ok_and(|context| context.can_continue);
        if !can_continue {
            self.session.0.participants.report(HookFailure {
                event: point.event(),
                origin: None,
                message: "a hook requested another turn, but there is no message to respond to"
                    .to_owned(),
            });
        }
        can_continue
    }

    fn append_drafts(self, drafts: Vec<EntryDraft>) -> Result<Vec<Arc<Entry>>, SessionError> {
        let env = &self.session.0.env;
        let append = |transcript: &mut Transcript| {
            let mut appended = Vec::new();
            for draft in drafts {
                let body = body_of(draft, transcript.projection()?, env.now_ms());
                appended.push(transcript.append(body)?);
            }
            Ok(appended)
        };
        self.session.writer().write(append)
    }

    fn boundary_context(
        self,
        point: BoundaryPoint,
        drafts: &[EntryDraft],
    ) -> Result<BoundaryContext, SessionError> {
        let projection = self.preview(drafts)?;
        let messages: Vec<AgentMessage> = projection.messages().cloned().collect();
        let model_messages = to_model_messages(&messages);
        let (has_queued, mut pending, pending_custom) = {
            let machine = self.session.0.machine();
            let queue = machine.queue();
            let custom: Vec<_> = machine.waiting_custom().cloned().collect();
            (queue.has_waiting(), queue.peek(), custom)
        };
        let is_response_last = matches!(model_messages.last(), Some(Message::Assistant(_)));
        let has_conversation = model_messages
            .iter()
            .any(|message| !matches!(message, Message::System(_)));
        let queue_counts = match point {
            BoundaryPoint::TurnEnd => has_queued,
            BoundaryPoint::Settle => is_response_last && has_queued,
        };
        let can_continue =
            (has_conversation && !is_response_last) || !pending_custom.is_empty() || queue_counts;
        pending.extend(pending_custom);
        let entries = projection.entries().iter();
        Ok(BoundaryContext {
            entries: entries.map(|entry| Arc::clone(entry.entry())).collect(),
            messages,
            model_messages,
            pending,
            can_continue,
        })
    }

    /// Projects the session with the drafts appended.
    fn preview(self, drafts: &[EntryDraft]) -> Result<Projection, SessionError> {
        let mut transcript = self.session.0.transcript();
        if drafts.is_empty() {
            return Ok(transcript.projection()?.clone());
        }
        let branch = transcript.session().current_branch().entries()?;
        let entries: Vec<Entry> = branch.iter().map(|entry| (**entry).clone()).collect();
        drop(transcript);
        let options = NewSession {
            env: self.session.0.env.clone(),
            ..NewSession::default()
        };
        let mut preview = Session::in_memory_from(&self.session.0.cwd, options, &entries)?;
        for draft in drafts {
            let body = body_of(
                draft.clone(),
                &preview.current_branch().projection()?,
                self.session.0.env.now_ms(),
            );
            preview.append(body)?;
        }
        preview.current_branch().projection()
    }
}

fn body_of(draft: EntryDraft, projection: &Projection, now_ms: i64) -> EntryBody {
    match draft {
        EntryDraft::Custom { custom_type, data } => CustomEntry { custom_type, data }.into(),
        EntryDraft::CustomMessage(draft) => CustomMessageEntry {
            custom_type: draft.custom_type,
            content: draft.content,
            display: draft.display,
            details: draft.details,
        }
        .into(),
        EntryDraft::ContextEdit {
            target_id,
            replacement,
        } => ContextEditEntry {
            target_id,
            replacement,
        }
        .into(),
        EntryDraft::Compaction {
            summary,
            first_kept_entry_id,
            details,
            usage,
        } => {
            let result = CompactionResult {
                summary,
                first_kept_entry_id,
                tokens_before: context_tokens(projection).tokens,
                details,
                usage,
            };
            let entry: CompactionEntry =
                result.into_entry(projection, SummaryAuthor::Extension, now_ms);
            entry.into()
        }
    }
}
