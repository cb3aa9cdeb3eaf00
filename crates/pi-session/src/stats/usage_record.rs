//! What one entry adds to the totals, taken from a parsed entry or directly from its line. From a
//! line only the relevant fields are parsed, because long sessions are counted just for the status
//! line.

use std::borrow::Cow;
use std::fmt;

use pi_protocol::{AgentMessage, Entry, EntryBody, EntryKind, MessageRole, Usage};
use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};

#[derive(Debug, PartialEq)]
pub(super) struct UsageRecord<'entry> {
    pub(super) kind: EntryKind,
    pub(super) tool_calls: u64,
    /// Provider and model that were billed; `None` for tools and summaries.
    pub(super) model: Option<(Cow<'entry, str>, Cow<'entry, str>)>,
    pub(super) spent: Option<TokenSpend>,
}

/// Tokens and their cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TokenSpend {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) cost: f64,
}

impl TokenSpend {
    /// Returns the tokens of the prompt, cached or not.
    pub(super) fn prompt_tokens(&self) -> u64 {
        let cached = self.cache_read.saturating_add(self.cache_write);
        self.input.saturating_add(cached)
    }
}

impl From<&Usage> for TokenSpend {
    fn from(usage: &Usage) -> Self {
        Self {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost: usage.cost.total,
        }
    }
}

impl<'entry> UsageRecord<'entry> {
    pub(super) fn of(entry: &'entry Entry) -> Self {
        let mut record = Self {
            kind: entry.body.kind(),
            tool_calls: 0,
            model: None,
            spent: None,
        };
        let usage = match &entry.body {
            EntryBody::Message(AgentMessage::Assistant(response)) => {
                record.tool_calls = response.tool_calls().count() as u64;
                let model = response.response_model.as_ref().unwrap_or(&response.model);
                record.model = Some((response.provider.as_str().into(), model.as_str().into()));
                Some(&response.usage)
            }
            EntryBody::Message(AgentMessage::ToolResult(result)) => result.usage.as_ref(),
            EntryBody::Usage(usage) => {
                let names = (usage.provider.as_str(), usage.model.as_str());
                record.model = Some((names.0.into(), names.1.into()));
                Some(&usage.usage)
            }
            EntryBody::Compaction(compaction) => compaction.usage.as_ref(),
            EntryBody::BranchSummary(branch) => branch.usage.as_ref(),
            _ => None,
        };
        record.spent = usage.map(TokenSpend::from);
        record
    }

    /// Parses the record from an entry line; `None` if a field has an unexpected type, which
    /// requires parsing the full entry.
    pub(super) fn read(line: &'entry [u8]) -> Option<Self> {
        let line: UsageLine<'entry> = serde_json::from_slice(line).ok()?;
        let message = line.message.unwrap_or_default();
        let kind = EntryKind::from_names(&line.type_name, Some(&message.role));
        let (model, usage) = match kind {
            EntryKind::ASSISTANT => {
                let model = message.response_model.unwrap_or(message.model);
                let usage = message.usage.unwrap_or_default();
                (Some((message.provider, model)), Some(usage))
            }
            EntryKind::Message(MessageRole::ToolResult) => (None, message.usage),
            EntryKind::Usage => (Some((line.provider?, line.model?)), line.usage),
            EntryKind::Compaction | EntryKind::BranchSummary => (None, line.usage),
            _ => (None, None),
        };
        Some(Self {
            kind,
            tool_calls: match kind {
                EntryKind::ASSISTANT => message.content.0,
                _ => 0,
            },
            model,
            spent: usage.map(TokenSpend::from),
        })
    }
}

/// The relevant fields of a line.
#[derive(Deserialize)]
struct UsageLine<'line> {
    #[serde(rename = "type", borrow)]
    type_name: Cow<'line, str>,
    #[serde(borrow)]
    message: Option<CountedMessage<'line>>,
    #[serde(borrow)]
    provider: Option<Cow<'line, str>>,
    #[serde(borrow)]
    model: Option<Cow<'line, str>>,
    usage: Option<CountedUsage>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CountedMessage<'line> {
    #[serde(borrow)]
    role: Cow<'line, str>,
    content: ToolCallCount,
    #[serde(borrow)]
    provider: Cow<'line, str>,
    #[serde(borrow)]
    model: Cow<'line, str>,
    #[serde(borrow)]
    response_model: Option<Cow<'line, str>>,
    usage: Option<CountedUsage>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct CountedUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    cost: CountedCost,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CountedCost {
    total: f64,
}

impl From<CountedUsage> for TokenSpend {
    fn from(usage: CountedUsage) -> Self {
        Self {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            cost: usage.cost.total,
        }
    }
}

/// The number of tool calls among the content blocks of a message.
#[derive(Default)]
struct ToolCallCount(u64);

#[derive(Deserialize)]
struct TypedBlock<'line> {
    #[serde(rename = "type", borrow)]
    type_name: Cow<'line, str>,
}

impl<'de> Deserialize<'de> for ToolCallCount {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolCallCountVisitor)
    }
}

struct ToolCallCountVisitor;

impl<'de> Visitor<'de> for ToolCallCountVisitor {
    type Value = ToolCallCount;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text or blocks")
    }

    fn visit_str<E>(self, _: &str) -> Result<ToolCallCount, E> {
        Ok(ToolCallCount(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<ToolCallCount, A::Error> {
        let mut calls = 0;
        while let Some(block) = blocks.next_element::<TypedBlock<'de>>()? {
            calls += u64::from(block.type_name == "toolCall");
        }
        Ok(ToolCallCount(calls))
    }
}
