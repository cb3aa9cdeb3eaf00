//! The interface between the engine and the program that embeds it.
//!
//! JavaScript calls host methods by name with JSON arguments and gets JSON or an error back. The
//! engine has no other access to sessions, terminals or models.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

/// Severity of a console line.
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

/// A line printed by an extension. The engine never writes it to the process's own stdout or stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleLine {
    /// Path of the extension, if known.
    pub extension: Option<String>,
    pub level: ConsoleLevel,
    /// Without a trailing newline.
    pub text: String,
}

/// Category of an [`ExtensionFault`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// A timer, event or promise callback threw.
    Uncaught,
    UnhandledRejection,
    /// Code exceeded its time slice and was interrupted.
    Runaway,
    OutOfMemory,
    /// Promise jobs keep scheduling promise jobs. Timers and commands still run in between.
    JobFlood,
    /// The Node process exited, and with it the extensions that run on it.
    NodeExited,
}

/// A failure of an extension outside any call that could report it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionFault {
    /// Path of the extension, if known.
    pub extension: Option<String>,
    pub kind: FaultKind,
    pub message: String,
    /// Source-mapped stack trace.
    pub stack: Option<String>,
}

/// An error that a host method returns to JavaScript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    pub message: String,
    /// The `code` of the JavaScript error.
    pub code: Option<String>,
}

impl HostError {
    /// Creates an error without a code.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: None,
        }
    }
}

/// The result of an asynchronous host method.
pub type HostFuture = Pin<Box<dyn Future<Output = Result<Value, HostError>> + Send>>;

/// The program that embeds the engine.
pub trait EngineHost: Send + Sync + 'static {
    /// Receives console output of extensions.
    fn console(&self, line: ConsoleLine);

    /// Receives failures that no caller awaits.
    fn fault(&self, fault: ExtensionFault);

    /// Handles a synchronous method. Runs on the JavaScript thread and must not block.
    fn call(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        drop(arguments);
        Err(unknown_method(extension, method))
    }

    /// Handles an asynchronous method.
    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        drop(arguments);
        let error = unknown_method(extension, method);
        Box::pin(std::future::ready(Err(error)))
    }
}

fn unknown_method(extension: Option<&str>, method: &str) -> HostError {
    HostError::new(format!(
        "unknown host method `{method}` (called by {})",
        extension.unwrap_or("an extension")
    ))
}

/// Shared handle to the host, with a `Debug` implementation for [`EngineOptions`](crate::EngineOptions).
#[derive(Clone)]
pub(crate) struct SharedHost(pub(crate) Arc<dyn EngineHost>);

impl fmt::Debug for SharedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedHost")
    }
}
