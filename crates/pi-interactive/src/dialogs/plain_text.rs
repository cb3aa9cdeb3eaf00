//! Text from outside made fit for one line of a dialog.
//!
//! File names, session names, model names and messages may hold anything, and be of any length.

use std::path::Path;

use pi_tui::sanitize;

use crate::paths::with_tilde;
use crate::ui_theme::RenderContext;

/// No line of a dialog shows more characters of a text than this.
const MAX_LINE_CHARS: usize = 1_000;

/// Returns the beginning of `text` as one line without control characters.
pub(super) fn one_line(text: &str) -> String {
    let start = match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    };
    let clean = sanitize(start);
    let mut line = String::with_capacity(clean.len());
    for word in clean.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Returns `text` without control characters, its lines kept.
pub(super) fn lines_of(text: &str) -> String {
    sanitize(text).replace('\t', "   ")
}

/// Returns a path as one line, with `~` for the user's home.
pub(super) fn path_line(path: &Path, ctx: &RenderContext) -> String {
    one_line(&with_tilde(path, ctx.home.as_deref()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_line_is_one_line_of_visible_text() {
        assert_eq!(one_line("a\r\n\tb\x1b[2J  c\x07"), "a b c");
        assert_eq!(one_line("\x1b]0;owned\x07title"), "title");
        assert_eq!(one_line(&"x".repeat(5_000)).len(), MAX_LINE_CHARS);
    }

    #[test]
    fn a_path_is_shown_from_home() {
        let ctx = RenderContext::for_tests();
        let shown = |path: &str| path_line(Path::new(path), &ctx);
        assert_eq!(shown("/home/user/a b"), "~/a b");
        assert_eq!(shown("/home/user"), "~");
        assert_eq!(shown("/home/userland/\x1b[31mx"), "/home/userland/x");
    }
}
