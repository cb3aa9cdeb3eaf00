//! Markdown: the first byte is a width, the second a length of pieces.

use pi_tui::{
    Component as _, Markdown, MarkdownTheme, latex_to_unicode, mermaid_to_text, visible_width,
};
use pretty_assertions::assert_eq;

/// Checks that no line is wider than the width, and that a text that arrives in pieces looks as if it
/// had come at once.
pub fn markdown(data: &[u8]) {
    let [width, piece, bytes @ ..] = data else {
        return;
    };
    let width = usize::from(*width).max(1);
    let piece = usize::from(*piece).max(1);
    let text = String::from_utf8_lossy(bytes);
    let mut whole = Markdown::new(&text, MarkdownTheme::default());
    let lines = whole.render(width);
    for line in &lines {
        assert!(visible_width(line) <= width, "{line:?}");
    }
    let mut streamed = Markdown::new("", MarkdownTheme::default());
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(piece) {
        streamed.append(&piece.iter().collect::<String>());
        streamed.render(width);
    }
    // A definition may come after its use, which only the whole can know.
    if !text.contains("]:") {
        assert_eq!(streamed.render(width), lines);
    }
    latex_to_unicode(&text);
    mermaid_to_text(&text);
}
