//! What the engine asks of the program around it.
//!
//! The engine knows this trait and nothing of sessions, terminals or models: JavaScript calls a
//! method of the host by name with JSON, and gets JSON or an error back.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

/// How loud a line of `console` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleLevel {
    /// `console.debug` and `console.trace`.
    Debug,
    /// `console.log`, `console.info` and `process.stdout`.
    Info,
    /// `console.warn`.
    Warning,
    /// `console.error` and `process.stderr`.
    Error,
}

/// Something an extension printed; it never reaches our own standard streams by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleLine {
    /// The extension, where it is known.
    pub extension: Option<String>,
    pub level: ConsoleLevel,
    /// The text, without a line end.
    pub text: String,
}

/// What went wrong outside of any call that could report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A callback (timer, event, job) threw.
    Uncaught,
    /// A promise was rejected and nobody looked.
    UnhandledRejection,
    /// Code ran for longer than its slice and was stopped.
    Runaway,
    /// The memory limit was reached.
    OutOfMemory,
    /// Promise jobs keep making promise jobs; the rest of the engine runs between them.
    JobFlood,
    /// Node has ended, and the extensions on it with it.
    HostEnded,
}

/// A failure of an extension that no caller is waiting for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The extension, where it is known.
    pub extension: Option<String>,
    /// What kind of failure.
    pub kind: FaultKind,
    pub message: String,
    /// The stack, in the author's files and lines.
    pub stack: Option<String>,
}

/// An error a host method gives back to JavaScript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// What happened and what to do.
    pub message: String,
    /// The `code` of the JavaScript error.
    pub code: Option<String>,
}

impl HostError {
    /// Creates an error from its message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: None,
        }
    }
}

/// The answer of a host method that takes time.
pub type HostFuture = Pin<Box<dyn Future<Output = Result<Value, HostError>> + Send>>;

/// The program around the engine.
pub trait Host: Send + Sync + 'static {
    /// Receives what extensions print.
    fn console(&self, line: ConsoleLine);

    /// Receives failures nobody waits for.
    fn fault(&self, fault: Fault);

    /// Answers a method at once; it runs on the JavaScript thread and must not block.
    fn call(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        drop(arguments);
        Err(unknown_method(extension, method))
    }

    /// Answers a method that takes time.
    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        drop(arguments);
        let error = unknown_method(extension, method);
        Box::pin(std::future::ready(Err(error)))
    }
}

fn unknown_method(extension: Option<&str>, method: &str) -> HostError {
    HostError::new(format!(
        "{} asked for `{method}`, which this program does not offer",
        extension.unwrap_or("An extension")
    ))
}

/// A host as the engine keeps it.
#[derive(Clone)]
pub(crate) struct SharedHost(pub(crate) Arc<dyn Host>);

impl fmt::Debug for SharedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedHost")
    }
}
