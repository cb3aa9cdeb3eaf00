//! The end of a run: resume with queued messages, settle, and what was deferred until then.

use super::activity::{Activity, Flush, Preparation, PreparationStep, RunPhase};
use super::effect::{Effect, RunFailure};
use super::input::{ConversationTail, PromptInput};
use super::{Deferred, Machine};
use crate::session_event::SessionEvent;

impl Machine {
    /// Continues with queued messages, or lets the hooks decide whether to settle.
    pub(super) fn after_recovery(&mut self, effects: &mut Vec<Effect>) {
        if self.is_aborted() {
            self.flush(Flush::End { must_end: true }, effects);
        } else if self.queue.has_waiting() {
            self.resume(effects);
        } else {
            self.set_phase(RunPhase::DecidingSettle);
            effects.push(Effect::BeforeSettle);
        }
    }

    pub(super) fn settle_decided(&mut self, proceed: bool, effects: &mut Vec<Effect>) {
        if matches!(self.phase_mut(), Some(RunPhase::DecidingSettle)) {
            self.flush(Flush::AfterDecision { proceed }, effects);
        }
    }

    /// Begins another loop from the current conversation.
    pub(super) fn resume(&mut self, effects: &mut Vec<Effect>) {
        self.set_phase(RunPhase::Resuming);
        effects.push(Effect::ReadTail);
    }

    pub(super) fn tail_read(&mut self, tail: ConversationTail, effects: &mut Vec<Effect>) {
        if !matches!(self.phase_mut(), Some(RunPhase::Resuming)) {
            return;
        }
        match tail {
            ConversationTail::Empty => {
                effects.push(Effect::Report(RunFailure::NothingToContinue));
            }
            ConversationTail::Pending => {
                return self.begin_loop(Vec::new(), Vec::new(), effects);
            }
            // The messages the loop was meant for may have been cleared in the meantime.
            ConversationTail::Response => {
                self.queue.take_steering();
                if self.queue.has_taken() {
                    return self.begin_loop_with_queued(false, effects);
                }
                self.queue.take_follow_ups();
                if self.queue.has_taken() {
                    return self.begin_loop_with_queued(true, effects);
                }
            }
        }
        self.flush(Flush::End { must_end: true }, effects);
    }

    /// Appends the messages that wait for this point.
    pub(super) fn flush(&mut self, flush: Flush, effects: &mut Vec<Effect>) {
        if let Flush::End { .. } = flush {
            // An attempt is only left over if the run ended early.
            self.cancel_retry(effects);
            if self.run().is_some_and(|run| run.storage_failed) {
                effects.push(Effect::Reload);
            }
        }
        self.set_phase(RunPhase::Flushing(flush));
        self.continue_flush(flush, effects);
    }

    /// Continues after a waiting message was appended.
    pub(super) fn appended(&mut self, effects: &mut Vec<Effect>) {
        match self.phase_mut() {
            Some(RunPhase::EndingTurn(_)) => self.turn_ended(effects),
            Some(RunPhase::Flushing(flush)) => {
                let flush = *flush;
                self.continue_flush(flush, effects);
            }
            _ => {}
        }
    }

    pub(super) fn continue_flush(&mut self, flush: Flush, effects: &mut Vec<Effect>) {
        let waiting = match flush {
            Flush::AfterDecision { .. } => self.waiting.custom.pop_front(),
            Flush::End { .. } => self.waiting.pop(),
        };
        if let Some(message) = waiting {
            return effects.push(Effect::Append(message));
        }
        match flush {
            Flush::AfterDecision { proceed } => {
                let continues = proceed || self.queue.has_waiting();
                if continues && !self.is_aborted() {
                    self.resume(effects);
                } else {
                    let must_end = self.is_aborted();
                    self.flush(Flush::End { must_end }, effects);
                }
            }
            Flush::End { must_end } => {
                let is_cut_short = must_end || self.is_aborted();
                if !is_cut_short && self.queue.has_waiting() {
                    return self.resume(effects);
                }
                self.activity = Activity::Settling;
                effects.push(Effect::EndRun);
                effects.push(Effect::Emit(SessionEvent::AgentSettled));
                effects.push(Effect::Continue);
            }
        }
    }

    /// Continues once all effects before [`Effect::Continue`] are performed.
    pub(super) fn continued(&mut self, effects: &mut Vec<Effect>) {
        match &self.activity {
            Activity::Settling => {
                self.activity = Activity::Idle;
                self.start_deferred(effects);
            }
            Activity::Preparing(Preparation {
                step: PreparationStep::Abandoning(rejection),
                ..
            }) => {
                let rejection = *rejection;
                self.preparation_abandoned(rejection, effects);
            }
            Activity::Running(run) => match run.phase {
                RunPhase::Polling(point) => self.polled(point, effects),
                RunPhase::EndingTurn(_) => self.turn_ended(effects),
                RunPhase::EndingLoop => self.loop_ended(effects),
                _ => {}
            },
            _ => {}
        }
    }

    /// Fulfills the next deferred request, if the session is idle.
    pub(super) fn start_deferred(&mut self, effects: &mut Vec<Effect>) {
        if !matches!(self.activity, Activity::Idle) {
            return;
        }
        match self.deferred.pop_front() {
            Some(Deferred::Message(message)) => self.start_run_with(message, effects),
            Some(Deferred::Prompt(prompt)) => {
                self.activity = Activity::Resubmitting;
                effects.push(Effect::SubmitDeferred(Box::new(prompt)));
            }
            None => {}
        }
    }

    pub(super) fn deferred_resolved(
        &mut self,
        prompt: Option<PromptInput>,
        effects: &mut Vec<Effect>,
    ) {
        if !matches!(self.activity, Activity::Resubmitting) {
            return;
        }
        self.activity = Activity::Idle;
        match prompt {
            Some(prompt) => self.prompt(prompt, effects),
            None => self.start_deferred(effects),
        }
    }
}
