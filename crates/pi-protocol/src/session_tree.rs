//! The entry tree of a session.

use serde::{Deserialize, Serialize};

use crate::entry::EntryKind;
use crate::id::EntryId;

/// The entries of a session as a tree.
///
/// Nodes are in file order and refer to each other by position, so that a conversation of any
/// length can be traversed and dropped without recursion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTree {
    pub nodes: Vec<TreeNode>,
    /// Positions of entries without a parent in the file.
    pub roots: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    pub id: EntryId,
    pub kind: EntryKind,
    /// When it was appended, in milliseconds since the epoch; 0 if unknown.
    pub timestamp_ms: i64,
    /// Position of the parent.
    pub parent: Option<usize>,
    /// Positions of the children, oldest first.
    pub children: Vec<usize>,
    pub label: Option<NodeLabel>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeLabel {
    pub text: String,
    /// When it was set, as ISO 8601.
    pub timestamp: String,
}
