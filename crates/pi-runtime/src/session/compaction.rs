//! Making room in the context: when asked, when it gets tight, and when the model refused it.
//!
//! What to summarize and when is planned by `pi-session`; here it is carried out and told.

use std::sync::Arc;

use pi_ai::{AgentMessage, AssistantMessage, Model};
use pi_config::{ConfigScope, SettingsError};
use pi_session::{
    AnswerCheck, CheckPoint, CompactionNeed, CompactionPlan, CompactionReason, CompactionResult,
    EntryBody, EntryId, NothingToCompact, Recovery, SessionError, Summarizer, SummaryAuthor,
    SummaryFailure, needs_room,
};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::live::Live;
use super::{AgentSession, preferences};
use crate::error_text::describe_error;
use crate::event::{CompactionOutcome, SessionEvent, SummarySource};
use crate::hooks::{Compacted, CompactionFailed, CompactionProposal, CompactionVerdict};

/// Why a session was not compacted; nothing has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompactError {
    /// No model is chosen.
    #[error("no model is selected to write the summary: choose one with /model")]
    NoModel,
    /// There is nothing to do.
    #[error(transparent)]
    Nothing(#[from] NothingToCompact),
    #[error("the compaction was cancelled")]
    Cancelled,
    /// No summary came of it.
    #[error(transparent)]
    Summary(#[from] SummaryFailure),
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A compaction in progress; it is over when this is dropped.
struct Compacting {
    session: AgentSession,
    cancel: CancellationToken,
    is_manual: bool,
}

impl Compacting {
    fn slot(live: &mut Live, is_manual: bool) -> &mut Option<CancellationToken> {
        if is_manual {
            &mut live.manual_compaction
        } else {
            &mut live.auto_compaction
        }
    }

    /// Begins; none where one is under way.
    fn begin(session: &AgentSession, is_manual: bool) -> Option<Self> {
        let cancel = CancellationToken::new();
        {
            let mut live = session.live();
            if is_manual && (live.is_busy() || live.disposed) {
                return None;
            }
            let slot = Self::slot(&mut live, is_manual);
            if slot.is_some() {
                return None;
            }
            *slot = Some(cancel.clone());
        }
        session.settle_busy();
        Some(Self {
            session: session.clone(),
            cancel,
            is_manual,
        })
    }
}

impl Drop for Compacting {
    fn drop(&mut self) {
        *Self::slot(&mut self.session.live(), self.is_manual) = None;
        self.session.settle_busy();
    }
}

/// Why a compaction is made, and what is asked of it.
#[derive(Clone, Copy)]
struct Order<'order> {
    reason: CompactionReason,
    will_retry: bool,
    instructions: Option<&'order str>,
}

impl AgentSession {
    /// Compacts the session, after cancelling whatever is under way.
    pub async fn compact(
        &self,
        instructions: Option<String>,
    ) -> Result<CompactionOutcome, CompactError> {
        let compacting = loop {
            self.abort().await;
            if self.live().disposed {
                return Err(CompactError::Cancelled);
            }
            if let Some(compacting) = Compacting::begin(self, true) {
                break compacting;
            }
        };
        let reason = CompactionReason::Manual;
        self.publish(SessionEvent::CompactionStart { reason }).await;
        let order = Order {
            reason,
            will_retry: false,
            instructions: instructions.as_deref(),
        };
        let mut author = SummaryAuthor::Pi;
        let cancel = compacting.cancel.clone();
        let result = match self.plan_compaction() {
            Ok((model, plan)) => {
                self.carry_out(&model, &plan, order, &mut author, &cancel)
                    .await
            }
            Err(error) => Err(error),
        };
        // Whoever hears of the end may prompt at once.
        drop(compacting);
        let was_cancelled = cancel.is_cancelled();
        self.tell_compaction_end(order, &result, was_cancelled, author)
            .await;
        result
    }

    /// Cancels a compaction, whoever asked for it.
    pub fn abort_compaction(&self) {
        let live = self.live();
        let tokens = [&live.manual_compaction, &live.auto_compaction];
        tokens
            .into_iter()
            .flatten()
            .for_each(CancellationToken::cancel);
    }

    /// Returns whether the session compacts itself.
    pub fn auto_compaction_enabled(&self) -> bool {
        self.0.settings.settings().compaction_enabled()
    }

    /// Has the session compact itself, or not; the user's settings remember it.
    pub fn set_auto_compaction(&self, enabled: bool) -> Result<(), SettingsError> {
        self.0.settings.update(ConfigScope::User, |settings| {
            settings.compaction.enabled = Some(enabled);
        })
    }

    fn plan_compaction(&self) -> Result<(Arc<Model>, CompactionPlan), CompactError> {
        let model = self.model().ok_or(CompactError::NoModel)?;
        let settings = preferences::compaction(&self.0.settings.settings(), &model);
        let mut transcript = self.transcript();
        let plan = CompactionPlan::new(transcript.projection()?, &settings)?;
        Ok((model, plan))
    }

    /// Compacts between two turns where the next would have too little room.
    pub(super) async fn make_room(&self) {
        let Some(model) = self.model() else {
            return;
        };
        let settings = preferences::compaction(&self.0.settings.settings(), &model);
        let is_tight = {
            let mut transcript = self.transcript();
            let projection = transcript.projection();
            projection.is_ok_and(|projection| needs_room(projection, &model, &settings))
        };
        if is_tight {
            self.auto_compact(CompactionReason::Threshold, false).await;
        }
    }

    /// Returns the last answer in the context and its entry.
    pub(super) fn last_answer(&self) -> Option<(Arc<AssistantMessage>, EntryId)> {
        let mut transcript = self.transcript();
        let entries = transcript.projection().ok()?.entries();
        entries.iter().rev().find_map(|entry| {
            entry.messages().iter().rev().find_map(|one| match one {
                AgentMessage::Assistant(answer) => {
                    Some((Arc::clone(answer), entry.entry().id.clone()))
                }
                _ => None,
            })
        })
    }

    /// Does what the last answer asks for: compact, and ask again where it failed for want of room.
    /// True asks for another loop.
    pub(super) async fn check_context(
        &self,
        point: CheckPoint,
        answer: &AssistantMessage,
        answer_id: Option<&EntryId>,
        result_ids: &[EntryId],
    ) -> bool {
        match self.context_need(point, answer, answer_id, result_ids) {
            CompactionNeed::Nothing => false,
            CompactionNeed::Failed(failure) => {
                let order = Order {
                    reason: CompactionReason::Overflow,
                    will_retry: false,
                    instructions: None,
                };
                self.tell_failure(order, Some(failure.to_string()), SummaryAuthor::Pi)
                    .await;
                false
            }
            CompactionNeed::Compact {
                reason,
                omit,
                retry,
            } => {
                if retry {
                    self.live().run.recovery = Recovery::Tried;
                    if let Err(error) = self.omit(omit).await {
                        self.report("compaction", None, &error);
                        return false;
                    }
                }
                self.auto_compact(reason, retry).await
            }
        }
    }

    fn context_need(
        &self,
        point: CheckPoint,
        answer: &AssistantMessage,
        answer_id: Option<&EntryId>,
        result_ids: &[EntryId],
    ) -> CompactionNeed {
        let Some(model) = self.model() else {
            return CompactionNeed::Nothing;
        };
        let settings = preferences::compaction(&self.0.settings.settings(), &model);
        let recovery = self.live().run.recovery;
        let mut transcript = self.transcript();
        let projection = match transcript.projection() {
            Ok(projection) => projection,
            Err(error) => {
                tracing::warn!(%error, "the context cannot be measured");
                return CompactionNeed::Nothing;
            }
        };
        AnswerCheck {
            point,
            projection,
            answer,
            answer_id,
            result_ids,
            model: &model,
            settings: &settings,
            recovery,
        }
        .need()
    }

    /// Compacts without being asked. True asks for another loop.
    async fn auto_compact(&self, reason: CompactionReason, will_retry: bool) -> bool {
        let Ok((model, plan)) = self.plan_compaction() else {
            return false;
        };
        let Some(compacting) = Compacting::begin(self, false) else {
            return false;
        };
        self.publish(SessionEvent::CompactionStart { reason }).await;
        let order = Order {
            reason,
            will_retry,
            instructions: None,
        };
        let mut author = SummaryAuthor::Pi;
        let cancel = compacting.cancel.clone();
        let result = self
            .carry_out(&model, &plan, order, &mut author, &cancel)
            .await;
        self.tell_compaction_end(order, &result, cancel.is_cancelled(), author)
            .await;
        drop(compacting);
        result.is_ok() && (will_retry || self.0.agent.has_queued_messages())
    }

    /// Gets the summary and stores it.
    async fn carry_out(
        &self,
        model: &Arc<Model>,
        plan: &CompactionPlan,
        order: Order<'_>,
        author: &mut SummaryAuthor,
        cancel: &CancellationToken,
    ) -> Result<CompactionOutcome, CompactError> {
        let verdict = self.0.hooks.before_compact(CompactionProposal {
            plan,
            session: self,
            instructions: order.instructions,
            reason: order.reason,
            will_retry: order.will_retry,
            cancel,
        });
        let result = match verdict.await {
            CompactionVerdict::Cancel => return Err(CompactError::Cancelled),
            CompactionVerdict::Use(result) => {
                *author = SummaryAuthor::Extension;
                result
            }
            CompactionVerdict::Proceed => self.write_summary(model, plan, order, cancel).await?,
        };
        if cancel.is_cancelled() {
            return Err(CompactError::Cancelled);
        }
        self.store_compaction(result, order, *author).await
    }

    async fn write_summary(
        &self,
        model: &Arc<Model>,
        plan: &CompactionPlan,
        order: Order<'_>,
        cancel: &CancellationToken,
    ) -> Result<CompactionResult, CompactError> {
        let summarizer = Summarizer {
            model,
            thinking_level: self.thinking_level(),
            now_ms: self.0.env.now_ms(),
        };
        let requests = plan.requests(&summarizer, order.instructions);
        let source = SummarySource::Compaction {
            reason: order.reason,
        };
        let summaries = self.summarize(model, &requests, source, cancel).await;
        match summaries {
            Ok(summaries) => Ok(plan.finish(&summaries)?),
            Err(SummaryFailure::Aborted) => Err(CompactError::Cancelled),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn store_compaction(
        &self,
        result: CompactionResult,
        order: Order<'_>,
        author: SummaryAuthor,
    ) -> Result<CompactionOutcome, CompactError> {
        let (entry, estimated_tokens_after) = {
            let mut transcript = self.transcript();
            let now_ms = self.0.env.now_ms();
            let entry = result.into_entry(transcript.projection()?, author, now_ms);
            let entry = transcript.append(entry)?;
            (entry, transcript.projection()?.messages_tokens())
        };
        self.refresh_context()?;
        self.0
            .hooks
            .compacted(Compacted {
                entry: &entry,
                author,
                reason: order.reason,
                will_retry: order.will_retry,
            })
            .await;
        let EntryBody::Compaction(stored) = &entry.body else {
            return Err(CompactError::Cancelled);
        };
        Ok(CompactionOutcome {
            summary: stored.summary.clone(),
            first_kept_entry_id: stored.first_kept_entry_id.clone(),
            tokens_before: stored.tokens_before,
            estimated_tokens_after,
            usage: stored.usage.clone(),
            details: stored.details.clone(),
        })
    }

    async fn tell_compaction_end(
        &self,
        order: Order<'_>,
        result: &Result<CompactionOutcome, CompactError>,
        was_cancelled: bool,
        author: SummaryAuthor,
    ) {
        let error_message = match result {
            Ok(outcome) => {
                return self
                    .publish(SessionEvent::CompactionEnd {
                        reason: order.reason,
                        result: Some(outcome.clone()),
                        aborted: false,
                        will_retry: order.will_retry,
                        error_message: None,
                    })
                    .await;
            }
            Err(CompactError::Cancelled) => None,
            Err(_) if was_cancelled => None,
            Err(error) => Some(format!("{}: {}", lead(order.reason), describe_error(error))),
        };
        self.tell_failure(order, error_message, author).await;
    }

    /// Tells of a compaction that came to nothing; without a message it was cancelled.
    async fn tell_failure(
        &self,
        order: Order<'_>,
        error_message: Option<String>,
        author: SummaryAuthor,
    ) {
        let aborted = error_message.is_none();
        self.publish(SessionEvent::CompactionEnd {
            reason: order.reason,
            result: None,
            aborted,
            will_retry: false,
            error_message: error_message.clone(),
        })
        .await;
        self.0
            .hooks
            .compaction_failed(CompactionFailed {
                reason: order.reason,
                error_message,
                aborted,
                author,
            })
            .await;
    }
}

fn lead(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Manual => "The session was not compacted",
        CompactionReason::Threshold => "The session could not be compacted by itself",
        CompactionReason::Overflow => "The context is too large and could not be compacted",
    }
}
