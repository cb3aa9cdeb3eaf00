//! What a client may ask: one object a line, told apart by `type`.
//!
//! Reading is lenient where the TypeScript pi is: an `id` may be any JSON value, unknown fields are ignored, `null`
//! counts as absent. A line that is no command at all still gets an answer.

use pi_agent::QueueMode;
use pi_ai::ImageContent;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::extension_ui::ExtensionUiResponse;

/// What to do with a prompt while the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamingBehavior {
    /// Deliver it after the tools that run now.
    Steer,
    /// Deliver it when the agent would stop.
    FollowUp,
}

/// A command of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum RpcCommand {
    /// Sends a message of the user. Answered when the run starts, not when it ends.
    Prompt {
        message: String,
        /// Images that go with it.
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
        /// What to do if the agent works already; without it that is an error.
        #[serde(skip_serializing_if = "Option::is_none")]
        streaming_behavior: Option<StreamingBehavior>,
    },
    /// Queues a message for after the tools that run now.
    Steer {
        message: String,
        /// Images that go with it.
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
    },
    /// Queues a message for when the agent would stop.
    FollowUp {
        message: String,
        /// Images that go with it.
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageContent>,
    },
    /// Stops what is under way; answered when the agent is idle.
    Abort,
    /// Empties the queues and returns their texts.
    ClearQueue,
    /// Begins a new session.
    NewSession {
        /// The session file it comes from.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_session: Option<String>,
    },
    /// Asks how things stand.
    GetState,
    /// Asks for the messages the model sees.
    GetMessages,
    SetModel {
        provider: String,
        model_id: String,
    },
    /// Chooses the next model.
    CycleModel,
    /// Asks for the models that can be used.
    GetAvailableModels,
    /// Chooses a thinking level. An unknown one means the least the model offers.
    SetThinkingLevel {
        level: String,
    },
    /// Chooses the next thinking level.
    CycleThinkingLevel,
    /// Asks for the levels the model offers.
    GetAvailableThinkingLevels,
    /// Says how steering messages are delivered.
    SetSteeringMode {
        mode: QueueMode,
    },
    /// Says how follow-up messages are delivered.
    SetFollowUpMode {
        mode: QueueMode,
    },
    /// Summarizes the conversation so far.
    Compact {
        /// What the summary should heed.
        #[serde(skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
    },
    /// Turns automatic compaction on or off.
    SetAutoCompaction {
        enabled: bool,
    },
    /// Turns automatic retries on or off.
    SetAutoRetry {
        enabled: bool,
    },
    /// Gives up a retry that is waiting.
    AbortRetry,
    /// Runs a command of the user.
    Bash {
        command: String,
        /// Whether the model shall not see it.
        #[serde(skip_serializing_if = "Option::is_none")]
        exclude_from_context: Option<bool>,
    },
    /// Stops the user's commands.
    AbortBash,
    /// Asks for counts and costs.
    GetSessionStats,
    /// Writes the session as a web page.
    ExportHtml {
        /// Where to; a name after the session otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_path: Option<String>,
    },
    /// Opens another session file.
    SwitchSession {
        session_path: String,
    },
    /// Begins a session from before a message of the user.
    Fork {
        entry_id: String,
    },
    /// Begins a session that is a copy of this branch.
    Clone,
    /// Asks which messages a fork can begin at.
    GetForkMessages,
    /// Asks for entries of the session file.
    GetEntries {
        /// Only those after this one.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<String>,
    },
    /// Asks for the entries as a tree.
    GetTree,
    /// Asks for the text of the last answer.
    GetLastAssistantText,
    SetSessionName {
        name: String,
    },
    /// Asks what a message may begin with after `/`.
    GetCommands,
}

/// The `type` of every command.
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

/// A command with what its answer is to carry.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcRequest {
    /// Repeated in the answer, as it is.
    pub id: Option<Value>,
    /// The `type`, repeated in the answer.
    pub kind: String,
    pub command: RpcCommand,
}

/// What a line of a client is.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientLine {
    Request(RpcRequest),
    /// An answer to an extension's dialog.
    ExtensionUi(ExtensionUiResponse),
    /// Nothing that can be done.
    Rejected(RejectedLine),
}

/// Why a line is no command, with what its answer is to carry.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedLine {
    /// The `id`, where there is one.
    pub id: Option<Value>,
    /// The `type`, where there is one; `parse` for a line that is no JSON.
    pub command: Option<String>,
    pub error: String,
}

impl ClientLine {
    /// Reads a line. Every line can be read.
    pub fn parse(line: &str) -> Self {
        match pi_ai::json::from_str_lenient(line) {
            Ok(Value::Object(mut object)) => {
                let id = object.get("id").cloned();
                let kind = match object.get("type") {
                    Some(Value::String(kind)) => kind.clone(),
                    Some(_) => {
                        return Self::rejected(id, None, "The type of a command is a string");
                    }
                    None => return Self::rejected(id, None, "A command has a type"),
                };
                if !COMMANDS.contains(&kind.as_str()) {
                    let error = format!("Unknown command: {kind}");
                    return Self::rejected(id, Some(kind), error);
                }
                if kind == ExtensionUiResponse::TYPE {
                    return match ExtensionUiResponse::from_object(&object) {
                        Some(response) => Self::ExtensionUi(response),
                        None => Self::rejected(id, Some(kind), "The id of a dialog is a string"),
                    };
                }
                // An internally tagged value keeps what it does not know only where it is told to.
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
                format!("A command is a JSON object, not {}", type_name(&other)),
            ),
            Err(error) => Self::rejected(
                None,
                Some("parse".to_owned()),
                format!("Not a JSON line: {error}"),
            ),
        }
    }

    /// Answers a line that was too long to read.
    pub(crate) fn too_long(limit: usize) -> Self {
        let megabytes = limit / (1024 * 1024);
        Self::rejected(
            None,
            Some("parse".to_owned()),
            format!("The line is longer than {megabytes} MiB and was skipped"),
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

/// Images carry `"type": "image"` on the wire, which the struct has no field for.
mod images {
    use super::{Deserialize, Deserializer, ImageContent, Serialize, Serializer};
    use pi_ai::InputBlock;

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
