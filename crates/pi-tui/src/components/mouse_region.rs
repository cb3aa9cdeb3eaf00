//! A component with a mouse handler around it.

use std::fmt;

use crate::component::{Component, InputContext, InputOutcome, MouseOutcome};
use crate::input::{InputEvent, MouseEvent};
use crate::line::Lines;

type MouseHandler = Box<dyn FnMut(&MouseEvent) -> MouseOutcome + Send>;

/// Shows a component and passes its mouse events to a handler first.
pub struct MouseRegion {
    inner: Box<dyn Component>,
    handler: MouseHandler,
}

impl MouseRegion {
    /// Wraps `inner`, which receives the events that `handler` does not stop.
    pub fn new(
        inner: impl Component,
        handler: impl FnMut(&MouseEvent) -> MouseOutcome + Send + 'static,
    ) -> Self {
        Self {
            inner: Box::new(inner),
            handler: Box::new(handler),
        }
    }

    pub fn inner_mut(&mut self) -> &mut dyn Component {
        self.inner.as_mut()
    }
}

impl fmt::Debug for MouseRegion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MouseRegion")
    }
}

impl Component for MouseRegion {
    fn render(&mut self, width: usize) -> Lines {
        self.inner.render(width)
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        self.inner.handle_input(event, context)
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        let outcome = (self.handler)(event);
        if outcome.stops_propagation() {
            return outcome;
        }
        self.inner.handle_mouse(event, context)
    }

    fn invalidate(&mut self) {
        self.inner.invalidate();
    }

    fn set_focused(&mut self, focused: bool) {
        self.inner.set_focused(focused);
    }

    fn wants_key_release(&self) -> bool {
        self.inner.wants_key_release()
    }
}
