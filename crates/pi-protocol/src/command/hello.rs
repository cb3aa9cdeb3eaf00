//! The first line of a client that attaches to a live session.

use serde::{Deserialize, Serialize};

/// What a client can do, and where it continues. Every field is optional.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClientHello {
    /// The version of the protocol, 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u32>,
    /// The version of the client, for logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<ClientRight>,
    /// The cursor of the last event that the client has seen. Without it, or if the events after it are gone, a snapshot
    /// is sent first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The last entry that the client has. A snapshot then has the entries after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The size of the client's screen, if it shows components of extensions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<ScreenSize>,
    /// Whether its user answers questions of MCP servers, which arrive as dialogs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub elicitation: bool,
    /// Up to how many entries a snapshot has, without `entry`: those before `before`, or up to the leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Whether each event has its `cursor`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cursors: bool,
    /// Whether the client only reads the first snapshot; it is not counted as an observer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listing: bool,
    /// The format of the index that the client reads. A process of the same user that reads the session file asks for
    /// it, so that it need not scan the file. A snapshot then has the index, if the session has it in that format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
}

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClientRight {
    /// Observe the session and read its state.
    View,
    /// Also send messages, change the session and answer its requests.
    #[default]
    Control,
}

/// The size of a screen in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScreenSize {
    pub cols: u16,
    pub rows: u16,
}
