//! Editing a file: the change that is asked for, then the one that was made.

use pi_ai::json::JsonObject;
use pi_tui::{ColorToken, Line, Style};
use serde_json::Value;

use super::{Argument, painted_path, title};
use crate::blocks::page::Page;
use crate::blocks::tool_call::Call;
use crate::diff_view::{diff_rows, diff_styles, preview_rows};

/// Writes what is known of a call.
pub(super) fn draw(call: &mut Call<'_>, page: &mut Page<'_>) {
    let appearance = page.appearance;
    let path = Argument::path(call.arguments);
    page.styled(&format!(
        "{} {}",
        title("edit", appearance),
        painted_path(path, appearance)
    ));
    match call.output {
        Some(output) if call.failed => {
            if !output.text.trim().is_empty() {
                page.blank();
                page.text(ColorToken::Error, output.text.trim());
            }
        }
        Some(output) => {
            let details = output.details.as_ref();
            let diff = details
                .and_then(|details| details.get("diff"))
                .and_then(Value::as_str);
            if let Some(diff) = diff.filter(|diff| !diff.trim().is_empty()) {
                page.blank();
                page.rows(diff_rows(diff, page.width(), appearance));
            }
        }
        None => draw_preview(call, page),
    }
}

fn draw_preview(call: &mut Call<'_>, page: &mut Page<'_>) {
    let several = call.arguments.get("edits").and_then(Value::as_array);
    let edits: Vec<&JsonObject> = match several {
        Some(edits) => edits.iter().filter_map(Value::as_object).collect(),
        None => vec![call.arguments],
    };
    for (place, edit) in edits.into_iter().enumerate() {
        let text = |name: &str| edit.get(name).and_then(Value::as_str);
        let Some(old) = text("oldText") else {
            continue;
        };
        page.blank();
        // Until the new text begins, what will go is known and nothing else.
        let new = text("newText").unwrap_or_default();
        let rows = call.previews.rows(place, (old, new), page);
        page.rows(rows.iter().cloned());
    }
}

/// The changes of a call as they were last shown: while one arrives, those before it stay as they are.
#[derive(Debug, Default)]
pub(crate) struct EditPreviews(Vec<Preview>);

#[derive(Debug, Default)]
struct Preview {
    old: String,
    new: String,
    width: usize,
    styles: [Style; 3],
    rows: Vec<Line>,
}

impl EditPreviews {
    fn rows(&mut self, place: usize, (old, new): (&str, &str), page: &Page<'_>) -> &[Line] {
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Preview::default);
        }
        let Some(preview) = self.0.get_mut(place) else {
            return &[];
        };
        let (width, styles) = (page.width(), diff_styles(page.appearance));
        let is_same = preview.width == width
            && preview.styles == styles
            && preview.old == old
            && preview.new == new;
        if !is_same {
            let rows = preview_rows(old, new, width, page.appearance);
            *preview = Preview {
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
    use crate::look::Appearance;

    #[test]
    fn a_change_is_compared_again_only_if_it_is_another() {
        let look = Appearance::for_tests();
        let mut previews = EditPreviews::default();
        let page = Page::new(40, 1, &look);
        let first = previews.rows(0, ("a\nb", "a\nc"), &page).to_vec();
        assert_eq!(first.len(), 3);
        previews.rows(1, ("x", "y"), &page);
        let again = previews.rows(0, ("a\nb", "a\nc"), &page);
        assert!(first.iter().zip(again).all(|(old, new)| old.ptr_eq(new)));
        let longer = previews.rows(0, ("a\nb", "a\nc\nd"), &page);
        assert_eq!(longer.len(), 4);
        let narrow = Page::new(30, 1, &look);
        let narrow = previews.rows(0, ("a\nb", "a\nc\nd"), &narrow);
        assert!(!first.iter().zip(narrow).any(|(old, new)| old.ptr_eq(new)));
    }
}
