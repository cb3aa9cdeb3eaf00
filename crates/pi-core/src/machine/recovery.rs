//! Between two loops of a run: retry of a failed turn, and compaction of the context.

use std::sync::Arc;

use pi_context::{CompactionDecision, CompactionReason, RecoveryState};
use pi_protocol::overflow::is_context_overflow;
use pi_protocol::retry::is_retryable;
use pi_protocol::{AgentMessage, AssistantMessage, StopReason};
use pi_session::EntryId;

use super::Machine;
use super::activity::{
    Activity, BetweenTurnsStep, Flush, PreparationStep, RecoveryStep, Run, RunPhase,
};
use super::effect::{CompactionJob, ContextCheck, Effect, OmitTarget, Rejection, Reply};
use super::prompt::{reject, start_compaction};
use crate::event::SharedMessage;
use crate::session_event::{RetryEnd, SessionEvent};

/// The first step of a compaction that recovers from a failed request.
pub(super) enum RecoveryStart {
    Omitting,
    Planning,
}

impl Machine {
    pub(super) fn loop_ended(&mut self, effects: &mut Vec<Effect>) {
        let Some(run) = self.run_mut() else { return };
        if run.must_end() {
            return self.flush(Flush::End { must_end: true }, effects);
        }
        let Some(response) = run.last_response.take() else {
            return self.after_recovery(effects);
        };
        if self.is_retry_due(&response) {
            self.retry_attempt += 1;
            effects.push(Effect::Publish(SessionEvent::AutoRetryStart {
                attempt: self.retry_attempt,
                max_attempts: self.retry_policy.max_retries,
                delay_ms: u64::try_from(self.retry_delay().as_millis()).unwrap_or(u64::MAX),
                error_message: error_of(&response).unwrap_or_else(|| "no reason given".to_owned()),
            }));
            effects.push(Effect::Omit(OmitTarget::Message(Arc::clone(&response))));
            self.set_recovery_step(RecoveryStep::OmittingFailure { response });
        } else {
            self.check_context_after(response, effects);
        }
    }

    fn retry_delay(&self) -> std::time::Duration {
        self.retry_policy.delay(self.retry_attempt)
    }

    fn is_retry_due(&self, message: &SharedMessage) -> bool {
        let AgentMessage::Assistant(response) = &**message else {
            return false;
        };
        self.retry_policy.allows(self.retry_attempt + 1) && self.is_retryable(response)
    }

    fn is_retryable(&self, response: &AssistantMessage) -> bool {
        let model = self.selection.model.as_ref();
        let window = model.map_or(0, |model| model.context_window);
        !is_context_overflow(response, window) && is_retryable(response)
    }

    /// Whether a loop that ended with these messages will be retried.
    pub(super) fn will_retry(&self, messages: &[SharedMessage]) -> bool {
        if self.run().is_none_or(Run::must_end) {
            return false;
        }
        let is_response =
            |message: &&SharedMessage| matches!(***message, AgentMessage::Assistant(_));
        let last = messages.iter().rev().find(is_response);
        last.is_some_and(|message| self.is_retry_due(message))
    }

    pub(super) fn slept(&mut self, completed: bool, effects: &mut Vec<Effect>) {
        let Some(run) = self.run_mut() else { return };
        let RunPhase::Recovering(RecoveryStep::Sleeping { response }) = &run.phase else {
            return;
        };
        let response = Arc::clone(response);
        if !completed {
            self.cancel_retry(effects);
            self.check_context_after(response, effects);
        } else if self.is_aborted() {
            self.flush(Flush::End { must_end: true }, effects);
        } else {
            self.resume(effects);
        }
    }

    /// Ends retrying: successfully, or with the last error.
    pub(super) fn finish_retry(&mut self, final_error: Option<String>, effects: &mut Vec<Effect>) {
        let end = match final_error {
            None => RetryEnd::Succeeded,
            Some(error) => RetryEnd::Failed(error),
        };
        self.end_retry(end, effects);
    }

    pub(super) fn cancel_retry(&mut self, effects: &mut Vec<Effect>) {
        self.end_retry(RetryEnd::Canceled, effects);
    }

    fn end_retry(&mut self, end: RetryEnd, effects: &mut Vec<Effect>) {
        let attempt = std::mem::take(&mut self.retry_attempt);
        if attempt > 0 {
            effects.push(Effect::Publish(SessionEvent::retry_ended(attempt, end)));
        }
    }

    fn check_context_after(&mut self, message: SharedMessage, effects: &mut Vec<Effect>) {
        let Some(run) = self.run_mut() else { return };
        if run.aborted {
            return self.flush(Flush::End { must_end: true }, effects);
        }
        let tool_results = std::mem::take(&mut run.last_results);
        run.phase = RunPhase::Recovering(RecoveryStep::CheckingContext);
        if let AgentMessage::Assistant(response) = &*message
            && response.stop_reason == StopReason::Error
        {
            let error = response.error_message.clone().unwrap_or_default();
            self.finish_retry(Some(error), effects);
        }
        effects.push(Effect::CheckContext(ContextCheck::AfterRun {
            response: message,
            tool_results,
            recovery: self.recovery,
        }));
    }

    pub(super) fn context_checked(
        &mut self,
        decision: CompactionDecision,
        effects: &mut Vec<Effect>,
    ) {
        if self.preparation_step() == Some(PreparationStep::CheckingContext) {
            return self.context_checked_before_prompt(decision, effects);
        }
        match self.phase_mut() {
            Some(RunPhase::BetweenTurns {
                step: BetweenTurnsStep::Checking,
                ..
            }) => self.context_checked_between_turns(&decision, effects),
            Some(RunPhase::Recovering(RecoveryStep::CheckingContext)) => {
                self.context_checked_after_run(decision, effects);
            }
            _ => {}
        }
    }

