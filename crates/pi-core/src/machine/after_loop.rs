//! What follows a loop: retry of a failed request, compaction of the context, resuming with queued messages, settling.

use std::sync::Arc;

use pi_protocol::{AgentMessage, SharedMessage, StopReason};

use super::compaction::{CompactionEnd, ContextCompaction};
use super::context::Context;
use super::effect::{ContextCheck, Effect, OmitTarget, RunFailure};
use super::input::{ConversationTail, Outcome};
use super::run::{RunFlags, take_queued};
use super::turns::{LoopEnd, TurnLoop};
use crate::retry_end::RetryEnd;

#[derive(Debug)]
pub(super) struct AfterLoop {
    step: AfterStep,
    /// The tool results of the last turn, until the context is checked.
    tool_results: Vec<SharedMessage>,
}

#[derive(Debug)]
enum AfterStep {
    /// Omitting a failed response before another attempt.
    OmittingFailure {
        response: SharedMessage,
    },
    Sleeping {
        response: SharedMessage,
    },
    CheckingContext(ContextCompaction),
    Resuming,
    DecidingSettle,
    /// Appending messages that waited for this point.
    Flushing(Flush),
    Over,
}

/// Why waiting messages are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    /// A hook decided about settling; it wants another turn if set.
    AfterDecision { proceed: bool },
    /// The run ends. With `must_end`, queued messages do not continue it.
    End { must_end: bool },
}

const END: Flush = Flush::End { must_end: true };

impl AfterLoop {
    pub(super) fn begin(end: LoopEnd, flags: RunFlags, cx: &mut Context) -> Self {
        let mut after = Self {
            step: AfterStep::Over,
            tool_results: end.tool_results,
        };
        match end.response {
            _ if flags.must_end() => after.flush(END, flags, cx),
            None => after.after_recovery(flags, cx),
            Some(response) if cx.is_retry_due(&response) => {
                let event = cx.retry.begin(&response);
                cx.push(Effect::Publish(event));
                cx.push(Effect::Omit(OmitTarget::Message(Arc::clone(&response))));
                after.step = AfterStep::OmittingFailure { response };
            }
            Some(response) => after.check_context(response, flags, cx),
        }
        after
    }

    /// Processes the outcome of an effect; returns the next loop of the run, if there is one.
    pub(super) fn outcome(
        &mut self,
        outcome: Outcome,
        flags: RunFlags,
        cx: &mut Context,
    ) -> Option<TurnLoop> {
        match (&mut self.step, outcome) {
            (AfterStep::OmittingFailure { response }, Outcome::Omitted(done)) => {
                let response = Arc::clone(response);
                if done {
                    cx.push(Effect::Sleep(cx.retry.delay()));
                    self.step = AfterStep::Sleeping { response };
                } else {
                    self.check_context(response, flags, cx);
                }
            }
            (AfterStep::Sleeping { response }, Outcome::Slept(completed)) => {
                let response = Arc::clone(response);
                self.slept(response, completed, flags, cx);
            }
            (AfterStep::Resuming, Outcome::TailRead(tail)) => {
                return self.tail_read(tail, flags, cx);
            }
            (AfterStep::DecidingSettle, Outcome::SettleDecided(proceed)) => {
                self.flush(Flush::AfterDecision { proceed }, flags, cx);
            }
            (AfterStep::Flushing(flush), Outcome::Appended) => {
                let flush = *flush;
                self.continue_flush(flush, flags, cx);
            }
            (_, Outcome::Panicked(_)) => self.panicked(flags, cx),
            (AfterStep::CheckingContext(compaction), outcome) => {
                let end = compaction.outcome(outcome, cx);
                self.compaction_ended(end, flags, cx);
            }
            _ => {}
        }
        None
    }

    /// Every panic brings the run closer to its end.
    fn panicked(&mut self, flags: RunFlags, cx: &mut Context) {
        match &self.step {
            AfterStep::Flushing(Flush::End { .. }) => {
                self.step = AfterStep::Flushing(END);
                return self.continue_flush(END, flags, cx);
            }
            AfterStep::CheckingContext(compaction) => compaction.panicked(cx),
            _ => {}
        }
        self.flush(END, flags, cx);
    }

    fn slept(
        &mut self,
        response: SharedMessage,
        completed: bool,
        flags: RunFlags,
        cx: &mut Context,
    ) {
        if !completed {
            cx.end_retry(RetryEnd::Canceled);
            self.check_context(response, flags, cx);
        } else if flags.aborted {
            self.flush(END, flags, cx);
        } else {
            self.resume(cx);
        }
    }

