//! Queued messages: steering for the next turn, follow-ups for the point where a run would end.
//!
//! Every message has an ID. A message leaves the queue exactly once: it is delivered or cleared. Between the
//! decision to deliver it and its `message_start` it is still listed, but can no longer be cleared.

use std::collections::VecDeque;

use pi_protocol::{AgentMessage, Delivery, QueueId, QueueMode, QueuedTexts};

#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    pub id: QueueId,
    pub delivery: Delivery,
    pub message: AgentMessage,
    /// The text to show; `None` for messages of extensions, which are not shown.
    pub text: Option<String>,
}

/// The queues of a session.
#[derive(Debug, Clone, Default)]
pub struct MessageQueue {
    steering: VecDeque<Queued>,
    follow_ups: VecDeque<Queued>,
    /// Taken for the next turn, which has not started yet.
    taken: Vec<Queued>,
    /// Part of the turn that is starting; listed until its `message_start`.
    delivering: Vec<Queued>,
    /// The first messages of a run that are not stored yet. They are listed only if they return to the queue.
    opening: Vec<Queued>,
    /// Started, but not stored yet.
    recording: Option<Queued>,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
    last_id: u64,
}

impl MessageQueue {
    pub fn set_modes(&mut self, steering: QueueMode, follow_up: QueueMode) {
        self.steering_mode = steering;
        self.follow_up_mode = follow_up;
    }

    pub fn push(
        &mut self,
        message: AgentMessage,
        text: Option<String>,
        delivery: Delivery,
    ) -> QueueId {
        self.last_id += 1;
        let id = QueueId(self.last_id);
        self.lane(delivery).push_back(Queued {
            id,
            delivery,
            message,
            text,
        });
        id
    }

    fn lane(&mut self, delivery: Delivery) -> &mut VecDeque<Queued> {
        match delivery {
            Delivery::Steer => &mut self.steering,
            Delivery::FollowUp => &mut self.follow_ups,
        }
    }

    /// Whether messages are waiting that no turn has started to deliver.
    pub fn has_waiting(&self) -> bool {
        !(self.steering.is_empty() && self.follow_ups.is_empty() && self.taken.is_empty())
    }

    /// Takes steering messages for the next turn, unless it already has messages.
    pub(crate) fn take_steering(&mut self) {
        self.take(Delivery::Steer);
    }

    /// Takes follow-ups for the next turn, unless it already has messages.
    pub(crate) fn take_follow_ups(&mut self) {
        self.take(Delivery::FollowUp);
    }

    fn take(&mut self, delivery: Delivery) {
        if !self.taken.is_empty() {
            return;
        }
        let mode = match delivery {
            Delivery::Steer => self.steering_mode,
            Delivery::FollowUp => self.follow_up_mode,
        };
        let lane = self.lane(delivery);
        let count = match mode {
            QueueMode::All => lane.len(),
            QueueMode::OneAtATime => lane.len().min(1),
        };
        self.taken = lane.drain(..count).collect();
    }

    pub(crate) fn has_taken(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Starts to deliver the taken messages.
    pub(crate) fn begin_delivery(&mut self) -> Vec<Queued> {
        let taken = std::mem::take(&mut self.taken);
        self.delivering.extend(taken.iter().cloned());
        taken
    }

    /// Starts to deliver the first messages of a run, each with the text to show if it cannot be stored.
    pub(crate) fn begin_opening(
        &mut self,
        messages: Vec<(AgentMessage, Option<String>)>,
    ) -> Vec<Queued> {
        let messages = messages.into_iter().map(|(message, text)| {
            self.last_id += 1;
            Queued {
                id: QueueId(self.last_id),
                delivery: Delivery::Steer,
                message,
                text,
            }
        });
        self.opening = messages.collect();
        self.opening.clone()
    }

    /// Unlists a message whose `message_start` is next. Returns whether it was shown.
    pub(crate) fn start_recording(&mut self, id: QueueId) -> bool {
        let place = |list: &[Queued]| list.iter().position(|queued| queued.id == id);
        if let Some(place) = place(&self.opening) {
            self.recording = Some(self.opening.remove(place));
            return false;
        }
        let place = place(&self.delivering);
        self.recording = place.map(|place| self.delivering.remove(place));
        self.recording
            .as_ref()
            .is_some_and(|queued| queued.text.is_some())
    }

    /// Forgets the message that was being recorded: it is stored.
    pub(crate) fn finish_recording(&mut self) {
        self.recording = None;
    }

    /// Puts messages back that were taken but not stored, in their old order. Returns whether the shown ones changed.
    pub(crate) fn put_back(&mut self) -> bool {
        let recording = self.recording.take();
        let unlisted: Vec<_> = recording
            .into_iter()
            .chain(self.opening.drain(..))
            .collect();
        let is_shown = unlisted.iter().any(|queued| queued.text.is_some());
        let delivering = std::mem::take(&mut self.delivering);
        let taken = std::mem::take(&mut self.taken);
        let all = unlisted.into_iter().chain(delivering).chain(taken);
        for queued in all.collect::<Vec<_>>().into_iter().rev() {
            self.lane(queued.delivery).push_front(queued);
        }
        is_shown
    }

    /// Empties the queues and returns their messages.
    pub fn clear(&mut self) -> Vec<Queued> {
        let taken = std::mem::take(&mut self.taken);
        let steering = self.steering.drain(..);
        let follow_ups = self.follow_ups.drain(..);
        taken
            .into_iter()
            .chain(steering)
            .chain(follow_ups)
            .collect()
    }

    /// Returns all listed messages: those about to be delivered, then steering, then follow-ups.
    pub fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.delivering
            .iter()
            .chain(&self.taken)
            .chain(&self.steering)
            .chain(&self.follow_ups)
    }

