//! Renders a JSON schema as a TypeScript type.

use serde_json::{Map, Value};

/// Number of references that one type expands; the rest is `unknown`.
const MAX_EXPANSIONS: usize = 32;
/// Characters of one constraint.
const MAX_TAG_CHARS: usize = 80;

/// Constraints and whether the larger or the smaller of two values applies.
const CONSTRAINTS: [(&str, Option<Bound>); 11] = [
    ("minimum", Some(Bound::Lower)),
    ("exclusiveMinimum", Some(Bound::Lower)),
    ("maximum", Some(Bound::Upper)),
    ("exclusiveMaximum", Some(Bound::Upper)),
    ("multipleOf", None),
    ("minLength", Some(Bound::Lower)),
    ("maxLength", Some(Bound::Upper)),
    ("pattern", None),
    ("format", None),
    ("minItems", Some(Bound::Lower)),
    ("maxItems", Some(Bound::Upper)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    Lower,
    Upper,
}

/// Returns the type of a schema. If it has more than `max_chars` characters, constraints are left out; if it is still
/// longer, it is `unknown`.
pub(crate) fn schema_type(schema: &Value, max_chars: Option<usize>) -> String {
    let render = |has_tags| {
        let mut renderer = TypeRenderer {
            root: schema,
            has_tags,
            open: Vec::new(),
            expansions: 0,
        };
        renderer.render(schema)
    };
    let fits = |text: &String| max_chars.is_none_or(|max| text.len() <= max);
    Some(render(true))
        .filter(fits)
        .or_else(|| Some(render(false)).filter(fits))
        .unwrap_or_else(|| "unknown".to_owned())
}

struct TypeRenderer<'a> {
    root: &'a Value,
    has_tags: bool,
    /// References that are being expanded.
    open: Vec<&'a str>,
    expansions: usize,
}

impl<'a> TypeRenderer<'a> {
    fn render(&mut self, schema: &'a Value) -> String {
        match schema {
            Value::Bool(false) => "never".to_owned(),
            Value::Object(schema) => self.object_schema(schema),
            _ => "unknown".to_owned(),
        }
    }

    fn object_schema(&mut self, schema: &'a Map<String, Value>) -> String {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            return self.reference(reference);
        }
        if let Some(value) = schema.get("const") {
            return value.to_string();
        }
        if let Some(values) = list(schema, "enum") {
            return union(values.iter().map(Value::to_string));
        }
        if let Some(variants) = list(schema, "anyOf").or_else(|| list(schema, "oneOf")) {
            return union(variants.iter().map(|variant| self.render(variant)));
        }
        if let Some(parts) = list(schema, "allOf") {
            return self.intersection(parts);
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.named(name, schema),
            Some(Value::Array(names)) => union(names.iter().map(|name| {
                let name = name.as_str().unwrap_or_default();
                self.named(name, schema)
            })),
            None if has_any(schema, &["properties", "additionalProperties", "required"]) => {
                self.object(schema)
            }
            None if has_any(schema, &["items", "prefixItems"]) => self.array(schema),
            Some(_) | None => "unknown".to_owned(),
        }
    }

    fn named(&mut self, name: &str, schema: &'a Map<String, Value>) -> String {
        match name {
            "string" | "boolean" | "null" | "number" => name.to_owned(),
            "integer" => "number".to_owned(),
            "array" => self.array(schema),
            "object" => self.object(schema),
            _ => "unknown".to_owned(),
        }
    }

    fn reference(&mut self, reference: &'a str) -> String {
        if self.open.contains(&reference) || self.expansions >= MAX_EXPANSIONS {
            return "unknown".to_owned();
        }
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer))
            .filter(|target| target.is_object() || target.is_boolean());
        let Some(target) = target else {
            return "unknown".to_owned();
        };
        self.expansions += 1;
        self.open.push(reference);
        let text = self.render(target);
        self.open.pop();
        text
    }

    fn intersection(&mut self, parts: &'a [Value]) -> String {
        let parts: Vec<String> = parts
            .iter()
            .map(|part| self.render(part))
            .filter(|part| part != "unknown")
            .map(|part| {
                if part.contains(" | ") {
                    format!("({part})")
                } else {
                    part
                }
            })
            .collect();
        if parts.is_empty() {
            return "unknown".to_owned();
        }
        parts.join(" & ")
    }

    fn array(&mut self, schema: &'a Map<String, Value>) -> String {
        if let Some(items) = schema.get("items").filter(|items| !items.is_array()) {
            return format!("Array<{}>", self.render(items));
        }
        let items = list(schema, "prefixItems").or_else(|| list(schema, "items"));
        match items {
            Some(items) if !items.is_empty() => {
                let items: Vec<_> = items.iter().map(|item| self.render(item)).collect();
                format!("[{}]", items.join(", "))
            }
            _ => "unknown[]".to_owned(),
        }
    }

    fn object(&mut self, schema: &'a Map<String, Value>) -> String {
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut properties: Vec<(&String, &Value)> = properties.into_iter().flatten().collect();
        pi_protocol::sort_by_key(&mut properties, |(name, _)| *name);
        let required = list(schema, "required").unwrap_or_default();
        let mut members = Vec::new();
        for (name, property) in &properties {
            let is_required = required.iter().any(|it| it.as_str() == Some(name.as_str()));
            let mark = if is_required { "" } else { "?" };
            let key = property_key(name);
            members.push(format!("{key}{mark}: {};", self.render(property)));
        }
        let more = schema.get("additionalProperties");
        if let Some(more) = more.filter(|more| **more != Value::Bool(false)) {
            members.push(format!("[key: string]: {};", self.render(more)));
        } else if more.is_none() && properties.is_empty() {
            members.push("[key: string]: unknown;".to_owned());
        }
        if members.is_empty() {
            return "{}".to_owned();
        }
        let comments: Vec<Vec<String>> = properties
            .iter()
            .map(|(_, property)| self.comment(property))
            .collect();
        if comments.iter().all(Vec::is_empty) {
            return format!("{{ {} }}", members.join(" "));
        }
        let mut text = String::from("{\n");
        let comments = comments.into_iter().chain(std::iter::repeat(Vec::new()));
        for (member, comment) in members.iter().zip(comments) {
            for line in comment {
                text.push_str("  // ");
                text.push_str(&line);
                text.push('\n');
            }
            text.push_str("  ");
            text.push_str(&member.replace('\n', "\n  "));
            text.push('\n');
        }
        text.push('}');
        text
    }

    /// Returns the description of a property and its constraints, line by line.
    fn comment(&self, property: &Value) -> Vec<String> {
        let description = property.get("description").and_then(Value::as_str);
        let mut lines: Vec<String> = description
            .unwrap_or_default()
            .split(is_line_end)
            .map(|line| line.trim().to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        if self.has_tags {
            let tags = constraint_tags(property);
            if !tags.is_empty() {
                lines.push(tags);
            }
        }
        lines
    }
}

