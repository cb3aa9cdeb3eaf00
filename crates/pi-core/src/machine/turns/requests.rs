//! From the end of a turn to the response of the next one.

use std::sync::Arc;

use pi_protocol::{AgentEvent, AgentMessage, AssistantMessageEvent, CompactionDecision};

use super::{LoopPhase, PollPoint, TurnLoop};
use crate::machine::compaction::ContextCompaction;
use crate::machine::context::Context;
use crate::machine::effect::{ContextCheck, Effect};
use crate::machine::input::Outcome;
use crate::machine::plan::{Plan, PlanItem};
use crate::machine::run::RunFlags;

impl TurnLoop {
    pub(super) fn polled(&mut self, point: PollPoint, flags: RunFlags, cx: &mut Context) {
        match point {
            PollPoint::LoopStart { skip } => {
                if !skip {
                    cx.queue.take_steering();
                }
                self.request(cx);
            }
            PollPoint::AfterTurn {
                calls_remain,
                asked_to_continue,
            } => {
                let must_request = calls_remain || asked_to_continue;
                cx.queue.take_steering();
                if !calls_remain {
                    cx.queue.take_follow_ups();
                }
                if !must_request && !cx.queue.has_taken() {
                    return self.end(flags, cx);
                }
                self.phase = LoopPhase::BetweenTurns {
                    compaction: ContextCompaction::check(ContextCheck::BetweenTurns, cx),
                    must_request,
                };
            }
        }
    }

    /// Compacts between two turns, or for the model of a routed request, if the next request would have too little
    /// room. No request failed, so none is omitted and sent again.
    pub(super) fn context_outcome(&mut self, outcome: Outcome, flags: RunFlags, cx: &mut Context) {
        let (compaction, must_request) = match &mut self.phase {
            LoopPhase::BetweenTurns {
                compaction,
                must_request,
            } => (compaction, Some(*must_request)),
            LoopPhase::FittingRoute(compaction) => (compaction, None),
            _ => return,
        };
        let outcome = match outcome {
            Outcome::ContextChecked(CompactionDecision::Compact { reason, .. }) => {
                Outcome::ContextChecked(CompactionDecision::Compact {
                    reason,
                    omit: Vec::new(),
                    retry: false,
                })
            }
            Outcome::ContextChecked(_) => Outcome::ContextChecked(CompactionDecision::Skip),
            outcome => outcome,
        };
        if compaction.outcome(outcome, cx).is_none() {
            return;
        }
        match must_request {
            Some(must_request) => self.next_turn(must_request, flags, cx),
            None => self.stream(cx),
        }
    }

    /// Checks the context for the model that a request was routed to. The route stays, whatever the check finds.
    pub(super) fn routed(&mut self, route: Result<(), String>, flags: RunFlags, cx: &mut Context) {
        if !matches!(self.phase, LoopPhase::Routing) {
            return;
        }
        match route {
            Ok(()) => {
                let compaction = ContextCompaction::check(ContextCheck::Routed, cx);
                self.phase = LoopPhase::FittingRoute(compaction);
            }
            Err(error) => self.fail(error, flags, cx),
        }
    }

    /// Starts the next turn. Messages steered during the context check belong to it; if the queued messages it was
    /// meant for are gone, the loop ends.
    fn next_turn(&mut self, must_request: bool, flags: RunFlags, cx: &mut Context) {
        cx.queue.take_steering();
        if !must_request && !cx.queue.has_taken() {
            return self.end(flags, cx);
        }
        cx.emit(AgentEvent::TurnStart);
        self.request(cx);
    }

    fn request(&mut self, cx: &mut Context) {
        let queued = cx.queue.begin_delivery();
        self.plan = Plan::new(queued.into_iter().map(PlanItem::queued));
        self.phase = LoopPhase::Requesting;
        cx.push(Effect::Compose);
    }

    pub(super) fn composed(
        &mut self,
        system: Result<Option<AgentMessage>, String>,
        flags: RunFlags,
        cx: &mut Context,
    ) {
        let is_opening = match self.phase {
            LoopPhase::Opening { .. } => true,
            LoopPhase::Requesting => false,
            _ => return,
        };
        match system {
            Ok(system) => {
                if let Some(system) = system {
                    self.plan.insert_first(PlanItem::record(system));
                }
                self.advance(flags, cx);
            }
            // The messages of the loop are stored without it, and the first request fails if this fails again.
            Err(_) if is_opening => self.advance(flags, cx),
            Err(error) => self.fail(error, flags, cx),
        }
    }

    pub(super) fn response_event(
        &mut self,
        event: AssistantMessageEvent,
        flags: RunFlags,
        cx: &mut Context,
    ) {
        let LoopPhase::Streaming(streaming) = &mut self.phase else {
            return;
        };
        if let Some(response) = event.final_message() {
            self.plan = Plan::new([PlanItem::Record {
                message: Arc::new(AgentMessage::Assistant(Arc::clone(response))),
                queued: None,
                started: streaming.is_some(),
            }]);
            self.phase = LoopPhase::Responding;
            return self.advance(flags, cx);
        }
        if let AssistantMessageEvent::Start { message } = event {
            let first = Arc::new(AgentMessage::from(message.snapshot()));
            *streaming = Some(message);
            cx.emit(AgentEvent::MessageStart { message: first });
        } else if let Some(message) = streaming {
            let message = message.clone();
            cx.emit(AgentEvent::message_update(message, event));
        }
    }
}
