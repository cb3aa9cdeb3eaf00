//! A compaction: check the context, omit a failed request, plan, write the summary.
//!
//! The same steps run before a prompt, between two turns, after a run, and on request.

use pi_protocol::{CompactionDecision, CompactionReason, RecoveryState, SessionEvent};

use super::context::Context;
use super::effect::{CompactionJob, ContextCheck, Effect, OmitTarget};
use super::input::Outcome;

#[derive(Debug)]
pub(super) struct ContextCompaction(CompactionStep);

#[derive(Debug, Clone, Copy)]
enum CompactionStep {
    Checking,
    Omitting(CompactionJob),
    Planning(CompactionJob),
    Compacting(CompactionJob),
}

/// How a compaction ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum CompactionEnd {
    /// It is not necessary or not possible.
    Skipped,
    Performed {
        job: CompactionJob,
        /// Whether the summary is stored.
        stored: bool,
    },
}

impl ContextCompaction {
    /// Checks whether the context must be compacted.
    pub(super) fn check(check: ContextCheck, cx: &mut Context) -> Self {
        cx.push(Effect::CheckContext(check));
        Self(CompactionStep::Checking)
    }

    /// Compacts on request.
    pub(super) fn manual(cx: &mut Context) -> Self {
        let job = CompactionJob {
            reason: CompactionReason::Manual,
            will_retry: false,
        };
        let mut compaction = Self(CompactionStep::Planning(job));
        compaction.start(job, cx);
        compaction
    }

    /// Whether a summary is being written.
    pub(super) fn is_in_progress(&self) -> bool {
        matches!(self.0, CompactionStep::Compacting(_))
    }

    /// Processes the outcome of a step; returns how the compaction ended.
    pub(super) fn outcome(&mut self, outcome: Outcome, cx: &mut Context) -> Option<CompactionEnd> {
        match (self.0, outcome) {
            (CompactionStep::Checking, Outcome::ContextChecked(decision)) => {
                return self.decided(decision, cx);
            }
            (CompactionStep::Omitting(job), Outcome::Omitted(true)) => self.plan(job, cx),
            (CompactionStep::Planning(job), Outcome::CompactionPlanned(true)) => {
                self.start(job, cx);
            }
            (CompactionStep::Omitting(_), Outcome::Omitted(false))
            | (CompactionStep::Planning(_), Outcome::CompactionPlanned(false)) => {
                return Some(CompactionEnd::Skipped);
            }
            (CompactionStep::Compacting(job), Outcome::Compacted(stored)) => {
                cx.push(Effect::EndCompaction(job));
                return Some(CompactionEnd::Performed { job, stored });
            }
            _ => {}
        }
        None
    }

    /// Publishes the end of a compaction whose effect panicked.
    pub(super) fn panicked(&self, cx: &mut Context) {
        if let CompactionStep::Compacting(job) = self.0 {
            cx.push(Effect::EndCompaction(job));
        }
    }

    fn decided(&mut self, decision: CompactionDecision, cx: &mut Context) -> Option<CompactionEnd> {
        match decision {
            CompactionDecision::Skip => return Some(CompactionEnd::Skipped),
            CompactionDecision::Failed(failure) => {
                cx.push(Effect::FailRecovery(failure));
                return Some(CompactionEnd::Skipped);
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
                if retry {
                    // A request that is sent again is omitted first.
                    cx.recovery = RecoveryState::Attempted;
                    cx.push(Effect::Omit(OmitTarget::Entries(omit)));
                    self.0 = CompactionStep::Omitting(job);
                } else {
                    self.plan(job, cx);
                }
            }
        }
        None
    }

    fn plan(&mut self, job: CompactionJob, cx: &mut Context) {
        cx.push(Effect::PlanCompaction);
        self.0 = CompactionStep::Planning(job);
    }

    fn start(&mut self, job: CompactionJob, cx: &mut Context) {
        let reason = job.reason;
        cx.push(Effect::Publish(SessionEvent::CompactionStart { reason }));
        cx.push(Effect::Compact(job));
        self.0 = CompactionStep::Compacting(job);
    }
}
