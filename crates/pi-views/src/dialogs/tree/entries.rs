//! The entries behind the tree, read when they are shown.
//!
//! What the tree shows of an entry is kept while it is likely to be shown again, so that neither the time nor the memory
//! of a session of any length follows what is not on screen.

use std::collections::HashMap;
use std::sync::Arc;

use pi_protocol::{Entry, EntryKind, MessageRole, NodeLabel, SessionTree, ToolCall, TreeNode};

use super::ReadEntry;
use super::entry_summary::{EntrySummary, UNREADABLE, call_of, summary_of};
use super::node_facts::NodeFacts;
use super::turn_totals::TurnScan;

/// How far above a tool result its call is searched for.
const CALL_DISTANCE: usize = 64;
/// Responses of a session that is read completely when the tree opens.
const READ_AT_ONCE: usize = 2_000;
/// Summaries and facts kept.
const MAX_KEPT: usize = 4_096;
/// Entries of turns read before the tree is drawn, and in each step afterwards.
const ENTRIES_PER_STEP: usize = 250;

/// Whether a response only calls tools, whose results are more informative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ResponseKind {
    /// Not read yet, or no response.
    #[default]
    Unknown,
    WithText,
    OnlyCallsTools,
}

pub(super) struct TreeEntries {
    tree: SessionTree,
    read: ReadEntry,
    responses: Vec<ResponseKind>,
    unread_responses: usize,
    summaries: HashMap<usize, Box<EntrySummary>>,
    facts: HashMap<usize, NodeFacts>,
    /// The visible turns whose totals are still being added up.
    scans: Vec<TurnScan>,
}

impl TreeEntries {
    pub(super) fn new(tree: SessionTree, read: ReadEntry) -> Self {
        let is_response = |node: &&TreeNode| node.kind == EntryKind::ASSISTANT;
        let mut entries = Self {
            responses: vec![ResponseKind::Unknown; tree.nodes.len()],
            unread_responses: tree.nodes.iter().filter(is_response).count(),
            tree,
            read,
            summaries: HashMap::new(),
            facts: HashMap::new(),
            scans: Vec::new(),
        };
        if entries.unread_responses <= READ_AT_ONCE {
            for node in 0..entries.tree.nodes.len() {
                entries.only_calls_tools(node);
            }
        }
        entries
    }

    pub(super) fn tree(&self) -> &SessionTree {
        &self.tree
    }

    pub(super) fn node(&self, node: usize) -> Option<&TreeNode> {
        self.tree.nodes.get(node)
    }

    pub(super) fn node_mut(&mut self, node: usize) -> Option<&mut TreeNode> {
        self.tree.nodes.get_mut(node)
    }

    pub(super) fn label(&self, node: usize) -> Option<&NodeLabel> {
        self.node(node)?.label.as_ref()
    }

    pub(super) fn read(&self, node: usize) -> Option<Arc<Entry>> {
        (self.read)(&self.node(node)?.id)
    }

    pub(super) fn summary(&mut self, node: usize) -> &EntrySummary {
        if self.summaries.len() > MAX_KEPT && !self.summaries.contains_key(&node) {
            self.summaries.clear();
        }
        if !self.summaries.contains_key(&node)
            && let Some(summary) = self.read_summary(node)
        {
            self.summaries.insert(node, Box::new(summary));
        }
        self.summaries.get(&node).map_or(&UNREADABLE, |it| &**it)
    }

    /// Summarizes an entry without keeping the summary.
    pub(super) fn read_summary(&mut self, node: usize) -> Option<EntrySummary> {
        let entry = self.read(node)?;
        let summary = summary_of(&entry, |id| self.call(node, id));
        self.set_response(node, summary.only_calls_tools);
        Some(summary)
    }

    fn set_response(&mut self, node: usize, only_calls_tools: bool) {
        let is_response = self
            .node(node)
            .is_some_and(|it| it.kind == EntryKind::ASSISTANT);
        let Some(response) = self.responses.get_mut(node).filter(|_| is_response) else {
            return;
        };
        if *response == ResponseKind::Unknown {
            self.unread_responses = self.unread_responses.saturating_sub(1);
        }
        *response = if only_calls_tools {
            ResponseKind::OnlyCallsTools
        } else {
            ResponseKind::WithText
        };
    }

    /// Whether all responses have been read.
    pub(super) fn has_read_responses(&self) -> bool {
        self.unread_responses == 0
    }

    /// Whether an entry is a response that has not been read, so that it may only call tools.
    pub(super) fn is_unread(&self, node: usize) -> bool {
        let is_response = self
            .node(node)
            .is_some_and(|it| it.kind == EntryKind::ASSISTANT);
        is_response && self.responses.get(node) == Some(&ResponseKind::Unknown)
    }

    /// Whether a response is known to only call tools.
    pub(super) fn is_known_to_only_call_tools(&self, node: usize) -> bool {
        self.responses.get(node) == Some(&ResponseKind::OnlyCallsTools)
    }

    /// Whether a response only calls tools; reads it if it has not been read.
    pub(super) fn only_calls_tools(&mut self, node: usize) -> bool {
        if self.is_unread(node) && self.read_summary(node).is_none() {
            self.set_response(node, false);
        }
        self.is_known_to_only_call_tools(node)
    }

    /// Finds the tool call of a result, a few entries above it.
    pub(super) fn call(&self, node: usize, id: &str) -> Option<ToolCall> {
        let mut next = self.node(node)?.parent;
        for _ in 0..CALL_DISTANCE {
            let above = next?;
            let node = self.node(above)?;
            if node.kind == EntryKind::ASSISTANT
                && let Some(call) = self.read(above).and_then(|entry| call_of(&entry, id))
            {
                return Some(call);
            }
            next = node.parent;
        }
        None
    }

    /// Reads the facts of the rows that are shown. What takes longer is continued by [`step`](Self::step).
    pub(super) fn show(&mut self, nodes: &[usize]) {
        if self.facts.len() > MAX_KEPT {
            self.facts.clear();
        }
        self.scans.retain(|scan| nodes.contains(&scan.prompt()));
        for node in nodes {
            if self.facts.contains_key(node) {
                continue;
            }
            let is_prompt = EntryKind::Message(MessageRole::User);
            if self.node(*node).is_some_and(|it| it.kind == is_prompt) {
                if !self.scans.iter().any(|scan| scan.prompt() == *node) {
                    self.scans.push(TurnScan::new(&self.tree, *node));
                }
            } else {
                let entry = self.read(*node);
                let facts = entry.map(|entry| NodeFacts::of(&entry, |id| self.call(*node, id)));
                self.facts.insert(*node, facts.unwrap_or_default());
            }
        }
        self.step();
    }

    /// Whether turns that are shown are still being added up.
    pub(super) fn is_reading(&self) -> bool {
        !self.scans.is_empty()
    }

    pub(super) fn step(&mut self) {
        let mut budget = ENTRIES_PER_STEP;
        while let Some(mut scan) = self.scans.pop() {
            let is_done = scan.advance(&self.tree, &self.read, &mut budget);
            if !is_done {
                self.scans.push(scan);
                return;
            }
            let (prompt, totals) = scan.finish();
            self.facts.insert(prompt, NodeFacts::of_turn(totals));
        }
    }

    pub(super) fn facts(&self, node: usize) -> Option<&NodeFacts> {
        self.facts.get(&node)
    }
}
