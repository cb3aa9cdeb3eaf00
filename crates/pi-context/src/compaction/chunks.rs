//! Summaries of conversations that do not fit into one request: part by part, or without a model.

use std::fmt::Write as _;

use pi_protocol::{AgentMessage, AssistantBlock, InputBlock, MessageContent, Usage};

use super::CompactionPlan;
use super::request::{Summarizer, Summary, SummaryInput, SummaryPurpose, SummaryRequest};
use crate::estimate::message_tokens;

/// Characters per token in estimates.
const TOKEN_CHARACTERS: usize = 4;

/// Parts that are summarized by a model; the rest is quoted.
const MAX_CHUNKS: usize = 64;

/// Smaller parts are not worth a request.
const MIN_CHUNK_TOKENS: u64 = 1000;

/// Tokens of the instructions of a request, about.
const INSTRUCTION_TOKENS: u64 = 1000;

/// Prompts that a summary without a model quotes.
const MAX_PROMPTS: usize = 30;

/// Tool results that a summary without a model quotes.
const MAX_RESULTS: usize = 5;

/// Characters of each quoted text.
const MAX_QUOTE: usize = 400;

impl SummaryRequest {
    /// Whether the request fits into a context window of this size; 0 means unknown.
    pub fn fits(&self, window: u64) -> bool {
        window == 0 || self.estimated_tokens() <= window
    }

    fn estimated_tokens(&self) -> u64 {
        let messages = self.messages.iter().cloned();
        messages
            .map(|message| message_tokens(&message.into()))
            .sum()
    }
}

/// A conversation that is summarized part by part.
#[derive(Debug)]
pub struct ChunkedSummary<'plan> {
    purpose: SummaryPurpose,
    messages: Vec<&'plan AgentMessage>,
    text: String,
    /// Where the text of each message ends.
    ends: Vec<usize>,
    /// Where the next part starts.
    position: usize,
    /// Parts that are summarized.
    count: usize,
    /// Size of the next part.
    tokens: u64,
    /// What the parts so far were summarized as.
    summary: Option<String>,
    usage: Option<Usage>,
}

impl<'plan> ChunkedSummary<'plan> {
    /// Prepares to summarize what `request` contains, for a model with a context window of this size; 0 means unknown.
    pub fn new(plan: &'plan CompactionPlan, request: &SummaryRequest, window: u64) -> Self {
        let messages = plan.messages_of(request.purpose);
        let fitting = if window == 0 {
            u64::MAX
        } else {
            window.saturating_sub(INSTRUCTION_TOKENS)
        };
        let (text, ends) = serialize_with_ends(&messages);
        Self {
            purpose: request.purpose,
            messages,
            text,
            ends,
            position: 0,
            count: 0,
            // Half of what would fit, since the estimate may be wrong and the summary so far is part of the request.
            tokens: (fitting.min(request.estimated_tokens()) / 2).max(MIN_CHUNK_TOKENS),
            summary: plan.summary_to_update(request.purpose).map(str::to_owned),
            usage: None,
        }
    }

    /// Returns the request for the next part; `None` if there is none, or after as many parts as are worth requests.
    pub fn next_request(
        &self,
        summarizer: &Summarizer<'_>,
        focus: Option<&str>,
    ) -> Option<SummaryRequest> {
        let chunk = self.chunk().filter(|_| self.count < MAX_CHUNKS)?;
        let focus = focus.filter(|text| !text.is_empty());
        Some(match self.purpose {
            SummaryPurpose::TurnPrefix => {
                SummaryRequest::turn_prefix_text(summarizer, chunk, focus)
            }
            SummaryPurpose::History | SummaryPurpose::Branch => {
                let previous = self.summary.as_deref().filter(|text| !text.is_empty());
                SummaryRequest::history_text(summarizer, chunk, previous, focus)
            }
        })
    }

    /// Continues after the part of the last request.
    pub fn accept(&mut self, summary: Summary) {
        self.position += self.chunk().map_or(0, str::len);
        self.count += 1;
        self.usage = Some(match self.usage.take() {
            Some(usage) => usage.plus(&summary.usage),
            None => summary.usage,
        });
        self.summary = Some(match (self.purpose, self.summary.take()) {
            // Every history request updates the summary so far.
            (SummaryPurpose::TurnPrefix, Some(before)) => format!("{before}\n\n{}", summary.text),
            _ => summary.text,
        });
    }

    /// Halves the size of the parts after a request was too large; `false` if they are as small as possible.
    pub fn shrink(&mut self) -> bool {
        let is_possible = self.tokens > MIN_CHUNK_TOKENS;
        self.tokens = (self.tokens / 2).max(MIN_CHUNK_TOKENS);
        is_possible
    }

    /// Whether all parts are summarized.
    pub fn is_complete(&self) -> bool {
        self.position >= self.text.len()
    }

