//! What a session has used: messages, tokens and cost over all its branches, and the size of the
//! context now.

use std::collections::HashMap;

use pi_ai::AgentMessage;
use serde::Serialize;

use crate::compaction::estimate::reported_tokens;
use crate::context::Projection;
use crate::entry::Entry;
use crate::error::SessionError;
use crate::index::Slot;
use crate::kind::{EntryKind, MessageRole};
use crate::store::Session;

mod receipt;

use receipt::{Receipt, Spent};

/// How many bytes of a file are counted at once at least, so that many short lines are one read.
const COUNTED_AT_ONCE: u64 = 256 * 1024;

/// Whose usage no model is named for.
const OTHER_USAGE: &str = "Tools/summaries";

/// Counts over all entries of a session, those that were compacted away and other branches included:
/// they were paid for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionTotals {
    /// Entries of every sort.
    pub entries: usize,
    /// Messages of the user.
    pub user_messages: u64,
    pub assistant_messages: u64,
    /// Calls in the answers.
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Messages of every role.
    pub total_messages: u64,
    pub tokens: TokenTotals,
    /// Cost in US dollars.
    pub cost: f64,
    /// The share of the last request's prompt that came from the cache, in percent.
    pub cache_hit_share: Option<f64>,
    by_model: HashMap<String, ModelUsage>,
}

/// Tokens by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenTotals {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub total: u64,
}

/// What one model used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelUsage {
    /// The model as `provider/id`, or a word for tools and summaries.
    pub name: String,
    /// Tokens of every kind.
    pub tokens: u64,
    /// Cost in US dollars.
    pub cost: f64,
    /// When it was first used, as a position among the models.
    order: usize,
}

impl SessionTotals {
    /// Counts entries in the order of the file.
    pub fn of<'entries>(entries: impl IntoIterator<Item = &'entries Entry>) -> Self {
        let mut totals = Self::default();
        entries.into_iter().for_each(|entry| totals.add(entry));
        totals
    }

    /// Counts one more entry.
    pub fn add(&mut self, entry: &Entry) {
        self.take(Receipt::of(entry));
    }

    fn take(&mut self, receipt: Receipt<'_>) {
        self.entries += 1;
        if let EntryKind::Message(role) = receipt.kind {
            self.total_messages += 1;
            match role {
                MessageRole::User => self.user_messages += 1,
                MessageRole::Assistant => self.assistant_messages += 1,
                MessageRole::ToolResult => self.tool_results += 1,
                _ => {}
            }
        }
        self.tool_calls += receipt.tool_calls;
        let Some(spent) = receipt.spent else {
            return;
        };
        if receipt.kind == EntryKind::ASSISTANT {
            self.cache_hit_share = cache_hit_share(&spent);
        }
        let name = match receipt.model {
            Some((provider, model)) => format!("{provider}/{model}"),
            None => OTHER_USAGE.to_owned(),
        };
        self.add_spent(name, &spent);
    }

    fn add_spent(&mut self, name: String, spent: &Spent) {
        let sum = spent.prompt_tokens().saturating_add(spent.output);
        self.tokens.input = self.tokens.input.saturating_add(spent.input);
        self.tokens.output = self.tokens.output.saturating_add(spent.output);
        self.tokens.cache_read = self.tokens.cache_read.saturating_add(spent.cache_read);
        self.tokens.cache_write = self.tokens.cache_write.saturating_add(spent.cache_write);
        self.tokens.total = self.tokens.total.saturating_add(sum);
        self.cost += spent.cost;
        let order = self.by_model.len();
        let model = self
            .by_model
            .entry(name)
            .or_insert_with_key(|name| ModelUsage {
                name: name.clone(),
                order,
                ..ModelUsage::default()
            });
        model.tokens = model.tokens.saturating_add(sum);
        model.cost += spent.cost;
    }

    /// Returns what each model used, the most expensive first; those that used nothing are left out.
    pub fn by_model(&self) -> Vec<&ModelUsage> {
        let used = self.by_model.values();
        let mut used: Vec<_> = used
            .filter(|model| model.cost > 0.0 || model.tokens > 0)
            .collect();
        used.sort_by(|left, right| {
            let dearer = right.cost.total_cmp(&left.cost);
            dearer.then(left.order.cmp(&right.order))
        });
        used
    }
}

impl Session {
    /// Counts some more of the entries that totals lack, in the order of the file, reading of their lines
    /// only what counts. Returns whether all are counted.
    pub fn count_more(&self, totals: &mut SessionTotals) -> Result<bool, SessionError> {
        let Ok(first) = Slot::try_from(totals.entries) else {
            return Ok(true);
        };
        self.each_line_from(first, COUNTED_AT_ONCE, |slot, line| {
            match Receipt::read(line) {
                Some(receipt) => totals.take(receipt),
                None => totals.add(&*self.entry_at(slot)?),
            }
            Ok(())
        })?;
        Ok(totals.entries >= self.len())
    }
}

/// Returns the share of a prompt that came from the cache, in percent; none where there was no prompt.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts stay far below 2^53"
)]
fn cache_hit_share(spent: &Spent) -> Option<f64> {
    let prompt = spent.prompt_tokens();
    (prompt > 0).then(|| spent.cache_read as f64 / prompt as f64 * 100.0)
}

/// How full the model's window is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextUsage {
    /// The size of the context; unknown between a compaction and the next answer.
    pub tokens: Option<u64>,
    /// The size of the window.
    pub context_window: u64,
    /// How much of it the context fills, in percent.
    pub percent: Option<f64>,
}

impl ContextUsage {
    /// Measures a context; none where the window is unknown.
    pub fn of(projection: &Projection, context_window: u64) -> Option<Self> {
        let tokens = is_known(projection).then(|| projection.estimate().tokens);
        Self::of_size(tokens, context_window)
    }

    /// Compares the size of a context with the window; none where the window is unknown.
    pub fn of_size(tokens: Option<u64>, context_window: u64) -> Option<Self> {
        if context_window == 0 {
            return None;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "token counts stay far below 2^53"
        )]
        let percent = |tokens: u64| tokens as f64 / context_window as f64 * 100.0;
        Some(Self {
            tokens,
            context_window,
            percent: tokens.map(percent),
        })
    }
}

/// After a compaction only an answer tells how large the context has become.
fn is_known(projection: &Projection) -> bool {
    projection.compaction().is_none()
        || projection.since_compaction().any(|message| match message {
            AgentMessage::Assistant(answer) => reported_tokens(answer).is_some(),
            _ => false,
        })
}

#[cfg(test)]
mod tests;
