//! The entry tree of a session as data.

use crate::index::{Index, IndexRecord};
use pi_protocol::{EntryId, EntryKind};

/// The entries of a session as a tree.
///
/// Nodes are in file order and refer to each other by position, so that a conversation of any
/// length can be traversed and dropped without recursion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionTree {
    pub nodes: Vec<TreeNode>,
    /// Positions of entries without a parent in the file.
    pub roots: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeLabel {
    pub text: String,
    /// When it was set, as ISO 8601.
    pub timestamp: String,
}

impl SessionTree {
    /// Builds the tree from the index, without reading the bodies of entries.
    pub(crate) fn of(index: &Index) -> Self {
        let records = index.records();
        let nodes = records.iter().map(|record| TreeNode::of(record, index));
        let mut nodes: Vec<_> = nodes.collect();
        let mut roots = Vec::new();
        for position in 0..nodes.len() {
            let parent = nodes.get(position).and_then(|node| node.parent);
            match parent.and_then(|parent| nodes.get_mut(parent)) {
                Some(parent) => parent.children.push(position),
                None => roots.push(position),
            }
        }
        for node in &mut nodes {
            // The sort is stable: entries with equal timestamps stay in file order.
            node.children
                .sort_by_key(|child| records.get(*child).map_or(0, |record| record.timestamp_ms));
        }
        Self { nodes, roots }
    }
}

impl TreeNode {
    fn of(record: &IndexRecord, index: &Index) -> Self {
        Self {
            id: record.id.clone(),
            kind: record.kind,
            timestamp_ms: record.timestamp_ms,
            parent: record.parent.slot().map(|slot| slot as usize),
            children: Vec::new(),
            label: index.label(record.id.as_str()).map(|label| NodeLabel {
                text: label.text.clone(),
                timestamp: label.timestamp.clone(),
            }),
        }
    }
}
