//! Simulated usage of scripted responses: estimated from the text, with a prompt cache per session.

use std::collections::HashMap;

use pi_protocol::estimate::{character_tokens, text_tokens};
use pi_protocol::json::{to_string, utf16_length};
use pi_protocol::transcript::system_text;
use pi_protocol::{
    AssistantBlock, CacheRetention, InputBlock, Message, MessageContent, SystemMessage,
    ToolResultMessage, Usage,
};

use crate::options::ModelRequest;

/// The last prompt of each session.
#[derive(Debug, Default)]
pub(super) struct PromptCache(HashMap<String, String>);

impl PromptCache {
    /// Returns the prompt usage of a request and remembers the prompt for the next request.
    ///
    /// A session's first prompt is entirely a cache write. After that, the prefix shared with the
    /// previous prompt is a cache read and the rest a cache write.
    pub(super) fn prompt_usage(&mut self, request: &ModelRequest) -> Usage {
        let prompt = prompt_text(&request.messages);
        let prompt_tokens = text_tokens(&prompt);
        let mut usage = Usage {
            input: prompt_tokens,
            ..Usage::default()
        };
        let retention = request.cache_retention();
        if let Some(session) = &request.options.session_id
            && retention != CacheRetention::None
        {
            match self.0.get(session) {
                Some(previous) => {
                    let shared = shared_length(previous, &prompt);
                    let rest = utf16_length(&prompt) - shared;
                    usage.cache_read = character_tokens(shared as u64);
                    usage.cache_write = character_tokens(rest as u64);
                    usage.input = prompt_tokens.saturating_sub(usage.cache_read);
                }
                None => usage.cache_write = prompt_tokens,
            }
            self.0.insert(session.clone(), prompt);
        }
        usage
    }
}

/// Adds the tokens generated so far and the total.
pub(super) fn with_output(mut usage: Usage, content: &[AssistantBlock]) -> Usage {
    usage.output = text_tokens(&assistant_text(content));
    usage.total_tokens = usage.prompt_tokens() + usage.output;
    usage
}

/// Returns the length of the common prefix in UTF-16 code units.
fn shared_length(left: &str, right: &str) -> usize {
    left.chars()
        .zip(right.chars())
        .take_while(|(left, right)| left == right)
        .map(|(character, _)| character.len_utf16())
        .sum()
}

fn prompt_text(messages: &[Message]) -> String {
    let texts: Vec<String> = messages
        .iter()
        .map(|message| match message {
            Message::System(message) => format!("system:{}", system_message_text(message)),
            Message::User(message) => format!("user:{}", content_text(&message.content)),
            Message::Assistant(message) => {
                format!("assistant:{}", assistant_text(&message.content))
            }
            Message::ToolResult(message) => format!("toolResult:{}", result_text(message)),
        })
        .collect();
    texts.join("\n\n")
}

fn system_message_text(message: &SystemMessage) -> String {
    let mut parts = vec![system_text(message)];
    let removed = message.tools_removed.iter().flatten();
    parts.extend(removed.map(|tool| format!("tool-:{}", to_string(tool).unwrap_or_default())));
    let added = message.tools_added.iter().flatten();
    parts.extend(added.map(|tool| format!("tool+:{}", to_string(tool).unwrap_or_default())));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn content_text(content: &MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Blocks(blocks) => {
            blocks.iter().map(input_text).collect::<Vec<_>>().join("\n")
        }
    }
}

fn input_text(block: &InputBlock) -> String {
    match block {
        InputBlock::Text(block) => block.text.clone(),
        InputBlock::Image(image) => format!("[image:{}:{}]", image.mime_type, image.data.len()),
        InputBlock::Unknown(_) => String::new(),
    }
}

fn result_text(message: &ToolResultMessage) -> String {
    let mut parts = vec![message.tool_name.clone()];
    parts.extend(message.content.iter().map(input_text));
    parts.join("\n")
}

fn assistant_text(content: &[AssistantBlock]) -> String {
    let texts: Vec<String> = content
        .iter()
        .map(|block| match block {
            AssistantBlock::Text(block) => block.text.clone(),
            AssistantBlock::Thinking(block) => block.thinking.clone(),
            AssistantBlock::ToolCall(call) => {
                let arguments = to_string(&call.arguments).unwrap_or_default();
                format!("{}:{arguments}", call.name)
            }
            AssistantBlock::Unknown(_) => String::new(),
        })
        .collect();
    texts.join("\n")
}
