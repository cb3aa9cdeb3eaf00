//! What a prompt has cost: the sum of everything below it up to the next prompts, on all branches.

use std::collections::HashMap;
use std::time::Duration;

use pi_protocol::{AgentMessage, AssistantBlock, EntryBody, EntryKind, MessageRole, SessionTree};

use super::ReadEntry;
use crate::file_change::{FileCall, FileChange};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TurnTotals {
    /// In US dollars.
    pub(super) cost: f64,
    /// From the prompt to the last entry.
    pub(super) duration: Duration,
    pub(super) requests: usize,
    pub(super) tools: usize,
    /// One for each path, in the order of their first change.
    pub(super) files: Vec<FileChange>,
}

impl TurnTotals {
    /// Returns the added and removed lines of all files.
    pub(super) fn lines(&self) -> (usize, usize) {
        let files = self.files.iter();
        files.fold((0, 0), |(added, removed), file| {
            (added + file.added, removed + file.removed)
        })
    }

    fn add(&mut self, change: FileChange) {
        match self.files.iter_mut().find(|it| it.path == change.path) {
            Some(file) => {
                file.added += change.added;
                file.removed += change.removed;
            }
            None => self.files.push(change),
        }
    }
}

/// Adds up a turn in steps.
pub(super) struct TurnScan {
    prompt: usize,
    started_ms: i64,
    /// Entries to visit.
    stack: Vec<usize>,
    calls: HashMap<String, FileCall>,
    totals: TurnTotals,
}

impl TurnScan {
    pub(super) fn new(tree: &SessionTree, prompt: usize) -> Self {
        let node = tree.nodes.get(prompt);
        Self {
            prompt,
            started_ms: node.map_or(0, |node| node.timestamp_ms),
            stack: node.map_or_else(Vec::new, |node| {
                node.children.iter().rev().copied().collect()
            }),
            calls: HashMap::new(),
            totals: TurnTotals::default(),
        }
    }

    pub(super) fn prompt(&self) -> usize {
        self.prompt
    }

    /// Visits entries until the budget is used up; returns whether the turn is complete.
    pub(super) fn advance(
        &mut self,
        tree: &SessionTree,
        read: &ReadEntry,
        budget: &mut usize,
    ) -> bool {
        while *budget > 0 {
            let Some(next) = self.stack.pop() else {
                return true;
            };
            let Some(node) = tree.nodes.get(next) else {
                continue;
            };
            *budget -= 1;
            if node.kind == EntryKind::Message(MessageRole::User) {
                continue;
            }
            self.stack.extend(node.children.iter().rev());
            let is_counted = matches!(
                node.kind,
                EntryKind::Message(MessageRole::Assistant | MessageRole::ToolResult)
                    | EntryKind::Usage
            );
            let Some(entry) = is_counted.then(|| read(&node.id)).flatten() else {
                continue;
            };
            if self.started_ms > 0 && node.kind != EntryKind::Usage {
                let passed = node.timestamp_ms.saturating_sub(self.started_ms);
                let passed = Duration::from_millis(u64::try_from(passed).unwrap_or(0));
                self.totals.duration = self.totals.duration.max(passed);
            }
            self.count(&entry.body);
        }
        self.stack.is_empty()
    }

    fn count(&mut self, body: &EntryBody) {
        match body {
            EntryBody::Message(AgentMessage::Assistant(response)) => {
                self.totals.requests += 1;
                self.totals.cost += response.usage.cost.total;
                for block in &response.content {
                    if let AssistantBlock::ToolCall(call) = block
                        && let Some(changing) = FileCall::new(&call.name, &call.arguments)
                    {
                        self.calls.insert(call.id.clone(), changing);
                    }
                }
            }
            EntryBody::Message(AgentMessage::ToolResult(result)) => {
                self.totals.tools += 1;
                self.totals.cost += result.usage.as_ref().map_or(0.0, |usage| usage.cost.total);
                // Several branches may have a result of the same call.
                let call = self.calls.get(&result.tool_call_id);
                if let Some(call) = call.filter(|_| !result.is_error) {
                    let change = call.clone().change(result.details.as_ref());
                    self.totals.add(change);
                }
            }
            EntryBody::Usage(usage) => self.totals.cost += usage.usage.cost.total,
            _ => {}
        }
    }

    pub(super) fn finish(self) -> (usize, TurnTotals) {
        (self.prompt, self.totals)
    }
}
