//! Converts entries of other clients: keys, references to variables, and how commands are written.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use pi_protocol::json::JsonObject;
use serde_json::{Value, json};

/// Keys that both kinds of clients know.
const KEYS: [&str; 7] = ["command", "args", "env", "cwd", "url", "headers", "type"];

/// Returns a name that `mcp.json` accepts.
pub(super) fn server_name(name: &str) -> String {
    let is_valid =
        |character: &char| character.is_ascii_alphanumeric() || "_-".contains(*character);
    let characters = name.chars();
    let characters = characters.map(|one| if is_valid(&one) { one } else { '-' });
    characters.collect()
}

/// Parses JSON with comments and trailing commas.
pub(super) fn parse_json(text: &str) -> Result<JsonObject, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let parsed = parsed.map_err(|error| error.to_string())?;
    match parsed.value.as_ref().map(to_json) {
        Some(Value::Object(object)) => Ok(object),
        None => Ok(JsonObject::default()),
        Some(_) => Err("expected an object".to_owned()),
    }
}

fn to_json(node: &Node<'_>) -> Value {
    match node {
        Node::StringLit(text) => text.value.clone().into_owned().into(),
        Node::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_default(),
        Node::BooleanLit(literal) => literal.value.into(),
        Node::Array(array) => array.elements.iter().map(to_json).collect(),
        Node::Object(object) => {
            let entries = object.properties.iter();
            let entries = entries.map(|it| (it.name.as_str().to_owned(), to_json(&it.value)));
            Value::Object(entries.collect())
        }
        Node::NullKeyword(_) => Value::Null,
    }
}

/// Keeps the keys that `mcp.json` has, in a fixed order.
fn known(entry: &JsonObject) -> JsonObject {
    let entries = KEYS.iter().filter_map(|key| {
        let value = entry.get(*key).filter(|value| !is_empty(value))?;
        Some(((*key).to_owned(), value.clone()))
    });
    let mut entry: JsonObject = entries.collect();
    // The other keys state it.
    let kind = entry.get("type").and_then(Value::as_str);
    if matches!(kind, Some("stdio" | "http" | "streamable-http")) {
        entry.shift_remove("type");
    }
    entry
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Converts an entry of a client with the same format.
pub(super) fn plain(entry: &JsonObject) -> JsonObject {
    let mut converted = known(entry);
    if entry.get("disabled").and_then(Value::as_bool) == Some(true) {
        converted.insert("enabled".to_owned(), false.into());
    }
    replace_texts(&mut converted, &|text| {
        references(text, &[("${env:", "}")]).replace("${workspaceFolder}", ".")
    });
    converted
}

/// Inputs become variables: their values are not stored with the configuration.
pub(super) fn vscode(entry: &JsonObject) -> JsonObject {
    let mut converted = known(entry);
    replace_texts(&mut converted, &|text| {
        let text = references(text, &[("${input:", "}"), ("${env:", "}")]);
        text.replace("${workspaceFolder}", ".")
    });
    converted
}

pub(super) fn codex(entry: &JsonObject) -> JsonObject {
    let mut converted = known(entry);
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let mut headers = JsonObject::default();
    if let Some(Value::Object(fixed)) = entry.get("http_headers") {
        headers.extend(fixed.clone());
    }
    if let Some(Value::Object(variables)) = entry.get("env_http_headers") {
        let variables = variables.iter().filter_map(|(header, variable)| {
            let variable = variable.as_str()?;
            Some((header.clone(), Value::from(format!("${{{variable}}}"))))
        });
        headers.extend(variables);
    }
    if let Some(variable) = text("bearer_token_env_var") {
        let value = format!("Bearer ${{{variable}}}");
        headers.insert("Authorization".to_owned(), value.into());
    }
    if !headers.is_empty() {
        converted.insert("headers".to_owned(), headers.into());
    }
    if let Some(timeout) = entry.get("tool_timeout_sec").filter(|it| it.is_number()) {
        converted.insert("timeout".to_owned(), timeout.clone());
    }
    if entry.get("enabled").and_then(Value::as_bool) == Some(false) {
        converted.insert("enabled".to_owned(), false.into());
    }
    converted
}

pub(super) fn opencode(entry: &JsonObject) -> Result<JsonObject, String> {
    let mut converted = JsonObject::default();
    match entry.get("type").and_then(Value::as_str) {
        Some("local") => {
            let words = entry.get("command").and_then(Value::as_array);
            let Some((command, args)) = words.and_then(|words| words.split_first()) else {
                return Err("command must be a list of words".to_owned());
            };
            converted.insert("command".to_owned(), command.clone());
            if !args.is_empty() {
                converted.insert("args".to_owned(), args.into());
            }
            if let Some(variables) = entry.get("environment").filter(|it| !is_empty(it)) {
                converted.insert("env".to_owned(), variables.clone());
            }
        }
        Some("remote") => {
            for key in ["url", "headers"] {
                if let Some(value) = entry.get(key).filter(|value| !is_empty(value)) {
                    converted.insert(key.to_owned(), value.clone());
                }
            }
        }
        _ => return Err("type must be local or remote".to_owned()),
    }
    if entry.get("enabled").and_then(Value::as_bool) == Some(false) {
        converted.insert("enabled".to_owned(), json!(false));
    }
    replace_texts(&mut converted, &|text| references(text, &[("{env:", "}")]));
    Ok(converted)
}

/// Replaces every text of an entry.
fn replace_texts(entry: &mut JsonObject, replace: &dyn Fn(&str) -> String) {
    for value in entry.values_mut() {
        replace_in(value, replace);
    }
}

fn replace_in(value: &mut Value, replace: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = replace(text),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_in(item, replace)),
        Value::Object(entries) => replace_texts(entries, replace),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Writes references to variables as `${NAME}`. Characters that names cannot have become `_`.
fn references(text: &str, forms: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (start, end) in forms {
        let mut converted = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(start) {
            let Some((name, after)) = after.split_once(end) else {
                break;
            };
            let is_valid = |one: char| one.is_ascii_alphanumeric() || one == '_';
            let name: String = name
                .chars()
                .map(|one| if is_valid(one) { one } else { '_' })
                .collect();
            converted.push_str(before);
            converted.extend(["${", &name, "}"]);
            rest = after;
        }
        converted.push_str(rest);
        text = converted;
    }
    text
}