    /// Returns the summary of the parts so far, and quotes what follows them.
    pub fn finish(self) -> Summary {
        let text = if self.is_complete() {
            self.summary.unwrap_or_default()
        } else {
            let is_left = |(message, end): (&&'plan AgentMessage, &usize)| {
                (*end > self.position).then_some(*message)
            };
            let messages = self.messages.iter().zip(&self.ends);
            let left: Vec<&AgentMessage> = messages.filter_map(is_left).collect();
            outline(self.summary.as_deref(), &left)
        };
        Summary {
            purpose: self.purpose,
            text,
            usage: self.usage.unwrap_or_default(),
        }
    }

    /// Returns the next part, up to the last paragraph or character that fits.
    fn chunk(&self) -> Option<&str> {
        let rest = self.text.get(self.position..).unwrap_or_default();
        if rest.is_empty() {
            return None;
        }
        let limit = usize::try_from(self.tokens).unwrap_or(usize::MAX);
        let limit = limit.saturating_mul(TOKEN_CHARACTERS);
        if rest.len() <= limit {
            return Some(rest);
        }
        let chunk = rest.get(..rest.floor_char_boundary(limit)).unwrap_or(rest);
        let paragraph = chunk.rfind("\n\n[").filter(|end| *end > 0);
        Some(paragraph.and_then(|end| chunk.get(..end)).unwrap_or(chunk))
    }
}

impl CompactionPlan {
    /// Returns summaries for all requests of the plan, without a model.
    pub fn outlines(&self, requests: &[SummaryRequest]) -> Vec<Summary> {
        let summary = |request: &SummaryRequest| Summary {
            purpose: request.purpose,
            text: outline(
                self.summary_to_update(request.purpose),
                &self.messages_of(request.purpose),
            ),
            usage: Usage::default(),
        };
        requests.iter().map(summary).collect()
    }

    fn messages_of(&self, purpose: SummaryPurpose) -> Vec<&AgentMessage> {
        match purpose {
            SummaryPurpose::TurnPrefix => self.turn_prefix_messages().collect(),
            SummaryPurpose::History | SummaryPurpose::Branch => self.history_messages().collect(),
        }
    }

    /// Returns the earlier summary that a summary of the history replaces.
    fn summary_to_update(&self, purpose: SummaryPurpose) -> Option<&str> {
        let previous = self.previous_summary.as_deref();
        previous.filter(|_| purpose == SummaryPurpose::History)
    }
}

/// Serializes a conversation; also returns where the text of each message ends.
fn serialize_with_ends(messages: &[&AgentMessage]) -> (String, Vec<usize>) {
    let mut text = String::new();
    let ends = messages.iter().map(|message| {
        let part = SummaryInput(vec![message]).serialized();
        if !part.is_empty() {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&part);
        }
        text.len()
    });
    let ends = ends.collect();
    (text, ends)
}

/// Quotes the prompts and the last results after the summary so far; the files are part of every summary.
fn outline(summary: Option<&str>, messages: &[&AgentMessage]) -> String {
    let mut text = String::new();
    if let Some(summary) = summary.filter(|text| !text.is_empty()) {
        text.push_str(summary);
        text.push_str("\n\n");
    }
    text.push_str(
        "This part of the conversation could not be summarized by a model. It had these prompts and results.\n",
    );
    let prompts = messages.iter().filter_map(|message| match message {
        AgentMessage::User(user) => Some(match &user.content {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Blocks(blocks) => texts(blocks),
        }),
        _ => None,
    });
    let prompts: Vec<String> = prompts.collect();
    write_quotes(&mut text, "Prompts", &prompts, MAX_PROMPTS);
    let results = messages.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) => {
            Some(format!("{}: {}", result.tool_name, texts(&result.content)))
        }
        _ => None,
    });
    let results: Vec<String> = results.collect();
    write_quotes(&mut text, "Last tool results", &results, MAX_RESULTS);
    let responses = messages.iter().filter_map(|message| match message {
        AgentMessage::Assistant(response) => {
            let texts = response.content.iter().filter_map(AssistantBlock::as_text);
            Some(texts.collect::<Vec<_>>().join("\n")).filter(|text| !text.trim().is_empty())
        }
        _ => None,
    });
    let responses: Vec<String> = responses.collect();
    write_quotes(&mut text, "Last response", &responses, 1);
    text.trim_end().to_owned()
}

fn texts(blocks: &[InputBlock]) -> String {
    blocks.iter().filter_map(InputBlock::as_text).collect()
}

/// Writes the last quotes below a heading, and how many there were before.
fn write_quotes(text: &mut String, heading: &str, quotes: &[String], limit: usize) {
    if quotes.is_empty() {
        return;
    }
    let skipped = quotes.len().saturating_sub(limit);
    // Writing to a string cannot fail.
    write!(text, "\n## {heading}\n").ok();
    if skipped > 0 {
        writeln!(text, "- ({skipped} earlier ones)").ok();
    }
    for quote in quotes.iter().skip(skipped) {
        let line = quote.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = line.floor_char_boundary(MAX_QUOTE);
        let kept = line.get(..end).unwrap_or_default();
        let more = if end < line.len() { "…" } else { "" };
        writeln!(text, "- {kept}{more}").ok();
    }
}
