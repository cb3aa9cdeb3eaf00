//! Compaction: on request, when the context is nearly full, and when the model rejected it as too
//! large.
//!
//! `pi-session` plans what to summarize and when; this file runs the plan and publishes the events.

use std::sync::Arc;

use pi_config::SettingsError;
use pi_context::estimate::messages_tokens;
use pi_context::{
    CompactionCheck, CompactionPhase, CompactionPlan, CompactionResult, NothingToCompact,
    Summarizer, SummaryAuthor, SummaryError, needs_compaction,
};
use pi_core::{CompactionJob, ContextCheck, Input, Rejection, Reply};
use pi_protocol::{
    AgentMessage, AssistantMessage, CompactionDecision, CompactionOutcome, CompactionReason,
    ConfigScope, EntryBody, EntryId, Model, RecoveryFailure, RecoveryState, SessionEvent,
    SummarySource, describe_error,
};
use pi_providers::RouteError;
use pi_session::SessionError;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::state::CompactionFailures;
use super::summarize::PlanSummarizer;
use super::transcript::Transcript;
use super::{AgentSession, preferences};
use crate::participants::{
    CompactionCompleted, CompactionFailed, CompactionProposal, CompactionVerdict,
};

/// Failures in a row after which the context is no longer compacted automatically, and a context that is too large is
/// summarized without a model.
const MAX_FAILURES: u32 = 3;

/// What to do after [`MAX_FAILURES`].
const STOPPED_HINT: &str = "; auto-compaction stopped after 3 failures: run /compact to try again, choose another model \
                            with /model, or start a new session with /new";

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
    #[error("compaction failed because of an internal error")]
    Crashed,
    #[error(transparent)]
    Summary(#[from] SummaryError),
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A compaction that has ended.
pub struct FinishedCompaction {
    pub(super) result: Result<CompactionOutcome, CompactError>,
    author: SummaryAuthor,
    was_canceled: bool,
}

impl FinishedCompaction {
    /// The result of a compaction that panicked.
    pub(super) fn crashed() -> Self {
        Self {
            result: Err(CompactError::Crashed),
            author: SummaryAuthor::Pi,
            was_canceled: false,
        }
    }
}

/// A compaction with the user's instructions.
#[derive(Clone, Copy)]
struct PlannedCompaction<'job> {
    job: CompactionJob,
    instructions: Option<&'job str>,
}

/// Compaction of the context.
#[derive(Clone, Copy)]
pub struct Compaction<'session> {
    pub(super) session: &'session AgentSession,
}

impl AgentSession {
    pub fn compaction(&self) -> Compaction<'_> {
        Compaction { session: self }
    }
}

