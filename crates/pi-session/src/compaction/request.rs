//! Summary requests as data, and how their answers are read.
//!
//! Whoever asks the model takes messages and options from here, retries as it likes, and brings the
//! answer back. An answer that is not wholly a summary is a failure: half a summary in place of a
//! conversation would lose the other half for good.

use pi_ai::transcript::initial_system_message;
use pi_ai::{
    AgentMessage, AssistantBlock, AssistantMessage, CacheRetention, MessageContent, InputBlock, Message,
    Model, StopReason, StreamOptions, ThinkingLevel, Usage, UserMessage,
};
use thiserror::Error;

use super::prompt;
use super::serialize::serialize_conversation;
use crate::model_messages::to_model_messages;

/// The model that summarizes, and how it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Summarizer<'model> {
    pub model: &'model Model,
    /// How much it thinks in the session.
    pub thinking_level: ThinkingLevel,
    /// The time, in milliseconds since the epoch.
    pub now_ms: i64,
}

/// What is summarized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryPurpose {
    /// The conversation before a cut.
    History,
    /// The beginning of the turn that a cut splits.
    TurnPrefix,
    /// A branch that is left.
    Branch,
}

/// A request for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryRequest {
    pub purpose: SummaryPurpose,
    /// The whole transcript of the request: a prompt and one user message.
    pub messages: Vec<Message>,
    /// The most tokens the summary may have; none leaves it to the model.
    pub max_tokens: Option<u64>,
    /// How long the provider shall cache the prompt: not at all, nobody asks twice.
    pub cache_retention: CacheRetention,
    /// How much to think.
    pub reasoning: ThinkingLevel,
}

/// A summary that a model has written.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub purpose: SummaryPurpose,
    pub text: String,
    pub usage: Usage,
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SummaryFailure {
    /// The request was cancelled.
    #[error("the summary was cancelled")]
    Aborted,
    #[error("the model could not be asked for a summary: {0}")]
    Failed(String),
    /// The answer reached its limit.
    #[error(
        "the summary was cut off at its limit of output tokens and would lose part of the conversation; \
        raise compaction.reserveTokens or use a model with a higher output limit"
    )]
    CutOff,
    /// The answer wanted a tool.
    #[error("the model wanted to call the tool \"{0}\" instead of writing a summary")]
    CalledTool(String),
    /// The answer has no text.
    #[error("the model answered without a summary")]
    Empty,
    /// Nobody asked for one of the summaries that are needed.
    #[error("a summary that the compaction needs is missing")]
    Missing,
}

impl SummaryRequest {
    pub(crate) fn history(
        summarizer: &Summarizer<'_>,
        reserve_tokens: u64,
        conversation: &Conversation<'_>,
        previous: Option<&str>,
        focus: Option<&str>,
    ) -> Self {
        let text = prompt::history(&conversation.serialized(), previous, focus);
        let limit = reserve_tokens.saturating_mul(4) / 5;
        Self::new(summarizer, SummaryPurpose::History, text, limit).thinking(summarizer)
    }

    pub(crate) fn turn_prefix(
        summarizer: &Summarizer<'_>,
        reserve_tokens: u64,
        conversation: &Conversation<'_>,
    ) -> Self {
        let text = prompt::turn_prefix(&conversation.serialized());
        let limit = reserve_tokens / 2;
        Self::new(summarizer, SummaryPurpose::TurnPrefix, text, limit).thinking(summarizer)
    }

    pub(crate) fn branch(
        summarizer: &Summarizer<'_>,
        limit: u64,
        conversation: &Conversation<'_>,
        instructions: prompt::SummaryInstructions<'_>,
    ) -> Self {
        let text = prompt::branch(&conversation.serialized(), instructions);
        Self::new(summarizer, SummaryPurpose::Branch, text, limit)
    }

    fn new(summarizer: &Summarizer<'_>, purpose: SummaryPurpose, text: String, limit: u64) -> Self {
        let system = initial_system_message(prompt::SYSTEM, Vec::new()).map(Message::from);
        let user = Message::from(UserMessage {
            content: MessageContent::Blocks(vec![InputBlock::text(text)]),
            timestamp: summarizer.now_ms,
            ..UserMessage::default()
        });
        // A limit of zero stands for an unknown one, or comes of a reserve of zero.
        let limits = [limit, summarizer.model.max_tokens];
        Self {
            purpose,
            messages: system.into_iter().chain([user]).collect(),
            max_tokens: limits.into_iter().filter(|limit| *limit > 0).min(),
            cache_retention: CacheRetention::None,
            reasoning: ThinkingLevel::Off,
        }
    }

    fn thinking(mut self, summarizer: &Summarizer<'_>) -> Self {
        if summarizer.model.reasoning {
            self.reasoning = summarizer.thinking_level;
        }
        self
    }

    /// Returns the options of the request: the caller's credentials, timeouts and hooks with what a
    /// summary needs. The caller gives every request a session id of its own, so that it does not
    /// touch the routing of the session.
    pub fn options(&self, base: StreamOptions) -> StreamOptions {
        StreamOptions {
            max_tokens: self.max_tokens,
            cache_retention: Some(self.cache_retention),
            reasoning: self.reasoning,
            tool_choice: None,
            ..base
        }
    }

    /// Reads the answer to the request.
    pub fn read(&self, answer: &AssistantMessage) -> Result<Summary, SummaryFailure> {
        match answer.stop_reason {
            StopReason::Aborted => return Err(SummaryFailure::Aborted),
            StopReason::Error => {
                let message = answer
                    .error_message
                    .as_deref()
                    .filter(|text| !text.is_empty());
                let message = message.unwrap_or("the provider gave no reason");
                return Err(SummaryFailure::Failed(message.to_owned()));
            }
            StopReason::Length => return Err(SummaryFailure::CutOff),
            StopReason::Pending | StopReason::Deferred => {
                let message = "the provider has not finished its answer".to_owned();
                return Err(SummaryFailure::Failed(message));
            }
            StopReason::Stop | StopReason::ToolUse => {}
        }
        if let Some(call) = answer.tool_calls().next() {
            return Err(SummaryFailure::CalledTool(call.name.clone()));
        }
        let texts = answer.content.iter().filter_map(AssistantBlock::as_text);
        let text = texts.collect::<Vec<_>>().join("\n");
        if text.trim().is_empty() {
            return Err(SummaryFailure::Empty);
        }
        Ok(Summary {
            purpose: self.purpose,
            text,
            usage: answer.usage.clone(),
        })
    }
}

/// The messages that are summarized.
pub(crate) struct Conversation<'messages>(pub(crate) Vec<&'messages AgentMessage>);

impl Conversation<'_> {
    fn serialized(&self) -> String {
        serialize_conversation(&to_model_messages(self.0.iter().copied()))
    }
}
