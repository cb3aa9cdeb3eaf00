//! Bracketed paste: text delivered as one unit.

use memchr::memmem;

const PASTE_END: &[u8] = b"\x1b[201~";

/// Maximum size of a single paste. Larger content is delivered in several units.
const PASTE_LIMIT: usize = 64 * 1024 * 1024;

/// Pasted text, without the surrounding markers. It is untrusted and unmodified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paste {
    pub text: String,
}

impl Paste {
    /// Returns the text wrapped in bracketed paste markers.
    pub fn to_bytes(&self) -> Vec<u8> {
        [b"\x1b[200~", self.text.as_bytes(), PASTE_END].concat()
    }
}

/// Content of a paste that is ready to be delivered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PasteContent {
    pub(super) bytes: Vec<u8>,
    /// Whether the end marker was found; otherwise more of the same paste follows.
    pub(super) is_last: bool,
}

/// Collects the bytes of a paste until its end marker.
#[derive(Clone, Debug, Default)]
pub(super) struct PasteBuffer {
    bytes: Vec<u8>,
}

impl PasteBuffer {
    /// Takes bytes up to the end marker. Returns how many were taken, and the content once it is
    /// ready.
    pub(super) fn push(&mut self, bytes: &[u8]) -> (usize, Option<PasteContent>) {
        if let Some(taken) = self.end_across(bytes) {
            self.bytes
                .truncate((self.bytes.len() + taken).saturating_sub(PASTE_END.len()));
            return (taken, Some(self.ready()));
        }
        if let Some(end) = memmem::find(bytes, PASTE_END) {
            self.bytes
                .extend_from_slice(bytes.get(..end).unwrap_or_default());
            return (end + PASTE_END.len(), Some(self.ready()));
        }
        self.bytes.extend_from_slice(bytes);
        let content = (self.bytes.len() > PASTE_LIMIT).then(|| {
            // Keep bytes that may be the start of the marker.
            let tail = self
                .bytes
                .split_off(self.bytes.len() - (PASTE_END.len() - 1));
            PasteContent {
                bytes: std::mem::replace(&mut self.bytes, tail),
                is_last: false,
            }
        });
        (bytes.len(), content)
    }

    /// Returns how many of `bytes` complete an end marker that started in earlier bytes.
    fn end_across(&self, bytes: &[u8]) -> Option<usize> {
        (1..PASTE_END.len()).find(|taken| {
            PASTE_END
                .split_at_checked(PASTE_END.len() - taken)
                .is_some_and(|(start, rest)| self.bytes.ends_with(start) && bytes.starts_with(rest))
        })
    }

    fn ready(&mut self) -> PasteContent {
        PasteContent {
            bytes: std::mem::take(&mut self.bytes),
            is_last: true,
        }
    }
}
