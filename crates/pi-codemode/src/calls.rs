//! The calls of a script, as the details of its result list them.

use pi_protocol::json::JsonObject;
use serde::Serialize;
use serde_json::Value;

/// UTF-16 code units of the arguments that are shown.
const MAX_ARGUMENTS: usize = 200;
/// UTF-16 code units of an error that are shown.
const MAX_ERROR: usize = 500;

/// A call that a script made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallRecord {
    /// Ends with `?` until the call has ended.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) args: String,
    pub(crate) status: CallStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// What a model charged, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallStatus {
    Running,
    Ok,
    Error,
    Cancelled,
}

impl CallStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The details of a result.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScriptDetails {
    pub(crate) calls: Vec<CallRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) full_output_path: Option<String>,
}

impl ScriptDetails {
    /// Adds a call that starts and returns its place.
    pub(crate) fn start(&mut self, caller: &str, name: &str, arguments: &JsonObject) -> usize {
        let json = serde_json::to_string(arguments).unwrap_or_default();
        self.add(format!("{caller}/?"), name, &json)
    }

    /// Adds a task of a model that starts and returns its place.
    pub(crate) fn start_task(&mut self, caller: &str, name: &str, model: &str) -> usize {
        let earlier = self.calls.iter().filter(|call| call.name == name).count();
        self.add(format!("{caller}/{name}/{}", earlier + 1), name, model)
    }

    fn add(&mut self, id: String, name: &str, arguments: &str) -> usize {
        self.calls.push(CallRecord {
            id,
            name: name.to_owned(),
            args: shortened(arguments, MAX_ARGUMENTS),
            status: CallStatus::Running,
            duration_ms: None,
            error: None,
            cost: None,
        });
        self.calls.len() - 1
    }

    /// Marks the calls that have not ended.
    pub(crate) fn cancel_running(&mut self) {
        for call in &mut self.calls {
            if call.status == CallStatus::Running {
                call.status = CallStatus::Cancelled;
            }
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Returns the text of an error for the list.
pub(crate) fn shown_error(text: &str) -> String {
    shortened(text, MAX_ERROR)
}

/// Returns the start of a text with `...` if it has more UTF-16 code units than `max`.
fn shortened(text: &str, max: usize) -> String {
    if text.encode_utf16().count() <= max {
        return text.to_owned();
    }
    let mut units = 0;
    let kept = text.chars().take_while(|character| {
        units += character.len_utf16();
        units + 3 <= max
    });
    kept.chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn long_texts_are_shortened_to_the_limit() {
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("abcdefg", 6), "abc...");
        assert_eq!(shortened("\u{1f600}\u{1f600}\u{1f600}x", 6), "\u{1f600}...");
    }
}
