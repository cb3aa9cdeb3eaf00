//! The protocol between this program and the script on Node: one JSON object per line.
//!
//! Frames from the script start with a record separator. Anything else on its stdout was written by
//! other code, such as a child process of an extension.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::JsException;
use crate::host::{ConsoleLevel, FaultKind, HostError};

/// ASCII record separator; starts every frame from the script.
const RECORD_SEPARATOR: char = '\u{1e}';

/// Frames sent to the script.
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
    Response {
        id: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<FrameError>,
    },
    Ping,
}

/// An error sent to the script.
#[derive(Debug, Serialize)]
pub(super) struct FrameError {
    message: String,
    code: Option<String>,
}

impl ToNode<'_> {
    pub(super) fn response(id: u64, response: Result<Value, HostError>) -> Self {
        match response {
            Ok(value) => Self::Response {
                id,
                value: Some(value),
                error: None,
            },
            Err(HostError { message, code }) => Self::Response {
                id,
                value: None,
                error: Some(FrameError { message, code }),
            },
        }
    }
}

/// Frames received from the script.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum FromNode {
    /// The script accepts calls.
    Ready,
    /// This version of Node lacks required features.
    Unsupported {
        version: String,
    },
    /// A synchronous call; the script blocks until it is answered.
    Call(HostCall),
    /// An asynchronous call.
    Request(HostCall),
    /// Cancels an asynchronous call.
    Cancel {
        id: u64,
    },
    /// A call returned a value.
    Settled {
        id: u64,
        #[serde(default)]
        value: Value,
    },
    /// A call threw.
    Failed {
        id: u64,
        error: ScriptError,
    },
    /// The result of a call cannot be serialized to JSON.
    Unserializable {
        id: u64,
        message: String,
    },
    /// The handlers of an extension are called next for an event.
    Handler {
        dispatch: u64,
        extension: String,
    },
    /// Console output of an extension.
    Print {
        level: String,
        text: String,
        extension: Option<String>,
    },
    /// A failure outside any call.
    Fault {
        fault: String,
        message: String,
        stack: Option<String>,
        extension: Option<String>,
    },
    Pong,
}

/// A call from the script.
#[derive(Debug, Deserialize)]
pub(super) struct HostCall {
    pub(super) id: u64,
    pub(super) target: CallTarget,
    pub(super) method: String,
    pub(super) arguments: Value,
    pub(super) extension: Option<String>,
}

/// The service that handles a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CallTarget {
    /// The embedding program.
    Host,
    Modules,
    Terminal,
}

/// An error thrown in the script.
#[derive(Debug, Deserialize)]
pub(super) struct ScriptError {
    name: String,
    message: String,
    code: Option<String>,
    stack: Option<String>,
}

impl From<ScriptError> for JsException {
    fn from(failure: ScriptError) -> Self {
        Self {
            name: failure.name,
            message: failure.message,
            code: failure.code,
            stack: failure.stack,
        }
    }
}

/// Splits a line of Node's stdout into text written by other code and a frame of the script.
pub(super) fn parse_line(line: &str) -> (&str, Option<FromNode>) {
    let Some((before, record)) = line.split_once(RECORD_SEPARATOR) else {
        return (line, None);
    };
    match serde_json::from_str(record) {
        Ok(frame) => (before, Some(frame)),
        Err(_) => (line, None),
    }
}

pub(super) fn console_level(name: &str) -> ConsoleLevel {
    match name {
        "error" => ConsoleLevel::Error,
        _ => ConsoleLevel::Info,
    }
}

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
    fn frames_are_distinguished_from_other_output() {
        let (before, frame) = parse_line("npm notice\u{1e}{\"kind\":\"pong\"}");
        assert_eq!(before, "npm notice");
        assert!(matches!(frame, Some(FromNode::Pong)));
        for line in [
            "",
            "{\"kind\":\"pong\"}",
            "\u{1e}{",
            "\u{1e}{\"kind\":\"new\"}",
        ] {
            let (text, frame) = parse_line(line);
            assert_eq!(text, line);
            assert!(frame.is_none(), "{line}");
        }
    }
}
