//! Arguments for a tool, generated from its schema.

use serde_json::{Map, Value, json};

/// Most calls made of one tool.
const MAX_VARIANTS: usize = 12;
/// Schemas nested deeper than this get `null`.
const MAX_DEPTH: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    Required,
    All,
}

/// Returns argument objects for a tool: the required ones, all of them, and one per value of an enumeration such as
/// `action`.
pub(super) fn variants(schema: &Value, page_url: &str) -> Vec<Value> {
    let generator = ArgumentGenerator { page_url };
    let mut found = vec![generator.object(schema, Fill::Required, 0)];
    let mut add = |value: Value| {
        if !found.contains(&value) && found.len() < MAX_VARIANTS {
            found.push(value);
        }
    };
    let full = generator.object(schema, Fill::All, 0);
    add(full.clone());
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        for choice in choices(property) {
            let mut variant = full.clone();
            if let Some(fields) = variant.as_object_mut() {
                fields.insert(name.clone(), choice);
            }
            add(variant);
        }
    }
    found
}

/// Returns the values of an enumeration, however the schema writes it.
fn choices(schema: &Value) -> Vec<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return values.clone();
    }
    let alternatives = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    let constants = alternatives.into_iter().flatten();
    constants
        .filter_map(|it| it.get("const").cloned())
        .collect()
}

struct ArgumentGenerator<'a> {
    page_url: &'a str,
}

impl ArgumentGenerator<'_> {
    fn object(&self, schema: &Value, fill: Fill, depth: usize) -> Value {
        let required = schema["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|it| it.iter().any(|it| it == name));
        let properties = schema["properties"].as_object();
        let fields = properties
            .into_iter()
            .flatten()
            .filter(|(name, _)| fill == Fill::All || is_required(name))
            .map(|(name, schema)| (name.clone(), self.value(name, schema, fill, depth + 1)));
        Value::Object(fields.collect::<Map<_, _>>())
    }

    fn value(&self, name: &str, schema: &Value, fill: Fill, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(first) = choices(schema).into_iter().next() {
            return first;
        }
        let alternatives = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
        if let Some(first) = alternatives.and_then(|it| it.iter().find(|it| it["type"] != "null")) {
            return self.value(name, first, fill, depth + 1);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.first().and_then(Value::as_str),
            kind => kind.as_str(),
        };
        match kind {
            Some("string") => Value::String(self.text(name)),
            Some("integer" | "number") => number(name, schema),
            Some("boolean") => Value::Bool(fill == Fill::All && schema["default"] != true),
            Some("array") => {
                let items = schema["items"].as_object().map(|_| &schema["items"]);
                let item = items.map_or(json!("hello"), |it| self.value(name, it, fill, depth + 1));
                let count = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 4);
                (0..count).map(|_| item.clone()).collect()
            }
            Some("null") => Value::Null,
            Some("object") | None => self.object(schema, fill, depth + 1),
            Some(_) => json!("hello"),
        }
    }

    /// Returns a text that is plausible for a parameter of this name.
    fn text(&self, name: &str) -> String {
        let name = name.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let text = if has(&["url", "uri"]) {
            return self.page_url.to_owned();
        } else if has(&["cwd", "dir", "folder", "root"]) {
            "."
        } else if has(&["path", "file"]) {
            "notes.txt"
        } else if has(&["command", "cmd", "shell", "script"]) {
            "echo hello"
        } else if has(&["cron", "schedule"]) {
            "0 0 1 1 *"
        } else if has(&["date", "until", "since"]) {
            "2030-01-01"
        } else if has(&["lang"]) {
            "typescript"
        } else if has(&["model"]) {
            "scripted/model"
        } else if has(&["agent"]) {
            "worker"
        } else if name == "id" || name.ends_with("id") || name.ends_with("ids") {
            "1"
        } else if has(&["code", "expression"]) {
            "1 + 1"
        } else {
            "hello"
        };
        text.to_owned()
    }
}

fn number(name: &str, schema: &Value) -> Value {
    let name = name.to_ascii_lowercase();
    let wanted: i64 = if name.contains("timeout") || name.contains("ms") {
        3000
    } else if name.contains("limit") || name.contains("max") || name.contains("count") {
        3
    } else {
        1
    };
    // A bound that is no integer is between 0 and 1, as for probabilities.
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(bound), _) | (_, Some(bound)) if !bound.is_i64() => bound.clone(),
        (lowest, highest) => {
            let lowest = lowest.and_then(Value::as_i64).unwrap_or(i64::MIN);
            let highest = highest.and_then(Value::as_i64).unwrap_or(i64::MAX);
            json!(wanted.max(lowest).min(highest))
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_value_of_an_enumeration_is_called() {
        let schema = json!({"type": "object", "required": ["action"], "properties": {
            "action": {"anyOf": [{"const": "list"}, {"const": "add"}]},
            "path": {"type": "string"},
            "limit": {"type": "integer", "maximum": 2},
            "items": {"type": "array", "items": {"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}}},
        }});
        let full =
            json!({"action": "list", "items": [{"url": "U"}], "limit": 2, "path": "notes.txt"});
        let mut added = full.clone();
        added["action"] = json!("add");
        assert_eq!(
            variants(&schema, "U"),
            [json!({"action": "list"}), full, added]
        );
    }
}