    fn context_checked_after_run(
        &mut self,
        decision: CompactionDecision,
        effects: &mut Vec<Effect>,
    ) {
        match decision {
            CompactionDecision::Skip => self.after_recovery(effects),
            CompactionDecision::Failed(failure) => {
                effects.push(Effect::FailRecovery(failure));
                self.after_recovery(effects);
            }
            CompactionDecision::Compact {
                reason,
                omit,
                retry,
            } => {
                let job = CompactionJob {
                    reason,
                    will_retry: retry,
                };
                let step = match self.begin_recovery(job, omit, effects) {
                    RecoveryStart::Omitting => RecoveryStep::Omitting(job),
                    RecoveryStart::Planning => RecoveryStep::Planning(job),
                };
                self.set_recovery_step(step);
            }
        }
    }

    /// Starts a compaction. A request that is sent again is omitted first.
    pub(super) fn begin_recovery(
        &mut self,
        job: CompactionJob,
        omit: Vec<EntryId>,
        effects: &mut Vec<Effect>,
    ) -> RecoveryStart {
        if job.will_retry {
            self.recovery = RecoveryState::Attempted;
            effects.push(Effect::Omit(OmitTarget::Entries(omit)));
            RecoveryStart::Omitting
        } else {
            effects.push(Effect::PlanCompaction);
            RecoveryStart::Planning
        }
    }

    pub(super) fn omitted(&mut self, done: bool, effects: &mut Vec<Effect>) {
        if let Some(PreparationStep::Omitting(job)) = self.preparation_step() {
            return self.omitted_before_prompt(job, done, effects);
        }
        let Some(run) = self.run_mut() else { return };
        match &run.phase {
            RunPhase::Recovering(RecoveryStep::OmittingFailure { response }) => {
                let response = Arc::clone(response);
                if done {
                    effects.push(Effect::Sleep(self.retry_delay()));
                    self.set_recovery_step(RecoveryStep::Sleeping { response });
                } else {
                    self.check_context_after(response, effects);
                }
            }
            RunPhase::Recovering(RecoveryStep::Omitting(job)) => {
                if done {
                    run.phase = RunPhase::Recovering(RecoveryStep::Planning(*job));
                    effects.push(Effect::PlanCompaction);
                } else {
                    self.after_recovery(effects);
                }
            }
            _ => {}
        }
    }

    pub(super) fn compaction_planned(&mut self, possible: bool, effects: &mut Vec<Effect>) {
        if let Some(PreparationStep::Planning(job)) = self.preparation_step() {
            return self.planned_before_prompt(job, possible, effects);
        }
        match self.phase_mut() {
            Some(RunPhase::BetweenTurns {
                step: BetweenTurnsStep::Planning(job),
                ..
            }) => {
                let job = *job;
                self.planned_between_turns(job, possible, effects);
            }
            Some(RunPhase::Recovering(RecoveryStep::Planning(job))) => {
                let job = *job;
                if possible {
                    self.set_recovery_step(RecoveryStep::Compacting(job));
                    start_compaction(job, effects);
                } else {
                    self.after_recovery(effects);
                }
            }
            _ => {}
        }
    }

    pub(super) fn compacted(&mut self, stored: bool, effects: &mut Vec<Effect>) {
        if let Some(PreparationStep::Compacting(job)) = self.preparation_step() {
            return self.compacted_before_prompt(job, effects);
        }
        if let Activity::Compacting(job) = self.activity {
            return self.manual_compaction_ended(job, effects);
        }
        match self.phase_mut() {
            Some(RunPhase::BetweenTurns {
                step: BetweenTurnsStep::Compacting(job),
                ..
            }) => {
                let job = *job;
                self.compacted_between_turns(job, effects);
            }
            Some(RunPhase::Recovering(RecoveryStep::Compacting(job))) => {
                let job = *job;
                effects.push(Effect::EndCompaction(job));
                let continues = stored && (job.will_retry || self.queue.has_waiting());
                if continues && !self.is_aborted() {
                    self.resume(effects);
                } else {
                    self.after_recovery(effects);
                }
            }
            _ => {}
        }
    }

    /// Begins a compaction on request.
    pub(super) fn begin_compaction(&mut self, effects: &mut Vec<Effect>) {
        if self.is_closed {
            return reject(Rejection::Closed, effects);
        }
        if !matches!(self.activity, Activity::Idle) {
            return reject(Rejection::Busy, effects);
        }
        let job = CompactionJob {
            reason: CompactionReason::Manual,
            will_retry: false,
        };
        self.activity = Activity::Compacting(job);
        start_compaction(job, effects);
    }

    /// Clients may send a prompt as soon as they receive the end event, so the session is idle before it is published.
    pub(super) fn manual_compaction_ended(
        &mut self,
        job: CompactionJob,
        effects: &mut Vec<Effect>,
    ) {
        self.activity = Activity::Idle;
        effects.push(Effect::EndCompaction(job));
        effects.push(Effect::Reply(Reply::Done));
        self.start_deferred(effects);
    }

    fn set_recovery_step(&mut self, step: RecoveryStep) {
        self.set_phase(RunPhase::Recovering(step));
    }
}

impl Run {
    /// Whether another attempt was announced and has not begun.
    pub(super) fn is_retrying(&self) -> bool {
        matches!(
            self.phase,
            RunPhase::Recovering(
                RecoveryStep::OmittingFailure { .. } | RecoveryStep::Sleeping { .. }
            )
        )
    }
}

fn error_of(message: &SharedMessage) -> Option<String> {
    match &**message {
        AgentMessage::Assistant(response) => response.error_message.clone(),
        _ => None,
    }
}
