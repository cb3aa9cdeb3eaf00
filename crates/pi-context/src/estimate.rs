//! Estimates the context size. The last usable response reported the size of everything before it;
//! only later messages are estimated. If an edit or a compaction followed that response, everything
//! is estimated.

mod recent;

use pi_protocol::estimate::{
    ContextEstimate, assistant_tokens, blocks_tokens, character_tokens, content_tokens, text_tokens,
};
use pi_protocol::json::utf16_length;
use pi_protocol::{
    AgentMessage, AssistantMessage, EntryBody, InputBlock, MessageContent, SystemMessage,
};
use pi_session::{ProjectedEntry, Projection};

pub use recent::{context_tokens_after, recent_context_tokens};

pub fn message_tokens(message: &AgentMessage) -> u64 {
    match message {
        AgentMessage::System(system) => system_tokens(system),
        AgentMessage::User(user) => content_tokens(&user.content),
        AgentMessage::Assistant(response) => assistant_tokens(response),
        AgentMessage::ToolResult(result) => blocks_tokens(&result.content),
        AgentMessage::BashExecution(bash) => {
            character_tokens(characters(&bash.command) + characters(&bash.output))
        }
        AgentMessage::Custom(custom) => content_tokens(&custom.content),
        AgentMessage::BranchSummary(branch) => text_tokens(&branch.summary),
        AgentMessage::CompactionSummary(compaction) => text_tokens(&compaction.summary),
        _ => 0,
    }
}

fn system_tokens(system: &SystemMessage) -> u64 {
    let content = match &system.content {
        MessageContent::Text(text) => characters(text),
        MessageContent::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(InputBlock::as_text);
            texts.map(characters).sum()
        }
    };
    let sections = system.sections.iter().flatten();
    let texts = sections.filter_map(|(_, section)| section.as_str());
    let tools = system.tools_added.as_ref().map_or(0, |tools| {
        pi_protocol::json::to_string(tools).map_or(0, |text| characters(&text))
    });
    character_tokens(content + texts.map(characters).sum::<u64>() + tools)
}

fn characters(text: &str) -> u64 {
    utf16_length(text) as u64
}

/// Returns the context size that a response reports; `None` if it failed or reports nothing.
pub(crate) fn reported_tokens(response: &AssistantMessage) -> Option<u64> {
    let tokens = response.usage.context_tokens();
    (!response.stop_reason.is_failure() && tokens > 0).then_some(tokens)
}

/// The last response with a usable report.
pub(crate) struct LastReport<'projection> {
    /// Index of its entry in the projection.
    pub(crate) entry_index: usize,
    pub(crate) response: &'projection AssistantMessage,
    pub(crate) tokens: u64,
}

/// Returns the context size from the last usable report, or an estimate.
pub fn context_tokens(projection: &Projection) -> ContextEstimate {
    match last_report(projection) {
        Some(report) if !changed_after(projection, report.entry_index) => {
            reported_size(projection, &report)
        }
        Some(_) | None => unreported(estimated_size(projection)),
    }
}

/// Returns the context size from the last report, ignoring later edits.
pub(crate) fn context_tokens_despite_changes(projection: &Projection) -> ContextEstimate {
    match last_report(projection) {
        Some(report) => reported_size(projection, &report),
        None => unreported(messages_tokens(projection)),
    }
}

/// Estimates all messages individually and ignores reported usage; this is the size that a
/// compaction leaves behind.
pub fn messages_tokens(projection: &Projection) -> u64 {
    projection.messages().map(message_tokens).sum()
}

/// Estimates the current prompt and the conversation.
fn estimated_size(projection: &Projection) -> u64 {
    let system = projection
        .system_message()
        .as_ref()
        .map_or(0, system_tokens);
    let conversation = projection
        .messages()
        .filter(|message| !matches!(message, AgentMessage::System(_)));
    system + conversation.map(message_tokens).sum::<u64>()
}

pub(crate) fn last_report(projection: &Projection) -> Option<LastReport<'_>> {
    let entries = projection.entries().iter().enumerate().rev();
    entries
        .flat_map(|(index, entry)| entry.messages().iter().map(move |one| (index, one)))
        .find_map(|(entry_index, message)| match message {
            AgentMessage::Assistant(response) => Some(LastReport {
                entry_index,
                response,
                tokens: reported_tokens(response)?,
            }),
            _ => None,
        })
}

/// Returns whether an edit or a compaction follows an entry on the path.
fn changed_after(projection: &Projection, entry_index: usize) -> bool {
    let position = projection.path_position(entry_index);
    let mut entries = projection.entries().iter().enumerate();
    entries.any(|(index, entry)| {
        matches!(
            entry.entry().body,
            EntryBody::ContextEdit(_) | EntryBody::Compaction(_)
        ) && projection.path_position(index) > position
    })
}

fn reported_size(projection: &Projection, report: &LastReport<'_>) -> ContextEstimate {
    let (before, from) = projection.entries().split_at(report.entry_index);
    let index = before.iter().map(|entry| entry.messages().len()).sum();
    let later = from.get(1..).unwrap_or_default();
    let messages = later.iter().flat_map(ProjectedEntry::messages);
    let trailing_tokens = messages.map(message_tokens).sum();
    ContextEstimate {
        tokens: report.tokens.saturating_add(trailing_tokens),
        usage_tokens: report.tokens,
        trailing_tokens,
        last_usage_index: Some(index),
    }
}

fn unreported(tokens: u64) -> ContextEstimate {
    ContextEstimate {
        tokens,
        usage_tokens: 0,
        trailing_tokens: tokens,
        last_usage_index: None,
    }
}
