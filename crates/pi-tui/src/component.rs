//! The interface between the TUI and everything it shows.
//!
//! A component renders lines for a given width and may handle input. Composition, focus and
//! painting belong to the renderer; the meaning of keys belongs to
//! [`Keybindings`](crate::Keybindings).

use std::any::Any;
use std::time::Instant;

use crate::input::{InputEvent, Keybindings, MouseEvent};
use crate::line::Lines;

/// Marks the text cursor's cell inside a rendered line.
///
/// A focused component writes it before the cursor's cell. The renderer removes it and places the
/// hardware cursor there, so that input methods open their window in the right position. It is an
/// APC string, which terminals ignore if one slips through.
pub const CURSOR_MARKER: &str = "\x1b_pi:c\x07";

/// Something that can be shown and optionally accept input.
///
/// `Any` is a supertrait so that an owner can recover the concrete type: `(component as &mut dyn
/// Any).downcast_mut::<Editor>()`.
pub trait Component: Any + Send {
    /// Renders the component. No line may be wider than `width` columns.
    ///
    /// Called every frame. Cache the result and return a clone while nothing has changed.
    fn render(&mut self, width: usize) -> Lines;

    /// Handles a key, a paste or an unrecognized sequence while focused.
    fn handle_input(&mut self, _event: &InputEvent, _context: &InputContext<'_>) -> InputOutcome {
        InputOutcome::Ignored
    }

    /// Handles a mouse event inside the component's area, in full-screen mode.
    fn handle_mouse(&mut self, _event: &MouseEvent, _context: &InputContext<'_>) -> MouseOutcome {
        MouseOutcome::default()
    }

    /// Drops cached lines, for example because the theme changed.
    fn invalidate(&mut self) {}

    /// Called when the component gains or loses keyboard focus.
    ///
    /// While focused, a component with a cursor emits [`CURSOR_MARKER`].
    fn set_focused(&mut self, _focused: bool) {}

    /// Whether to deliver key releases as well as presses.
    fn wants_key_release(&self) -> bool {
        false
    }

    /// Whether the component has an open list or dialog, which receives the scroll keys of
    /// full-screen mode before the transcript.
    fn captures_viewport_input(&self) -> bool {
        false
    }
}

/// Context for handling input.
#[derive(Clone, Copy, Debug)]
pub struct InputContext<'a> {
    pub keybindings: &'a Keybindings,
    /// When the event was read.
    pub now: Instant,
    /// Rows of the terminal, for components whose height depends on it.
    pub rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputOutcome {
    /// The event was handled; it is not passed on, and a frame is due.
    Consumed,
    /// The event has no meaning here; the owner may handle it.
    Ignored,
}

/// How a component responds to a mouse event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MouseOutcome {
    /// Stops propagation and the renderer's default handling (selection, scrolling).
    pub handled: bool,
    /// Sends subsequent drag and release events here, wherever the pointer goes. Implies `handled`.
    pub capture: bool,
    /// Gives keyboard focus to this component. Implies `handled`.
    pub focus: bool,
    /// Requests or suppresses a frame. By default presses, clicks, drags and wheel events redraw.
    pub render: Option<bool>,
}

impl MouseOutcome {
    /// Returns an outcome that only stops propagation.
    pub fn handled() -> Self {
        Self {
            handled: true,
            ..Self::default()
        }
    }

    /// Whether the event stops propagating.
    pub fn stops_propagation(self) -> bool {
        self.handled || self.capture || self.focus
    }
}
