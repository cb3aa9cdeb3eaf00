//! What a session is doing. There is one activity at a time, and it is the only notion of "busy".

use std::collections::VecDeque;

use pi_protocol::ImageContent;

use super::TurnOutcome;
use super::batch::Batch;
use super::effect::{CompactionJob, Effect, Rejection};
use crate::event::SharedMessage;
use crate::queue::QueueId;
use crate::turn::FinishedTurn;

#[derive(Debug, Default)]
pub(super) enum Activity {
    #[default]
    Idle,
    /// A prompt is checked and prepared before its run starts.
    Preparing(Preparation),
    Running(Run),
    /// `agent_settled` is being published.
    Settling,
    /// A deferred prompt is being submitted.
    Resubmitting,
    /// A compaction on request.
    Compacting(CompactionJob),
    Navigating,
}

/// The activity, as clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActivityKind {
    #[default]
    Idle,
    Preparing,
    Running,
    Settling,
    Compacting,
    Navigating,
}

#[derive(Debug)]
pub(super) struct Preparation {
    pub text: String,
    pub images: Vec<ImageContent>,
    pub step: PreparationStep,
    pub aborted: bool,
    /// Whether it prepares a run for queued messages instead of a prompt.
    pub is_for_queue: bool,
    /// Whether messages were queued for the run it prepares.
    pub has_queued: bool,
}

impl Preparation {
    pub(super) fn of_prompt(text: String, images: Vec<ImageContent>) -> Self {
        Self {
            text,
            images,
            step: PreparationStep::Checking,
            aborted: false,
            is_for_queue: false,
            has_queued: false,
        }
    }

    pub(super) fn of_queue() -> Self {
        Self {
            is_for_queue: true,
            ..Self::of_prompt(String::new(), Vec::new())
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PreparationStep {
    Checking,
    CheckingContext,
    Omitting(CompactionJob),
    Planning(CompactionJob),
    Compacting(CompactionJob),
    Starting,
    /// What belongs to the canceled or rejected prompt is being forgotten.
    Abandoning(Rejection),
}

#[derive(Debug)]
pub(super) struct Run {
    pub phase: RunPhase,
    /// What follows the current effect, unless the run fails.
    pub plan: VecDeque<PlanItem>,
    /// The message being recorded.
    pub recording: Option<SharedMessage>,
    /// Messages recorded since `agent_start`.
    pub new_messages: Vec<SharedMessage>,
    /// The last response, until it was examined after the loop.
    pub last_response: Option<SharedMessage>,
    pub last_results: Vec<SharedMessage>,
    pub aborted: bool,
    /// A message could not be stored. The run ends, and nothing more of it is stored.
    pub storage_failed: bool,
    /// The loop is ending because of a failure; a further one changes nothing.
    pub failing: bool,
    /// A hook or the backend panicked. The run ends.
    pub crashed: bool,
}

/// A step of a plan.
#[derive(Debug)]
pub(super) enum PlanItem {
    Effect(Effect),
    /// Emit `message_start` and record the message.
    Record {
        message: SharedMessage,
        /// The queue entry it comes from.
        queued: Option<QueueId>,
        /// Whether `message_start` was already emitted.
        started: bool,
    },
}

#[derive(Debug)]
pub(super) enum RunPhase {
    /// Recording the messages the loop starts with.
    Opening {
        skip_first_poll: bool,
    },
    Polling(PollPoint),
    /// The context is checked, and compacted if necessary, before the next turn.
    BetweenTurns {
        step: BetweenTurnsStep,
        must_request: bool,
    },
    /// Recording the messages of a request, then sending it.
    Requesting,
    Streaming {
        started: bool,
    },
    /// Recording a response.
    Responding,
    RunningTools {
        response: SharedMessage,
        batch: Batch,
        /// The batch is complete; its results are being recorded.
        complete: bool,
    },
    FinishingTurn {
        turn: FinishedTurn,
        outcome: TurnOutcome,
    },
    /// `turn_end` is being emitted and waiting messages are appended.
    EndingTurn(Option<PollPoint>),
    /// Recording the error message of a run that failed.
    Failing,
    EndingLoop,
    /// After a loop: retry, compaction, settling.
    Recovering(RecoveryStep),
    Resuming,
    DecidingSettle,
    /// Appending messages that waited for the end of the run.
    Flushing(Flush),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BetweenTurnsStep {
    Checking,
    Planning(CompactionJob),
    Compacting(CompactionJob),
}

#[derive(Debug)]
pub(super) enum RecoveryStep {
    /// Omitting a failed response before another attempt.
    OmittingFailure {
        response: SharedMessage,
    },
    Sleeping {
        response: SharedMessage,
    },
    CheckingContext,
    Omitting(CompactionJob),
    Planning(CompactionJob),
    Compacting(CompactionJob),
}

/// Why waiting messages are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    /// A hook decided about settling; it wants another turn if set.
    AfterDecision { proceed: bool },
    /// The run ends. With `must_end`, queued messages do not continue it.
    End { must_end: bool },
}

/// A point where the queues are polled.
#[derive(Debug, Clone, Copy)]
pub(super) enum PollPoint {
    LoopStart {
        skip: bool,
    },
    AfterTurn {
        calls_remain: bool,
        asked_to_continue: bool,
    },
}

impl Run {
    pub(super) fn new() -> Self {
        Self {
            phase: RunPhase::Opening {
                skip_first_poll: false,
            },
            plan: VecDeque::new(),
            recording: None,
            new_messages: Vec::new(),
            last_response: None,
            last_results: Vec::new(),
            aborted: false,
            storage_failed: false,
            failing: false,
            crashed: false,
        }
    }

    /// Whether the run ends without another attempt, and without the queued messages.
    pub(super) fn must_end(&self) -> bool {
        self.aborted || self.storage_failed || self.crashed
    }

    /// Returns the compaction in progress.
    pub(super) fn compaction(&self) -> Option<CompactionJob> {
        match &self.phase {
            RunPhase::BetweenTurns {
                step: BetweenTurnsStep::Compacting(job),
                ..
            }
            | RunPhase::Recovering(RecoveryStep::Compacting(job)) => Some(*job),
            _ => None,
        }
    }
}
