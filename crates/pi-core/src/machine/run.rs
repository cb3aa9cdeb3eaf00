//! A run: one or more loops of turns, and what follows each of them.

use pi_protocol::{AgentMessage, Answer, RequestId};

use super::after_loop::AfterLoop;
use super::context::Context;
use super::effect::AnswerError;
use super::input::Outcome;
use super::turns::{LoopEnd, TurnLoop, resume_turn};
use crate::barrier::OpenTurn;

#[derive(Debug)]
pub(super) struct Run {
    stage: RunStage,
    flags: RunFlags,
}

#[derive(Debug)]
enum RunStage {
    Turns(TurnLoop),
    AfterLoop(AfterLoop),
}

/// Why a run ends early.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunFlags {
    pub aborted: bool,
    /// A message could not be stored. Nothing more of the run is stored.
    pub storage_failed: bool,
    /// A hook or the backend panicked.
    pub crashed: bool,
    /// The run ends after its current turn or at a barrier, and is continued later or elsewhere.
    pub paused: bool,
}

impl RunFlags {
    /// Whether the run ends without another attempt, and without the queued messages.
    pub(super) fn must_end(self) -> bool {
        self.aborted || self.storage_failed || self.crashed || self.paused
    }
}

impl Run {
    /// Starts a run with messages of clients, which return to the queue if they cannot be stored, and messages that
    /// hooks add to it.
    pub(super) fn start(
        first: Vec<(AgentMessage, Option<String>)>,
        added: Vec<AgentMessage>,
        cx: &mut Context,
    ) -> Self {
        Self::new(TurnLoop::begin(first, added, cx))
    }

    fn new(turns: TurnLoop) -> Self {
        Self {
            stage: RunStage::Turns(turns),
            flags: RunFlags::default(),
        }
    }

    /// Starts a run with the last turn of a process that was killed: with its open calls, or with what follows its
    /// response.
    pub(super) fn resume(turn: OpenTurn, cx: &mut Context) -> Self {
        let is_complete = match &*turn.response {
            AgentMessage::Assistant(response) => response.stop_reason.is_failure(),
            _ => true,
        };
        if !is_complete && !turn.calls.is_empty() {
            return Self::new(resume_turn(turn, cx));
        }
        let flags = RunFlags::default();
        let end = LoopEnd {
            response: Some(turn.response),
            tool_results: Vec::new(),
        };
        Self {
            stage: RunStage::AfterLoop(AfterLoop::begin(end, flags, cx)),
            flags,
        }
    }

    /// Starts a run with queued messages; `None` if there are none.
    pub(super) fn start_with_queued(cx: &mut Context) -> Option<Self> {
        take_queued(cx).map(Self::new)
    }

    /// Ends the run as soon as it can end in a valid state. No call waits for a client any longer.
    pub(super) fn abort(&mut self, cx: &mut Context) {
        self.flags.aborted = true;
        if let RunStage::Turns(turns) = &mut self.stage {
            turns.cancel_requests(cx);
        }
    }

    /// Ends the run after its current turn.
    pub(super) fn pause(&mut self) {
        self.flags.paused = true;
    }

    /// Accepts the first answer to a request of a call.
    pub(super) fn answer(
        &mut self,
        request: &RequestId,
        answer: Answer,
    ) -> Result<(), AnswerError> {
        match &mut self.stage {
            RunStage::Turns(turns) => turns.answer(request, answer),
            RunStage::AfterLoop(_) => Err(AnswerError::Unknown),
        }
    }

    pub(super) fn outcome(&mut self, outcome: Outcome, cx: &mut Context) {
        if matches!(outcome, Outcome::Panicked(_)) {
            self.flags.crashed = true;
        }
        match &mut self.stage {
            RunStage::Turns(turns) => {
                if let Some(end) = turns.outcome(outcome, &mut self.flags, cx) {
                    self.stage = RunStage::AfterLoop(AfterLoop::begin(end, self.flags, cx));
                }
            }
            RunStage::AfterLoop(after) => {
                if let Some(turns) = after.outcome(outcome, self.flags, cx) {
                    self.stage = RunStage::Turns(turns);
                }
            }
        }
    }

    /// Whether nothing of the run is left to do.
    pub(super) fn is_over(&self) -> bool {
        matches!(&self.stage, RunStage::AfterLoop(after) if after.is_over())
    }

    pub(super) fn flags(&self) -> RunFlags {
        self.flags
    }

    /// Returns the loop in progress.
    pub(super) fn turns(&self) -> Option<&TurnLoop> {
        match &self.stage {
            RunStage::Turns(turns) => Some(turns),
            RunStage::AfterLoop(_) => None,
        }
    }

    pub(super) fn is_compacting(&self) -> bool {
        match &self.stage {
            RunStage::Turns(turns) => turns.is_compacting(),
            RunStage::AfterLoop(after) => after.is_compacting(),
        }
    }

    pub(super) fn is_retrying(&self) -> bool {
        matches!(&self.stage, RunStage::AfterLoop(after) if after.is_retrying())
    }
}

/// Begins a loop with queued messages: steering first, else follow-ups.
pub(super) fn take_queued(cx: &mut Context) -> Option<TurnLoop> {
    cx.queue.take_steering();
    let has_steering = cx.queue.has_taken();
    cx.queue.take_follow_ups();
    cx.queue
        .has_taken()
        .then(|| TurnLoop::begin_with_queued(!has_steering, cx))
}
