//! Events of a component inside a dialog, kept until the dialog looks.

use std::sync::{Arc, Mutex, PoisonError};

/// A place that a component's handler puts events into and its owner takes them from.
#[derive(Debug)]
pub(super) struct EventQueue<E>(Arc<Mutex<Vec<E>>>);

impl<E> EventQueue<E> {
    pub(super) fn put(&self, event: E) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(event);
    }

    pub(super) fn take(&self) -> Vec<E> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
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
