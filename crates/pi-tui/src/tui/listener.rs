//! Listeners that receive keys and pastes before the focused component.

use super::Tui;
use crate::input::InputEvent;

/// What a listener does with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenerOutcome {
    /// Passes the event on unchanged.
    Pass,
    /// Stops the event.
    Consumed,
    /// Passes on a different event instead.
    Replaced(InputEvent),
}

/// Identifies a listener. IDs are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(u64);

type ListenerFn = Box<dyn FnMut(&InputEvent) -> ListenerOutcome + Send>;

/// The listeners in registration order.
#[derive(Default)]
pub(super) struct Listeners {
    listeners: Vec<(ListenerId, ListenerFn)>,
    next_id: u64,
}

impl Listeners {
    /// Runs the listeners. Returns the event to pass on, if any.
    pub(super) fn dispatch(&mut self, event: &InputEvent) -> Option<InputEvent> {
        let mut event = event.clone();
        for (_, listener) in &mut self.listeners {
            match listener(&event) {
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
    /// Registers a listener that receives keys, pastes and unknown sequences before any component.
    pub fn add_listener(
        &mut self,
        listener: impl FnMut(&InputEvent) -> ListenerOutcome + Send + 'static,
    ) -> ListenerId {
        let id = ListenerId(self.listeners.next_id);
        self.listeners.next_id += 1;
        self.listeners.listeners.push((id, Box::new(listener)));
        id
    }

    pub fn remove_listener(&mut self, id: ListenerId) {
        self.listeners.listeners.retain(|(known, _)| *known != id);
    }
}
