//! Questions of a session to its user, and their answers.
//!
//! A request has an ID and belongs to a session, and optionally to one of its tool calls. Any client
//! may answer it; the first answer wins.

mod form;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::JsonObject;

pub use form::{FormAnswer, QuestionForm, single_line};

/// Identifies a request within its session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RequestId(pub String);

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub id: RequestId,
    /// The ID of the tool call that waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(flatten)]
    pub kind: RequestKind,
}

/// What is asked. Dialogs have the fields of `extension_ui_request`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "method",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum RequestKind {
    /// Whether a tool call may run. Answered with [`Answer::Allow`], [`Answer::AllowForSession`] or [`Answer::Deny`].
    Approval {
        tool_name: String,
        /// The validated arguments.
        args: JsonObject,
        /// Why approval is required.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Choose one of several options. Answered with [`Answer::Value`].
    Select {
        title: String,
        options: Vec<String>,
        /// Milliseconds after which the dialog is canceled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Yes or no. Answered with [`Answer::Confirmed`].
    Confirm {
        title: String,
        message: String,
        /// Milliseconds after which the dialog is canceled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// A single line of text. Answered with [`Answer::Value`].
    Input {
        title: String,
        /// Shown while the input is empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placeholder: Option<String>,
        /// Milliseconds after which the dialog is canceled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// Multi-line text. Answered with [`Answer::Value`].
    Editor {
        title: String,
        /// The initial text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
    },
}

impl RequestKind {
    /// Returns what the request expects, if an answer does not fit.
    pub fn expects_other_than(&self, answer: &Answer) -> Option<&'static str> {
        let (fits, expected) = match self {
            Self::Approval { .. } => (
                matches!(
                    answer,
                    Answer::Allow | Answer::AllowForSession | Answer::Deny { .. }
                ),
                "`allow`, `allow_for_session` or `deny`",
            ),
            Self::Select { options, .. } => (
                matches!(answer, Answer::Value { value } if options.contains(value))
                    || *answer == Answer::Cancelled,
                "`value` with one of the options, or `cancelled`",
            ),
            Self::Confirm { .. } => (
                matches!(answer, Answer::Confirmed { .. } | Answer::Cancelled),
                "`confirmed` or `cancelled`",
            ),
            Self::Input { .. } | Self::Editor { .. } => (
                matches!(answer, Answer::Value { .. } | Answer::Cancelled),
                "`value` or `cancelled`",
            ),
        };
        (!fits).then_some(expected)
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// Run the tool call.
    Allow,
    /// Run the tool call, and equal ones in this session without asking.
    AllowForSession,
    /// Do not run the tool call.
    Deny {
        /// The reason for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A text or the chosen option.
    Value {
        value: String,
    },
    Confirmed {
        confirmed: bool,
    },
    /// Closed without an answer: the user dismissed it, it timed out, or what asked has ended.
    Cancelled,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn requests_round_trip() {
        for line in [
            r#"{"id":"1","call":"c","method":"approval","toolName":"bash","args":{"command":"ls","a":1},"reason":"r"}"#,
            r#"{"id":"1","method":"select","title":"t","options":["a"],"timeout":5}"#,
            r#"{"id":"1","method":"confirm","title":"t","message":"m"}"#,
            r#"{"id":"1","method":"input","title":"t","placeholder":"p"}"#,
            r#"{"id":"1","method":"editor","title":"t","prefill":"p"}"#,
        ] {
            let request: Request = serde_json::from_str(line).unwrap();
            assert_eq!(crate::json::to_string(&request).unwrap(), line);
        }
    }

    #[test]
    fn an_answer_fits_one_kind_of_request() {
        let kind = |line: &str| serde_json::from_str::<RequestKind>(line).unwrap();
        let approval = kind(r#"{"method":"approval","toolName":"bash","args":{}}"#);
        let select = kind(r#"{"method":"select","title":"t","options":["a"]}"#);
        let confirm = kind(r#"{"method":"confirm","title":"t","message":"m"}"#);
        let input = kind(r#"{"method":"input","title":"t"}"#);
        let value = |value: &str| Answer::Value {
            value: value.to_owned(),
        };
        let confirmed = Answer::Confirmed { confirmed: true };
        for (request, fitting) in [
            (&approval, Answer::Allow),
            (&approval, Answer::Deny { reason: None }),
            (&select, value("a")),
            (&select, Answer::Cancelled),
            (&confirm, confirmed.clone()),
            (&input, value("b")),
        ] {
            assert_eq!(request.expects_other_than(&fitting), None, "{request:?}");
        }
        for (request, other) in [
            (&approval, Answer::Cancelled),
            (&select, value("b")),
            (&confirm, value("a")),
            (&input, confirmed),
        ] {
            assert!(request.expects_other_than(&other).is_some(), "{request:?}");
        }
    }

    #[test]
    fn answers_round_trip() {
        for line in [
            r#"{"type":"allow"}"#,
            r#"{"type":"deny","reason":"r"}"#,
            r#"{"type":"deny"}"#,
            r#"{"type":"value","value":"v"}"#,
            r#"{"type":"confirmed","confirmed":false}"#,
            r#"{"type":"cancelled"}"#,
        ] {
            let answer: Answer = serde_json::from_str(line).unwrap();
            assert_eq!(crate::json::to_string(&answer).unwrap(), line);
        }
    }
}
