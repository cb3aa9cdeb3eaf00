//! Migrations of settings from earlier versions.
//!
//! They are applied whenever a file is read; the file itself changes only when a setting is written.

use serde_json::{Map, Value, json};

/// Converts an object to the current format.
pub(super) fn migrate(object: &mut Map<String, Value>) {
    queue_mode(object);
    websockets(object);
    skills(object);
    retry_delay(object);
}

/// `queueMode` became `steeringMode`.
fn queue_mode(object: &mut Map<String, Value>) {
    if object.contains_key("steeringMode") {
        return;
    }
    if let Some(mode) = object.shift_remove("queueMode") {
        object.insert("steeringMode".to_owned(), mode);
    }
}

/// `websockets`, a boolean, became `transport`.
fn websockets(object: &mut Map<String, Value>) {
    if object.contains_key("transport") {
        return;
    }
    if let Some(Value::Bool(on)) = object.get("websockets") {
        let transport = if *on { "websocket" } else { "sse" };
        object.shift_remove("websockets");
        object.insert("transport".to_owned(), json!(transport));
    }
}

/// `skills`, an object, became the list of its directories and `enableSkillCommands`.
fn skills(object: &mut Map<String, Value>) {
    let Some(Value::Object(skills)) = object.get_mut("skills") else {
        return;
    };
    let commands = skills.shift_remove("enableSkillCommands");
    let dirs = skills.shift_remove("customDirectories");
    match dirs {
        Some(Value::Array(dirs)) if !dirs.is_empty() => {
            object.insert("skills".to_owned(), Value::Array(dirs));
        }
        _ => {
            object.shift_remove("skills");
        }
    }
    if let Some(commands) = commands
        && !object.contains_key("enableSkillCommands")
    {
        object.insert("enableSkillCommands".to_owned(), commands);
    }
}

/// `retry.maxDelayMs` became `retry.provider.maxRetryDelayMs`.
fn retry_delay(object: &mut Map<String, Value>) {
    let Some(Value::Object(retry)) = object.get_mut("retry") else {
        return;
    };
    let Some(delay @ Value::Number(_)) = retry.shift_remove("maxDelayMs") else {
        return;
    };
    match retry.get_mut("provider") {
        Some(Value::Object(provider)) => {
            if provider.get("maxRetryDelayMs").is_none_or(Value::is_null) {
                provider.insert("maxRetryDelayMs".to_owned(), delay);
            }
        }
        _ => {
            retry.insert("provider".to_owned(), json!({ "maxRetryDelayMs": delay }));
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn migrated(value: Value) -> Value {
        let Value::Object(mut object) = value else {
            panic!("an object");
        };
        migrate(&mut object);
        Value::Object(object)
    }

    #[test]
    fn legacy_settings_are_migrated() {
        for (before, after) in [
            (json!({"queueMode": "all"}), json!({"steeringMode": "all"})),
            (
                json!({"queueMode": "all", "steeringMode": "one-at-a-time"}),
                json!({"queueMode": "all", "steeringMode": "one-at-a-time"}),
            ),
            (
                json!({"websockets": true}),
                json!({"transport": "websocket"}),
            ),
            (json!({"websockets": false}), json!({"transport": "sse"})),
            (json!({"websockets": "yes"}), json!({"websockets": "yes"})),
            (
                json!({"websockets": true, "transport": "auto"}),
                json!({"websockets": true, "transport": "auto"}),
            ),
            (
                json!({"skills": {"enableSkillCommands": false, "customDirectories": ["a"]}}),
                json!({"skills": ["a"], "enableSkillCommands": false}),
            ),
            (
                json!({"skills": {"customDirectories": []}, "enableSkillCommands": true}),
                json!({"enableSkillCommands": true}),
            ),
            (json!({"skills": ["a"]}), json!({"skills": ["a"]})),
            (
                json!({"retry": {"maxDelayMs": 5, "enabled": true}}),
                json!({"retry": {"enabled": true, "provider": {"maxRetryDelayMs": 5}}}),
            ),
            (
                json!({"retry": {"maxDelayMs": 5, "provider": {"maxRetryDelayMs": 7}}}),
                json!({"retry": {"provider": {"maxRetryDelayMs": 7}}}),
            ),
            (
                json!({"retry": {"maxDelayMs": 5, "provider": {"maxRetries": 1}}}),
                json!({"retry": {"provider": {"maxRetries": 1, "maxRetryDelayMs": 5}}}),
            ),
            (json!({"retry": {"maxDelayMs": "5"}}), json!({"retry": {}})),
            (json!({"retry": 3}), json!({"retry": 3})),
        ] {
            assert_eq!(migrated(before.clone()), after, "{before}");
            assert_eq!(migrated(after.clone()), after, "{before}, twice");
        }
    }
}
