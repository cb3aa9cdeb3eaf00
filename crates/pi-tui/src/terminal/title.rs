//! The window title.

/// Returns the sequence that sets the title. Control characters are removed, since they would end
/// it early.
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
    fn control_characters_are_removed_from_titles() {
        assert_eq!(
            super::title_sequence("a\x07\x1b]52;c;x\u{9c}b"),
            "\x1b]0;a]52;c;xb\x07"
        );
    }
}
