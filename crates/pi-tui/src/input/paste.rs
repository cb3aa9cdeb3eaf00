//! Bracketed paste: text delivered as one unit.

/// Pasted text, without the markers around it. It is foreign text: nothing has been removed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paste {
    /// What was pasted.
    pub text: String,
}

impl Paste {
    /// Returns the text between bracketed paste markers.
    pub fn to_bytes(&self) -> Vec<u8> {
        [b"\x1b[200~", self.text.as_bytes(), b"\x1b[201~"].concat()
    }
}
