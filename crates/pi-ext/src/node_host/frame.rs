//! What the program and the script on Node say to each other: one JSON object to a line.
//!
//! A line of the script begins with a record separator; whatever else stands on its standard output was written
//! by somebody else, such as a program that an extension started.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Thrown;
use crate::host::{ConsoleLevel, FaultKind, HostError};

/// What every line of the script begins with.
const RECORD: char = '\u{1e}';

/// What the program says.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum ToNode<'a> {
    /// Calls an exported function.
    Invoke {
        id: u64,
        module: &'a str,
        export: &'a str,
        arguments: &'a [Value],
        extension: Option<&'a str>,
    },
    Answer {
        id: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Refusal>,
    },
    /// Asks for a sign of life.
    Ping,
}

/// An error for the script.
#[derive(Debug, Serialize)]
pub(super) struct Refusal {
    message: String,
    code: Option<String>,
}

impl ToNode<'_> {
    pub(super) fn answer(id: u64, answer: Result<Value, HostError>) -> Self {
        match answer {
            Ok(value) => Self::Answer {
                id,
                value: Some(value),
                error: None,
            },
            Err(HostError { message, code }) => Self::Answer {
                id,
                value: None,
                error: Some(Refusal { message, code }),
            },
        }
    }
}

/// What the script says.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum FromNode {
    /// It can be asked.
    Ready,
    /// Its Node cannot do what it needs.
    Unfit {
        version: String,
    },
    /// Asks something and stands still until it has the answer.
    Call(Question),
    /// Asks something that takes time.
    Request(Question),
    /// Does not want the answer any more.
    Abandon {
        id: u64,
    },
    /// A call has its value.
    Settled {
        id: u64,
        #[serde(default)]
        value: Value,
    },
    /// A call has failed.
    Failed {
        id: u64,
        error: Failure,
    },
    /// The value of a call has no JSON form.
    Unspeakable {
        id: u64,
        message: String,
    },
    /// An extension has printed something.
    Print {
        level: String,
        text: String,
        extension: Option<String>,
    },
    /// Something failed that nobody waits for.
    Fault {
        fault: String,
        message: String,
        stack: Option<String>,
        extension: Option<String>,
    },
    Pong,
}

/// A question of the script.
#[derive(Debug, Deserialize)]
pub(super) struct Question {
    pub(super) id: u64,
    pub(super) area: Area,
    pub(super) method: String,
    pub(super) arguments: Value,
    pub(super) extension: Option<String>,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Area {
    /// The program around us.
    Host,
    Modules,
    Terminal,
}

/// What was thrown.
#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    name: String,
    message: String,
    code: Option<String>,
    stack: Option<String>,
}

impl From<Failure> for Thrown {
    fn from(failure: Failure) -> Self {
        Self {
            name: failure.name,
            message: failure.message,
            code: failure.code,
            stack: failure.stack,
        }
    }
}

/// Takes a line of Node's standard output apart: what somebody else wrote, and what the script says.
pub(super) fn read(line: &str) -> (&str, Option<FromNode>) {
    let Some((before, record)) = line.split_once(RECORD) else {
        return (line, None);
    };
    match serde_json::from_str(record) {
        Ok(frame) => (before, Some(frame)),
        Err(_) => (line, None),
    }
}

/// Returns how loud a line of an extension is.
pub(super) fn level(name: &str) -> ConsoleLevel {
    match name {
        "error" => ConsoleLevel::Error,
        _ => ConsoleLevel::Info,
    }
}

/// Returns what kind of failure the script means.
pub(super) fn fault_kind(name: &str) -> FaultKind {
    match name {
        "rejection" => FaultKind::UnhandledRejection,
        _ => FaultKind::Uncaught,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_script_is_told_from_what_others_write() {
        let (before, frame) = read("npm notice\u{1e}{\"kind\":\"pong\"}");
        assert_eq!(before, "npm notice");
        assert!(matches!(frame, Some(FromNode::Pong)));
        for line in [
            "",
            "{\"kind\":\"pong\"}",
            "\u{1e}{",
            "\u{1e}{\"kind\":\"new\"}",
        ] {
            let (text, frame) = read(line);
            assert_eq!(text, line);
            assert!(frame.is_none(), "{line}");
        }
    }
}
