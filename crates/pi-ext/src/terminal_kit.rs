//! What a terminal library does for the components of extensions.
//!
//! Components are JavaScript and draw themselves as lines. How wide text is, which key a sequence
//! means and how an editor edits is the work of a library this crate does not see; the program
//! around the engine brings it.

use std::collections::HashMap;
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

    /// Returns whether a sequence of the terminal means a key.
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

/// Says that a component asks for a library that is not there.
pub(crate) const NO_KIT: &str =
    "this program has no terminal library for the components of extensions";

/// The widest line anybody can ask for; a terminal is never wider.
const WIDEST: f64 = 100_000.0;

/// Turns a number of JavaScript into columns.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is clamped, and not a number becomes none"
)]
pub(crate) fn columns(number: f64) -> usize {
    number.clamp(0.0, WIDEST) as usize
}

/// Cuts columns out of a line, as JavaScript asks for it.
pub(crate) fn slice(
    kit: &dyn TerminalKit,
    line: &str,
    start: f64,
    length: f64,
    is_strict: bool,
) -> String {
    let start = columns(start);
    let edge = if is_strict {
        WideEdge::Drop
    } else {
        WideEdge::Keep
    };
    kit.slice(line, start..start + columns(length), edge)
}

/// The parts that components of JavaScript stand on, by the numbers those know them by.
#[derive(Default)]
pub(crate) struct Parts {
    parts: HashMap<u32, Box<dyn KitPart>>,
    last: u32,
}

impl Parts {
    /// Keeps a part and returns its number.
    pub(crate) fn keep(&mut self, part: Box<dyn KitPart>) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.parts.insert(self.last, part);
        self.last
    }

    /// Does what a method of a part does.
    pub(crate) fn call(
        &mut self,
        number: u32,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        match self.parts.get_mut(&number) {
            Some(part) => part.call(method, arguments),
            None => Err(HostError::new("this component was disposed of")),
        }
    }

    /// Lets go of a part.
    pub(crate) fn release(&mut self, number: u32) {
        self.parts.remove(&number);
    }
}

/// A kit as the engine keeps it.
#[derive(Clone)]
pub(crate) struct SharedKit(pub(crate) Arc<dyn TerminalKit>);

impl fmt::Debug for SharedKit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedKit")
    }
}
