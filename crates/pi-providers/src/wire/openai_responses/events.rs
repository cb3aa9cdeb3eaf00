//! The stream events of the Responses API, as far as they are used.
//!
//! An event is scanned once for its type and its raw fields; only the fields relevant for the type
//! are then parsed. So an unknown event cannot fail, regardless of its content.

use std::borrow::Cow;
use std::fmt;

use pi_protocol::json::lenient_optional_u64;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// An event whose fields are still JSON text.
#[derive(Debug, Deserialize)]
pub(super) struct StreamEvent<'a> {
    #[serde(rename = "type", borrow, default)]
    pub kind: Cow<'a, str>,
    /// The output item that the event belongs to.
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
    pub(super) fn scan(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the index of the output item that the event belongs to.
    pub(super) fn output_index(&self) -> Option<u64> {
        self.output_index.and_then(|raw| raw.get().parse().ok())
    }

    pub(super) fn delta(&self) -> Option<Cow<'a, str>> {
        parse_text(self.delta)
    }

    /// Returns the complete arguments of a function call.
    pub(super) fn arguments(&self) -> Option<Cow<'a, str>> {
        parse_text(self.arguments)
    }

    /// Returns the complete input of a custom tool call.
    pub(super) fn input(&self) -> Option<Cow<'a, str>> {
        parse_text(self.input)
    }

    pub(super) fn item(&self) -> Option<&'a RawValue> {
        self.item
    }

    pub(super) fn response(&self) -> Result<Option<ResponseObject>, serde_json::Error> {
        self.response
            .map(|raw| serde_json::from_str(raw.get()))
            .transpose()
    }

    /// Whether the event is only an error object, as some gateways send it.
    pub(super) fn is_bare_error(&self) -> bool {
        self.kind.is_empty() && self.error.is_some()
    }

    /// Returns the error of the event, wherever it is stored.
    pub(super) fn service_error(&self) -> ServiceError {
        let nested: ServiceError = self
            .error
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        ServiceError {
            code: parse_scalar(self.code).or(nested.code),
            kind: nested.kind,
            message: parse_text(self.message)
                .map(Cow::into_owned)
                .or(nested.message),
        }
    }
}

fn parse_text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    serde_json::from_str::<LenientText<'_>>(raw?.get())
        .ok()
        .map(|text| text.0)
}

fn parse_scalar(raw: Option<&RawValue>) -> Option<String> {
    match parse_text(raw) {
        Some(text) => Some(text.into_owned()),
        None => raw
            .map(|raw| raw.get().to_owned())
            .filter(|text| text != "null"),
    }
}

/// A JSON string. Lone surrogates, which are not valid text, are dropped instead of failing.
struct LenientText<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for LenientText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LenientTextVisitor;
        impl<'de> Visitor<'de> for LenientTextVisitor {
            type Value = LenientText<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_bytes<E: de::Error>(
                self,
                bytes: &'de [u8],
            ) -> Result<LenientText<'de>, E> {
                match std::str::from_utf8(bytes) {
                    Ok(text) => Ok(LenientText(Cow::Borrowed(text))),
                    Err(_) => self.visit_bytes(bytes),
                }
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<LenientText<'de>, E> {
                let valid: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
                Ok(LenientText(Cow::Owned(valid)))
            }
        }
        // As bytes, serde_json returns strings that it would reject as text.
        deserializer.deserialize_bytes(LenientTextVisitor)
    }
}

/// Deserializes an optional text of an item in the same lenient way.
fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    Ok(parse_text(raw).map(Cow::into_owned))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputItem {
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
    /// Source of a dynamically loaded tool.
    #[serde(deserialize_with = "optional_text")]
    pub namespace: Option<String>,
    /// Whether a message is commentary or the final answer.
    #[serde(deserialize_with = "optional_text")]
    pub phase: Option<String>,
    /// Parts of a message or of reasoning.
    pub content: Option<Vec<ItemPart>>,
    /// Summary parts of reasoning.
    pub summary: Option<Vec<ItemPart>>,
}

impl OutputItem {
    pub(super) fn parse(raw: &RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(raw.get())
    }

    pub(super) fn message_text(&self) -> String {
        let parts = self.content.iter().flatten();
        parts.filter_map(ItemPart::text_or_refusal).collect()
    }

    /// Joins the summary of reasoning, or its text if there is no summary.
    pub(super) fn reasoning_text(&self) -> String {
        let joined = |parts: &Option<Vec<ItemPart>>| {
            let text: Vec<&str> = parts
                .iter()
                .flatten()
                .filter_map(ItemPart::text_or_refusal)
                .collect();
            text.join("\n\n")
        };
        let summary = joined(&self.summary);
        if summary.is_empty() {
            joined(&self.content)
        } else {
            summary
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ItemPart {
    #[serde(deserialize_with = "optional_text")]
    text: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    refusal: Option<String>,
}

impl ItemPart {
    fn text_or_refusal(&self) -> Option<&str> {
        self.text.as_deref().or(self.refusal.as_deref())
    }
}

/// A response, as contained in its first and last events.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseObject {
    pub id: Option<String>,
    pub status: Option<String>,
    pub usage: Option<ResponseUsage>,
    /// The tier that served the response.
    pub service_tier: Option<String>,
    pub incomplete_details: Option<IncompleteDetails>,
    pub error: Option<ServiceError>,
    /// Whether the model ended its turn.
    pub end_turn: Option<bool>,
    pub output: Option<Vec<FinalItem>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IncompleteDetails {
    pub reason: Option<String>,
}

/// An error reported by the service.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServiceError {
    #[serde(deserialize_with = "optional_scalar")]
    pub code: Option<String>,
    #[serde(rename = "type", deserialize_with = "optional_text")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub message: Option<String>,
}

impl ServiceError {
    /// Returns the error's code, or its type.
    pub(super) fn code(&self) -> Option<String> {
        self.code.clone().or_else(|| self.kind.clone())
    }
}

fn optional_scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let raw = Option::<&RawValue>::deserialize(deserializer)?;
    Ok(parse_scalar(raw))
}

/// An item of a finished response, for data that its own event may lack.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FinalItem {
    #[serde(rename = "type", deserialize_with = "optional_text")]
    pub kind: Option<String>,
    #[serde(deserialize_with = "optional_text")]
    pub id: Option<String>,
    /// Reasoning in the form that can be replayed.
    #[serde(deserialize_with = "optional_text")]
    pub encrypted_content: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseUsage {
    /// Input tokens, including cached ones.
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub output_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub total_tokens: Option<u64>,
    pub input_tokens_details: Option<InputTokenDetails>,
    pub output_tokens_details: Option<OutputTokenDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InputTokenDetails {
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub cached_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputTokenDetails {
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub reasoning_tokens: Option<u64>,
}