    fn check_context(&mut self, message: SharedMessage, flags: RunFlags, cx: &mut Context) {
        if flags.aborted {
            return self.flush(END, flags, cx);
        }
        if let AgentMessage::Assistant(response) = &*message
            && response.stop_reason == StopReason::Error
        {
            let error = response.error_message.clone().unwrap_or_default();
            cx.end_retry(RetryEnd::Failed(error));
        }
        let check = ContextCheck::AfterRun {
            response: message,
            tool_results: std::mem::take(&mut self.tool_results),
            recovery: cx.recovery,
        };
        self.step = AfterStep::CheckingContext(ContextCompaction::check(check, cx));
    }

    fn compaction_ended(&mut self, end: Option<CompactionEnd>, flags: RunFlags, cx: &mut Context) {
        match end {
            None => {}
            Some(CompactionEnd::Performed { job, stored }) => {
                let continues = stored && (job.will_retry || cx.queue.has_waiting());
                if continues && !flags.aborted {
                    self.resume(cx);
                } else {
                    self.after_recovery(flags, cx);
                }
            }
            Some(CompactionEnd::Skipped) => self.after_recovery(flags, cx),
        }
    }

    /// Continues with queued messages, or lets the hooks decide whether to settle.
    fn after_recovery(&mut self, flags: RunFlags, cx: &mut Context) {
        if flags.aborted {
            self.flush(END, flags, cx);
        } else if cx.queue.has_waiting() {
            self.resume(cx);
        } else {
            self.step = AfterStep::DecidingSettle;
            cx.push(Effect::BeforeSettle);
        }
    }

    /// Begins another loop from the current conversation.
    fn resume(&mut self, cx: &mut Context) {
        self.step = AfterStep::Resuming;
        cx.push(Effect::ReadTail);
    }

    fn tail_read(
        &mut self,
        tail: ConversationTail,
        flags: RunFlags,
        cx: &mut Context,
    ) -> Option<TurnLoop> {
        let turns = match tail {
            ConversationTail::Pending => Some(TurnLoop::begin(Vec::new(), Vec::new(), cx)),
            // The messages the loop was meant for may have been cleared in the meantime.
            ConversationTail::Response => take_queued(cx),
            ConversationTail::Empty => {
                cx.push(Effect::Report(RunFailure::NothingToContinue));
                None
            }
        };
        if turns.is_none() {
            self.flush(END, flags, cx);
        }
        turns
    }

    /// Appends the messages that wait for this point.
    fn flush(&mut self, flush: Flush, flags: RunFlags, cx: &mut Context) {
        if let Flush::End { .. } = flush {
            // An attempt is only left over if the run ended early.
            cx.end_retry(RetryEnd::Canceled);
            if flags.storage_failed {
                cx.push(Effect::Reload);
            }
        }
        self.step = AfterStep::Flushing(flush);
        self.continue_flush(flush, flags, cx);
    }

    fn continue_flush(&mut self, flush: Flush, flags: RunFlags, cx: &mut Context) {
        let waiting = match flush {
            Flush::AfterDecision { .. } => cx.waiting.custom.pop_front(),
            Flush::End { .. } => cx.waiting.pop_at_end(),
        };
        if let Some(message) = waiting {
            return cx.push(Effect::Append(message));
        }
        let has_queued = cx.queue.has_waiting();
        match flush {
            Flush::AfterDecision { proceed } if (proceed || has_queued) && !flags.aborted => {
                self.resume(cx);
            }
            Flush::AfterDecision { .. } => {
                let must_end = flags.aborted;
                self.flush(Flush::End { must_end }, flags, cx);
            }
            Flush::End { must_end: false } if has_queued && !flags.aborted => self.resume(cx),
            Flush::End { .. } => self.step = AfterStep::Over,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.step, AfterStep::Over)
    }

    /// Whether another attempt was announced and has not begun.
    pub(super) fn is_retrying(&self) -> bool {
        matches!(
            self.step,
            AfterStep::OmittingFailure { .. } | AfterStep::Sleeping { .. }
        )
    }

    /// Whether a summary is being written.
    pub(super) fn is_compacting(&self) -> bool {
        matches!(&self.step, AfterStep::CheckingContext(compaction)
            if compaction.is_in_progress())
    }
}
