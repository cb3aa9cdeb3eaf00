//! The vendor's chunks. Content is a string or a list of pieces, arguments are a string or an
//! object; both are kept raw and read where they are used.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{lenient_optional_u64, lenient_u64};
use crate::usage::Usage;
use crate::wire::chat_stream;

/// One event of the stream.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
    /// `error` where the whole event is the error.
    #[serde(borrow, default)]
    pub object: Option<Cow<'a, str>>,
}

/// What the model said.
#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Option<Cow<'a, str>>,
}

/// What is new.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_calls: Option<Vec<CallDelta<'a>>>,
}

/// A call, whole or in fragments.
#[derive(Debug, Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub function: Option<FunctionDelta<'a>>,
}

impl CallDelta<'_> {
    /// Returns the place of the call among its fellows, if the fragment tells one.
    pub(super) fn index(&self) -> Option<u64> {
        self.index?.get().parse().ok()
    }

    /// Returns the id; the service writes `null` as a word where it has none.
    pub(super) fn id(&self) -> Option<&str> {
        self.id
            .as_deref()
            .filter(|id| !id.is_empty() && *id != "null")
    }

    /// Returns the tool's name.
    pub(super) fn name(&self) -> Option<&str> {
        let name = self.function.as_ref()?.name.as_deref()?;
        Some(name).filter(|name| !name.is_empty())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
}

/// A piece of content.
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
}

/// Reads content into its pieces; kinds that are neither text nor thinking are left out.
pub(super) fn pieces(content: &RawValue) -> Vec<Piece<'_>> {
    if let Some(text) = chat_stream::text(content) {
        return vec![Piece::Text(text)];
    }
    let items: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    items.into_iter().filter_map(piece).collect()
}

fn piece(item: &RawValue) -> Option<Piece<'_>> {
    #[derive(Deserialize)]
    struct Item<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
        #[serde(borrow, default)]
        text: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        thinking: Option<&'a RawValue>,
    }
    if let Some(text) = chat_stream::text(item) {
        return Some(Piece::Text(text));
    }
    let item: Item<'_> = serde_json::from_str(item.get()).ok()?;
    match &*item.r#type {
        "text" => Some(Piece::Text(item.text?)),
        "thinking" => Some(Piece::Thinking(thinking_text(item.thinking?))),
        _ => None,
    }
}

fn thinking_text(thinking: &RawValue) -> Cow<'_, str> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(borrow, default)]
        text: Option<Cow<'a, str>>,
    }
    if let Some(text) = chat_stream::text(thinking) {
        return text;
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(thinking.get()).unwrap_or_default();
    let texts: Vec<Cow<'_, str>> = parts.into_iter().filter_map(|part| part.text).collect();
    texts.concat().into()
}

/// Token counts. Cache reads are told under four names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ChunkUsage {
    #[serde(deserialize_with = "lenient_u64")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "lenient_u64")]
    completion_tokens: u64,
    #[serde(deserialize_with = "lenient_u64")]
    total_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    prompt_token_details: Option<PromptDetails>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    num_cached_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "lenient_optional_u64")]
    cached_tokens: Option<u64>,
}

/// Reads token counts; a report that cannot be read is none.
pub(super) fn usage(report: &RawValue) -> Option<Usage> {
    let report: Option<ChunkUsage> = serde_json::from_str(report.get()).ok()?;
    report.map(Usage::from)
}

impl From<ChunkUsage> for Usage {
    fn from(report: ChunkUsage) -> Self {
        let cached =
            |details: Option<PromptDetails>| details.and_then(|tokens| tokens.cached_tokens);
        let cache_read = cached(report.prompt_tokens_details)
            .or_else(|| cached(report.prompt_token_details))
            .or(report.num_cached_tokens)
            .unwrap_or(0)
            .min(report.prompt_tokens);
        let total_tokens = match report.total_tokens {
            0 => report
                .prompt_tokens
                .saturating_add(report.completion_tokens),
            total => total,
        };
        Self {
            input: report.prompt_tokens - cache_read,
            output: report.completion_tokens,
            cache_read,
            total_tokens,
            ..Self::default()
        }
    }
}
