//! Ends what an effect that panicked belongs to.
//!
//! Hooks and backends run foreign code. The driver catches a panic and feeds it instead of the effect's outcome. Every
//! step here brings the session closer to being idle, so that it settles even if every effect panics.

use super::Machine;
use super::activity::{Activity, Flush, PollPoint, PreparationStep, RunPhase};
use super::effect::{Effect, Rejection};
use super::turns::emit;
use crate::event::AgentEvent;

impl Machine {
    pub(super) fn panicked(&mut self, error: String, effects: &mut Vec<Effect>) {
        match &mut self.activity {
            Activity::Idle | Activity::Navigating => {}
            Activity::Preparing(preparation) => match preparation.step {
                PreparationStep::Abandoning(rejection) => {
                    self.preparation_abandoned(rejection, effects);
                }
                step => {
                    if let PreparationStep::Compacting(job) = step {
                        effects.push(Effect::EndCompaction(job));
                    }
                    self.abandon_preparation(Rejection::Crashed, effects);
                }
            },
            Activity::Running(run) => {
                run.crashed = true;
                self.run_panicked(error, effects);
            }
            Activity::Settling => {
                self.activity = Activity::Idle;
                self.start_deferred(effects);
            }
            Activity::Resubmitting => self.deferred_resolved(None, effects),
            Activity::Compacting(job) => {
                let job = *job;
                self.manual_compaction_ended(job, effects);
            }
        }
    }

    fn run_panicked(&mut self, error: String, effects: &mut Vec<Effect>) {
        let Some(run) = self.run_mut() else { return };
        if let Some(job) = run.compaction() {
            effects.push(Effect::EndCompaction(job));
        }
        match &run.phase {
            RunPhase::Opening { .. }
            | RunPhase::Requesting
            | RunPhase::Streaming { .. }
            | RunPhase::Responding
            | RunPhase::RunningTools { .. }
            | RunPhase::FinishingTurn { .. }
            | RunPhase::Polling(PollPoint::LoopStart { .. }) => self.fail(error, effects),
            // The last turn has ended; the error message needs one.
            RunPhase::EndingTurn(_) | RunPhase::Polling(_) | RunPhase::BetweenTurns { .. } => {
                effects.push(emit(AgentEvent::TurnStart));
                self.fail(error, effects);
            }
            RunPhase::Failing => self.recorded(Err(error), effects),
            RunPhase::EndingLoop => self.loop_ended(effects),
            RunPhase::Recovering(_) | RunPhase::Resuming | RunPhase::DecidingSettle => {
                self.flush(Flush::End { must_end: true }, effects);
            }
            RunPhase::Flushing(Flush::AfterDecision { .. }) => {
                self.flush(Flush::End { must_end: true }, effects);
            }
            RunPhase::Flushing(Flush::End { .. }) => {
                let flush = Flush::End { must_end: true };
                self.set_phase(RunPhase::Flushing(flush));
                self.continue_flush(flush, effects);
            }
        }
    }
}
