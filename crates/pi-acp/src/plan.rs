//! Plans: the to-do list that a tool returns with its result.
//!
//! pi has no such tool; those of extensions keep their list in the details of the result. The names of fields differ
//! between extensions, so several are known.

use pi_protocol::ToolOutput;
use pi_protocol::json::JsonObject;
use serde_json::{Value, json};

/// Names of the list in the details.
const LISTS: [&str; 4] = ["todos", "plan", "steps", "tasks"];

/// Names of the text of an entry.
const TEXTS: [&str; 5] = ["content", "text", "title", "step", "subject"];

/// More entries than a person reads; others are omitted.
const MAX_ENTRIES: usize = 200;

/// Returns the update for the list in a result, if there is one.
pub(crate) fn plan_update(result: &ToolOutput) -> Option<Value> {
    let details = result.details.as_ref()?.as_object()?;
    let list = LISTS.iter().find_map(|name| details.get(*name)?.as_array());
    let entries = list?.iter().take(MAX_ENTRIES).map(plan_entry);
    let entries: Vec<Value> = entries.collect::<Option<_>>()?;
    Some(json!({"sessionUpdate": "plan", "entries": entries}))
}

fn plan_entry(entry: &Value) -> Option<Value> {
    let entry = entry.as_object()?;
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let content = TEXTS.iter().find_map(|name| text(name))?;
    let known = text("priority").filter(|it| ["high", "low"].contains(it));
    let priority = known.unwrap_or("medium");
    Some(json!({"content": content, "priority": priority, "status": status(entry)}))
}

fn status(entry: &JsonObject) -> &'static str {
    let is_set = |name: &str| entry.get(name).and_then(Value::as_bool) == Some(true);
    if is_set("done") || is_set("completed") {
        return "completed";
    }
    match entry.get("status").and_then(Value::as_str) {
        Some("completed" | "complete" | "done") => "completed",
        Some("in_progress" | "in-progress" | "active" | "doing") => "in_progress",
        _ => "pending",
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn update(details: Value) -> Option<Value> {
        plan_update(&ToolOutput {
            details: Some(details),
            ..ToolOutput::default()
        })
    }

    #[test]
    fn lists_of_tools_become_plans() {
        let details = json!({"action": "toggle", "todos": [
            {"id": 1, "text": "Read", "done": true},
            {"id": 2, "text": "Write", "done": false},
        ]});
        let entries = json!([
            {"content": "Read", "priority": "medium", "status": "completed"},
            {"content": "Write", "priority": "medium", "status": "pending"},
        ]);
        assert_eq!(
            update(details),
            Some(json!({"sessionUpdate": "plan", "entries": entries}))
        );
        let details =
            json!({"plan": [{"step": "Test", "status": "in-progress", "priority": "high"}]});
        let entries = json!([{"content": "Test", "priority": "high", "status": "in_progress"}]);
        assert_eq!(
            update(details),
            Some(json!({"sessionUpdate": "plan", "entries": entries}))
        );
    }

    #[test]
    fn other_details_are_no_plan() {
        for details in [
            json!(null),
            json!({"todos": 7}),
            json!({"tasks": ["text"]}),
            json!({"steps": [{"id": 1}]}),
            json!({"diff": "+1"}),
        ] {
            assert_eq!(update(details), None);
        }
        assert_eq!(plan_update(&ToolOutput::text("done")), None);
    }
}
