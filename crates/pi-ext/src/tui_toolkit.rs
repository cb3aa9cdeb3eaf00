//! The terminal UI functions that extension components rely on.
//!
//! Components are written in JavaScript and render themselves as lines. Text measurement, key
//! parsing and editing are implemented by a TUI library that this crate does not depend on; the
//! embedding program provides it through [`TuiToolkit`].

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use crate::host::HostError;

/// Handling of a wide character that crosses the right edge of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WideEdge {
    /// Include it; the slice is one column wider.
    Keep,
    Drop,
}

/// A TUI library. All methods run on the JavaScript thread and must not block.
pub trait TuiToolkit: Send + Sync + 'static {
    /// Called when an engine starts. Implementations drop cached user configuration, such as
    /// keybindings.
    fn engine_started(&self);

    /// Returns the width of `text` in columns.
    fn width(&self, text: &str) -> usize;

    /// Truncates text to a width, ending with `ellipsis` if anything was removed.
    fn truncate(&self, text: &str, width: usize, ellipsis: &str) -> String;

    /// Wraps text at word boundaries. Styles carry over to the next line.
    fn wrap(&self, text: &str, width: usize) -> Vec<String>;

    /// Returns a range of columns of a line, preserving styles.
    fn slice(&self, line: &str, columns: Range<usize>, edge: WideEdge) -> String;

    /// Returns the name of the key encoded by a terminal sequence.
    fn key_name(&self, sequence: &str) -> Option<String>;

    /// Returns whether a terminal sequence encodes `key`.
    fn is_key(&self, sequence: &str, key: &str) -> bool;

    /// Handles a less common query by name.
    fn query(&self, name: &str, arguments: Value) -> Result<Value, HostError>;

    /// Creates a widget whose state lives in the library.
    fn create_widget(&self, kind: &str, options: Value)
    -> Result<Box<dyn NativeWidget>, HostError>;
}

/// A stateful widget of the TUI library that backs a JavaScript component.
pub trait NativeWidget: Send {
    /// Calls a method of the widget.
    fn call(&mut self, method: &str, arguments: Value) -> Result<Value, HostError>;
}

/// Error for a component that needs a TUI library when the program provides none.
pub(crate) const NO_TOOLKIT: &str = "extension components are not available: no terminal UI";

/// Upper limit for widths that JavaScript passes in.
const MAX_COLUMNS: f64 = 100_000.0;

/// Converts a JavaScript number to a column count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is clamped, and NaN becomes 0"
)]
pub(crate) fn columns(number: f64) -> usize {
    number.clamp(0.0, MAX_COLUMNS) as usize
}

/// Slices columns out of a line, with the argument types that JavaScript passes.
pub(crate) fn slice(
    toolkit: &dyn TuiToolkit,
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
    toolkit.slice(line, start..start + columns(length), edge)
}

/// The native widgets of JavaScript components, by ID.
#[derive(Default)]
pub(crate) struct WidgetTable {
    widgets: HashMap<u32, Box<dyn NativeWidget>>,
    last_id: u32,
}

impl WidgetTable {
    /// Adds a widget and returns its ID.
    pub(crate) fn insert(&mut self, widget: Box<dyn NativeWidget>) -> u32 {
        self.last_id = self.last_id.wrapping_add(1);
        self.widgets.insert(self.last_id, widget);
        self.last_id
    }

    /// Calls a method of a widget.
    pub(crate) fn call(
        &mut self,
        id: u32,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        match self.widgets.get_mut(&id) {
            Some(widget) => widget.call(method, arguments),
            None => Err(HostError::new("this component has been disposed")),
        }
    }

    pub(crate) fn remove(&mut self, id: u32) {
        self.widgets.remove(&id);
    }
}

/// Shared handle to the toolkit, with a `Debug` implementation.
#[derive(Clone)]
pub(crate) struct SharedToolkit(pub(crate) Arc<dyn TuiToolkit>);

impl fmt::Debug for SharedToolkit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedToolkit")
    }
}
