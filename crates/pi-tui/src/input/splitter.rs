//! Splits the byte stream into sequences.
//!
//! It knows where a sequence ends, not what it means. Bytes go through a single state machine, so
//! that any split of the stream yields the same pieces; only [`SequenceSplitter::expire`] depends
//! on time.

use std::time::{Duration, Instant};

use super::paste::PasteBuffer;

#[cfg(test)]
mod tests;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
const PASTE_START: &[u8] = b"\x1b[200~";

/// Maximum length of a stored sequence, far beyond anything a terminal sends. The rest is dropped.
const SEQUENCE_LIMIT: usize = 64 * 1024;

/// With a longer timeout the Escape key would seem unresponsive.
const MAX_ESCAPE_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeouts for incomplete sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputTiming {
    /// After a lone ESC, which may be the Escape key or the start of a sequence.
    pub escape: Duration,
    /// After the start of any other sequence.
    pub sequence: Duration,
    /// After the start of a terminal reply, which cannot be a key.
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

/// Milliseconds to wait after a lone ESC, instead of the default.
const ESCAPE_TIMEOUT_VARIABLE: &str = "PI_TUI_ESC_TIMEOUT";

impl InputTiming {
    /// Returns the timing for this terminal. `variable` looks up environment variables.
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
            escape: chosen.unwrap_or(timing.escape).min(MAX_ESCAPE_TIMEOUT),
            ..timing
        }
    }

    /// Returns the timing for SSH connections, where sequences may be split across packets.
    pub fn over_ssh() -> Self {
        Self {
            escape: Duration::from_millis(100),
            ..Self::default()
        }
    }
}

