//! Repairs common mistakes in edit arguments: edits as a JSON string, a single edit without an
//! array, and the legacy form with top-level texts.

use pi_protocol::json::JsonObject;
use serde_json::{Value, json};

/// Returns the arguments in the shape of the schema, if the intent is unambiguous.
pub(super) fn repair(mut arguments: JsonObject) -> JsonObject {
    if let Some(edits) = arguments.get_mut("edits")
        && let Some(list) = as_list(edits)
    {
        *edits = list;
    }
    if !is_edit(&arguments) {
        return arguments;
    }
    let (old_text, new_text) = (
        arguments.shift_remove("oldText"),
        arguments.shift_remove("newText"),
    );
    let mut edits = match arguments.shift_remove("edits") {
        Some(Value::Array(edits)) => edits,
        _ => Vec::new(),
    };
    edits.push(json!({"oldText": old_text, "newText": new_text}));
    arguments.insert("edits".to_owned(), Value::Array(edits));
    arguments
}

fn as_list(edits: &Value) -> Option<Value> {
    match edits {
        Value::String(text) => match serde_json::from_str(text).ok()? {
            list @ Value::Array(_) => Some(list),
            edit => as_list(&edit).filter(|_| edit.is_object()),
        },
        Value::Object(edit) if is_edit(edit) => Some(json!([edit])),
        _ => None,
    }
}

fn is_edit(object: &JsonObject) -> bool {
    ["oldText", "newText"]
        .iter()
        .all(|name| object.get(*name).is_some_and(Value::is_string))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn unambiguous_shapes_are_repaired_and_others_unchanged() {
        let edit = json!({"oldText": "a", "newText": "b"});
        let repaired = json!({"path": "f", "edits": [edit]});
        for (given, expected) in [
            (repaired.clone(), &repaired),
            (json!({"path": "f", "edits": edit}), &repaired),
            (json!({"path": "f", "edits": edit.to_string()}), &repaired),
            (
                json!({"path": "f", "edits": json!([edit]).to_string()}),
                &repaired,
            ),
            (
                json!({"path": "f", "oldText": "a", "newText": "b"}),
                &repaired,
            ),
            (
                json!({"path": "f", "edits": null, "oldText": "a", "newText": "b"}),
                &repaired,
            ),
            (
                json!({"path": "f", "edits": [{"oldText": "c", "newText": "d"}], "oldText": "a", "newText": "b"}),
                &json!({"path": "f", "edits": [{"oldText": "c", "newText": "d"}, edit]}),
            ),
            (
                json!({"path": "f", "edits": "no json"}),
                &json!({"path": "f", "edits": "no json"}),
            ),
            (
                json!({"path": "f", "edits": "7"}),
                &json!({"path": "f", "edits": "7"}),
            ),
            (
                json!({"path": "f", "edits": {"oldText": "a"}}),
                &json!({"path": "f", "edits": {"oldText": "a"}}),
            ),
            (
                json!({"path": "f", "oldText": "a"}),
                &json!({"path": "f", "oldText": "a"}),
            ),
        ] {
            let Value::Object(given) = given else {
                unreachable!("arguments are objects")
            };
            assert_eq!(&Value::Object(repair(given)), expected);
        }
    }
}
