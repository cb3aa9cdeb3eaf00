//! Loops that end with an error message, because of a hook, the store or a panic.

use std::sync::Arc;

use pi_protocol::{AgentEvent, AgentMessage, AssistantBlock, AssistantMessage, StopReason};

use super::{LoopEnd, LoopPhase, PollPoint, TurnLoop};
use crate::machine::context::Context;
use crate::machine::effect::Effect;
use crate::machine::plan::{Plan, PlanItem};
use crate::machine::run::RunFlags;

impl TurnLoop {
    /// Ends the loop with an error message.
    pub(super) fn fail(&mut self, error: String, flags: RunFlags, cx: &mut Context) {
        if self.is_failing || matches!(self.phase, LoopPhase::Ending) {
            return;
        }
        self.is_failing = true;
        // An incomplete response ends with the error message.
        let is_response_open = match &self.phase {
            LoopPhase::Streaming(message) => message.is_some(),
            LoopPhase::Responding => self.plan.is_recording(),
            _ => false,
        };
        if let LoopPhase::RunningTools { batch, .. } = &mut self.phase {
            for event in batch.abandon(self.plan.unstarted_call()) {
                cx.push(Effect::Emit(event));
            }
        }
        let message = error_message(error, flags, cx);
        self.new_messages = Vec::new();
        self.phase = LoopPhase::Failing;
        self.plan = Plan::new([PlanItem::Record {
            message: Arc::new(AgentMessage::from(message)),
            queued: None,
            started: is_response_open,
        }]);
        cx.put_back_queued();
        self.advance(flags, cx);
    }

    /// Ends the loop after a panic. Every panic brings it closer to its end.
    pub(super) fn panicked(
        &mut self,
        error: String,
        flags: &mut RunFlags,
        cx: &mut Context,
    ) -> Option<LoopEnd> {
        match &self.phase {
            LoopPhase::Opening { .. }
            | LoopPhase::Requesting
            | LoopPhase::Routing
            | LoopPhase::AtBarrier
            | LoopPhase::Streaming(_)
            | LoopPhase::Responding
            | LoopPhase::RunningTools { .. }
            | LoopPhase::FinishingTurn { .. }
            | LoopPhase::Polling(PollPoint::LoopStart { .. }) => self.fail(error, *flags, cx),
            // The last turn has ended; the error message needs one.
            LoopPhase::EndingTurn(_) | LoopPhase::Polling(PollPoint::AfterTurn { .. }) => {
                cx.emit(AgentEvent::TurnStart);
                self.fail(error, *flags, cx);
            }
            LoopPhase::BetweenTurns { compaction, .. } => {
                compaction.panicked(cx);
                cx.emit(AgentEvent::TurnStart);
                self.fail(error, *flags, cx);
            }
            LoopPhase::FittingRoute(compaction) => {
                compaction.panicked(cx);
                self.fail(error, *flags, cx);
            }
            LoopPhase::Failing => self.recorded(Err(error), flags, cx),
            LoopPhase::Ending => return Some(self.take_end()),
        }
        None
    }
}

pub(super) fn error_message(error: String, flags: RunFlags, cx: &Context) -> AssistantMessage {
    let message = AssistantMessage {
        content: vec![AssistantBlock::text("")],
        stop_reason: if flags.aborted {
            StopReason::Aborted
        } else {
            StopReason::Error
        },
        error_message: Some(error),
        timestamp: cx.now_ms,
        ..AssistantMessage::default()
    };
    match &cx.selection.model {
        Some(model) => AssistantMessage {
            api: model.api.clone(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            ..message
        },
        None => message,
    }
}
