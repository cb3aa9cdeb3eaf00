//! Extracts plain text from terminal output. Removes escape sequences, even across chunk
//! boundaries, control characters except tab and newline, carriage returns, and the interlinear
//! annotation characters U+FFF9 to U+FFFB, whose width is undefined. Also knows which characters a reader cannot see.

/// Filters terminal output in chunks.
#[derive(Debug, Default)]
pub(crate) struct TextFilter(FilterState);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FilterState {
    #[default]
    Text,
    Escape,
    /// Within ESC with intermediate characters, such as a character set selection.
    Intermediate,
    /// Within a control sequence (CSI).
    Control,
    /// Within a string sequence: a title, a link, an image.
    Payload,
    /// After an ESC within a string sequence.
    PayloadEscape,
}

impl TextFilter {
    /// Appends the plain text of a chunk.
    pub(crate) fn push(&mut self, chunk: &str, text: &mut String) {
        for c in chunk.chars() {
            if let Some(c) = self.step(c) {
                text.push(c);
            }
        }
    }

    fn step(&mut self, c: char) -> Option<char> {
        use FilterState::{Control, Escape, Intermediate, Payload, PayloadEscape, Text};
        let next = match (self.0, c) {
            (Text | Escape | Intermediate | Control, '\u{1b}') => Escape,
            (Payload | PayloadEscape, '\u{1b}') => PayloadEscape,
            // An ESC that does not terminate the string starts another sequence.
            (Escape | PayloadEscape, '[') | (Text, '\u{9b}') | (Control, ' '..='?') => Control,
            (Escape | PayloadEscape, ']' | 'P' | 'X' | '^' | '_')
            | (Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => Payload,
            (Escape | PayloadEscape | Intermediate, ' '..='/') => Intermediate,
            // The final character of a sequence.
            (Escape | PayloadEscape | Intermediate, '0'..='~')
            | (Control, '@'..='~')
            | (Payload | PayloadEscape, '\u{7}' | '\u{9c}') => {
                self.0 = Text;
                return None;
            }
            // An unterminated string must not swallow all following output.
            (Payload, '\n') => Text,
            (Payload, _) => Payload,
            // Terminals execute control characters within a sequence.
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

/// Whether a character has no shape, or reorders others.
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn plain<'a>(chunks: impl IntoIterator<Item = &'a str>) -> String {
        let mut filter = TextFilter::default();
        let mut text = String::new();
        for chunk in chunks {
            filter.push(chunk, &mut text);
        }
        text
    }

    #[test]
    fn only_plain_text_remains() {
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
        fn result_does_not_depend_on_chunking(chunks in prop::collection::vec("[\u{1b}\\[\\];?0-9mPa\\\\\u{7}\n\r é]{0,6}", 0..8)) {
            let joined = chunks.concat();
            let filtered = plain(chunks.iter().map(String::as_str));
            prop_assert_eq!(&filtered, &plain([joined.as_str()]));
            prop_assert!(filtered.chars().all(is_text));
        }
    }
}
