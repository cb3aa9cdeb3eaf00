//! Commands of clients: one JSON object per line, identified by `type`.
//!
//! Parsing is as lenient as in the TypeScript pi: an `id` may be any JSON value, unknown fields are
//! ignored, and `null` means absent. A line that is not a command still gets a response.

use pi_protocol::{Command, ExtensionUiResponse};
use serde::Deserialize as _;
use serde_json::Value;

/// The commands of the wire format.
const COMMANDS: &[&str] = &[
    "prompt",
    "steer",
    "follow_up",
    "abort",
    "resume",
    "clear_queue",
    "answer",
    "new_session",
    "get_state",
    "get_messages",
    "set_model",
    "cycle_model",
    "get_available_models",
    "set_thinking_level",
    "cycle_thinking_level",
    "get_available_thinking_levels",
    "set_steering_mode",
    "set_follow_up_mode",
    "compact",
    "set_auto_compaction",
    "set_auto_retry",
    "abort_retry",
    "bash",
    "abort_bash",
    "get_session_stats",
    "export_html",
    "switch_session",
    "fork",
    "clone",
    "get_fork_messages",
    "get_entries",
    "get_tree",
    "get_last_assistant_text",
    "set_session_name",
    "get_commands",
    "hello",
    "screen_input",
    "screen_render",
    "screen_size",
    "get_mcp_servers",
    "mcp_action",
    "list_sessions",
    "search_sessions",
    "undo_compaction",
    "get_cache_report",
    "get_context_report",
    "get_extension_costs",
    "navigate_tree",
    "set_label",
    "get_tools",
    "set_active_tools",
    "get_requests",
    "complete",
    "extension_ui_response",
];

/// A command with the fields its response repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcRequest {
    /// Repeated in the response unchanged.
    pub id: Option<Value>,
    /// The `type`, repeated in the response.
    pub kind: String,
    pub command: Command,
}

/// A parsed line of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientLine {
    Request(RpcRequest),
    /// A reply to a dialog of an extension.
    ExtensionUi(ExtensionUiResponse),
    /// Not a valid command.
    Rejected(RejectedLine),
}

/// A line that is not a valid command, with the fields its response repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedLine {
    pub id: Option<Value>,
    /// The `type`, if there is one; `parse` for a line that is not JSON.
    pub command: Option<String>,
    pub error: String,
}

impl ClientLine {
    /// Parses a line. Never fails; invalid lines become [`ClientLine::Rejected`].
    pub fn parse(line: &str) -> Self {
        match pi_protocol::json::from_str_lenient(line) {
            Ok(Value::Object(mut object)) => {
                let id = object.get("id").cloned();
                let kind = match object.get("type") {
                    Some(Value::String(kind)) => kind.clone(),
                    Some(_) => {
                        return Self::rejected(id, None, "The command type must be a string");
                    }
                    None => return Self::rejected(id, None, "Missing command type"),
                };
                if !COMMANDS.contains(&kind.as_str()) {
                    let error = format!("Unknown command: {kind}");
                    return Self::rejected(id, Some(kind), error);
                }
                if kind == ExtensionUiResponse::TYPE {
                    return match ExtensionUiResponse::from_object(&object) {
                        Some(response) => Self::ExtensionUi(response),
                        None => Self::rejected(id, Some(kind), "The dialog ID must be a string"),
                    };
                }
                // The `id` belongs to the request; commands have no field for it.
                object.shift_remove("id");
                match Command::deserialize(Value::Object(object)) {
                    Ok(command) => Self::Request(RpcRequest { id, kind, command }),
                    Err(error) => {
                        let error = format!("Invalid {kind} command: {error}");
                        Self::rejected(id, Some(kind), error)
                    }
                }
            }
            Ok(other) => Self::rejected(
                None,
                None,
                format!("A command must be a JSON object, not {}", type_name(&other)),
            ),
            Err(error) => Self::rejected(
                None,
                Some("parse".to_owned()),
                format!("Invalid JSON: {error}"),
            ),
        }
    }

    /// Rejects a line that exceeded the length limit.
    pub fn too_long(limit: usize) -> Self {
        let megabytes = limit / (1024 * 1024);
        Self::rejected(
            None,
            Some("parse".to_owned()),
            format!("Line skipped: longer than {megabytes} MiB"),
        )
    }

    fn rejected(id: Option<Value>, command: Option<String>, error: impl Into<String>) -> Self {
        Self::Rejected(RejectedLine {
            id,
            command,
            error: error.into(),
        })
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