    /// Returns all messages that are not stored yet: those that are listed, and the one being
    /// stored.
    pub fn unstored(&self) -> impl Iterator<Item = &Queued> {
        self.recording.iter().chain(self.iter())
    }

    /// Returns the texts to show.
    pub fn texts(&self) -> QueuedTexts {
        queued_texts(self.iter())
    }

    /// Returns the messages the next turn would take.
    pub fn peek(&self) -> Vec<AgentMessage> {
        let first = |lane: &VecDeque<Queued>, mode| match mode {
            QueueMode::All => lane.len(),
            QueueMode::OneAtATime => lane.len().min(1),
        };
        let messages: Vec<&Queued> = if !self.taken.is_empty() {
            self.taken.iter().collect()
        } else if !self.steering.is_empty() {
            let count = first(&self.steering, self.steering_mode);
            self.steering.iter().take(count).collect()
        } else {
            let count = first(&self.follow_ups, self.follow_up_mode);
            self.follow_ups.iter().take(count).collect()
        };
        messages
            .into_iter()
            .map(|queued| queued.message.clone())
            .collect()
    }
}

/// Returns the texts to show of queued messages.
pub(crate) fn queued_texts<'queue>(queue: impl Iterator<Item = &'queue Queued>) -> QueuedTexts {
    let mut texts = QueuedTexts::default();
    for queued in queue {
        let Some(text) = &queued.text else { continue };
        let lane = match queued.delivery {
            Delivery::Steer => &mut texts.steering,
            Delivery::FollowUp => &mut texts.follow_up,
        };
        lane.push(text.clone());
    }
    texts
}

#[cfg(test)]
mod tests {
    use pi_protocol::UserMessage;
    use pretty_assertions::assert_eq;

    use super::*;

    fn push(queue: &mut MessageQueue, text: &str, delivery: Delivery) -> QueueId {
        let message = AgentMessage::from(UserMessage {
            content: text.into(),
            ..UserMessage::default()
        });
        queue.push(message, Some(text.to_owned()), delivery)
    }

    #[test]
    fn two_messages_with_equal_texts_are_distinct() {
        let mut queue = MessageQueue::default();
        push(&mut queue, "same", Delivery::Steer);
        let second = push(&mut queue, "same", Delivery::FollowUp);
        queue.take_follow_ups();
        let delivering = queue.begin_delivery();
        assert_eq!(delivering[0].id, second);
        assert!(queue.start_recording(second));
        assert_eq!(queue.texts().steering, ["same"]);
        assert!(queue.texts().follow_up.is_empty());
    }

    #[test]
    fn a_message_without_text_is_delivered_but_not_listed() {
        let mut queue = MessageQueue::default();
        let image = AgentMessage::from(UserMessage::default());
        let id = queue.push(image, None, Delivery::Steer);
        assert_eq!(queue.texts(), QueuedTexts::default());
        queue.take_steering();
        assert_eq!(queue.begin_delivery().len(), 1);
        assert!(!queue.start_recording(id));
        queue.finish_recording();
        assert!(!queue.has_waiting());
    }

    #[test]
    fn cleared_messages_are_never_delivered_and_delivered_ones_never_cleared() {
        let mut queue = MessageQueue::default();
        push(&mut queue, "first", Delivery::Steer);
        push(&mut queue, "second", Delivery::Steer);
        push(&mut queue, "later", Delivery::FollowUp);
        queue.take_steering();
        queue.begin_delivery();
        let cleared = queued_texts(queue.clear().iter());
        assert_eq!(cleared.steering, ["second"]);
        assert_eq!(cleared.follow_up, ["later"]);
        assert_eq!(queue.texts().steering, ["first"]);
        assert!(!queue.has_waiting());
    }

    #[test]
    fn interrupted_deliveries_return_to_the_front() {
        let mut queue = MessageQueue::default();
        queue.set_modes(QueueMode::All, QueueMode::OneAtATime);
        for text in ["a", "b"] {
            push(&mut queue, text, Delivery::Steer);
        }
        queue.take_steering();
        queue.begin_delivery();
        push(&mut queue, "c", Delivery::Steer);
        queue.put_back();
        assert_eq!(queue.texts().steering, ["a", "b", "c"]);
    }
}
