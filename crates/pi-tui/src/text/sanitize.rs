//! Foreign text made harmless: what comes from models, tools, files and names must not steer the
//! terminal or hide from the reader.

use std::borrow::Cow;

/// Returns `text` without control sequences and with invisible directions made visible.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

/// [`sanitize`] for text that arrives in pieces; sequences may be cut anywhere.
#[derive(Clone, Debug, Default)]
pub struct Sanitizer {}

impl Sanitizer {
    /// Starts outside any sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece and appends what is certain by now.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        out.push_str(piece);
    }

    /// Ends the text: appends what was held back, drops an unterminated sequence.
    pub fn finish(&mut self, _out: &mut String) {}
}
