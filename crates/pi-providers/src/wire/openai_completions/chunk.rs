//! The chunks of the stream, parsed leniently for the many compatible services.
//!
//! Fields whose type differs between services are kept raw and parsed where they are used.

use std::borrow::Cow;

use pi_protocol::Usage;
use pi_protocol::json::{lenient_optional_u64, lenient_u64};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::chat_stream;

#[derive(Debug, Deserialize)]
pub(super) struct ChatChunk<'a> {
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub choices: Option<Vec<ChatChoice<'a>>>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    /// Set when the service fails after the response began.
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
    /// `error` if the complete event is the error.
    #[serde(borrow, default)]
    pub object: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatChoice<'a> {
    #[serde(borrow, default)]
    pub delta: Option<ChunkDelta<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Option<Cow<'a, str>>,
    /// Moonshot reports usage here.
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ChunkDelta<'a> {
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub refusal: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub reasoning_text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_calls: Option<Vec<ToolCallDelta<'a>>>,
    #[serde(borrow, default)]
    pub reasoning_details: Option<&'a RawValue>,
}

impl<'a> ChunkDelta<'a> {
    /// Returns the thinking text and the name of its field: services that send several fields repeat
    /// the same text in each.
    pub(super) fn thinking(&self) -> Option<(&'static str, Cow<'a, str>)> {
        [
            ("reasoning_content", self.reasoning_content),
            ("reasoning", self.reasoning),
            ("reasoning_text", self.reasoning_text),
        ]
        .into_iter()
        .find_map(|(field, value)| {
            Some((
                field,
                chat_stream::text(value?).filter(|text| !text.is_empty())?,
            ))
        })
    }
}

/// A fragment of a tool call.
#[derive(Debug, Deserialize)]
pub(super) struct ToolCallDelta<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub function: Option<FunctionDelta<'a>>,
    #[serde(borrow, default)]
    pub custom: Option<CustomDelta<'a>>,
}

impl ToolCallDelta<'_> {
    /// Returns the index of the call, if the fragment has one.
    pub(super) fn index(&self) -> Option<u64> {
        self.index?.get().parse().ok()
    }

    pub(super) fn name(&self) -> Option<&str> {
        let of_function = self.function.as_ref().and_then(|call| call.name.as_deref());
        let of_custom = self.custom.as_ref().and_then(|call| call.name.as_deref());
        of_function.or(of_custom).filter(|name| !name.is_empty())
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| !id.is_empty())
    }

    /// Whether the input is text of a grammar, not JSON.
    pub(super) fn is_custom(&self) -> bool {
        self.custom.is_some() && self.function.is_none()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
    /// JSON text or, from some services, the object itself.
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CustomDelta<'a> {
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub input: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChunkUsage {
    #[serde(deserialize_with = "lenient_u64")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "lenient_u64")]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// `DeepSeek`'s name for cache reads.
    #[serde(deserialize_with = "lenient_optional_u64")]
    prompt_cache_hit_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "lenient_optional_u64")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_u64")]
    cache_write_tokens: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    #[serde(deserialize_with = "lenient_u64")]
    reasoning_tokens: u64,
}

/// Parses token counts; an invalid report is ignored.
pub(super) fn usage(report: &RawValue) -> Option<Usage> {
    let report: Option<ChunkUsage> = serde_json::from_str(report.get()).ok()?;
    report.map(Usage::from)
}

impl From<ChunkUsage> for Usage {
    /// Prompt tokens include both cache reads and cache writes; output includes reasoning.
    fn from(report: ChunkUsage) -> Self {
        let prompt_details = report.prompt_tokens_details.unwrap_or_default();
        let cache_read = prompt_details
            .cached_tokens
            .or(report.prompt_cache_hit_tokens)
            .or(report.cached_tokens)
            .unwrap_or(0);
        let cache_write = prompt_details.cache_write_tokens;
        let input = report
            .prompt_tokens
            .saturating_sub(cache_read.saturating_add(cache_write));
        let completion_details = report.completion_tokens_details.unwrap_or_default();
        Self {
            input,
            output: report.completion_tokens,
            cache_read,
            cache_write,
            reasoning: Some(completion_details.reasoning_tokens),
            total_tokens: [input, report.completion_tokens, cache_read, cache_write]
                .into_iter()
                .fold(0, u64::saturating_add),
            ..Self::default()
        }
    }
}
