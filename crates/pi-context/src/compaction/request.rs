//! Summary requests as data, and parsing of their responses. The caller sends the request, retries
//! as it sees fit, and passes the response back. A response that is not a complete summary is an
//! error: a partial summary would permanently lose the rest of the conversation.

use pi_protocol::overflow::is_overflow_text;
use pi_protocol::transcript::initial_system_message;
use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, CacheRetention, InputBlock, Message,
    MessageContent, Model, StopReason, ThinkingLevel, Usage, UserMessage,
};
use thiserror::Error;

use super::prompt;
use super::serialize::serialize_conversation;
use crate::model_messages::to_model_messages;

/// The model that writes summaries, and its settings.
#[derive(Debug, Clone, Copy)]
pub struct Summarizer<'model> {
    pub model: &'model Model,
    /// The thinking level of the session.
    pub thinking_level: ThinkingLevel,
    /// Current time in milliseconds since the epoch.
    pub now_ms: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPurpose {
    /// The conversation before a cut.
    History,
    /// The start of the turn that a cut splits.
    TurnPrefix,
    /// An abandoned branch.
    Branch,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SummaryRequest {
    pub purpose: SummaryPurpose,
    /// The complete request: a system prompt and one user message.
    pub messages: Vec<Message>,
    /// Always disabled: a summary prompt is never sent twice. The caller must also use a separate
    /// session ID for every request, so that it does not affect the routing of the session.
    pub cache_retention: CacheRetention,
    pub reasoning: ThinkingLevel,
}

/// A summary written by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub purpose: SummaryPurpose,
    pub text: String,
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SummaryError {
    #[error("summary canceled")]
    Aborted,
    #[error("summary request failed: {0}")]
    Failed(String),
    /// The response reached the output limit.
    #[error(
        "the summary reached the output token limit and is incomplete; \
        use a model with a higher output limit"
    )]
    Truncated,
    #[error("the model called the tool \"{0}\" instead of writing a summary")]
    CalledTool(String),
    #[error("the model returned an empty summary")]
    Empty,
    /// A required summary was not passed to [`crate::CompactionPlan::finish`].
    #[error("a required summary is missing")]
    Missing,
}

impl SummaryError {
    /// Whether the request was larger than the context window of the model.
    pub fn is_overflow(&self) -> bool {
        matches!(self, Self::Failed(message) if is_overflow_text(message))
    }
}

impl SummaryRequest {
    pub(crate) fn history(
        summarizer: &Summarizer<'_>,
        conversation: &SummaryInput<'_>,
        previous: Option<&str>,
        focus: Option<&str>,
    ) -> Self {
        Self::history_text(summarizer, &conversation.serialized(), previous, focus)
    }

    /// Creates the request for a serialized conversation.
    pub(crate) fn history_text(
        summarizer: &Summarizer<'_>,
        conversation: &str,
        previous: Option<&str>,
        focus: Option<&str>,
    ) -> Self {
        let text = prompt::history(conversation, previous, focus);
        Self::new(summarizer, SummaryPurpose::History, text)
    }

    pub(crate) fn turn_prefix(
        summarizer: &Summarizer<'_>,
        conversation: &SummaryInput<'_>,
        focus: Option<&str>,
    ) -> Self {
        Self::turn_prefix_text(summarizer, &conversation.serialized(), focus)
    }

    /// Creates the request for the serialized start of a turn.
    pub(crate) fn turn_prefix_text(
        summarizer: &Summarizer<'_>,
        conversation: &str,
        focus: Option<&str>,
    ) -> Self {
        let text = prompt::turn_prefix(conversation, focus);
        Self::new(summarizer, SummaryPurpose::TurnPrefix, text)
    }

    pub(crate) fn branch(
        summarizer: &Summarizer<'_>,
        conversation: &SummaryInput<'_>,
        instructions: prompt::SummaryInstructions<'_>,
    ) -> Self {
        let text = prompt::branch(&conversation.serialized(), instructions);
        Self::new(summarizer, SummaryPurpose::Branch, text)
    }

    fn new(summarizer: &Summarizer<'_>, purpose: SummaryPurpose, text: String) -> Self {
        let system = initial_system_message(prompt::SYSTEM, Vec::new()).map(Message::from);
        let user = Message::from(UserMessage {
            content: MessageContent::Blocks(vec![InputBlock::text(text)]),
            timestamp: summarizer.now_ms,
            ..UserMessage::default()
        });
        let reasoning = if summarizer.model.reasoning {
            summarizer.thinking_level
        } else {
            ThinkingLevel::Off
        };
        Self {
            purpose,
            messages: system.into_iter().chain([user]).collect(),
            cache_retention: CacheRetention::None,
            reasoning,
        }
    }

    /// Parses the response to the request.
    pub fn read(&self, response: &AssistantMessage) -> Result<Summary, SummaryError> {
        match response.stop_reason {
            StopReason::Aborted => return Err(SummaryError::Aborted),
            StopReason::Error => {
                let message = response
                    .error_message
                    .as_deref()
                    .filter(|text| !text.is_empty());
                let message = message.unwrap_or("no error message from the provider");
                return Err(SummaryError::Failed(message.to_owned()));
            }
            StopReason::Length => return Err(SummaryError::Truncated),
            StopReason::Pending | StopReason::Deferred => {
                let message = "the response is not complete".to_owned();
                return Err(SummaryError::Failed(message));
            }
            StopReason::Stop | StopReason::ToolUse => {}
        }
        if let Some(call) = response.tool_calls().next() {
            return Err(SummaryError::CalledTool(call.name.clone()));
        }
        let texts = response.content.iter().filter_map(AssistantBlock::as_text);
        let text = texts.collect::<Vec<_>>().join("\n");
        if text.trim().is_empty() {
            return Err(SummaryError::Empty);
        }
        Ok(Summary {
            purpose: self.purpose,
            text,
            usage: response.usage.clone(),
        })
    }
}

pub(crate) struct SummaryInput<'messages>(pub(crate) Vec<&'messages AgentMessage>);

impl SummaryInput<'_> {
    pub(crate) fn serialized(&self) -> String {
        serialize_conversation(&to_model_messages(self.0.iter().copied()))
    }
}
