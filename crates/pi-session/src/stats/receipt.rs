//! What one entry counts for in the totals.
//!
//! It is taken from an entry that is at hand, or from its line, of which only these few fields are
//! read: a long session is counted for a line at the bottom of the screen.

use std::borrow::Cow;
use std::fmt;

use pi_ai::{AgentMessage, Usage};
use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};

use crate::entry::{Entry, EntryBody};
use crate::kind::{EntryKind, MessageRole};

/// What an entry counts for.
#[derive(Debug, PartialEq)]
pub(super) struct Receipt<'entry> {
    pub(super) kind: EntryKind,
    pub(super) tool_calls: u64,
    /// The provider and the model that were paid; none for tools and summaries.
    pub(super) model: Option<(Cow<'entry, str>, Cow<'entry, str>)>,
    pub(super) spent: Option<Spent>,
}

/// The tokens of a receipt and their cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spent {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) cost: f64,
}

impl Spent {
    /// Returns the tokens of the prompt, cached or not.
    pub(super) fn prompt_tokens(&self) -> u64 {
        let cached = self.cache_read.saturating_add(self.cache_write);
        self.input.saturating_add(cached)
    }
}

impl From<&Usage> for Spent {
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

impl<'entry> Receipt<'entry> {
    /// Takes the receipt of an entry.
    pub(super) fn of(entry: &'entry Entry) -> Self {
        let mut receipt = Self {
            kind: entry.body.kind(),
            tool_calls: 0,
            model: None,
            spent: None,
        };
        let usage = match &entry.body {
            EntryBody::Message(AgentMessage::Assistant(answer)) => {
                receipt.tool_calls = answer.tool_calls().count() as u64;
                let model = answer.response_model.as_ref().unwrap_or(&answer.model);
                receipt.model = Some((answer.provider.as_str().into(), model.as_str().into()));
                Some(&answer.usage)
            }
            EntryBody::Message(AgentMessage::ToolResult(result)) => result.usage.as_ref(),
            EntryBody::Usage(usage) => {
                let names = (usage.provider.as_str(), usage.model.as_str());
                receipt.model = Some((names.0.into(), names.1.into()));
                Some(&usage.usage)
            }
            EntryBody::Compaction(compaction) => compaction.usage.as_ref(),
            EntryBody::BranchSummary(branch) => branch.usage.as_ref(),
            _ => None,
        };
        receipt.spent = usage.map(Spent::from);
        receipt
    }

    /// Reads the receipt from the line of an entry; none where a field is not of the usual type, which
    /// only reading the whole entry can settle.
    pub(super) fn read(line: &'entry [u8]) -> Option<Self> {
        let line: Line<'entry> = serde_json::from_slice(line).ok()?;
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
            spent: usage.map(Spent::from),
        })
    }
}

/// The fields of a line that count.
#[derive(Deserialize)]
struct Line<'line> {
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
    content: Calls,
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

impl From<CountedUsage> for Spent {
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

/// How many of the blocks of a message are calls of tools.
#[derive(Default)]
struct Calls(u64);

#[derive(Deserialize)]
struct Block<'line> {
    #[serde(rename = "type", borrow)]
    type_name: Cow<'line, str>,
}

impl<'de> Deserialize<'de> for Calls {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CallsVisitor)
    }
}

struct CallsVisitor;

impl<'de> Visitor<'de> for CallsVisitor {
    type Value = Calls;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("text or blocks")
    }

    fn visit_str<E>(self, _: &str) -> Result<Calls, E> {
        Ok(Calls(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Calls, A::Error> {
        let mut calls = 0;
        while let Some(block) = blocks.next_element::<Block<'de>>()? {
            calls += u64::from(block.type_name == "toolCall");
        }
        Ok(Calls(calls))
    }
}
