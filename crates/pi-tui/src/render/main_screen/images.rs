//! Images on the main screen: drawn once their rows exist, deleted when these change.

use super::super::frame::PreparedRow;
use super::super::sync_output::SyncOutput;
use super::MainScreen;
use crate::terminal::{ImageSpan, kitty_delete};

impl MainScreen {
    /// Deletes images whose rows change and returns the rows of those to draw.
    pub(super) fn images_to_redraw(
        &self,
        rows: &[PreparedRow],
        output: &mut SyncOutput,
    ) -> Vec<usize> {
        let changed = |index: usize| match (self.rows.get(index), rows.get(index)) {
            (Some(old), Some(new)) => old.text != new.text,
            (None, None) => false,
            _ => true,
        };
        let is_affected = |index: usize, span: ImageSpan| {
            (index.saturating_sub(span.above)..=index + span.below).any(changed)
        };
        for (index, row) in self.rows.iter().enumerate() {
            if let Some(span) = row.image
                && is_affected(index, span)
                && let Some(id) = span.id
            {
                output.push(&kitty_delete(id));
            }
        }
        rows.iter()
            .enumerate()
            .filter(|(index, row)| row.image.is_some_and(|span| is_affected(*index, span)))
            .map(|(index, _)| index)
            .collect()
    }

    /// Draws the images whose last row is `index`: by then their rows exist and are empty.
    pub(super) fn draw_finished_images(
        &mut self,
        rows: &[PreparedRow],
        redraw: &[usize],
        (index, height): (usize, usize),
        output: &mut SyncOutput,
    ) {
        let last = rows.len().saturating_sub(1);
        for at in redraw {
            let Some(row) = rows.get(*at) else { continue };
            let below = row.image.map_or(0, |span| span.below);
            if (at + below).min(last) != index {
                continue;
            }
            // An image taller than the screen has already lost its upper rows.
            let top = (*at).max((index + 1).saturating_sub(height));
            let hidden = top - at;
            let cropped = ImageSpan::crop(&row.text, hidden, height);
            let image = match &cropped {
                Some(cropped) if hidden > 0 => cropped,
                _ => row.text.as_str(),
            };
            output.move_row(self.cursor_row, top);
            // Restore the cursor, because where an image leaves it depends on the terminal.
            output.push("\r\x1b7");
            output.push(image);
            output.push("\x1b8");
            self.cursor_row = top;
        }
    }
}
