//! Why a call into JavaScript gave no value.

use std::time::Duration;

use crate::node_host::NodeHostError;

/// A JavaScript exception, in the author's words and lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thrown {
    /// The class of the error, such as `TypeError`; empty for a value that is no error.
    pub name: String,
    pub message: String,
    /// The `code` property, such as `ENOENT`.
    pub code: Option<String>,
    pub stack: Option<String>,
}

impl std::fmt::Display for Thrown {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name.as_str() {
            "" | "Error" => formatter.write_str(&self.message),
            name => write!(formatter, "{name}: {}", self.message),
        }
    }
}

/// Why the engine gave no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("{0}")]
    Thrown(Thrown),
    /// The code ran without pause for longer than it may, and was stopped.
    #[error(
        "the code ran for {} s without a pause and was stopped; split the work with `await`",
        .0.as_secs_f32()
    )]
    Runaway(Duration),
    /// The promise was not settled in time; what it waits for goes on unheard.
    #[error("no answer within {} s; the promise was never settled", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The memory limit was reached.
    #[error("the memory limit of {0} MiB for extensions was reached")]
    OutOfMemory(usize),
    /// The JavaScript thread does not come back from native code; replace the engine.
    #[error("the JavaScript thread hangs in native code; /reload loads the extensions again")]
    Stuck,
    /// The engine was stopped or replaced while the call was under way.
    #[error("the extension engine was stopped before the call ended")]
    Stopped,
    /// The engine could not be started.
    #[error("the extension engine could not be started: {0}")]
    Start(String),
    /// The extension was to run on Node, and does not.
    #[error("{0}")]
    Node(NodeHostError),
    /// The value has no JSON form, or the arguments have none.
    #[error("the value cannot cross the border of the engine: {0}")]
    Value(String),
}
