//! Errors of calls into JavaScript.

use std::time::Duration;

use crate::node_host::NodeHostError;

/// A JavaScript exception with its source-mapped stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsException {
    /// Class of the error, such as `TypeError`. Empty if the thrown value is not an error.
    pub name: String,
    pub message: String,
    /// The `code` property, such as `ENOENT`.
    pub code: Option<String>,
    pub stack: Option<String>,
}

impl std::fmt::Display for JsException {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name.as_str() {
            "" | "Error" => formatter.write_str(&self.message),
            name => write!(formatter, "{name}: {}", self.message),
        }
    }
}

/// Why a call into the engine failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("{0}")]
    Exception(JsException),
    /// The code exceeded its time slice and was interrupted.
    #[error(
        "stopped after running for {} s without yielding; split the work with `await`",
        .0.as_secs_f32()
    )]
    Runaway(Duration),
    /// The code was interrupted on request.
    #[error("stopped because it did not respond")]
    Interrupted,
    /// The promise did not settle in time. The operation behind it keeps running.
    #[error("timed out after {} s: the promise was not settled", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The heap reached the memory limit, in MiB.
    #[error("extensions reached the memory limit of {0} MiB")]
    OutOfMemory(usize),
    /// The JavaScript thread is blocked in native code. Replace the engine.
    #[error("the JavaScript thread is blocked in native code; run /reload to restart extensions")]
    Stuck,
    /// The engine was stopped or replaced during the call.
    #[error("the extension engine was stopped before the call completed")]
    Stopped,
    #[error("cannot start the extension engine: {0}")]
    Start(String),
    #[error("{0}")]
    Node(NodeHostError),
    /// An argument or result cannot be converted to or from JSON.
    #[error("invalid value: {0}")]
    InvalidValue(String),
}
