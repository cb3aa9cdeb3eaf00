//! Compaction: on request, when the context is nearly full, and when the model rejected it as too
//! large.
//!
//! `pi-session` plans what to summarize and when; this file runs the plan and publishes the events.

use std::sync::Arc;

use pi_ai::{AgentMessage, AssistantMessage, Model};
use pi_config::{ConfigScope, SettingsError};
use pi_context::estimate::messages_tokens;
use pi_context::{
    CompactionCheck, CompactionDecision, CompactionPhase, CompactionPlan, CompactionReason,
    CompactionResult, NothingToCompact, RecoveryState, Summarizer, SummaryAuthor, SummaryError,
    needs_compaction,
};
use pi_session::{EntryBody, EntryId, SessionError};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::state::SessionState;
use super::{AgentSession, preferences};
use crate::error_text::describe_error;
use crate::event::{CompactionOutcome, SessionEvent, SummarySource};
use crate::hooks::{CompactionCompleted, CompactionFailed, CompactionProposal, CompactionVerdict};

/// Why a session was not compacted; nothing has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompactError {
    #[error("no model selected to write the summary: choose one with /model")]
    NoModel,
    /// There is nothing to compact.
    #[error(transparent)]
    Nothing(#[from] NothingToCompact),
    #[error("compaction canceled")]
    Cancelled,
    #[error(transparent)]
    Summary(#[from] SummaryError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A compaction in progress; ends when dropped.
struct CompactionGuard {
    session: AgentSession,
    cancel: CancellationToken,
    is_manual: bool,
}

impl CompactionGuard {
    fn token_slot(state: &mut SessionState, is_manual: bool) -> &mut Option<CancellationToken> {
        if is_manual {
            &mut state.manual_compaction
        } else {
            &mut state.auto_compaction
        }
    }

    /// Starts a compaction; `None` if one is in progress.
    fn begin(session: &AgentSession, is_manual: bool) -> Option<Self> {
        let cancel = CancellationToken::new();
        {
            let mut state = session.state();
            if is_manual && (state.is_busy() || state.disposed) {
                return None;
            }
            let token_slot = Self::token_slot(&mut state, is_manual);
            if token_slot.is_some() {
                return None;
            }
            *token_slot = Some(cancel.clone());
        }
        session.update_busy();
        Some(Self {
            session: session.clone(),
            cancel,
            is_manual,
        })
    }
}

impl Drop for CompactionGuard {
    fn drop(&mut self) {
        *Self::token_slot(&mut self.session.state(), self.is_manual) = None;
        self.session.update_busy();
    }
}

/// Reason and options of a compaction.
#[derive(Clone, Copy)]
struct CompactionJob<'job> {
    reason: CompactionReason,
    will_retry: bool,
    instructions: Option<&'job str>,
}

impl AgentSession {
    /// Compacts the session, after canceling everything in progress.
    pub async fn compact(
        &self,
        instructions: Option<String>,
    ) -> Result<CompactionOutcome, CompactError> {
        let compacting = loop {
            self.abort().await;
            if self.state().disposed {
                return Err(CompactError::Cancelled);
            }
            if let Some(compacting) = CompactionGuard::begin(self, true) {
                break compacting;
            }
        };
        let reason = CompactionReason::Manual;
        self.publish(SessionEvent::CompactionStart { reason }).await;
        let job = CompactionJob {
            reason,
            will_retry: false,
            instructions: instructions.as_deref(),
        };
        let mut author = SummaryAuthor::Pi;
        let cancel = compacting.cancel.clone();
        let result = match self.plan_compaction() {
            Ok((model, plan)) => {
                self.run_compaction(&model, &plan, job, &mut author, &cancel)
                    .await
            }
            Err(error) => Err(error),
        };
        // Listeners of the end event may send a prompt immediately.
        drop(compacting);
        let was_cancelled = cancel.is_cancelled();
        self.publish_compaction_end(job, &result, was_cancelled, author)
            .await;
        result
    }

    /// Cancels the current compaction, manual or automatic.
    pub fn abort_compaction(&self) {
        let state = self.state();
        let tokens = [&state.manual_compaction, &state.auto_compaction];
        tokens
            .into_iter()
            .flatten()
            .for_each(CancellationToken::cancel);
    }

    pub fn auto_compaction_enabled(&self) -> bool {
        self.0.settings.settings().compaction_enabled()
    }

    /// Turns auto-compaction on or off and saves the setting.
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

    /// Compacts between two turns if the next one would have too little room.
    pub(super) async fn compact_between_turns(&self) {
        let Some(model) = self.model() else {
            return;
        };
        let settings = preferences::compaction(&self.0.settings.settings(), &model);
        let is_tight = {
            let mut transcript = self.transcript();
            let projection = transcript.projection();
            projection.is_ok_and(|projection| needs_compaction(projection, &model, &settings))
        };
        if is_tight {
            self.auto_compact(CompactionReason::Threshold, false).await;
        }
    }

    /// Returns the last response in the context and its entry.
    pub(super) fn last_response(&self) -> Option<(Arc<AssistantMessage>, EntryId)> {
        let mut transcript = self.transcript();
        let entries = transcript.projection().ok()?.entries();
        entries.iter().rev().find_map(|entry| {
            entry.messages().iter().rev().find_map(|one| match one {
                AgentMessage::Assistant(response) => {
                    Some((Arc::clone(response), entry.entry().id.clone()))
                }
                _ => None,
            })
        })
    }

    /// Compacts if the last response requires it, and retries a response that failed because the
    /// context was too large. Returns whether the loop runs again.
    pub(super) async fn check_context(
        &self,
        phase: CompactionPhase,
        response: &AssistantMessage,
        response_id: Option<&EntryId>,
        result_ids: &[EntryId],
    ) -> bool {
        match self.context_need(phase, response, response_id, result_ids) {
            CompactionDecision::Skip => false,
            CompactionDecision::Failed(failure) => {
                let job = CompactionJob {
                    reason: CompactionReason::Overflow,
                    will_retry: false,
                    instructions: None,
                };
                self.publish_compaction_failure(job, Some(failure.to_string()), SummaryAuthor::Pi)
                    .await;
                false
            }
            CompactionDecision::Compact {
                reason,
                omit,
                retry,
            } => {
                if retry {
                    self.state().run.recovery = RecoveryState::Attempted;
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
        phase: CompactionPhase,
        response: &AssistantMessage,
        response_id: Option<&EntryId>,
        result_ids: &[EntryId],
    ) -> CompactionDecision {
        let Some(model) = self.model() else {
            return CompactionDecision::Skip;
        };
        let settings = preferences::compaction(&self.0.settings.settings(), &model);
        let recovery = self.state().run.recovery;
        let mut transcript = self.transcript();
        let projection = match transcript.projection() {
            Ok(projection) => projection,
            Err(error) => {
                tracing::warn!(%error, "cannot measure the context");
                return CompactionDecision::Skip;
            }
        };
        CompactionCheck {
            phase,
            projection,
            response,
            response_id,
            result_ids,
            model: &model,
            settings: &settings,
            recovery,
        }
        .decide()
    }

    /// Compacts automatically. Returns whether the loop runs again.
    async fn auto_compact(&self, reason: CompactionReason, will_retry: bool) -> bool {
        let Ok((model, plan)) = self.plan_compaction() else {
            return false;
        };
        let Some(compacting) = CompactionGuard::begin(self, false) else {
            return false;
        };
        self.publish(SessionEvent::CompactionStart { reason }).await;
        let job = CompactionJob {
            reason,
            will_retry,
            instructions: None,
        };
        let mut author = SummaryAuthor::Pi;
        let cancel = compacting.cancel.clone();
        let result = self
            .run_compaction(&model, &plan, job, &mut author, &cancel)
            .await;
        self.publish_compaction_end(job, &result, cancel.is_cancelled(), author)
            .await;
        drop(compacting);
        result.is_ok() && (will_retry || self.0.agent.has_queued_messages())
    }

    /// Gets the summary and stores it.
    async fn run_compaction(
        &self,
        model: &Arc<Model>,
        plan: &CompactionPlan,
        job: CompactionJob<'_>,
        author: &mut SummaryAuthor,
        cancel: &CancellationToken,
    ) -> Result<CompactionOutcome, CompactError> {
        let verdict = self.0.hooks.before_compact(CompactionProposal {
            plan,
            session: self,
            instructions: job.instructions,
            reason: job.reason,
            will_retry: job.will_retry,
            cancel,
        });
        let result = match verdict.await {
            CompactionVerdict::Cancel => return Err(CompactError::Cancelled),
            CompactionVerdict::Use(result) => {
                *author = SummaryAuthor::Extension;
                result
            }
            CompactionVerdict::Proceed => self.write_summary(model, plan, job, cancel).await?,
        };
        if cancel.is_cancelled() {
            return Err(CompactError::Cancelled);
        }
        self.store_compaction(result, job, *author).await
    }

    async fn write_summary(
        &self,
        model: &Arc<Model>,
        plan: &CompactionPlan,
        job: CompactionJob<'_>,
        cancel: &CancellationToken,
    ) -> Result<CompactionResult, CompactError> {
        let summarizer = Summarizer {
            model,
            thinking_level: self.thinking_level(),
            now_ms: self.0.env.now_ms(),
        };
        let requests = plan.requests(&summarizer, job.instructions);
        let source = SummarySource::Compaction { reason: job.reason };
        let summaries = self.summarize(model, &requests, source, cancel).await;
        match summaries {
            Ok(summaries) => Ok(plan.finish(&summaries)?),
            Err(SummaryError::Aborted) => Err(CompactError::Cancelled),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn store_compaction(
        &self,
        result: CompactionResult,
        job: CompactionJob<'_>,
        author: SummaryAuthor,
    ) -> Result<CompactionOutcome, CompactError> {
        let (entry, estimated_tokens_after) = {
            let mut transcript = self.transcript();
            let now_ms = self.0.env.now_ms();
            let entry = result.into_entry(transcript.projection()?, author, now_ms);
            let entry = transcript.append(entry)?;
            (entry, messages_tokens(transcript.projection()?))
        };
        self.refresh_context()?;
        self.0
            .hooks
            .compacted(CompactionCompleted {
                entry: &entry,
                author,
                reason: job.reason,
                will_retry: job.will_retry,
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

    async fn publish_compaction_end(
        &self,
        job: CompactionJob<'_>,
        result: &Result<CompactionOutcome, CompactError>,
        was_cancelled: bool,
        author: SummaryAuthor,
    ) {
        let error_message = match result {
            Ok(outcome) => {
                return self
                    .publish(SessionEvent::CompactionEnd {
                        reason: job.reason,
                        result: Some(outcome.clone()),
                        aborted: false,
                        will_retry: job.will_retry,
                        error_message: None,
                    })
                    .await;
            }
            Err(CompactError::Cancelled) => None,
            Err(_) if was_cancelled => None,
            Err(error) => Some(format!(
                "{}: {}",
                failure_prefix(job.reason),
                describe_error(error)
            )),
        };
        self.publish_compaction_failure(job, error_message, author)
            .await;
    }

    /// Publishes a failed compaction; without a message it was canceled.
    async fn publish_compaction_failure(
        &self,
        job: CompactionJob<'_>,
        error_message: Option<String>,
        author: SummaryAuthor,
    ) {
        let aborted = error_message.is_none();
        self.publish(SessionEvent::CompactionEnd {
            reason: job.reason,
            result: None,
            aborted,
            will_retry: false,
            error_message: error_message.clone(),
        })
        .await;
        self.0
            .hooks
            .compaction_failed(CompactionFailed {
                reason: job.reason,
                error_message,
                aborted,
                author,
            })
            .await;
    }
}

fn failure_prefix(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Manual => "Compaction failed",
        CompactionReason::Threshold => "Auto-compaction failed",
        CompactionReason::Overflow => "The context is too large, and compaction failed",
    }
}
