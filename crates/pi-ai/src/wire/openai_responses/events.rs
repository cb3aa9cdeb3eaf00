//! The service's stream events, as far as we read them.
//!
//! An event is scanned once for its type and the places of its fields; only the field that the type
//! gives a meaning is then read. So an event we do not know cannot fail, whatever it holds.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json::lenient_optional_u64;

/// One event, its fields still as JSON text.
#[derive(Debug, Deserialize)]
pub(super) struct StreamEvent<'a> {
    /// What the event tells.
    #[serde(rename = "type", borrow, default)]
    pub kind: Cow<'a, str>,
    /// The output item it belongs to.
    #[serde(borrow, default)]
    output_index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl<'a> StreamEvent<'a> {
    /// Scans an event.
    pub(super) fn scan(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the place of the output item the event belongs to.
    pub(super) fn output_index(&self) -> Option<u64> {
        self.output_index.and_then(|raw| raw.get().parse().ok())
    }

    /// Returns new text.
    pub(super) fn delta(&self) -> Option<Cow<'a, str>> {
        text_of(self.delta)
    }

    /// Returns the whole arguments of a function call.
    pub(super) fn arguments(&self) -> Option<Cow<'a, str>> {
        text_of(self.arguments)
    }

    /// Returns the whole input of a custom tool call.
    pub(super) fn input(&self) -> Option<Cow<'a, str>> {
        text_of(self.input)
    }

    /// Returns the item as JSON text.
    pub(super) fn item(&self) -> Option<&'a RawValue> {
        self.item
    }

    /// Returns the response.
    pub(super) fn response(&self) -> Result<Option<Response>, serde_json::Error> {
        self.response
            .map(|raw| serde_json::from_str(raw.get()))
            .transpose()
    }

    /// Returns whether the event is nothing but an error, as some gateways send it.
    pub(super) fn is_bare_error(&self) -> bool {
        self.kind.is_empty() && self.error.is_some()
    }

    /// Returns the error that the event tells of, wherever it holds the words.
    pub(super) fn failure(&self) -> Failure {
        let nested: Failure = self
            .error
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        Failure {
            code: scalar_of(self.code).or(nested.code),
            kind: nested.kind,
            message: text_of(self.message)
                .map(Cow::into_owned)
                .or(nested.message),
        }
    }
}

fn text_of(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw?.get())
        .ok()
        .map(|text| text.0)
}

fn scalar_of(raw: Option<&RawValue>) -> Option<String> {
    match text_of(raw) {
        Some(text) => Some(text.into_owned()),
        None => raw
            .map(|raw| raw.get().to_owned())
            .filter(|text| text != "null"),
    }
}

/// A JSON string. Half of a surrogate pair, which is no text, is left out instead of failing.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_bytes<E: de::Error>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                match std::str::from_utf8(bytes) {
                    Ok(text) => Ok(Text(Cow::Borrowed(text))),
                    Err(_) => self.visit_bytes(bytes),
                }
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                let valid: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
                Ok(Text(Cow::Owned(valid)))
            }
        }
        // As bytes, serde_json hands out what a string as text would be refused for.
        deserializer.deserialize_bytes(TextVisitor)
    }
}

/// Reads an optional text of an item in the same lenient way.
fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    Ok(text_of(raw).map(Cow::into_owned))
}

/// An output item.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputItem {
    /// What the item is.
    #[serde(rename = "type", deserialize_with = "optional_text")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub id: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub call_id: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub name: Option<String>,
    /// The arguments of a function call.
    #[serde(deserialize_with = "optional_text")]
    pub arguments: Option<String>,
    /// The input of a custom tool call.
    #[serde(deserialize_with = "optional_text")]
    pub input: Option<String>,
    /// Where a dynamically loaded tool came from.
    #[serde(deserialize_with = "optional_text")]
    pub namespace: Option<String>,
    /// Whether a message comments or answers.
    #[serde(deserialize_with = "optional_text")]
    pub phase: Option<String>,
    /// Parts of a message or of reasoning.
    pub content: Option<Vec<ItemPart>>,
    /// Summary parts of reasoning.
    pub summary: Option<Vec<ItemPart>>,
}

impl OutputItem {
    /// Reads an item.
    pub(super) fn parse(raw: &RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(raw.get())
    }

    /// Joins the parts of a message.
    pub(super) fn message_text(&self) -> String {
        let parts = self.content.iter().flatten();
        parts.filter_map(ItemPart::words).collect()
    }

    /// Joins what reasoning shows: its summary, or its text where there is none.
    pub(super) fn reasoning_text(&self) -> String {
        let joined = |parts: &Option<Vec<ItemPart>>| {
            let words: Vec<&str> = parts.iter().flatten().filter_map(ItemPart::words).collect();
            words.join("\n\n")
        };
        let summary = joined(&self.summary);
        if summary.is_empty() {
            joined(&self.content)
        } else {
            summary
        }
    }
}

/// A part of an item.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ItemPart {
    #[serde(deserialize_with = "optional_text")]
    text: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    refusal: Option<String>,
}

impl ItemPart {
    fn words(&self) -> Option<&str> {
        self.text.as_deref().or(self.refusal.as_deref())
    }
}

/// A response as its first and last events show it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    pub id: Option<String>,
    pub status: Option<String>,
    pub usage: Option<ResponseUsage>,
    /// The tier that served it.
    pub service_tier: Option<String>,
    /// Why it is incomplete.
    pub incomplete_details: Option<IncompleteDetails>,
    pub error: Option<Failure>,
    /// Whether the model ended its turn.
    pub end_turn: Option<bool>,
    pub output: Option<Vec<FinalItem>>,
}

/// Why a response is incomplete.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IncompleteDetails {
    /// The service's word for it.
    pub reason: Option<String>,
}

/// An error in the service's words.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Failure {
    #[serde(deserialize_with = "optional_scalar")]
    pub code: Option<String>,
    #[serde(rename = "type", deserialize_with = "optional_text")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub message: Option<String>,
}

impl Failure {
    /// Returns what tells the error from others.
    pub(super) fn code(&self) -> Option<String> {
        self.code.clone().or_else(|| self.kind.clone())
    }
}

fn optional_scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    Ok(scalar_of(raw))
}

/// An item of a finished response, for what its own event may have left out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FinalItem {
    /// What the item is.
    #[serde(rename = "type", deserialize_with = "optional_text")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub id: Option<String>,
    /// Reasoning in the form that can be sent back.
    #[serde(deserialize_with = "optional_text")]
    pub encrypted_content: Option<String>,
}

/// Token counts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseUsage {
    /// Input tokens, cached ones included.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub output_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub total_tokens: Option<u64>,
    /// Which part of the input was cached.
    pub input_tokens_details: Option<InputDetails>,
    /// Which part of the output was reasoning.
    pub output_tokens_details: Option<OutputDetails>,
}

/// Which part of the input was cached.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InputDetails {
    /// Tokens read from the cache.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub cached_tokens: Option<u64>,
    /// Tokens written to the cache.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub cache_write_tokens: Option<u64>,
}

/// Which part of the output was reasoning.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    /// Tokens spent on reasoning.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub reasoning_tokens: Option<u64>,
}
