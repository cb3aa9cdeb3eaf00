//! What a terminal library does for the components of extensions.
//!
//! Components are JavaScript and draw themselves as lines. How wide text is, which key a sequence
//! means and how an editor edits is the work of a library this crate does not see; the program
//! around the engine brings it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::host::HostError;

/// What happens to a wide character that crosses the right edge of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WideEdge {
    /// It is kept, and the slice is a column wider.
    Keep,
    /// It is left out.
    Drop,
}

/// A terminal library. Everything here runs on the JavaScript thread and must not block.
pub trait TerminalKit: Send + Sync + 'static {
    /// Hears that an engine starts: what the library keeps of the user's files may be out of date.
    fn begin(&self);

    /// Returns the columns text takes.
    fn width(&self, text: &str) -> usize;

    /// Cuts text to a width, with an ellipsis where something is left out.
    fn truncate(&self, text: &str, width: usize, ellipsis: &str) -> String;

    /// Wraps text at words; styles go on in the next line.
    fn wrap(&self, text: &str, width: usize) -> Vec<String>;

    /// Returns the columns of a line, styled as they are in the line.
    fn slice(&self, line: &str, columns: Range<usize>, edge: WideEdge) -> String;

    /// Returns the name of the key that a sequence of the terminal means.
    fn key_name(&self, sequence: &str) -> Option<String>;

    /// Tells whether a sequence of the terminal means a key.
    fn is_key(&self, sequence: &str, key: &str) -> bool;

    /// Answers a question that is asked rarely, by its name.
    fn answer(&self, question: &str, arguments: Value) -> Result<Value, HostError>;

    /// Makes a component that keeps its state in the library.
    fn part(&self, kind: &str, options: Value) -> Result<Box<dyn KitPart>, HostError>;
}

/// A component of the terminal library, kept for one of JavaScript.
pub trait KitPart: Send {
    /// Does what a method of the component does.
    fn call(&mut self, method: &str, arguments: Value) -> Result<Value, HostError>;
}

/// A kit as the engine keeps it.
#[derive(Clone)]
pub(crate) struct SharedKit(pub(crate) Arc<dyn TerminalKit>);

impl fmt::Debug for SharedKit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedKit")
    }
}
