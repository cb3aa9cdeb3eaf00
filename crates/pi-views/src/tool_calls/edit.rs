//! File edits: a preview of the change, then the resulting diff.

use pi_protocol::json::JsonObject;
use pi_tui::{ColorToken, Line, Style};
use serde_json::Value;

use super::call::{CallOutput, CallView};
use super::{Argument, painted_path, title};
use crate::canvas::BlockCanvas;
use crate::diff_view::{diff_rows, diff_styles, preview_rows};
use crate::theme::ui_theme::RenderContext;

pub(super) fn draw(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let line = title_line(call, canvas.ctx);
    canvas.styled(&line);
    match call.output {
        Some(output) if call.failed => {
            if !output.text.trim().is_empty() {
                canvas.blank();
                canvas.text(ColorToken::Error, output.text.trim());
            }
        }
        Some(output) => {
            if let Some(diff) = diff(output) {
                canvas.blank();
                canvas.rows(diff_rows(diff, canvas.width(), canvas.ctx));
            }
        }
        None => draw_preview(call, canvas),
    }
}

pub(super) fn title_line(call: &CallView<'_>, ctx: &RenderContext) -> String {
    let path = painted_path(Argument::path(call.arguments), ctx);
    format!("{} {path}", title("edit", ctx))
}

/// Returns the numbered diff that an edit reports.
fn diff(output: &CallOutput) -> Option<&str> {
    let diff = output.details.as_ref()?.get("diff")?.as_str()?;
    (!diff.trim().is_empty()).then_some(diff)
}

/// Returns the number of added and of removed lines.
pub(super) fn counts(output: &CallOutput) -> (usize, usize) {
    let count = |sign: char| {
        let lines = diff(output).unwrap_or_default().lines();
        lines.filter(|line| line.starts_with(sign)).count()
    };
    (count('+'), count('-'))
}

/// Draws the diff, or the preview of one, below a row.
pub(super) fn draw_change(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    match call.output {
        Some(output) => {
            if let Some(diff) = diff(output) {
                canvas.rows(diff_rows(diff, canvas.width(), canvas.ctx));
            }
        }
        None => draw_preview(call, canvas),
    }
}

fn draw_preview(call: &mut CallView<'_>, canvas: &mut BlockCanvas<'_>) {
    let list = call.arguments.get("edits").and_then(Value::as_array);
    let edits: Vec<&JsonObject> = match list {
        Some(edits) => edits.iter().filter_map(Value::as_object).collect(),
        None => vec![call.arguments],
    };
    for (index, edit) in edits.into_iter().enumerate() {
        let text = |name: &str| edit.get(name).and_then(Value::as_str);
        let Some(old) = text("oldText") else {
            continue;
        };
        canvas.blank();
        // Until the new text starts, only the removed text is known.
        let new = text("newText").unwrap_or_default();
        let rows = call.previews.rows(index, (old, new), canvas);
        canvas.rows(rows.iter().cloned());
    }
}

/// Cached previews of a call's edits: while one streams, the earlier ones are not recomputed.
#[derive(Debug, Default)]
pub struct EditPreviews(Vec<EditPreview>);

#[derive(Debug, Default)]
struct EditPreview {
    old: String,
    new: String,
    width: usize,
    styles: [Style; 3],
    rows: Vec<Line>,
}

impl EditPreviews {
    fn rows(
        &mut self,
        index: usize,
        (old, new): (&str, &str),
        canvas: &BlockCanvas<'_>,
    ) -> &[Line] {
        if self.0.len() <= index {
            self.0.resize_with(index + 1, EditPreview::default);
        }
        let Some(preview) = self.0.get_mut(index) else {
            return &[];
        };
        let (width, styles) = (canvas.width(), diff_styles(canvas.ctx));
        let is_same = preview.width == width
            && preview.styles == styles
            && preview.old == old
            && preview.new == new;
        if !is_same {
            let rows = preview_rows(old, new, width, canvas.ctx);
            *preview = EditPreview {
                old: old.to_owned(),
                new: new.to_owned(),
                width,
                styles,
                rows: rows.into_iter().map(Line::from).collect(),
            };
        }
        &preview.rows
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn unchanged_previews_are_cached() {
        let ctx = RenderContext::for_tests();
        let mut previews = EditPreviews::default();
        let canvas = BlockCanvas::new(40, 1, &ctx);
        let first = previews.rows(0, ("a\nb", "a\nc"), &canvas).to_vec();
        assert_eq!(first.len(), 3);
        previews.rows(1, ("x", "y"), &canvas);
        let again = previews.rows(0, ("a\nb", "a\nc"), &canvas);
        assert!(first.iter().zip(again).all(|(old, new)| old.ptr_eq(new)));
        let longer = previews.rows(0, ("a\nb", "a\nc\nd"), &canvas);
        assert_eq!(longer.len(), 4);
        let narrow = BlockCanvas::new(30, 1, &ctx);
        let narrow = previews.rows(0, ("a\nb", "a\nc\nd"), &narrow);
        assert!(!first.iter().zip(narrow).any(|(old, new)| old.ptr_eq(new)));
    }
}