/// A piece of the input stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputPiece {
    /// A character, an escape sequence, or an incomplete fragment of either.
    Sequence(Vec<u8>),
    /// The text between bracketed paste markers.
    Paste(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SplitterState {
    Ground,
    /// Inside a character, with this many bytes missing.
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
    /// After `ESC [ M`: coordinates follow as raw bytes.
    X10Mouse {
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

#[derive(Clone, Debug)]
pub(super) struct SequenceSplitter {
    timing: InputTiming,
    state: SplitterState,
    /// Bytes of the current sequence.
    pending: Vec<u8>,
    /// Whether the current sequence is preceded by an ESC that may not belong to it.
    has_leading_escape: bool,
    paste: PasteBuffer,
    /// Whether a reply is expected, in which case `ESC [` more likely starts one than means Alt+[.
    pub(super) awaiting_reply: bool,
    deadline: Option<Instant>,
}

impl SequenceSplitter {
    pub(super) fn new(timing: InputTiming) -> Self {
        Self {
            timing,
            state: SplitterState::Ground,
            pending: Vec::new(),
            has_leading_escape: false,
            paste: PasteBuffer::default(),
            awaiting_reply: false,
            deadline: None,
        }
    }

    /// Processes bytes and appends the completed pieces.
    pub(super) fn push(&mut self, mut bytes: &[u8], now: Instant, pieces: &mut Vec<InputPiece>) {
        while let Some((first, rest)) = bytes.split_first() {
            if self.state == SplitterState::Paste {
                let (taken, content) = self.paste.push(bytes);
                bytes = bytes.get(taken..).unwrap_or_default();
                if let Some(content) = content {
                    self.state = if content.is_last {
                        SplitterState::Ground
                    } else {
                        SplitterState::Paste
                    };
                    pieces.push(InputPiece::Paste(content.bytes));
                }
            } else {
                self.advance(*first, pieces);
                bytes = rest;
            }
        }
        self.deadline = self.timeout().map(|timeout| now + timeout);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Stops waiting for the rest of a sequence if its timeout has expired, and appends the
    /// fragment.
    pub(super) fn expire(&mut self, now: Instant, pieces: &mut Vec<InputPiece>) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.deadline = None;
        self.state = SplitterState::Ground;
        // Terminals with 8-bit input set the high bit for Alt.
        if let [meta @ 0x80..=0xff] = *self.pending {
            self.pending = vec![ESCAPE, meta & 0x7f];
        }
        self.flush(pieces);
    }

    /// Returns how long to wait for the rest of the pending bytes.
    fn timeout(&self) -> Option<Duration> {
        let reply = match self.pending.as_slice() {
            [ESCAPE, b'[', b'?' | b'>' | b'<', ..] | [ESCAPE, b']' | b'P' | b'_', _, ..] => true,
            [ESCAPE, b'['] => self.awaiting_reply,
            _ => false,
        };
        match self.state {
            SplitterState::Ground | SplitterState::Paste => None,
            SplitterState::Escape | SplitterState::DoubleEscape => Some(self.timing.escape),
            _ if reply => Some(self.timing.reply),
            _ => Some(self.timing.sequence),
        }
    }

    fn advance(&mut self, byte: u8, pieces: &mut Vec<InputPiece>) {
        match self.state {
            SplitterState::Ground | SplitterState::Paste => self.begin(byte, pieces),
            SplitterState::Character { missing } => match byte {
                0x80..=0xbf if missing == 1 => self.complete(byte, pieces),
                0x80..=0xbf => self.push_byte(
                    byte,
                    SplitterState::Character {
                        missing: missing - 1,
                    },
                ),
                _ => self.restart(byte, pieces),
            },
            SplitterState::Escape => self.after_escape(byte, pieces),
            SplitterState::DoubleEscape => self.after_double_escape(byte, pieces),
            SplitterState::ControlStart => match byte {
                b'M' => self.push_byte(byte, SplitterState::X10Mouse { missing: 3 }),
                b'[' => self.push_byte(byte, SplitterState::Console),
                _ => self.in_control(byte, pieces),
            },
            SplitterState::Control => self.in_control(byte, pieces),
            SplitterState::Console => match byte {
                b'0'..=b'9' => self.push_byte(byte, SplitterState::Console),
                b'A'..=b'E' | b'~' => self.complete(byte, pieces),
                _ => self.restart(byte, pieces),
            },
            SplitterState::X10Mouse { missing: 1 } => self.complete(byte, pieces),
            SplitterState::X10Mouse { missing } => {
                self.push_byte(
                    byte,
                    SplitterState::X10Mouse {
                        missing: missing - 1,
                    },
                );
            }
            SplitterState::Application => match byte {
                b'0'..=b'9' | b';' => self.push_byte(byte, SplitterState::Application),
                0x20..=0x7e => self.complete(byte, pieces),
                _ => self.restart(byte, pieces),
            },
            SplitterState::String => match byte {
                ESCAPE => self.push_byte(byte, SplitterState::StringEscape),
                BELL | 0x18 | 0x1a => self.complete(byte, pieces),
                _ => self.push_byte(byte, SplitterState::String),
            },
            SplitterState::StringEscape if byte == b'\\' => self.complete(byte, pieces),
            SplitterState::StringEscape => {
                // The ESC canceled the string and starts another sequence.
                self.pending.pop();
                self.restart(ESCAPE, pieces);
                self.advance(byte, pieces);
            }
        }
    }

    fn begin(&mut self, byte: u8, pieces: &mut Vec<InputPiece>) {
        match byte {
            ESCAPE => self.push_byte(byte, SplitterState::Escape),
            0xc2..=0xdf => self.push_byte(byte, SplitterState::Character { missing: 1 }),
            0xe0..=0xef => self.push_byte(byte, SplitterState::Character { missing: 2 }),
            0xf0..=0xf4 => self.push_byte(byte, SplitterState::Character { missing: 3 }),
            _ => self.complete(byte, pieces),
        }
    }

    fn after_escape(&mut self, byte: u8, pieces: &mut Vec<InputPiece>) {
        match byte {
            ESCAPE => self.push_byte(byte, SplitterState::DoubleEscape),
            b'[' => self.push_byte(byte, SplitterState::ControlStart),
            b'O' => self.push_byte(byte, SplitterState::Application),
            b']' | b'P' | b'_' => self.push_byte(byte, SplitterState::String),
            _ => self.begin(byte, pieces),
        }
    }

    /// Distinguishes Escape pressed twice from Escape before a sequence.
    fn after_double_escape(&mut self, byte: u8, pieces: &mut Vec<InputPiece>) {
        match byte {
            b'[' | b'O' | b']' | b'P' | b'_' => {
                self.pending.pop();
                self.has_leading_escape = true;
                self.after_escape(byte, pieces);
            }
            _ => self.restart(byte, pieces),
        }
    }

    fn in_control(&mut self, byte: u8, pieces: &mut Vec<InputPiece>) {
        let digits_only = || {
            let body = self.pending.get(2..).unwrap_or_default();
            !body.is_empty() && body.iter().all(u8::is_ascii_digit)
        };
        match byte {
            // rxvt ends Shift+Insert with a byte that is not a final byte elsewhere.
            b'$' if digits_only() => self.complete(byte, pieces),
            0x20..=0x3f => self.push_byte(byte, SplitterState::Control),
            0x40..=0x7e => self.complete(byte, pieces),
            _ => self.restart(byte, pieces),
        }
    }

    /// Adds a byte to the current sequence.
    fn push_byte(&mut self, byte: u8, state: SplitterState) {
        if self.pending.len() < SEQUENCE_LIMIT {
            self.pending.push(byte);
        }
        self.state = state;
    }

    /// Ends the current sequence with this byte.
    fn complete(&mut self, byte: u8, pieces: &mut Vec<InputPiece>) {
        self.push_byte(byte, SplitterState::Ground);
        self.flush(pieces);
    }

    /// Ends the current sequence, since this byte cannot belong to it, and starts a new one.
    fn restart(&mut self, byte: u8, pieces: &mut Vec<InputPiece>) {
        self.state = SplitterState::Ground;
        self.flush(pieces);
        self.begin(byte, pieces);
    }

    fn flush(&mut self, pieces: &mut Vec<InputPiece>) {
        let mut sequence = std::mem::take(&mut self.pending);
        if std::mem::take(&mut self.has_leading_escape) {
            if may_have_alt_prefix(&sequence) {
                sequence.insert(0, ESCAPE);
            } else {
                pieces.push(InputPiece::Sequence(vec![ESCAPE]));
            }
        }
        if sequence == PASTE_START {
            self.state = SplitterState::Paste;
        } else if !sequence.is_empty() {
            pieces.push(InputPiece::Sequence(sequence));
        }
    }
}

/// Whether a sequence is of the kind that rxvt and iTerm2 prefix with ESC for Alt.
///
/// WezTerm sends a bare ESC when Escape is pressed and a Kitty sequence when it is released. That
/// sequence, a reply or a paste must not be interpreted as Alt.
fn may_have_alt_prefix(sequence: &[u8]) -> bool {
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
