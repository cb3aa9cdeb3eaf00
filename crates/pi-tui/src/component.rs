//! The contract between the TUI and everything it shows.
//!
//! A component turns a width into lines and may take input. Composing, focus bookkeeping and
//! painting belong to the renderer; key meaning belongs to [`Keybindings`](crate::Keybindings).

use std::any::Any;
use std::time::Instant;

use crate::input::{InputEvent, Keybindings, MouseEvent};
use crate::line::Lines;

/// Marks the cell of the text cursor inside a rendered line.
///
/// A focused component writes it in front of the cursor's cell. The renderer removes it and puts the
/// hardware cursor there, so that input methods open their window at the right place. It is an APC
/// string, which terminals ignore, should one ever slip through.
pub const CURSOR_MARKER: &str = "\x1b_pi:c\x07";

/// Something that can be shown, and perhaps typed into.
///
/// `Any` is a supertrait so that an owner can get its concrete component back:
/// `(component as &mut dyn Any).downcast_mut::<Editor>()`.
pub trait Component: Any + Send {
    /// Renders the component; no line may be wider than `width` columns.
    ///
    /// Called every frame. Cache the result and return a clone while nothing changed.
    fn render(&mut self, width: usize) -> Lines;

    /// Handles a key, a paste or an unrecognized sequence while focused.
    fn handle_input(&mut self, _event: &InputEvent, _context: &InputContext<'_>) -> InputOutcome {
        InputOutcome::Ignored
    }

    /// Handles a mouse event inside the component's area, in full-screen mode.
    fn handle_mouse(&mut self, _event: &MouseEvent, _context: &InputContext<'_>) -> MouseOutcome {
        MouseOutcome::default()
    }

    /// Drops cached lines, because the theme or another outside influence changed.
    fn invalidate(&mut self) {}

    /// Tells the component that it gained or lost keyboard focus.
    ///
    /// While focused it emits [`CURSOR_MARKER`] if it shows a cursor.
    fn set_focused(&mut self, _focused: bool) {}

    /// Returns whether key releases shall be delivered too; most components want presses only.
    fn wants_key_release(&self) -> bool {
        false
    }
}

/// What a component may consult while it handles input.
#[derive(Clone, Copy, Debug)]
pub struct InputContext<'a> {
    /// Which keys mean what.
    pub keybindings: &'a Keybindings,
    /// When the event was read.
    pub now: Instant,
    /// Rows of the terminal, for components whose height follows it.
    pub rows: usize,
}

/// Whether a component took an input event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputOutcome {
    /// The event was used; nobody else gets it and a frame is due.
    Consumed,
    /// The event means nothing here; the owner may use it.
    Ignored,
}

/// What a component asks for after a mouse event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MouseOutcome {
    /// Stops propagation and the renderer's own reaction (selection, scrolling).
    pub handled: bool,
    /// Sends the following drag and release events here, wherever the pointer goes. Implies `handled`.
    pub capture: bool,
    /// Gives keyboard focus to this component. Implies `handled`.
    pub focus: bool,
    /// Requests or suppresses a frame; by default presses, clicks, drags and wheel turns redraw.
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

    /// Returns whether the event goes no further.
    pub fn stops_propagation(self) -> bool {
        self.handled || self.capture || self.focus
    }
}
