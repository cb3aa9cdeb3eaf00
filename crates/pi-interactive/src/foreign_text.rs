//! Lines that extensions draw: colours, links and the cursor stay, everything else that steers a
//! terminal goes.

use std::borrow::Cow;

use pi_tui::{
    AnsiToken, AnsiTokens, CURSOR_MARKER, TAB_WIDTH, Truncation, sanitize, truncate_to_width,
    visible_width,
};

/// Returns a line of an extension, safe to be shown.
pub(crate) fn styled_line(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
    if text.as_bytes().iter().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    for token in AnsiTokens::new(text) {
        match token {
            AnsiToken::Text(text) => {
                let text = sanitize(text).replace('\n', " ");
                clean.push_str(&text.replace('\t', &" ".repeat(TAB_WIDTH)));
            }
            AnsiToken::Sequence(sequence) if is_harmless(sequence) => clean.push_str(sequence),
            AnsiToken::Sequence(_) => {}
        }
    }
    Cow::Owned(clean)
}

/// Returns whether a sequence only changes how text looks, or is a picture.
fn is_harmless(sequence: &str) -> bool {
    if sequence == CURSOR_MARKER {
        return true;
    }
    if let Some(parameters) = sequence.strip_prefix("\x1b[") {
        let digits = parameters.strip_suffix('m');
        return digits.is_some_and(|digits| {
            digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
        });
    }
    let is_ended = sequence.ends_with('\x07') || sequence.ends_with("\x1b\\");
    // Links, the marks of prompts, and pictures of the two protocols.
    let harmless = ["\x1b]8;", "\x1b]133;", "\x1b]1337;File=", "\x1b_G"];
    is_ended && harmless.iter().any(|start| sequence.starts_with(start))
}

/// Returns a line that is at most `width` columns wide, and whether it was wider.
pub(crate) fn fitted_line(text: &str, width: usize) -> (String, bool) {
    let line = styled_line(text);
    if visible_width(&line) <= width {
        return (line.into_owned(), false);
    }
    let cut = truncate_to_width(&line, width, Truncation { ellipsis: "" });
    (cut.into_owned(), true)
}

/// Returns what of some bytes may be written to the terminal besides frames: titles, notifications,
/// the clipboard, the bell. What would move the cursor or print text is left out.
pub(crate) fn out_of_band(data: &str) -> String {
    let mut kept = String::new();
    for token in AnsiTokens::new(data) {
        match token {
            AnsiToken::Sequence(sequence) => {
                let is_ended = sequence.ends_with('\x07') || sequence.ends_with("\x1b\\");
                if sequence.starts_with("\x1b]") && is_ended {
                    kept.push_str(sequence);
                }
            }
            AnsiToken::Text(text) => {
                kept.extend(text.chars().filter(|character| *character == '\x07'));
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn colours_links_and_the_cursor_stay_and_nothing_else_does() {
        for (given, expected) in [
            ("plain", "plain"),
            (
                "\x1b[1;38;2;1;2;3mbold\x1b[0m",
                "\x1b[1;38;2;1;2;3mbold\x1b[0m",
            ),
            ("\x1b[2J\x1b[Hgone", "gone"),
            ("a\tb\nc\rd", "a   b c d"),
            (
                "\x1b]8;;https://a\x07link\x1b]8;;\x07",
                "\x1b]8;;https://a\x07link\x1b]8;;\x07",
            ),
            ("\x1b]0;title\x07x", "x"),
            ("\x1b]52;c;aGk=\x07x", "x"),
            ("\x1b_pi:c\x07here", "\x1b_pi:c\x07here"),
            ("\x1b[?1049hx", "x"),
            ("x\x1b]8;;open", "x"),
        ] {
            assert_eq!(styled_line(given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_line_that_is_too_wide_is_cut() {
        assert_eq!(fitted_line("four", 4), ("four".to_owned(), false));
        let (line, was_wider) = fitted_line("\x1b[31mtoo wide\x1b[0m", 5);
        assert_eq!(pi_tui::strip_ansi(&line), "too w");
        assert!(was_wider);
        assert!(visible_width(&fitted_line("漢字", 3).0) <= 3);
    }

    #[test]
    fn only_what_leaves_the_screen_alone_is_written() {
        let data = "text\x1b[2J\x1b]777;notify;a;b\x07\x07\x1b]9;hi\x1b\\";
        assert_eq!(
            out_of_band(data),
            "\x1b]777;notify;a;b\x07\x07\x1b]9;hi\x1b\\"
        );
    }
}