fn list<'a>(schema: &'a Map<String, Value>, key: &str) -> Option<&'a [Value]> {
    schema.get(key).and_then(Value::as_array).map(Vec::as_slice)
}

fn has_any(schema: &Map<String, Value>, keys: &[&str]) -> bool {
    keys.iter().any(|key| schema.contains_key(*key))
}

fn union(types: impl Iterator<Item = String>) -> String {
    let mut unique: Vec<String> = Vec::new();
    for one in types {
        if one == "unknown" {
            return one;
        }
        if !unique.contains(&one) {
            unique.push(one);
        }
    }
    if unique.is_empty() {
        return "never".to_owned();
    }
    unique.join(" | ")
}

fn property_key(name: &str) -> String {
    let starts_well = name.starts_with(|first: char| !first.is_ascii_digit());
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '$');
    if starts_well && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{2028}' | '\u{2029}')
}

/// Returns the constraints of a property as tags such as `@minimum 1`.
fn constraint_tags(property: &Value) -> String {
    let Some(property) = property.as_object() else {
        return String::new();
    };
    let schemas: Vec<&Map<String, Value>> = std::iter::once(property)
        .chain(only_variant(property))
        .collect();
    let mut tags = Vec::new();
    if schemas.iter().any(|schema| is_integer(schema)) {
        tags.push("@integer".to_owned());
    }
    for (keyword, bound) in CONSTRAINTS {
        let values = schemas
            .iter()
            .filter_map(|schema| constraint(schema, keyword));
        match bound {
            Some(bound) => {
                let numbers = values.filter_map(|value| Some((value.as_f64()?, value)));
                let strictest = numbers.reduce(|best, next| {
                    let is_stricter = match bound {
                        Bound::Lower => next.0 > best.0,
                        Bound::Upper => next.0 < best.0,
                    };
                    if is_stricter { next } else { best }
                });
                tags.extend(strictest.map(|(_, value)| format!("@{keyword} {}", plain(value))));
            }
            None => {
                let mut seen = Vec::new();
                for value in values.filter(|value| value.is_number() || value.is_string()) {
                    let tag = format!("@{keyword} {}", plain(value));
                    if !seen.contains(&tag) {
                        seen.push(tag);
                    }
                }
                tags.append(&mut seen);
            }
        }
    }
    let is_true = |value: Option<&Value>| value == Some(&Value::Bool(true));
    if schemas
        .iter()
        .any(|schema| is_true(schema.get("uniqueItems")))
    {
        tags.push("@uniqueItems".to_owned());
    }
    if let Some(default) = property.get("default").filter(|default| !default.is_null()) {
        tags.push(format!("@default {default}"));
    }
    if is_true(property.get("deprecated")) {
        tags.push("@deprecated".to_owned());
    }
    tags.retain(|tag| tag.chars().count() <= MAX_TAG_CHARS);
    let tags: Vec<String> = tags.iter().map(|tag| without_line_ends(tag)).collect();
    tags.join(" ")
}

