//! Listeners: they hear keys and pastes before the component that has the keyboard.

use super::Tui;
use crate::input::InputEvent;

/// What a listener makes of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenerOutcome {
    /// The event goes on as it is.
    Pass,
    /// Nobody else gets the event.
    Consumed,
    /// Another event goes on in its place.
    Replaced(InputEvent),
}

/// Names a listener; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(u64);

type Listen = Box<dyn FnMut(&InputEvent) -> ListenerOutcome + Send>;

/// The listeners in the order in which they came.
#[derive(Default)]
pub(super) struct Listeners {
    listeners: Vec<(ListenerId, Listen)>,
    next_id: u64,
}

impl Listeners {
    /// Returns the event that goes on, if one does.
    pub(super) fn hear(&mut self, event: &InputEvent) -> Option<InputEvent> {
        let mut event = event.clone();
        for (_, listen) in &mut self.listeners {
            match listen(&event) {
                ListenerOutcome::Pass => {}
                ListenerOutcome::Consumed => return None,
                ListenerOutcome::Replaced(other) => event = other,
            }
        }
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listeners.is_empty()
    }
}

impl Tui {
    /// Makes `listen` hear keys, pastes and unknown sequences before anybody else.
    pub fn add_listener(
        &mut self,
        listen: impl FnMut(&InputEvent) -> ListenerOutcome + Send + 'static,
    ) -> ListenerId {
        let id = ListenerId(self.listeners.next_id);
        self.listeners.next_id += 1;
        self.listeners.listeners.push((id, Box::new(listen)));
        id
    }

    /// Makes a listener hear nothing more.
    pub fn remove_listener(&mut self, id: ListenerId) {
        self.listeners.listeners.retain(|(known, _)| *known != id);
    }
}
