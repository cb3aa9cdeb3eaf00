//! The title of the terminal's window.

/// Returns the sequence that sets the title; control characters in it would end it early.
pub fn title_sequence(title: &str) -> String {
    let title: String = title
        .chars()
        .filter(|character| !character.is_control())
        .collect();
    format!("\x1b]0;{title}\x07")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_title_cannot_end_its_own_sequence() {
        assert_eq!(
            super::title_sequence("a\x07\x1b]52;c;x\u{9c}b"),
            "\x1b]0;a]52;c;xb\x07"
        );
    }
}
