//! The chunks of the stream. Content is a string or a list of items, arguments are a string or an
//! object; both are kept raw and parsed where they are used.

use std::borrow::Cow;

use pi_protocol::Usage;
use pi_protocol::json::{lenient_optional_u64, lenient_u64};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::chat_stream;

#[derive(Debug, Deserialize)]
pub(super) struct MistralChunk<'a> {
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub choices: Option<Vec<MistralChoice<'a>>>,
    #[serde(borrow, default)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
    /// `error` if the complete event is the error.
    #[serde(borrow, default)]
    pub object: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MistralChoice<'a> {
    #[serde(borrow, default)]
    pub delta: Option<MistralDelta<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Option<Cow<'a, str>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct MistralDelta<'a> {
    #[serde(borrow, default)]
    pub content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub tool_calls: Option<Vec<MistralCallDelta<'a>>>,
}

/// A tool call, complete or in fragments.
#[derive(Debug, Deserialize)]
pub(super) struct MistralCallDelta<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub function: Option<MistralFunctionDelta<'a>>,
}

impl MistralCallDelta<'_> {
    /// Returns the index of the call, if the fragment has one.
    pub(super) fn index(&self) -> Option<u64> {
        self.index?.get().parse().ok()
    }

    /// Returns the ID; the service sends the string `null` if it has none.
    pub(super) fn id(&self) -> Option<&str> {
        self.id
            .as_deref()
            .filter(|id| !id.is_empty() && *id != "null")
    }

    pub(super) fn name(&self) -> Option<&str> {
        let name = self.function.as_ref()?.name.as_deref()?;
        Some(name).filter(|name| !name.is_empty())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct MistralFunctionDelta<'a> {
    #[serde(borrow, default)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
}

pub(super) enum ContentItem<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
}

/// Parses content; items that are neither text nor thinking are skipped.
pub(super) fn content_items(content: &RawValue) -> Vec<ContentItem<'_>> {
    if let Some(text) = chat_stream::text(content) {
        return vec![ContentItem::Text(text)];
    }
    let items: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    items.into_iter().filter_map(content_item).collect()
}

fn content_item(item: &RawValue) -> Option<ContentItem<'_>> {
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
        return Some(ContentItem::Text(text));
    }
    let item: Item<'_> = serde_json::from_str(item.get()).ok()?;
    match &*item.r#type {
        "text" => Some(ContentItem::Text(item.text?)),
        "thinking" => Some(ContentItem::Thinking(thinking_text(item.thinking?))),
        _ => None,
    }
}

fn thinking_text(thinking: &RawValue) -> Cow<'_, str> {
    #[derive(Deserialize)]
    struct ThinkingPart<'a> {
        #[serde(borrow, default)]
        text: Option<Cow<'a, str>>,
    }
    if let Some(text) = chat_stream::text(thinking) {
        return text;
    }
    let parts: Vec<ThinkingPart<'_>> = serde_json::from_str(thinking.get()).unwrap_or_default();
    let texts: Vec<Cow<'_, str>> = parts.into_iter().filter_map(|part| part.text).collect();
    texts.concat().into()
}

/// Token counts. Cache reads are reported under several names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MistralUsage {
    #[serde(deserialize_with = "lenient_u64")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "lenient_u64")]
    completion_tokens: u64,
    #[serde(deserialize_with = "lenient_u64")]
    total_tokens: u64,
    prompt_tokens_details: Option<MistralPromptDetails>,
    prompt_token_details: Option<MistralPromptDetails>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    num_cached_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct MistralPromptDetails {
    #[serde(deserialize_with = "lenient_optional_u64")]
    cached_tokens: Option<u64>,
}

/// Parses token counts; an invalid report is ignored.
pub(super) fn usage(report: &RawValue) -> Option<Usage> {
    let report: Option<MistralUsage> = serde_json::from_str(report.get()).ok()?;
    report.map(Usage::from)
}

impl From<MistralUsage> for Usage {
    fn from(report: MistralUsage) -> Self {
        let cached =
            |details: Option<MistralPromptDetails>| details.and_then(|tokens| tokens.cached_tokens);
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
