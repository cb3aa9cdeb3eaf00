//! The entry tree of a session as data.

use pi_protocol::{NodeLabel, SessionTree, TreeNode};

use crate::index::{Index, IndexRecord};

/// Builds the tree from the index, without reading the bodies of entries.
pub(crate) fn build_tree(index: &Index) -> SessionTree {
    let records = index.records();
    let nodes = records.iter().map(|record| node_of(record, index));
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
    SessionTree { nodes, roots }
}

fn node_of(record: &IndexRecord, index: &Index) -> TreeNode {
    TreeNode {
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
