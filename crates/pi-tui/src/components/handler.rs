//! Event callbacks: how a component reports events to its owner.

use std::fmt;

/// The owner's event callback. By default events are dropped.
pub(crate) struct Handler<E>(Option<Box<dyn FnMut(E) + Send>>);

impl<E> Handler<E> {
    pub(crate) fn set(&mut self, handle: impl FnMut(E) + Send + 'static) {
        self.0 = Some(Box::new(handle));
    }

    pub(crate) fn emit(&mut self, event: E) {
        if let Some(handle) = &mut self.0 {
            handle(event);
        }
    }
}

impl<E> Default for Handler<E> {
    fn default() -> Self {
        Self(None)
    }
}

impl<E> fmt::Debug for Handler<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Handler")
    }
}