/// Returns the variant of a schema that allows `null` in addition to one other type.
fn only_variant(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let variants = list(schema, "anyOf").or_else(|| list(schema, "oneOf"))?;
    let is_null = |variant: &&Value| variant.get("type").and_then(Value::as_str) == Some("null");
    let mut others = variants.iter().filter(|variant| !is_null(variant));
    let first = others.next()?;
    match others.next() {
        None => first.as_object(),
        Some(_) => None,
    }
}

fn is_integer(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "integer",
        Some(Value::Array(names)) => names.iter().any(|name| name.as_str() == Some("integer")),
        _ => false,
    }
}

/// Returns a constraint. In old schemas `exclusiveMinimum: true` makes `minimum` exclusive.
fn constraint<'a>(schema: &'a Map<String, Value>, keyword: &str) -> Option<&'a Value> {
    let is_flag = |name: &str| schema.get(name) == Some(&Value::Bool(true));
    match keyword {
        "minimum" if is_flag("exclusiveMinimum") => None,
        "maximum" if is_flag("exclusiveMaximum") => None,
        "exclusiveMinimum" if is_flag(keyword) => schema.get("minimum"),
        "exclusiveMaximum" if is_flag(keyword) => schema.get("maximum"),
        _ => schema.get(keyword),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string().trim_end_matches(".0").to_owned(),
    }
}

fn without_line_ends(tag: &str) -> String {
    let mut text = String::with_capacity(tag.len());
    for character in tag.chars() {
        if is_line_end(character) {
            let escape = format!("\\u{:04x}", u32::from(character));
            text.push_str(&escape);
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_become_types() {
        for (schema, expected) in [
            (json!(true), "unknown"),
            (json!(false), "never"),
            (json!({"type": "integer"}), "number"),
            (json!({"enum": ["x", 3, "x"]}), "\"x\" | 3"),
            (json!({"enum": []}), "never"),
            (json!({"const": null}), "null"),
            (json!({"type": ["string", "null"]}), "string | null"),
            (json!({"anyOf": [{"type": "string"}, {}]}), "unknown"),
            (
                json!({"allOf": [{"enum": [1, 2]}, {}, {"type": "number"}]}),
                "(1 | 2) & number",
            ),
            (json!({"type": "array"}), "unknown[]"),
            (json!({"items": {"type": "boolean"}}), "Array<boolean>"),
            (
                json!({"prefixItems": [{"type": "number"}, {"type": "string"}]}),
                "[number, string]",
            ),
            (json!({"type": "object"}), "{ [key: string]: unknown; }"),
            (
                json!({"type": "object", "additionalProperties": false}),
                "{}",
            ),
            (
                json!({"properties": {"b": {}, "a-b": {"type": "null"}}, "required": ["b"]}),
                "{ \"a-b\"?: null; b: unknown; }",
            ),
        ] {
            assert_eq!(schema_type(&schema, None), expected, "{schema}");
        }
    }

    #[test]
    fn comments_and_constraints_precede_their_property() {
        let schema = json!({
            "type": "object",
            "properties": {
                "limit": {
                    "description": "How many.\n\nAt most.",
                    "anyOf": [{"type": "integer", "minimum": 1.0}, {"type": "null"}],
                    "minimum": 0,
                    "default": 8,
                },
                "name": {"type": "string", "pattern": "^a\nb"},
            },
        });
        let expected = "{\n  // How many.\n  // At most.\n  // @integer @minimum 1 @default 8\n  \
                        limit?: number | null;\n  // @pattern ^a\\u000ab\n  name?: string;\n}";
        assert_eq!(schema_type(&schema, None), expected);
        assert_eq!(schema_type(&schema, Some(20)), "unknown");
    }

    #[test]
    fn references_are_expanded_a_limited_number_of_times() {
        let recursive = json!({
            "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
            "$ref": "#/$defs/node",
        });
        assert_eq!(schema_type(&recursive, None), "{ next?: unknown; }");
        // Each level names the next one twice: without a limit there would be 2^40 types.
        let mut definitions = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            let schema = json!({"properties": {"a": next, "b": next}});
            definitions.insert(format!("l{level}"), schema);
        }
        let wide = json!({"$defs": definitions, "$ref": "#/$defs/l0"});
        assert!(schema_type(&wide, None).len() < 2_000);
        assert_eq!(schema_type(&json!({"$ref": "#/nowhere"}), None), "unknown");
        assert_eq!(schema_type(&json!({"$ref": "http://x/"}), None), "unknown");
    }
}
