//! Editing a file: the change that is asked for, then the one that was made.

use pi_ai::json::JsonObject;
use pi_tui::ColorToken;
use serde_json::Value;

use super::{Argument, painted_path, title};
use crate::blocks::page::Page;
use crate::blocks::tool_call::Call;
use crate::diff_view::{diff_rows, preview_rows};

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
        None => draw_preview(call.arguments, page),
    }
}

fn draw_preview(arguments: &JsonObject, page: &mut Page<'_>) {
    let several = arguments.get("edits").and_then(Value::as_array);
    let edits: Vec<&JsonObject> = match several {
        Some(edits) => edits.iter().filter_map(Value::as_object).collect(),
        None => vec![arguments],
    };
    for edit in edits {
        let text = |name: &str| edit.get(name).and_then(Value::as_str);
        let Some(old) = text("oldText") else {
            continue;
        };
        page.blank();
        // Until the new text begins, what will go is known and nothing else.
        let new = text("newText").unwrap_or_default();
        page.rows(preview_rows(old, new, page.width(), page.appearance));
    }
}
