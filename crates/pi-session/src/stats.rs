//! Session statistics: messages, tokens and cost over all branches.

use std::collections::HashMap;

use pi_protocol::{Entry, EntryKind, MessageRole, TokenTotals};
use serde::{Deserialize, Serialize};

use crate::error::SessionError;
use crate::index::EntrySlot;
use crate::session::entries::SessionEntries;
use usage_record::{TokenSpend, UsageRecord};

mod usage_record;

/// How much of the file is read at once, so that many short lines need one read.
const COUNT_CHUNK_BYTES: u64 = 256 * 1024;

/// Name for usage that is not attributed to a model.
const OTHER_USAGE: &str = "Tools/summaries";

/// Totals over all entries of a session, including compacted entries and other branches, since they
/// were paid for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionTotals {
    pub entries: usize,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Messages of all roles.
    pub total_messages: u64,
    pub tokens: TokenTotals,
    /// In US dollars.
    pub cost: f64,
    /// Share of the last request's prompt that was read from the cache, in percent.
    pub cache_hit_share: Option<f64>,
    by_model: HashMap<String, ModelUsage>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// `provider/id`, or a generic name for tools and summaries.
    pub name: String,
    /// Tokens of all kinds.
    pub tokens: u64,
    /// In US dollars.
    pub cost: f64,
    /// Order of first use.
    order: usize,
}

impl SessionTotals {
    /// Counts entries in file order.
    pub fn of<'entries>(entries: impl IntoIterator<Item = &'entries Entry>) -> Self {
        let mut totals = Self::default();
        entries.into_iter().for_each(|entry| totals.add(entry));
        totals
    }

    pub fn add(&mut self, entry: &Entry) {
        self.add_record(UsageRecord::of(entry));
    }

    fn add_record(&mut self, record: UsageRecord<'_>) {
        self.entries += 1;
        if let EntryKind::Message(role) = record.kind {
            self.total_messages += 1;
            match role {
                MessageRole::User => self.user_messages += 1,
                MessageRole::Assistant => self.assistant_messages += 1,
                MessageRole::ToolResult => self.tool_results += 1,
                _ => {}
            }
        }
        self.tool_calls += record.tool_calls;
        let Some(spent) = record.spent else {
            return;
        };
        if record.kind == EntryKind::ASSISTANT {
            self.cache_hit_share = cache_hit_share(&spent);
        }
        let name = match record.model {
            Some((provider, model)) => format!("{provider}/{model}"),
            None => OTHER_USAGE.to_owned(),
        };
        self.add_spent(name, &spent);
    }

    fn add_spent(&mut self, name: String, spent: &TokenSpend) {
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

    /// Counts the next batch of entries that are not counted yet, in file order, parsing only the
    /// relevant fields. Returns whether all entries are counted.
    pub fn count_more(&mut self, entries: &SessionEntries) -> Result<bool, SessionError> {
        let Ok(first) = EntrySlot::try_from(self.entries) else {
            return Ok(true);
        };
        entries.each_line_from(first, COUNT_CHUNK_BYTES, |slot, line| {
            match UsageRecord::read(line) {
                Some(record) => self.add_record(record),
                None => self.add(&*entries.entry_at(slot)?),
            }
            Ok(())
        })?;
        Ok(self.entries >= entries.len())
    }

    /// Returns the usage by model, most expensive first; models without usage are left out.
    pub fn by_model(&self) -> Vec<&ModelUsage> {
        let used = self.by_model.values();
        let mut used: Vec<_> = used
            .filter(|model| model.cost > 0.0 || model.tokens > 0)
            .collect();
        pi_protocol::sort_by(&mut used, |left, right| {
            let by_cost = right.cost.total_cmp(&left.cost);
            by_cost.then(left.order.cmp(&right.order))
        });
        used
    }
}

/// Returns the share of a prompt that was read from the cache, in percent; `None` for an empty
/// prompt.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts stay far below 2^53"
)]
fn cache_hit_share(spent: &TokenSpend) -> Option<f64> {
    let prompt = spent.prompt_tokens();
    (prompt > 0).then(|| spent.cache_read as f64 / prompt as f64 * 100.0)
}

#[cfg(test)]
mod tests;
