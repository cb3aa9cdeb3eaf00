//! Shared parts of the chat-style streams (OpenAI's Chat Completions and Mistral's): parsing the
//! JSON of an event, and finding the tool call that a fragment belongs to.

use std::borrow::Cow;

use memchr::memmem;
use pi_protocol::{MessageBuilder, ProviderError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Data of the event that ends a stream.
pub(crate) const DONE: &str = "[DONE]";

/// Parses the data of an event. Returns `None` for JSON that is not an object, as some gateways send
/// `null` to keep the connection open.
pub(crate) fn parse_event<'a, T: Deserialize<'a>>(
    data: &'a str,
) -> Result<Option<T>, ProviderError> {
    let invalid = |error: serde_json::Error| {
        ProviderError::protocol(format!("The service sent an invalid event: {error}"))
    };
    if !data.trim_start().starts_with('{') {
        return match serde_json::from_str::<IgnoredAny>(data) {
            Ok(_) => Ok(None),
            Err(error) => Err(invalid(error)),
        };
    }
    serde_json::from_str(data).map(Some).map_err(invalid)
}

/// Drops lone surrogates from the escapes of a JSON text. Services that split text into tokens send
/// them, and they are not valid Unicode.
pub(crate) fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    let has_surrogate = memmem::find_iter(json.as_bytes(), b"\\u")
        .any(|at| matches!(json.as_bytes().get(at + 2), Some(b'd' | b'D')));
    if !has_surrogate {
        return Cow::Borrowed(json);
    }
    let mut kept = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        kept.push_str(before);
        let pair = surrogate(escape, 0).zip(surrogate(escape, ESCAPE_LENGTH));
        let (length, keep) = match (surrogate(escape, 0), pair) {
            (_, Some((Surrogate::High, Surrogate::Low))) => (2 * ESCAPE_LENGTH, true),
            (Some(_), _) => (ESCAPE_LENGTH, false),
            // The backslash and the escaped character, so that `\\ud800` is not mistaken for an escape.
            (None, _) => (2, true),
        };
        let end = escape.floor_char_boundary(length.max(1));
        let (taken, after) = escape.split_at_checked(end).unwrap_or((escape, ""));
        if keep {
            kept.push_str(taken);
        }
        // A multi-byte character after the backslash is left for the next iteration.
        rest = after;
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// The length of `\uXXXX`.
const ESCAPE_LENGTH: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surrogate {
    High,
    Low,
}

fn surrogate(text: &str, at: usize) -> Option<Surrogate> {
    let digits = text.get(at..at + ESCAPE_LENGTH)?.strip_prefix("\\u")?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Surrogate::High),
        0xDC00..=0xDFFF => Some(Surrogate::Low),
        _ => None,
    }
}

/// Returns the text of a JSON string, `None` for any other value.
pub(crate) fn text<'a>(value: &'a RawValue) -> Option<Cow<'a, str>> {
    let json = value.get();
    if !json.starts_with('"') {
        return None;
    }
    if let Ok(text) = serde_json::from_str::<&'a str>(json) {
        return Some(Cow::Borrowed(text));
    }
    serde_json::from_str(json).ok().map(Cow::Owned)
}

/// Whether a field that services also send as `false` or empty is set.
pub(crate) fn is_truthy(value: &RawValue) -> bool {
    !matches!(value.get(), "null" | "false" | "\"\"" | "0")
}

/// Returns the JSON text of a call's arguments: the content of a string, or an object as is.
pub(crate) fn arguments(value: &RawValue) -> Cow<'_, str> {
    text(value).unwrap_or(Cow::Borrowed(value.get()))
}

/// Returns the seed for the ID of a call that has none: unique for every call and
/// response.
pub(crate) fn call_id_seed(message: &MessageBuilder, block: usize) -> String {
    message.read(|message| {
        let response = message.response_id.as_deref().unwrap_or_default();
        format!("{response}:{}:{block}", message.timestamp)
    })
}

/// The tool calls of a response, to find the call that a fragment belongs to.
#[derive(Debug, Default)]
pub(crate) struct ToolCallTracker(Vec<TrackedCall>);

