//! Turns that wait for the supervisor of the session, and turns that a killed process has left.

use std::sync::Arc;

use pi_protocol::{AgentEvent, AgentMessage};

use super::failure::error_message;
use super::{LoopPhase, TurnLoop};
use crate::barrier::{BarrierPoint, OpenTurn};
use crate::machine::context::Context;
use crate::machine::effect::{CancelScope, Effect};
use crate::machine::plan::Plan;
use crate::machine::run::RunFlags;

/// Error of the turn in the events of a run that was stopped. It is not stored.
const STOPPED_TURN: &str = "Stopped by the supervisor of the session";

impl TurnLoop {
    /// Sends the request, after the barrier if there is one.
    pub(super) fn stream(&mut self, cx: &mut Context) {
        if cx.selection.is_supervised {
            self.phase = LoopPhase::AtBarrier;
            cx.push(Effect::Barrier(BarrierPoint::Request));
        } else {
            send_request(&mut self.phase, cx);
        }
    }

    pub(super) fn barrier_passed(
        &mut self,
        proceeds: bool,
        flags: &mut RunFlags,
        cx: &mut Context,
    ) {
        let aborted = flags.aborted;
        flags.paused |= !proceeds;
        match &mut self.phase {
            LoopPhase::AtBarrier if proceeds => send_request(&mut self.phase, cx),
            LoopPhase::AtBarrier => self.stop(*flags, cx),
            LoopPhase::RunningTools { .. } if proceeds => {
                self.batch_input(|batch| batch.barrier_passed(aborted), *flags, cx);
            }
            LoopPhase::RunningTools { batch, .. } => {
                for request in batch.stop() {
                    cx.push(Effect::Resolve(request));
                }
                if batch.has_stopped() {
                    self.stop(*flags, cx);
                } else {
                    // Calls that were allowed before end first.
                    cx.push(Effect::Cancel(CancelScope::Run));
                }
            }
            _ => {}
        }
    }

    /// Ends the run in the middle of a turn. Nothing more is stored, so that the turn can be resumed.
    pub(super) fn stop(&mut self, flags: RunFlags, cx: &mut Context) {
        self.plan = Plan::default();
        let message = match &mut self.phase {
            LoopPhase::RunningTools {
                response, batch, ..
            } => {
                for event in batch.abandon(None) {
                    cx.push(Effect::Emit(event));
                }
                Arc::clone(response)
            }
            _ => {
                let message = error_message(STOPPED_TURN.to_owned(), flags, cx);
                Arc::new(AgentMessage::from(message))
            }
        };
        cx.emit(AgentEvent::TurnEnd {
            message,
            tool_results: Vec::new(),
        });
        self.end(flags, cx);
    }
}

fn send_request(phase: &mut LoopPhase, cx: &mut Context) {
    *phase = LoopPhase::Streaming(None);
    cx.push(Effect::Stream);
}

/// Begins a loop with the open calls of a response that is stored.
pub(in crate::machine) fn resume_turn(turn: OpenTurn, cx: &mut Context) -> TurnLoop {
    cx.emit(AgentEvent::AgentStart);
    cx.emit(AgentEvent::TurnStart);
    let mut turns = TurnLoop {
        phase: LoopPhase::Responding,
        plan: Plan::default(),
        new_messages: Vec::new(),
        last_response: Some(Arc::clone(&turn.response)),
        last_results: Vec::new(),
        is_failing: false,
    };
    turns.run_calls(turn.response, turn.calls, RunFlags::default(), cx);
    turns
}
