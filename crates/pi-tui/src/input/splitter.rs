//! Cutting the byte stream into sequences.
//!
//! Knows where a sequence ends, not what it means. Bytes go through one state machine, so that any
//! split of the stream gives the same pieces; only [`Splitter::expire`] depends on time.

use std::time::{Duration, Instant};

use super::paste::PasteBuffer;

#[cfg(test)]
mod tests;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
const PASTE_START: &[u8] = b"\x1b[200~";

/// The longest sequence kept; nothing a terminal has to say comes near it. The rest is dropped.
const SEQUENCE_LIMIT: usize = 64 * 1024;

/// Beyond this the Escape key would seem dead.
const LONGEST_ESCAPE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for the rest of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputTiming {
    /// After a lone ESC, which may be the Escape key or the start of a sequence.
    pub escape: Duration,
    /// After the start of any other sequence.
    pub sequence: Duration,
    /// After the start of what looks like a terminal's reply, which no key can be.
    pub reply: Duration,
}

impl Default for InputTiming {
    fn default() -> Self {
        Self {
            escape: Duration::from_millis(10),
            sequence: Duration::from_millis(50),
            reply: Duration::from_millis(150),
        }
    }
}

/// Milliseconds to wait after a lone ESC, in place of the default.
const ESCAPE_TIMEOUT_VARIABLE: &str = "PI_TUI_ESC_TIMEOUT";

impl InputTiming {
    /// Returns the timing for this terminal; `variable` looks up the environment.
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
        let timing = if is_set("SSH_CONNECTION") || is_set("SSH_TTY") {
            Self::over_ssh()
        } else {
            Self::default()
        };
        let chosen = variable(ESCAPE_TIMEOUT_VARIABLE)
            .and_then(|value| value.trim().parse::<f64>().ok())
            .filter(|milliseconds| *milliseconds > 0.0)
            .and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1000.0).ok());
        Self {
            escape: chosen.unwrap_or(timing.escape).min(LONGEST_ESCAPE_TIMEOUT),
            ..timing
        }
    }

    /// Returns the timing for a connection over SSH, where packets tear sequences apart.
    pub fn over_ssh() -> Self {
        Self {
            escape: Duration::from_millis(100),
            ..Self::default()
        }
    }
}

/// What the splitter cuts out of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A character, an escape sequence, or a fragment of either that went nowhere.
    Sequence(Vec<u8>),
    /// What stood between bracketed paste markers.
    Paste(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    /// Inside a character, with so many bytes to come.
    Character {
        missing: u8,
    },
    Escape,
    DoubleEscape,
    /// After `ESC [`.
    ControlStart,
    /// Inside the parameters of a control sequence.
    Control,
    /// After `ESC [ [`.
    Console,
    /// After `ESC [ M`: coordinates follow as bare bytes.
    OldMouse {
        missing: u8,
    },
    /// After `ESC O`.
    Application,
    /// Inside an OSC, DCS or APC string.
    String,
    /// Inside such a string, after ESC.
    StringEscape,
    /// Between bracketed paste markers.
    Paste,
}

/// The splitter; see the module.
#[derive(Clone, Debug)]
pub(super) struct Splitter {
    timing: InputTiming,
    state: State,
    /// The bytes of the sequence under way.
    pending: Vec<u8>,
    /// The sequence under way has an ESC in front that may not belong to it.
    has_leading_escape: bool,
    paste: PasteBuffer,
    /// A reply is expected, so that `ESC [` is more likely to start one than to be Alt+[.
    pub(super) awaits_reply: bool,
    deadline: Option<Instant>,
}

impl Splitter {
    pub(super) fn new(timing: InputTiming) -> Self {
        Self {
            timing,
            state: State::Ground,
            pending: Vec::new(),
            has_leading_escape: false,
            paste: PasteBuffer::default(),
            awaits_reply: false,
            deadline: None,
        }
    }

