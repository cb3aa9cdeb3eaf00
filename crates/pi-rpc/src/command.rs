//! Commands of clients: one JSON object per line, identified by `type`.
//!
//! Parsing is as lenient as in the TypeScript pi: an `id` may be any JSON value, unknown fields are
//! ignored, and `null` means absent. A line that is not a command still gets a response.

use pi_protocol::{ImageContent, QueueMode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::extension_ui::ExtensionUiResponse;

/// What to do with a prompt while the agent is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamingBehavior {
    /// Deliver it after the current tool calls.
    Steer,
    /// Deliver it when the agent would stop.
    FollowUp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum RpcCommand {
    /// Sends a user message. The response is sent when the run starts, not when it ends.
    Prompt {
        message: String,
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
        /// How to queue the message if the agent is busy; without it, a busy agent is an error.
        #[serde(skip_serializing_if = "Option::is_none")]
        streaming_behavior: Option<StreamingBehavior>,
    },
    /// Queues a message to be delivered after the current tool calls.
    Steer {
        message: String,
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
    },
    /// Queues a message for the point where the agent would stop.
    FollowUp {
        message: String,
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
    },
    /// Aborts the current activity. The response is sent when the agent is idle.
    Abort,
    /// Empties the queues and returns their texts.
    ClearQueue,
    NewSession {
        /// The parent session file.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_session: Option<String>,
    },
    GetState,
    /// Returns the messages in the model's context.
    GetMessages,
    SetModel {
        provider: String,
        model_id: String,
    },
    CycleModel,
    GetAvailableModels,
    /// Selects a thinking level. An unknown level selects the lowest one the model supports.
    SetThinkingLevel {
        level: String,
    },
    CycleThinkingLevel,
    GetAvailableThinkingLevels,
    SetSteeringMode {
        mode: QueueMode,
    },
    SetFollowUpMode {
        mode: QueueMode,
    },
    Compact {
        /// Additional instructions for the summary.
        #[serde(skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
    },
    SetAutoCompaction {
        enabled: bool,
    },
    SetAutoRetry {
        enabled: bool,
    },
    /// Cancels a pending retry.
    AbortRetry,
    /// Runs a shell command for the user.
    Bash {
        command: String,
        /// Whether to keep the command out of the model's context.
        #[serde(skip_serializing_if = "Option::is_none")]
        exclude_from_context: Option<bool>,
    },
    AbortBash,
    GetSessionStats,
    /// Exports the session as HTML.
    ExportHtml {
        /// The output path; derived from the session file by default.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_path: Option<String>,
    },
    SwitchSession {
        session_path: String,
    },
    /// Starts a session that branches off before a user message.
    Fork {
        entry_id: String,
    },
    /// Starts a session that is a copy of the current branch.
    Clone,
    /// Returns the user messages at which the session can be forked.
    GetForkMessages,
    GetEntries {
        /// Only return entries after this one.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<String>,
    },
    GetTree,
    /// Returns the text of the last model response.
    GetLastAssistantText,
    SetSessionName {
        name: String,
    },
    /// Returns the available slash commands.
    GetCommands,
}

const COMMANDS: [&str; 34] = [
    "prompt",
    "steer",
    "follow_up",
    "abort",
    "clear_queue",
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
    "extension_ui_response",
];

/// A command with the fields its response repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcRequest {
    /// Repeated in the response unchanged.
    pub id: Option<Value>,
    /// The `type`, repeated in the response.
    pub kind: String,
    pub command: RpcCommand,
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
                match RpcCommand::deserialize(Value::Object(object)) {
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
    pub(crate) fn too_long(limit: usize) -> Self {
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

/// Images carry `"type": "image"` on the wire, for which the struct has no field.
mod images {
    use pi_protocol::InputBlock;

    use super::{Deserialize, Deserializer, ImageContent, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        images: &[ImageContent],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let blocks: Vec<InputBlock> = images.iter().cloned().map(InputBlock::Image).collect();
        blocks.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<ImageContent>, D::Error> {
        let images = Option::<Vec<ImageContent>>::deserialize(deserializer)?;
        let mut images = images.unwrap_or_default();
        for image in &mut images {
            image.extra.shift_remove("type");
        }
        Ok(images)
    }
}

#[cfg(test)]
mod tests;
