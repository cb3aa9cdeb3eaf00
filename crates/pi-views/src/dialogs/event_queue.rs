//! Events of a component inside a dialog, queued until the dialog handles them.

use std::sync::Arc;

use parking_lot::Mutex;

/// A queue shared by a component's handler and its owner.
#[derive(Debug)]
pub(super) struct EventQueue<E>(Arc<Mutex<Vec<E>>>);

impl<E> EventQueue<E> {
    pub(super) fn push(&self, event: E) {
        self.0.lock().push(event);
    }

    pub(super) fn take(&self) -> Vec<E> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<E> Clone for EventQueue<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
