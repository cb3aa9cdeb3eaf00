//! Components of extensions on the screen of a client without a terminal.
//!
//! A client that sent `hello` with `screen` receives these lines; they have no cursor and are not part of the state.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change of the components that a client shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ScreenEvent {
    /// A component is shown, or its place, width or focus changed.
    ScreenMount {
        id: u64,
        place: ScreenPlace,
        /// The width of its lines, in cells.
        cols: usize,
        /// Whether it receives the keys of the user.
        focused: bool,
    },
    /// Lines of a component changed.
    ScreenLines {
        id: u64,
        /// The number of lines that the component has now; later ones are gone.
        rows: usize,
        /// The changed lines.
        lines: Vec<ScreenLine>,
        /// The cursor, if the component shows one.
        cursor: Option<ScreenCursor>,
    },
    /// A component is no longer shown.
    ScreenUnmount { id: u64 },
}

/// A line of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScreenLine {
    /// Counted from 0.
    pub row: usize,
    /// Text with escape sequences for colors, links and images only.
    pub text: String,
}

/// A cell, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScreenCursor {
    pub row: usize,
    pub col: usize,
}

/// Where a component belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ScreenPlace {
    Widget {
        key: String,
        /// `aboveEditor` or `belowEditor`.
        placement: String,
    },
    Header,
    Footer,
    /// In place of the prompt, until the user has responded.
    Custom,
    /// In place of the prompt editor.
    Editor,
    /// Below everything else.
    Bottom,
    /// On top of everything else.
    Overlay {
        /// Such as `center` or `top-right`.
        anchor: String,
    },
}

/// A row of the transcript that an extension may draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum ScreenRow {
    /// A tool call and its result.
    Tool {
        tool_call_id: String,
        tool_name: String,
        #[serde(default)]
        args: Value,
        /// The result so far: `content` and `details`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(default)]
        is_partial: bool,
        #[serde(default)]
        is_error: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<f64>,
    },
    /// A message of an extension, with its `customType`.
    Message { message: Value },
    /// An entry of an extension, with its `customType`.
    Entry { entry: Value },
}
