//! Rows of components: the output filter, their limits, and the cursor in them.

use pi_protocol::ScreenCursor;
use pi_tui::{CURSOR_MARKER, visible_width};
use pi_views::text::untrusted_text::fitted_line;

/// Maximum length of a row without images, in bytes: characters without a width never fill a row.
pub const MAX_ROW_BYTES: usize = 16 * 1024;

/// Maximum length of a row with images that is sent to clients, in bytes.
const MAX_IMAGE_BYTES: usize = 2 * 1024 * 1024;

/// Maximum number of rows that are sent to clients.
pub(crate) const MAX_ROWS: usize = 200;

/// How sequences start that may contain an image.
const IMAGE_SEQUENCES: [&str; 2] = ["\x1b_G", "\x1b]1337"];

/// Returns a row of an extension as it may be shown: without control sequences except colors, links, images and the
/// cursor marker, at most `width` cells. Also returns whether it was wider.
pub fn fitted_row(row: &str, width: usize) -> (String, bool) {
    fitted_line(bounded(row), width)
}

/// Returns the start of a row that is too long to be drawn in every frame.
fn bounded(row: &str) -> &str {
    let has_image = || IMAGE_SEQUENCES.iter().any(|start| row.contains(start));
    if row.len() <= MAX_ROW_BYTES || has_image() {
        return row;
    }
    let end = row.floor_char_boundary(MAX_ROW_BYTES);
    row.get(..end).unwrap_or_default()
}

/// The rows of a component, as clients show them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ClientRows {
    pub(crate) rows: Vec<String>,
    pub(crate) cursor: Option<ScreenCursor>,
}

impl ClientRows {
    /// Filters what a component has drawn for a width. At most `height` rows are kept.
    pub(crate) fn new(drawn: &[String], width: usize, height: usize) -> Self {
        let mut cursor = None;
        let rows = drawn.iter().take(height.min(MAX_ROWS)).enumerate();
        let rows = rows.map(|(row, text)| {
            let (text, _) = fitted_row(text, width);
            if text.len() > MAX_IMAGE_BYTES {
                return String::new();
            }
            let Some((before, after)) = text.split_once(CURSOR_MARKER) else {
                return text;
            };
            let col = visible_width(before);
            cursor.get_or_insert(ScreenCursor { row, col });
            [before, &after.replace(CURSOR_MARKER, "")].concat()
        });
        let rows = rows.collect();
        Self { rows, cursor }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn rows_are_filtered_cut_and_have_one_cursor() {
        let drawn = [
            "\x1b[31mred\x1b[0m\x1b[2J".to_owned(),
            format!("ab{CURSOR_MARKER}c{CURSOR_MARKER}d"),
            "wider than the screen".to_owned(),
            "not shown".to_owned(),
        ];
        let rows = ClientRows::new(&drawn, 8, 3);
        assert_eq!(rows.rows, ["\x1b[31mred\x1b[0m", "abcd", "wider th"]);
        assert_eq!(rows.cursor, Some(ScreenCursor { row: 1, col: 2 }));
        let many = vec!["x".to_owned(); MAX_ROWS + 1];
        assert_eq!(ClientRows::new(&many, 8, usize::MAX).rows.len(), MAX_ROWS);
        let image = format!("\x1b_Ga=T;{}\x1b\\", "A".repeat(MAX_IMAGE_BYTES));
        assert_eq!(ClientRows::new(&[image], 8, 1).rows, [""]);
    }
}