impl Compaction<'_> {
    /// Compacts the session, after canceling everything in progress.
    pub async fn run(
        self,
        instructions: Option<String>,
    ) -> Result<CompactionOutcome, CompactError> {
        let compaction = loop {
            self.session.abort().await;
            self.session
                .0
                .state()
                .instructions
                .clone_from(&instructions);
            let reply = pi_core::submit(self.session, Input::Compact).reply().await;
            match reply.reply {
                // Something else has started in the meantime.
                Reply::Rejected(Rejection::Busy) => {}
                Reply::Rejected(_) => return Err(CompactError::Cancelled),
                _ => break reply.compaction,
            }
        };
        compaction.map_or(Err(CompactError::Cancelled), |compaction| compaction.result)
    }

    /// Cancels the current compaction, manual or automatic.
    pub fn abort(self) {
        self.session.0.interrupt(Input::AbortCompaction);
    }

    pub fn is_automatic(self) -> bool {
        self.session.0.settings.settings().compaction_enabled()
    }

    /// Turns auto-compaction on or off and saves the setting.
    pub fn set_automatic(self, enabled: bool) -> Result<(), SettingsError> {
        self.session
            .0
            .settings
            .update(ConfigScope::User, |settings| {
                settings.compaction.enabled = Some(enabled);
            })
    }

    pub(super) fn plan(self) -> Result<(Arc<Model>, CompactionPlan), CompactError> {
        let model = self
            .session
            .selection()
            .model()
            .ok_or(CompactError::NoModel)?;
        let settings = preferences::compaction(&self.session.0.settings.settings(), &model);
        let mut transcript = self.session.0.transcript();
        let plan = CompactionPlan::new(transcript.projection()?, &settings)?;
        Ok((model, plan))
    }

    /// Plans an automatic compaction; returns false if there is nothing to compact.
    pub(super) fn plan_next(self) -> bool {
        let plan = self.plan().ok();
        let is_possible = plan.is_some();
        self.session.0.state().plan = plan;
        is_possible
    }

    /// Returns whether the next turn would have too little room.
    fn is_tight(self, check: &ContextCheck) -> bool {
        let selection = self.session.selection();
        let Some(selected) = selection.model() else {
            return false;
        };
        // The model of a request to a virtual model is known once it is routed.
        let model = match check {
            ContextCheck::Routed => self.session.0.machine().selection().routed.clone(),
            _ => Some(Arc::clone(&selected)).filter(|model| !model.is_virtual()),
        };
        let Some(model) = model else {
            return false;
        };
        let settings = preferences::compaction(&self.session.0.settings.settings(), &selected);
        let mut transcript = self.session.0.transcript();
        let projection = transcript.projection();
        projection.is_ok_and(|projection| needs_compaction(projection, &model, &settings))
    }

    /// Decides whether the context must be compacted.
    pub(super) fn decide(self, check: ContextCheck) -> CompactionDecision {
        let decision = self.find_need(check);
        let is_threshold = matches!(
            decision,
            CompactionDecision::Compact {
                reason: CompactionReason::Threshold,
                ..
            }
        );
        let has_stopped = || {
            let model = self.session.selection().model();
            model.is_some_and(|model| self.failures_with(&model) >= MAX_FAILURES)
        };
        if is_threshold && has_stopped() {
            return CompactionDecision::Skip;
        }
        decision
    }

    /// Returns how often automatic compaction has failed in a row with a selected model.
    fn failures_with(self, model: &Model) -> u32 {
        let state = self.session.0.state();
        let failures = state.compaction_failures.as_ref();
        failures
            .filter(|failures| failures.model.is_same(model))
            .map_or(0, |failures| failures.count)
    }

    /// Counts a failure of automatic compaction; returns what to do if it is not tried again.
    fn count_failure(self, reason: CompactionReason) -> &'static str {
        let Some(model) = self.session.selection().model() else {
            return "";
        };
        if reason == CompactionReason::Manual {
            return "";
        }
        let count = self.failures_with(&model) + 1;
        self.session.0.state().compaction_failures = Some(CompactionFailures { model, count });
        if count >= MAX_FAILURES {
            STOPPED_HINT
        } else {
            ""
        }
    }

    /// Decides whether the context must be compacted, whatever happened before.
    fn find_need(self, check: ContextCheck) -> CompactionDecision {
        match check {
            ContextCheck::BetweenTurns | ContextCheck::Routed if self.is_tight(&check) => {
                CompactionDecision::Compact {
                    reason: CompactionReason::Threshold,
                    omit: Vec::new(),
                    retry: false,
                }
            }
            ContextCheck::BetweenTurns | ContextCheck::Routed => CompactionDecision::Skip,
            ContextCheck::BeforePrompt { recovery } => match self.last_response() {
                Some((response, id)) => {
                    let phase = CompactionPhase::BeforePrompt;
                    self.context_need(phase, &response, Some(&id), &[], recovery)
                }
                None => CompactionDecision::Skip,
            },
            ContextCheck::AfterRun {
                response,
                tool_results,
                recovery,
            } => {
                let AgentMessage::Assistant(message) = &*response else {
                    return CompactionDecision::Skip;
                };
                let (id, results) = {
                    let transcript = self.session.0.transcript();
                    let results = tool_results.iter();
                    let ids = results.filter_map(|result| transcript.entry_of(result));
                    (transcript.entry_of(&response), ids.collect::<Vec<_>>())
                };
                let phase = CompactionPhase::AfterRun;
                let decision = self.context_need(phase, message, id.as_ref(), &results, recovery);
                if matches!(decision, CompactionDecision::Compact { retry: true, .. }) {
                    self.session.0.state().failed = Some(Arc::clone(message));
                }
                decision
            }
        }
    }

    /// Returns the last response in the context and its entry.
    pub(super) fn last_response(self) -> Option<(Arc<AssistantMessage>, EntryId)> {
        let mut transcript = self.session.0.transcript();
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

    fn context_need(
        self,
        phase: CompactionPhase,
        response: &AssistantMessage,
        response_id: Option<&EntryId>,
        result_ids: &[EntryId],
        recovery: RecoveryState,
    ) -> CompactionDecision {
        let selection = self.session.selection();
        let Some((selected, model)) = selection.model().zip(selection.model_of_response(response))
        else {
            return CompactionDecision::Skip;
        };
        let settings = preferences::compaction(&self.session.0.settings.settings(), &selected);
        let mut transcript = self.session.0.transcript();
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

    /// Compacts with the plan of an automatic compaction, or with a new one.
    pub(super) async fn perform(
        self,
        job: CompactionJob,
        cancel: &CancellationToken,
    ) -> FinishedCompaction {
        let mut author = SummaryAuthor::Pi;
        let (plan, instructions) = {
            let mut state = self.session.0.state();
            let instructions = match job.reason {
                CompactionReason::Manual => state.instructions.take(),
                _ => None,
            };
            (state.plan.take(), instructions)
        };
        let job = PlannedCompaction {
            job,
            instructions: instructions.as_deref(),
        };
        let plan = match plan.filter(|_| job.job.reason != CompactionReason::Manual) {
            Some(plan) => Ok(plan),
            None => self.plan(),
        };
        let result = match plan {
            Ok((model, plan)) => {
                self.summarize_and_store(&model, &plan, job, &mut author, cancel)
                    .await
            }
            Err(error) => Err(error),
        };
        FinishedCompaction {
            result,
            author,
            was_canceled: cancel.is_cancelled(),
        }
    }

    /// Gets the summary and stores it.
    async fn summarize_and_store(
        self,
        model: &Arc<Model>,
        plan: &CompactionPlan,
        job: PlannedCompaction<'_>,
        author: &mut SummaryAuthor,
        cancel: &CancellationToken,
    ) -> Result<CompactionOutcome, CompactError> {
        let verdict = self
            .session
            .0
            .participants
            .before_compact(CompactionProposal {
                plan,
                session: self.session,
                instructions: job.instructions,
                reason: job.job.reason,
                will_retry: job.job.will_retry,
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
        self.store(result, job, *author).await
    }

    async fn write_summary(
        self,
        selected: &Arc<Model>,
        plan: &CompactionPlan,
        job: PlannedCompaction<'_>,
        cancel: &CancellationToken,
    ) -> Result<CompactionResult, CompactError> {
        let routing = self.session.selection();
        let routing = routing.route_directly(Arc::clone(selected), cancel);
        let (model, thinking_level) = &routing.await?;
        let summarizer = Summarizer {
            model,
            thinking_level: *thinking_level,
            now_ms: self.session.0.env.now_ms(),
        };
        let requests = plan.requests(&summarizer, job.instructions);
        let writer = PlanSummarizer {
            session: self.session,
            plan,
            model,
            summarizer,
            focus: job.instructions,
            source: SummarySource::Compaction {
                reason: job.job.reason,
            },
            cancel,
        };
        let is_last_resort = job.job.reason == CompactionReason::Overflow
            && self.failures_with(selected) + 1 >= MAX_FAILURES;
        let summaries = match writer.summarize(&requests).await {
            Err(error) if is_last_resort && error != SummaryError::Aborted => {
                tracing::warn!(%error, "summarized the conversation without a model");
                Ok(plan.outlines(&requests))
            }
            summaries => summaries,
        };
        match summaries {
            Ok(summaries) => Ok(plan.finish(&summaries)?),
            Err(SummaryError::Aborted) => Err(CompactError::Cancelled),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn store(
        self,
        result: CompactionResult,
        job: PlannedCompaction<'_>,
        author: SummaryAuthor,
    ) -> Result<CompactionOutcome, CompactError> {
        let now_ms = self.session.0.env.now_ms();
        let store = |transcript: &mut Transcript| {
            let entry = result.into_entry(transcript.projection()?, author, now_ms);
            let entry = transcript.append(entry)?;
            Ok((entry, messages_tokens(transcript.projection()?)))
        };
        let (entry, estimated_tokens_after) = self.session.writer().write(store)?;
        self.session
            .0
            .participants
            .compacted(CompactionCompleted {
                entry: &entry,
                author,
                reason: job.job.reason,
                will_retry: job.job.will_retry,
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

    pub(super) async fn publish_end(self, job: CompactionJob, compaction: &FinishedCompaction) {
        let error_message = match &compaction.result {
            Ok(outcome) => {
                self.session.0.state().compaction_failures = None;
                return self
                    .session
                    .0
                    .publish(SessionEvent::CompactionEnd {
                        reason: job.reason,
                        result: Some(Box::new(outcome.clone())),
                        aborted: false,
                        will_retry: job.will_retry,
                        error_message: None,
                    })
                    .await;
            }
            Err(CompactError::Cancelled) => None,
            Err(_) if compaction.was_canceled => None,
            Err(error) => {
                let hint = self.count_failure(job.reason);
                let prefix = failure_prefix(job.reason);
                Some(format!("{prefix}: {}{hint}", describe_error(error)))
            }
        };
        self.publish_failure(job.reason, error_message, compaction.author)
            .await;
    }

    /// Publishes that a response failed again after the context was compacted.
    pub(super) async fn publish_recovery_failure(self, failure: RecoveryFailure) {
        let reason = CompactionReason::Overflow;
        self.publish_failure(reason, Some(failure.to_string()), SummaryAuthor::Pi)
            .await;
    }

    /// Publishes a failed compaction; without a message it was canceled.
    async fn publish_failure(
        self,
        reason: CompactionReason,
        error_message: Option<String>,
        author: SummaryAuthor,
    ) {
        let aborted = error_message.is_none();
        self.session
            .0
            .publish(SessionEvent::CompactionEnd {
                reason,
                result: None,
                aborted,
                will_retry: false,
                error_message: error_message.clone(),
            })
            .await;
        self.session
            .0
            .participants
            .compaction_failed(CompactionFailed {
                reason,
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
