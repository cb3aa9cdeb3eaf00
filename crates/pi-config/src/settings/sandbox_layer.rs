//! The `sandbox` settings of a project, which may only restrict what those of the user allow.

use pi_protocol::settings::{SandboxMode, SandboxSettings};
use serde_json::{Map, Value, json};

/// What a project may set.
const ALLOWED: [&str; 5] = ["mode", "network", "denyRead", "protect", "onDenied"];

/// Removes what a project may not set, and adds the user's lists to those of the project.
pub(super) fn restrict(project: &mut Map<String, Value>, user: Option<&Value>) {
    let user = |key: &str| user.and_then(|user| user.get(key));
    project.retain(|key, _| ALLOWED.contains(&key.as_str()));
    let mode = |value: Option<&Value>| {
        value
            .and_then(Value::as_str)
            .and_then(SandboxMode::from_name)
    };
    let is_wider = match (mode(project.get("mode")), mode(user("mode"))) {
        (Some(project), user) => project <= user.unwrap_or_default(),
        // An invalid mode is an error.
        (None, _) => false,
    };
    if is_wider {
        project.shift_remove("mode");
    }
    if project.get("network") == Some(&json!("on")) {
        project.shift_remove("network");
    }
    if project.get("onDenied") == Some(&json!("ask")) {
        project.shift_remove("onDenied");
    }
    add_below(
        project.get_mut("denyRead"),
        user("denyRead"),
        &SandboxSettings::DENY_READ,
    );
    add_below(
        project.get_mut("protect"),
        user("protect"),
        &SandboxSettings::PROTECT,
    );
}

/// Puts the user's list, or the default one, in front of a project's.
fn add_below(list: Option<&mut Value>, user: Option<&Value>, default: &[&str]) {
    let Some(list) = list else { return };
    let Value::Array(entries) = list else { return };
    match user {
        None => {
            entries.splice(0..0, default.iter().map(|entry| json!(entry)));
        }
        Some(Value::Array(user)) => {
            entries.splice(0..0, user.iter().cloned());
        }
        // Kept, because it is an error.
        Some(invalid) => *list = invalid.clone(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn restricted(project: Value, user: &Value) -> Value {
        let Value::Object(mut project) = project else {
            panic!("an object is expected");
        };
        restrict(&mut project, Some(user));
        Value::Object(project)
    }

    #[test]
    fn a_project_only_tightens() {
        for (project, user, expected) in [
            (
                json!({ "mode": "off" }),
                json!({ "mode": "workspace" }),
                json!({}),
            ),
            (
                json!({ "mode": "workspace" }),
                json!({ "mode": "read-only" }),
                json!({}),
            ),
            (
                json!({ "mode": "read-only" }),
                json!({ "mode": "workspace" }),
                json!({ "mode": "read-only" }),
            ),
            (
                json!({ "mode": "workspace" }),
                json!({}),
                json!({ "mode": "workspace" }),
            ),
            (json!({ "mode": "?" }), json!({}), json!({ "mode": "?" })),
            (
                json!({ "network": "on", "writable": ["/"], "landlockOnly": true }),
                json!({ "network": "off" }),
                json!({}),
            ),
            (
                json!({ "network": "off" }),
                json!({}),
                json!({ "network": "off" }),
            ),
            (
                json!({ "mode": "try", "onDenied": "ask", "keepTried": true }),
                json!({ "mode": "workspace", "onDenied": "report" }),
                json!({ "mode": "try" }),
            ),
            (
                json!({ "denyRead": ["x"] }),
                json!({}),
                json!({ "denyRead": ["~/.ssh", "**/.env", "x"] }),
            ),
            (
                json!({ "protect": ["x"] }),
                json!({ "protect": ["y"] }),
                json!({ "protect": ["y", "x"] }),
            ),
            (
                json!({ "protect": [] }),
                json!({ "protect": 1 }),
                json!({ "protect": 1 }),
            ),
        ] {
            assert_eq!(restricted(project, &user), expected);
        }
    }
}
