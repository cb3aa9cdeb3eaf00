//! Takes out of a terminal's output what is not text.
//!
//! Escape sequences go, wherever the output was cut into pieces, and so do control characters
//! except tab and newline, carriage returns among them, and the interlinear annotation marks
//! U+FFF9 to U+FFFB, which have no width anybody agrees on.

/// Filters what a terminal would be sent, in pieces as it arrives.
#[derive(Debug, Default)]
pub(crate) struct TextFilter(State);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// Within ESC with intermediate characters, such as the choice of a character set.
    Intermediate,
    /// Within a control sequence (CSI).
    Control,
    /// Within a string for the terminal: a title, a link, an image.
    Payload,
    /// After an ESC within such a string.
    PayloadEscape,
}

impl TextFilter {
    /// Appends the text of a piece.
    pub(crate) fn push(&mut self, piece: &str, text: &mut String) {
        for c in piece.chars() {
            if let Some(c) = self.step(c) {
                text.push(c);
            }
        }
    }

    fn step(&mut self, c: char) -> Option<char> {
        use State::{Control, Escape, Intermediate, Payload, PayloadEscape, Text};
        let next = match (self.0, c) {
            (Text | Escape | Intermediate | Control, '\u{1b}') => Escape,
            (Payload | PayloadEscape, '\u{1b}') => PayloadEscape,
            // An ESC that does not end the string begins another sequence.
            (Escape | PayloadEscape, '[') | (Text, '\u{9b}') | (Control, ' '..='?') => Control,
            (Escape | PayloadEscape, ']' | 'P' | 'X' | '^' | '_')
            | (Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => Payload,
            (Escape | PayloadEscape | Intermediate, ' '..='/') => Intermediate,
            // The last character of a sequence.
            (Escape | PayloadEscape | Intermediate, '0'..='~')
            | (Control, '@'..='~')
            | (Payload | PayloadEscape, '\u{7}' | '\u{9c}') => {
                self.0 = Text;
                return None;
            }
            // A string that nobody ends must not swallow all that follows.
            (Payload, '\n') => Text,
            (Payload, _) => Payload,
            // Terminals obey control characters within a sequence.
            (state, '\0'..='\u{1f}') => state,
            (Text | Escape | PayloadEscape | Intermediate | Control, _) => Text,
        };
        let kept = is_text(c) && (next == Text || c == '\n' || c == '\t') && next != Payload;
        self.0 = next;
        kept.then_some(c)
    }
}

fn is_text(c: char) -> bool {
    match c {
        '\t' | '\n' => true,
        '\u{fff9}'..='\u{fffb}' => false,
        c => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn plain<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut filter = TextFilter::default();
        let mut text = String::new();
        for piece in pieces {
            filter.push(piece, &mut text);
        }
        text
    }

    #[test]
    fn only_text_is_left() {
        for (terminal, text) in [
            ("\u{1b}[31mred\u{1b}[0m\r\nnext\0nul\n", "red\nnextnul\n"),
            ("\u{1b}[38;2;1;2;3mx\u{1b}[?25l\u{1b}[2K\u{1b}[1Gy", "xy"),
            ("\u{9b}31mc1", "c1"),
            (
                "\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\",
                "alink",
            ),
            ("\u{1b}]0;never ended\nnext", "\nnext"),
            ("\u{1b}]0;broken off\u{1b}[31mred", "red"),
            ("\u{1b}Pq#0;2;0\u{1b}\\after", "after"),
            (
                "\u{1b}(Bset \u{1b}7\u{1b}8\u{1b}=keys\u{1b}cdone",
                "set keysdone",
            ),
            ("bell\u{7} back\u{8} del\u{7f} tab\t", "bell back del tab\t"),
            (
                "\u{fff9}note\u{fffa}\u{fffb} \u{fffd} 日本 😀",
                "note \u{fffd} 日本 😀",
            ),
            ("progress 1%\rprogress 2%\r\n", "progress 1%progress 2%\n"),
            ("cut \u{1b}[", "cut "),
        ] {
            assert_eq!(plain([terminal]), text, "{terminal:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(pieces in prop::collection::vec("[\u{1b}\\[\\];?0-9mPa\\\\\u{7}\n\r é]{0,6}", 0..8)) {
            let whole = pieces.concat();
            let parted = plain(pieces.iter().map(String::as_str));
            prop_assert_eq!(&parted, &plain([whole.as_str()]));
            prop_assert!(parted.chars().all(is_text));
        }
    }
}
