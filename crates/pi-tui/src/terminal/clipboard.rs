//! Copying through the terminal, which works over SSH.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Returns the sequence that copies `text` to the clipboard (OSC 52).
pub fn clipboard_sequence(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text))
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_is_base64_encoded() {
        assert_eq!(super::clipboard_sequence("hé"), "\x1b]52;c;aMOp\x07");
    }
}