    /// Takes bytes and appends the pieces they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], now: Instant, pieces: &mut Vec<Piece>) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.state == State::Paste {
                let (taken, content) = self.paste.push(bytes);
                bytes = bytes.get(taken..).unwrap_or_default();
                if let Some(content) = content {
                    self.state = if content.is_last {
                        State::Ground
                    } else {
                        State::Paste
                    };
                    pieces.push(Piece::Paste(content.bytes));
                }
            } else {
                self.advance(*first, pieces);
                bytes = rest;
            }
        }
        self.deadline = self.patience().map(|patience| now + patience);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Stops waiting for the rest of a sequence if its time is up, and appends what there is of it.
    pub(super) fn expire(&mut self, now: Instant, pieces: &mut Vec<Piece>) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.deadline = None;
        self.state = State::Ground;
        // Terminals with 8-bit input set the high bit for Alt.
        if let [meta @ 0x80..=0xff] = *self.pending {
            self.pending = vec![ESCAPE, meta & 0x7f];
        }
        self.release(pieces);
    }

    /// Returns how long to wait for the rest of what is pending.
    fn patience(&self) -> Option<Duration> {
        let reply = match self.pending.as_slice() {
            [ESCAPE, b'[', b'?' | b'>' | b'<', ..] | [ESCAPE, b']' | b'P' | b'_', _, ..] => true,
            [ESCAPE, b'['] => self.awaits_reply,
            _ => false,
        };
        match self.state {
            State::Ground | State::Paste => None,
            State::Escape | State::DoubleEscape => Some(self.timing.escape),
            _ if reply => Some(self.timing.reply),
            _ => Some(self.timing.sequence),
        }
    }

    fn advance(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        match self.state {
            State::Ground | State::Paste => self.begin(byte, pieces),
            State::Character { missing } => match byte {
                0x80..=0xbf if missing == 1 => self.complete(byte, pieces),
                0x80..=0xbf => self.keep(
                    byte,
                    State::Character {
                        missing: missing - 1,
                    },
                ),
                _ => self.restart(byte, pieces),
            },
            State::Escape => self.after_escape(byte, pieces),
            State::DoubleEscape => self.after_double_escape(byte, pieces),
            State::ControlStart => match byte {
                b'M' => self.keep(byte, State::OldMouse { missing: 3 }),
                b'[' => self.keep(byte, State::Console),
                _ => self.in_control(byte, pieces),
            },
            State::Control => self.in_control(byte, pieces),
            State::Console => match byte {
                b'0'..=b'9' => self.keep(byte, State::Console),
                b'A'..=b'E' | b'~' => self.complete(byte, pieces),
                _ => self.restart(byte, pieces),
            },
            State::OldMouse { missing: 1 } => self.complete(byte, pieces),
            State::OldMouse { missing } => {
                self.keep(
                    byte,
                    State::OldMouse {
                        missing: missing - 1,
                    },
                );
            }
            State::Application => match byte {
                b'0'..=b'9' | b';' => self.keep(byte, State::Application),
                0x20..=0x7e => self.complete(byte, pieces),
                _ => self.restart(byte, pieces),
            },
            State::String => match byte {
                ESCAPE => self.keep(byte, State::StringEscape),
                BELL | 0x18 | 0x1a => self.complete(byte, pieces),
                _ => self.keep(byte, State::String),
            },
            State::StringEscape if byte == b'\\' => self.complete(byte, pieces),
            State::StringEscape => {
                // The ESC cancelled the string and starts another sequence.
                self.pending.pop();
                self.restart(ESCAPE, pieces);
                self.advance(byte, pieces);
            }
        }
    }

    fn begin(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        match byte {
            ESCAPE => self.keep(byte, State::Escape),
            0xc2..=0xdf => self.keep(byte, State::Character { missing: 1 }),
            0xe0..=0xef => self.keep(byte, State::Character { missing: 2 }),
            0xf0..=0xf4 => self.keep(byte, State::Character { missing: 3 }),
            _ => self.complete(byte, pieces),
        }
    }

    fn after_escape(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        match byte {
            ESCAPE => self.keep(byte, State::DoubleEscape),
            b'[' => self.keep(byte, State::ControlStart),
            b'O' => self.keep(byte, State::Application),
            b']' | b'P' | b'_' => self.keep(byte, State::String),
            _ => self.begin(byte, pieces),
        }
    }

    /// Tells Escape pressed twice from Escape in front of a sequence.
    fn after_double_escape(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        match byte {
            b'[' | b'O' | b']' | b'P' | b'_' => {
                self.pending.pop();
                self.has_leading_escape = true;
                self.after_escape(byte, pieces);
            }
            _ => self.restart(byte, pieces),
        }
    }

    fn in_control(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        let digits_only = || {
            let body = self.pending.get(2..).unwrap_or_default();
            !body.is_empty() && body.iter().all(u8::is_ascii_digit)
        };
        match byte {
            // rxvt ends Shift+Insert with a byte that is no final byte elsewhere.
            b'$' if digits_only() => self.complete(byte, pieces),
            0x20..=0x3f => self.keep(byte, State::Control),
            0x40..=0x7e => self.complete(byte, pieces),
            _ => self.restart(byte, pieces),
        }
    }

    /// Adds a byte to the sequence under way.
    fn keep(&mut self, byte: u8, state: State) {
        if self.pending.len() < SEQUENCE_LIMIT {
            self.pending.push(byte);
        }
        self.state = state;
    }

    /// Ends the sequence under way with this byte.
    fn complete(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        self.keep(byte, State::Ground);
        self.release(pieces);
    }

    /// Ends the sequence under way, since this byte cannot belong to it, and starts anew.
    fn restart(&mut self, byte: u8, pieces: &mut Vec<Piece>) {
        self.state = State::Ground;
        self.release(pieces);
        self.begin(byte, pieces);
    }

    fn release(&mut self, pieces: &mut Vec<Piece>) {
        let mut sequence = std::mem::take(&mut self.pending);
        if std::mem::take(&mut self.has_leading_escape) {
            if takes_alt_as_escape(&sequence) {
                sequence.insert(0, ESCAPE);
            } else {
                pieces.push(Piece::Sequence(vec![ESCAPE]));
            }
        }
        if sequence == PASTE_START {
            self.state = State::Paste;
        } else if !sequence.is_empty() {
            pieces.push(Piece::Sequence(sequence));
        }
    }
}

/// Returns whether a sequence is of the kind that rxvt and iTerm2 put an ESC in front of for Alt.
///
/// WezTerm sends a bare ESC when Escape goes down and a Kitty sequence when it goes up; that one, a reply
/// or a paste must not be taken for Alt.
fn takes_alt_as_escape(sequence: &[u8]) -> bool {
    match sequence {
        [ESCAPE, b'O', .., 0x40..=0x7e] => true,
        [ESCAPE, b'[', parameters @ .., last] => {
            matches!(last, b'A'..=b'F' | b'H' | b'P'..=b'S' | b'Z' | b'a'..=b'd' | b'~' | b'^' | b'$' | b'@')
                && parameters
                    .iter()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b';'))
                && !matches!(sequence, b"\x1b[200~" | b"\x1b[201~")
        }
        _ => false,
    }
}
