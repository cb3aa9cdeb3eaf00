//! From terminal bytes to input events.
//!
//! [`InputDecoder`] splits the byte stream into sequences, tells keys, pastes, mouse reports and
//! terminal replies apart, and hands each on with its raw bytes. It performs no I/O and reads no
//! clock: the caller passes bytes and instants.

use std::borrow::Cow;
use std::time::Instant;

mod key;
mod key_id;
mod keybindings;
mod kitty;
mod legacy;
mod mouse;
mod paste;
mod reply;
mod splitter;

pub use key::{Key, KeyEvent, KeyEventKind, KeyboardMode, Modifiers};
pub use key_id::{KeyId, KeyIdError};
pub use keybindings::{
    ActionDefinition, Conflict, Keybindings, Platform, TUI_ACTIONS, UserBindings, action,
};
pub use mouse::{MouseButton, MouseEvent, MouseEventKind, MouseReport};
pub use paste::Paste;
pub use reply::{ColorSlot, TerminalReply};
pub use splitter::InputTiming;

/// One thing that arrived from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputEvent {
    /// A key was pressed, repeated or released.
    Key(KeyEvent),
    /// Text was pasted, as one unit.
    Paste(Paste),
    /// The mouse moved, clicked or turned its wheel.
    Mouse(MouseReport),
    /// The terminal window gained or lost focus.
    Focus(FocusChange),
    /// The terminal answered a question of ours.
    Reply(TerminalReply),
    /// A sequence without a known meaning.
    Unknown(Vec<u8>),
}

impl InputEvent {
    /// Returns the bytes the event stands for, as foreign components expect them.
    ///
    /// Keys and unknown sequences return what the terminal sent; a paste is put back between its
    /// markers and a mouse report is written in SGR form. Replies return nothing.
    pub fn raw(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Key(key) => Cow::Borrowed(key.raw()),
            Self::Paste(paste) => Cow::Owned(paste.to_bytes()),
            Self::Mouse(report) => Cow::Owned(report.to_bytes()),
            Self::Focus(FocusChange::Gained) => Cow::Borrowed(b"\x1b[I"),
            Self::Focus(FocusChange::Lost) => Cow::Borrowed(b"\x1b[O"),
            Self::Reply(_) => Cow::Borrowed(&[]),
            Self::Unknown(bytes) => Cow::Borrowed(bytes),
        }
    }
}

/// Which way the focus of the terminal window changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusChange {
    /// The window is the active one.
    Gained,
    /// Another window is active.
    Lost,
}

/// Turns terminal bytes into [`InputEvent`]s.
#[derive(Clone, Debug)]
pub struct InputDecoder {
    splitter: splitter::Splitter,
    mode: KeyboardMode,
}

impl InputDecoder {
    /// Starts with nothing pending.
    pub fn new(timing: InputTiming, mode: KeyboardMode) -> Self {
        Self {
            splitter: splitter::Splitter::new(timing),
            mode,
        }
    }

    /// Changes how ambiguous keys are read, once the terminal said what it speaks.
    pub fn set_mode(&mut self, mode: KeyboardMode) {
        self.mode = mode;
    }

    /// Returns how ambiguous keys are read.
    pub fn mode(&self) -> KeyboardMode {
        self.mode
    }

    /// Takes the bytes read at `now` and returns the events they complete.
    ///
    /// An overdue [`deadline`](Self::deadline) is not applied here: after a busy stretch the rest of a
    /// sequence may be among these bytes. Read first, then call [`expire`](Self::expire).
    pub fn push(&mut self, bytes: &[u8], now: Instant) -> Vec<InputEvent> {
        let _ = (bytes, now);
        Vec::new()
    }

    /// Returns when [`expire`](Self::expire) is due, if something is pending.
    pub fn deadline(&self) -> Option<Instant> {
        self.splitter.deadline()
    }

    /// Gives up waiting at `now`: a lone ESC becomes the Escape key, a fragment an unknown sequence.
    pub fn expire(&mut self, now: Instant) -> Vec<InputEvent> {
        let _ = now;
        Vec::new()
    }
}
