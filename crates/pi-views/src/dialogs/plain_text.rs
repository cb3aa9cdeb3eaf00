//! Sanitizes untrusted text for one line of a dialog.
//!
//! File names, session names, model names and messages may contain anything and have any length.

use std::path::Path;

use pi_tui::sanitize;

use crate::text::paths::with_tilde;
use crate::theme::ui_theme::RenderContext;

/// Maximum number of characters of a text on one line.
const MAX_LINE_CHARS: usize = 1_000;

/// Returns the beginning of `text` as a single line without control characters.
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

/// Returns `text` without control characters, keeping its line breaks.
pub(super) fn sanitize_lines(text: &str) -> String {
    sanitize(text).replace('\t', "   ")
}

/// Returns a path as one line, with `~` for the home directory.
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
    fn the_home_directory_is_a_tilde() {
        let ctx = RenderContext::for_tests();
        let shown = |path: &str| path_line(Path::new(path), &ctx);
        assert_eq!(shown("/home/user/a b"), "~/a b");
        assert_eq!(shown("/home/user"), "~");
        assert_eq!(shown("/home/userland/\x1b[31mx"), "/home/userland/x");
    }
}
