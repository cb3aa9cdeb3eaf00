//! Commands of clients to a session.
//!
//! The JSON form is the one of RPC commands, without the `id` of the line.

use serde::{Deserialize, Serialize};

use crate::content::ImageContent;
use crate::interaction::{Answer, RequestId};
use crate::mcp::McpAction;
use crate::queue::{Delivery, QueueMode};
use crate::screen_event::ScreenRow;
use crate::session_search::SearchRole;

mod hello;
mod reply;

pub use hello::{ClientHello, ClientRight, ScreenSize};
pub use reply::{Ack, Rejected, RejectionCode};

/// A request of a client to change or read a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Command {
    /// Sends a user message. The response is sent when the run starts, not when it ends.
    Prompt {
        message: String,
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::InputBlock>"))]
        images: Vec<ImageContent>,
        /// How to queue the message if the agent is busy; without it, a busy agent is an error.
        #[serde(skip_serializing_if = "Option::is_none")]
        streaming_behavior: Option<Delivery>,
    },
    /// Queues a message to be delivered after the current tool calls.
    Steer {
        message: String,
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::InputBlock>"))]
        images: Vec<ImageContent>,
    },
    /// Queues a message for the point where the agent would stop.
    FollowUp {
        message: String,
        #[serde(default, with = "images", skip_serializing_if = "Vec::is_empty")]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::InputBlock>"))]
        images: Vec<ImageContent>,
    },
    /// Aborts the current activity. The response is sent when the agent is idle.
    Abort,
    /// Continues a session whose process was killed: runs the open calls of the last response, repeats a failed
    /// request, or answers the last message.
    Resume {
        /// The calls that may have started. They run again only if their tool allows it.
        #[serde(default)]
        begun: Vec<String>,
    },
    /// Empties the queues and returns their texts.
    ClearQueue,
    /// Answers a request of the session. Rejected if the request is no longer open.
    Answer {
        request: RequestId,
        answer: Answer,
    },
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
        /// Only returns what a compaction would do.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        preview: bool,
    },
    /// Moves back to the entry before the last compaction, if no prompt followed it.
    UndoCompaction,
    /// Returns the prompt cache misses of the session with their causes.
    GetCacheReport,
    /// Returns what fills the context.
    GetContextReport,
    /// Returns what each extension costs: time, memory, prompt tokens.
    GetExtensionCosts,
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
    /// States what the client can do. As the first line, it also selects where the events continue.
    Hello(ClientHello),
    /// Sends input to a component of an extension, or to the focused one.
    ScreenInput {
        /// The `id` of its `screen_mount`.
        #[serde(skip_serializing_if = "Option::is_none")]
        component: Option<u64>,
        /// Text and escape sequences, as a terminal sends them.
        data: String,
    },
    /// Draws a row of the transcript, if an extension has a renderer for it.
    ScreenRender {
        row: ScreenRow,
        /// Whether details are shown.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        expanded: bool,
    },
    /// Changes the size of the screen that components of extensions are drawn for.
    ScreenSize(ScreenSize),
    /// Returns the MCP servers. From then on the client receives `mcp_status` events.
    GetMcpServers,
    McpAction {
        server: String,
        action: McpAction,
    },
    /// Returns the stored sessions of the working directory, or of all directories.
    ListSessions {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// Searches the text of all stored sessions.
    SearchSessions {
        /// Words that must all occur, phrases in double quotes, and starts of words with `*`.
        query: String,
        /// Only sessions of this directory or of one below it.
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// Only entries of this time or later, in milliseconds since the epoch.
        #[serde(skip_serializing_if = "Option::is_none")]
        since: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<SearchRole>,
        /// Maximum number of hits.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<usize>,
    },
    /// Moves to another entry of the tree.
    NavigateTree {
        entry_id: String,
        /// Whether to summarize the branch that is left.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        summarize: bool,
        /// Additional instructions for the summary.
        #[serde(skip_serializing_if = "Option::is_none")]
        custom_instructions: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        step: Option<NavigateStep>,
    },
    /// Sets the label of an entry; without one, it is removed.
    SetLabel {
        entry_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Returns the tools, and which of them the model can call.
    GetTools,
    SetActiveTools {
        tools: Vec<String>,
    },
    /// Returns the requests that wait for an answer.
    GetRequests,
    /// Returns the slash commands that begin with a text, or the files that match what follows `@`.
    Complete {
        text: String,
    },
}

/// How much of a move in the tree happens at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NavigateStep {
    #[default]
    Whole,
    /// Until the user must choose whether to summarize the branch that is left; [`Self::Rest`] follows.
    UntilSummary,
    /// What follows [`Self::UntilSummary`].
    Rest,
}

impl Command {
    /// Whether the command only reads, so that a client with [`ClientRight::View`] may send it.
    pub fn is_read_only(&self) -> bool {
        matches!(
            self,
            Self::GetState
                | Self::GetMessages
                | Self::GetAvailableModels
                | Self::GetAvailableThinkingLevels
                | Self::GetSessionStats
                | Self::GetForkMessages
                | Self::GetEntries { .. }
                | Self::GetTree
                | Self::GetLastAssistantText
                | Self::GetCommands
                | Self::GetMcpServers
                | Self::ListSessions { .. }
                | Self::SearchSessions { .. }
                | Self::GetCacheReport
                | Self::GetContextReport
                | Self::GetExtensionCosts
                | Self::GetTools
                | Self::GetRequests
                | Self::Complete { .. }
                | Self::Hello(_)
        )
    }
}

/// Images carry `"type": "image"` on the wire, for which the struct has no field.
mod images {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::content::{ImageContent, InputBlock};

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
