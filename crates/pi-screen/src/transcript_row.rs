//! Rows of the transcript that extensions draw: tool calls, messages and entries.

use std::collections::HashMap;
use std::sync::Arc;

use pi_host::{ComponentId, ExtensionHandle};
use pi_protocol::ScreenRow;
use serde_json::{Value, json};

use crate::off_screen::OffScreenInner;
use crate::row::ClientRows;

/// Rows are numbered from here, far above component IDs and the rows of a terminal, but exactly representable in
/// JavaScript.
const FIRST_ROW: ComponentId = 1 << 41;

/// Rows whose state extensions keep.
const MAX_KEPT: usize = 2000;

/// The IDs of rows, by tool call or entry: a renderer sees the same row again.
#[derive(Debug, Default)]
pub(crate) struct RowIds {
    ids: HashMap<String, ComponentId>,
    last: ComponentId,
}

impl RowIds {
    /// Returns the ID of a row, and those that are no longer kept.
    fn of(&mut self, key: &str) -> (ComponentId, Vec<ComponentId>) {
        if let Some(id) = self.ids.get(key) {
            return (*id, Vec::new());
        }
        let forgotten = if self.ids.len() >= MAX_KEPT {
            self.ids.drain().map(|(_, id)| id).collect()
        } else {
            Vec::new()
        };
        self.last += 1;
        let id = FIRST_ROW + self.last;
        self.ids.insert(key.to_owned(), id);
        (id, forgotten)
    }
}

/// Draws a row. Returns an object without lines if no extension draws it.
pub(crate) async fn render_row(
    screen: Arc<OffScreenInner>,
    row: ScreenRow,
    expanded: bool,
    cwd: String,
) -> Value {
    let (link, columns) = {
        let state = screen.state();
        (state.link.clone(), state.size.columns)
    };
    let drawn = match link {
        Some(link) => Box::pin(draw(&screen, &link, row, expanded, cwd, columns)).await,
        None => None,
    };
    drawn.unwrap_or_else(|| json!({}))
}

async fn draw(
    screen: &OffScreenInner,
    link: &ExtensionHandle,
    row: ScreenRow,
    expanded: bool,
    cwd: String,
    columns: usize,
) -> Option<Value> {
    let lines = |lines: &[String]| ClientRows::new(lines, columns, usize::MAX).rows;
    match row {
        ScreenRow::Tool {
            tool_call_id,
            tool_name,
            args,
            result,
            is_partial,
            is_error,
            duration_ms,
        } => {
            let renderer = link.tool_renderer(&tool_name)?;
            let id = row_id(screen, link, &tool_call_id).await;
            let data = json!({
                "extension": renderer.extension,
                "tool": tool_name,
                "toolCallId": tool_call_id,
                "args": args,
                "cwd": cwd,
                "executionStarted": true,
                "argsComplete": true,
                "isPartial": is_partial,
                "expanded": expanded,
                "showImages": false,
                "isError": is_error,
                "outputPad": 0,
                "durationMs": duration_ms,
                "result": result,
            });
            let drawn = link.render_tool_call(id, columns, data).await.ok()?;
            Some(json!({
                "call": drawn.call.as_deref().map(lines),
                "result": drawn.result.as_deref().map(lines),
            }))
        }
        ScreenRow::Message { message } => {
            let custom_type = text(&message, "customType");
            if !link.renders_message(&custom_type) {
                return None;
            }
            let data = json!({ "kind": "message", "type": custom_type, "value": message,
                "expanded": expanded, "outputPad": 0 });
            let key = text(&message, "timestamp") + &text(&message, "id");
            let id = row_id(screen, link, &key).await;
            let drawn = link.render_custom(id, columns, data).await.ok()??;
            Some(json!({ "lines": lines(&drawn) }))
        }
        ScreenRow::Entry { entry } => {
            let custom_type = text(&entry, "customType");
            if !link.renders_entry(&custom_type) {
                return None;
            }
            let data = json!({ "kind": "entry", "type": custom_type, "value": entry,
                "expanded": expanded });
            let id = row_id(screen, link, &text(&entry, "id")).await;
            let drawn = link.render_custom(id, columns, data).await.ok()??;
            Some(json!({ "lines": lines(&drawn) }))
        }
    }
}

async fn row_id(screen: &OffScreenInner, link: &ExtensionHandle, key: &str) -> ComponentId {
    let (id, forgotten) = screen.state().rows.of(key);
    if !forgotten.is_empty() {
        link.forget_rows(&forgotten).await;
    }
    id
}

/// Returns a member as text; numbers are formatted.
fn text(value: &Value, name: &str) -> String {
    match value.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn rows_keep_their_ids_and_are_bounded() {
        let mut ids = RowIds::default();
        let (first, _) = ids.of("a");
        assert_eq!(ids.of("a"), (first, Vec::new()));
        for number in 1..MAX_KEPT {
            assert!(ids.of(&number.to_string()).1.is_empty());
        }
        let (id, forgotten) = ids.of("b");
        assert_eq!(forgotten.len(), MAX_KEPT);
        assert!(!forgotten.contains(&id));
    }
}