#[derive(Debug)]
struct TrackedCall {
    block: usize,
    index: Option<u64>,
    id: Option<String>,
}

impl ToolCallTracker {
    /// Returns the block of the call that a fragment belongs to, or `None` if it starts a new one.
    ///
    /// The index decides, then the ID. Three exceptions: a service that gives every call the same
    /// index sends a new ID and a tool name; one that gives every call the same ID sends a new index and
    /// a tool name; and a fragment with neither belongs to the latest call.
    pub(crate) fn find(
        &mut self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Option<usize> {
        let call = match (index, id) {
            (None, None) if name.is_none() => self.0.last_mut(),
            _ => {
                let position = self
                    .0
                    .iter()
                    .rposition(|call| {
                        let starts_new_call = name.is_some()
                            && id.is_some_and(|id| {
                                call.id.as_deref().is_some_and(|known| known != id)
                            });
                        index.is_some() && call.index == index && !starts_new_call
                    })
                    .or_else(|| {
                        let id = id?;
                        self.0.iter().rposition(|call| {
                            let starts_new_call = name.is_some()
                                && index.is_some()
                                && call.index.is_some_and(|known| Some(known) != index);
                            call.id.as_deref() == Some(id) && !starts_new_call
                        })
                    })?;
                self.0.get_mut(position)
            }
        }?;
        call.index = call.index.or(index);
        if call.id.is_none() {
            call.id = id.map(str::to_owned);
        }
        Some(call.block)
    }

    /// Registers a call that a fragment started.
    pub(crate) fn register(&mut self, block: usize, index: Option<u64>, id: Option<&str>) {
        self.0.push(TrackedCall {
            block,
            index,
            id: id.map(str::to_owned),
        });
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lone_surrogates_are_dropped_and_nothing_else() {
        for (json, expected) in [
            (r#""plain""#, r#""plain""#),
            (r#""\u00e9 \n""#, r#""\u00e9 \n""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00x""#, r#""\uD83D\uDE00x""#),
            (r#""a\ud83d""#, r#""a""#),
            (r#""a\ude00\ud83d b""#, r#""a b""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\""#),
            (r#""\ud8"#, r#""\ud8"#),
            ("\"\\ud83d\\", "\"\\"),
            ("\"\\ud83d\\é", "\"\\é"),
        ] {
            assert_eq!(without_lone_surrogates(json), expected, "{json}");
        }
    }

    #[test]
    fn fragments_are_matched_to_their_call() {
        let mut calls = ToolCallTracker::default();
        assert_eq!(calls.find(Some(0), Some("a"), Some("read")), None);
        calls.register(0, Some(0), Some("a"));
        assert_eq!(calls.find(Some(0), None, None), Some(0));
        // A new ID without a name: vLLM generates one for every fragment.
        assert_eq!(calls.find(Some(0), Some("x"), None), Some(0));
        assert_eq!(calls.find(None, Some("a"), Some("read")), Some(0));
        assert_eq!(calls.find(Some(1), Some("a"), None), Some(0));
        // A new ID with a name: another call, regardless of the index.
        assert_eq!(calls.find(Some(0), Some("b"), Some("read")), None);
        calls.register(1, Some(0), Some("b"));
        assert_eq!(calls.find(Some(0), None, None), Some(1));
        assert_eq!(calls.find(None, None, None), Some(1));
        assert_eq!(calls.find(None, None, Some("bash")), None);
        // A repeated ID with its own index and name: another call, too.
        assert_eq!(calls.find(Some(5), Some("a"), Some("read")), None);
        calls.register(2, Some(5), Some("a"));
        assert_eq!(calls.find(Some(5), None, None), Some(2));
    }

    #[test]
    fn events_that_are_not_objects_are_skipped() {
        let is_event = |data| parse_event::<serde_json::Value>(data).map(|event| event.is_some());
        assert_eq!(is_event(r#" {"a": 1}"#), Ok(true));
        assert_eq!(is_event("null"), Ok(false));
        assert_eq!(is_event("[1]"), Ok(false));
        assert!(is_event("{\"a\"").is_err());
        assert!(is_event("nonsense").is_err());
    }
}
