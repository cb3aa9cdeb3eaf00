//! What a loop does next: effects, and messages to record one after the other.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_protocol::{AgentEvent, AgentMessage, QueueId, RecoveryState, SharedMessage};

use super::context::Context;
use super::effect::Effect;
use crate::queue::Queued;

#[derive(Debug, Default)]
pub(super) struct Plan {
    items: VecDeque<PlanItem>,
    /// The message being recorded.
    recording: Option<SharedMessage>,
}

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

impl PlanItem {
    pub(super) fn record(message: impl Into<AgentMessage>) -> Self {
        Self::Record {
            message: Arc::new(message.into()),
            queued: None,
            started: false,
        }
    }

    pub(super) fn queued(queued: Queued) -> Self {
        Self::Record {
            message: Arc::new(queued.message),
            queued: Some(queued.id),
            started: false,
        }
    }
}

impl Plan {
    pub(super) fn new(items: impl IntoIterator<Item = PlanItem>) -> Self {
        Self {
            items: items.into_iter().collect(),
            recording: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn is_recording(&self) -> bool {
        self.recording.is_some()
    }

    pub(super) fn take_recording(&mut self) -> Option<SharedMessage> {
        self.recording.take()
    }

    /// Returns the ID of the call whose start is not emitted yet.
    pub(super) fn unstarted_call(&self) -> Option<&str> {
        self.items.iter().find_map(|item| match item {
            PlanItem::Effect(Effect::Preflight(call)) => Some(&*call.id),
            _ => None,
        })
    }

    pub(super) fn insert_first(&mut self, item: PlanItem) {
        self.items.push_front(item);
    }

    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = PlanItem>) {
        self.items.extend(items);
    }

    /// Performs the plan up to the next effect with an outcome. Returns whether it is complete.
    pub(super) fn advance(&mut self, cx: &mut Context) -> bool {
        while let Some(item) = self.items.pop_front() {
            match item {
                PlanItem::Effect(effect) => {
                    let waits = effect.has_outcome();
                    cx.push(effect);
                    if waits {
                        return false;
                    }
                }
                PlanItem::Record {
                    message,
                    queued,
                    started,
                } => {
                    self.record(message, queued, started, cx);
                    return false;
                }
            }
        }
        true
    }

    fn record(
        &mut self,
        message: SharedMessage,
        queued: Option<QueueId>,
        started: bool,
        cx: &mut Context,
    ) {
        self.recording = Some(Arc::clone(&message));
        if let Some(id) = queued
            && cx.queue.start_recording(id)
        {
            cx.push(Effect::PublishQueue);
        }
        if !started {
            if matches!(*message, AgentMessage::User(_)) {
                cx.recovery = RecoveryState::NotAttempted;
            }
            cx.emit(AgentEvent::MessageStart {
                message: Arc::clone(&message),
            });
        }
        cx.push(Effect::Record(message));
    }
}
