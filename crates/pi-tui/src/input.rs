//! Decodes terminal bytes into input events.
//!
//! [`InputDecoder`] splits the byte stream into sequences, distinguishes keys, pastes, mouse
//! reports and terminal replies, and emits each with its raw bytes. It performs no I/O and reads no
//! clock: the caller passes bytes and instants.

use std::borrow::Cow;
use std::time::Instant;

mod control;
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
    ActionDefinition, InvalidKey, KeyConflict, Keybindings, Platform, TUI_ACTIONS, UserKeybindings,
    action,
};
pub use mouse::{MouseButton, MouseEvent, MouseEventKind, MouseReport};
pub use paste::Paste;
pub use reply::{ColorSlot, TerminalReply};
pub use splitter::InputTiming;

use splitter::{InputPiece, SequenceSplitter};

#[cfg(test)]
mod tests;

/// An event received from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputEvent {
    Key(KeyEvent),
    Paste(Paste),
    Mouse(MouseReport),
    Focus(FocusChange),
    /// The terminal replied to a query.
    Reply(TerminalReply),
    /// A sequence without a known meaning.
    Unknown(Vec<u8>),
}

impl InputEvent {
    /// Whether the event is a key release, which few components want.
    pub fn is_key_release(&self) -> bool {
        matches!(self, Self::Key(key) if key.is_release())
    }

    /// Returns the bytes of the event, as extension components expect them.
    ///
    /// Keys and unknown sequences return the bytes the terminal sent. A paste is wrapped in its
    /// markers again, and a mouse report is encoded in SGR form. Replies return nothing.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FocusChange {
    Gained,
    Lost,
}

/// Turns terminal bytes into [`InputEvent`]s.
///
/// ```
/// use std::time::Instant;
/// use pi_tui::{InputDecoder, InputEvent, InputTiming, KeyboardMode};
///
/// let now = Instant::now();
/// let mut decoder = InputDecoder::new(InputTiming::default(), KeyboardMode::default());
/// let events = decoder.push(b"\x1b[1;5D", now);
/// assert!(matches!(&events[..], [InputEvent::Key(key)] if key.is("ctrl+left".parse().unwrap())));
///
/// // A lone ESC becomes the Escape key when the timeout expires.
/// assert!(decoder.push(b"\x1b", now).is_empty());
/// let events = decoder.expire(decoder.deadline().unwrap());
/// assert!(matches!(&events[..], [InputEvent::Key(key)] if key.is("escape".parse().unwrap())));
/// ```
#[derive(Clone, Debug)]
pub struct InputDecoder {
    splitter: SequenceSplitter,
    mode: KeyboardMode,
    /// A character just reported in Kitty form. Some terminals send it again as text.
    just_reported: Option<char>,
}

impl InputDecoder {
    pub fn new(timing: InputTiming, mode: KeyboardMode) -> Self {
        Self {
            splitter: SequenceSplitter::new(timing),
            mode,
            just_reported: None,
        }
    }

    /// Changes how ambiguous keys are decoded, once the terminal has reported its protocol.
    pub fn set_mode(&mut self, mode: KeyboardMode) {
        self.mode = mode;
    }

    pub fn mode(&self) -> KeyboardMode {
        self.mode
    }

    /// Sets whether a terminal reply is pending.
    ///
    /// While one is, `ESC [` waits for its continuation as long as a reply would.
    pub fn set_awaiting_reply(&mut self, awaiting: bool) {
        self.splitter.awaiting_reply = awaiting;
    }

    /// Takes the bytes read at `now` and returns the events they complete.
    ///
    /// An overdue [`deadline`](Self::deadline) is not applied here: if the program was busy, these
    /// bytes may contain the rest of a sequence. Read first, then call [`expire`](Self::expire).
    pub fn push(&mut self, bytes: &[u8], now: Instant) -> Vec<InputEvent> {
        let mut pieces = Vec::new();
        self.splitter.push(bytes, now, &mut pieces);
        pieces
            .into_iter()
            .filter_map(|piece| self.decode_piece(piece))
            .collect()
    }

    /// Returns when [`expire`](Self::expire) is due, if something is pending.
    pub fn deadline(&self) -> Option<Instant> {
        self.splitter.deadline()
    }

    /// Stops waiting at `now`: a lone ESC becomes the Escape key, a fragment an unknown sequence.
    ///
    /// Does nothing before the [`deadline`](Self::deadline).
    pub fn expire(&mut self, now: Instant) -> Vec<InputEvent> {
        let mut pieces = Vec::new();
        self.splitter.expire(now, &mut pieces);
        pieces
            .into_iter()
            .filter_map(|piece| self.decode_piece(piece))
            .collect()
    }

    /// Decodes a piece. Returns `None` for the repetition of a character that was just reported.
    fn decode_piece(&mut self, piece: InputPiece) -> Option<InputEvent> {
        let just_reported = self.just_reported.take();
        let event = match piece {
            InputPiece::Paste(bytes) => {
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                InputEvent::Paste(Paste { text })
            }
            InputPiece::Sequence(raw) => self.decode(raw),
        };
        if let InputEvent::Key(key) = &event {
            let is_sequence = key.raw().first() == Some(&0x1b);
            if !is_sequence && key.text().is_some() && key.text() == just_reported {
                return None;
            }
            if is_sequence && is_bare_report(key.raw()) {
                self.just_reported = key.text();
            }
        }
        Some(event)
    }

    fn decode(&self, raw: Vec<u8>) -> InputEvent {
        match raw.as_slice() {
            b"\x1b[I" => return InputEvent::Focus(FocusChange::Gained),
            b"\x1b[O" => return InputEvent::Focus(FocusChange::Lost),
            _ => {}
        }
        if let Some(report) = MouseReport::parse(&raw) {
            InputEvent::Mouse(report)
        } else if let Some(reply) = TerminalReply::parse(&raw) {
            InputEvent::Reply(reply)
        } else if let Some(key) = KeyEvent::parse(&raw, self.mode) {
            InputEvent::Key(key)
        } else {
            InputEvent::Unknown(raw)
        }
    }
}

/// Whether a sequence is a Kitty report without modifiers and event kind: `CSI … u`.
fn is_bare_report(raw: &[u8]) -> bool {
    matches!(raw, [0x1b, b'[', body @ .., b'u'] if !body.contains(&b';'))
}
