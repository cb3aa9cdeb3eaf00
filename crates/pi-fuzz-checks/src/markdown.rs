//! Markdown. The first byte is the width, the second the chunk length.

use pi_markdown::{Markdown, MarkdownTheme, latex_to_unicode, mermaid_to_text};
use pi_tui::{Component as _, visible_width};
use pretty_assertions::assert_eq;

/// Checks that no line exceeds the width, and that text streamed in chunks renders the same as
/// complete text.
pub fn markdown(data: &[u8]) {
    let [width, piece, bytes @ ..] = data else {
        return;
    };
    let width = usize::from(*width).max(1);
    let piece = usize::from(*piece).max(1);
    let text = String::from_utf8_lossy(bytes);
    let mut complete = Markdown::new(&text, MarkdownTheme::default());
    let lines = complete.render(width);
    for line in &lines {
        assert!(visible_width(line) <= width, "{line:?}");
    }
    let mut streamed = Markdown::new("", MarkdownTheme::default());
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(piece) {
        streamed.append(&piece.iter().collect::<String>());
        streamed.render(width);
    }
    // A definition may follow its use, which is only known once the text is complete.
    if !text.contains("]:") {
        assert_eq!(streamed.render(width), lines);
    }
    latex_to_unicode(&text);
    mermaid_to_text(&text);
}
