//! The terminal's interface to extensions: components on the screen, colors, keys and size.
//!
//! A front end with a terminal implements [`ExtensionScreen`]. All methods are called on the
//! JavaScript thread and must not block: changes are queued, and queries return the current state.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::handle::ExtensionHandle;

/// Identifies a component of an extension; never reused by the same extensions.
pub type ComponentId = u64;

/// A change extensions make to the screen.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum ScreenChange {
    Mount {
        id: ComponentId,
        placement: ComponentPlacement,
        /// Whether it receives key releases.
        key_release: bool,
    },
    Unmount {
        id: ComponentId,
    },
    /// Components may render differently now.
    Redraw,
    /// Moves focus to a component; `None` restores the default focus.
    Focus {
        id: Option<ComponentId>,
    },
    /// Hides an overlay temporarily or shows it again.
    OverlayHidden {
        id: ComponentId,
        hidden: bool,
    },
    /// An overlay fits the screen size or no longer does.
    OverlayVisible {
        id: ComponentId,
        visible: bool,
    },
    /// An overlay releases focus.
    OverlayReleased {
        id: ComponentId,
        /// Whether focus returns to the default component.
        restore_default: bool,
        /// The component to focus otherwise.
        next_focus: Option<ComponentId>,
    },
    /// Extensions start or stop receiving raw input before all other components.
    RawInput {
        listening: bool,
    },
    /// Extensions provide completions.
    Completion {
        /// Characters that trigger completion, in addition to the default ones.
        triggers: Vec<String>,
    },
    /// Text was submitted in an extension's editor.
    EditorSubmitted {
        text: String,
    },
    /// The text of an extension's editor changed.
    EditorChanged {
        text: String,
    },
    /// An application key was pressed in an extension's editor.
    EditorAction {
        action: String,
    },
    /// The built-in editor replaces an extension's editor.
    EditorRestored {
        /// The initial text.
        text: String,
    },
    /// A shortcut key was pressed in an extension's editor.
    Shortcut {
        extension: String,
        key: String,
    },
    /// A row of the transcript may render differently now.
    RowChanged {
        id: ComponentId,
    },
    /// Shows or hides details.
    Expanded {
        expanded: bool,
    },
    /// Shows or hides progress in the window title or taskbar.
    Progress {
        active: bool,
    },
    /// Raw output for the terminal.
    Write {
        data: String,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum ComponentPlacement {
    Widget {
        key: String,
        /// `aboveEditor` or `belowEditor`.
        placement: Option<String>,
    },
    /// Replaces the program's header.
    Header,
    /// Replaces the footer.
    Footer,
    /// Replaces the prompt temporarily.
    Custom {
        blocked: Option<BlockedStatus>,
    },
    /// Replaces the prompt editor.
    Editor,
    Bottom,
    Overlay(Box<OverlayPlacement>),
}

/// What the program waits for while a component is shown, for the program status of the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BlockedStatus {
    pub kind: BlockedReason,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::exhaustive_enums, reason = "the kinds of the status protocol")]
pub enum BlockedReason {
    Question,
    Permission,
    Auth,
}

/// Position and size of an overlay, in the terms of the extension API.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OverlayPlacement {
    pub width: Option<OverlayExtent>,
    pub min_width: Option<f64>,
    pub max_height: Option<OverlayExtent>,
    /// The anchor point, such as `top-right`.
    pub anchor: Option<String>,
    /// Columns to move it right.
    pub offset_x: f64,
    /// Rows to move it down.
    pub offset_y: f64,
    pub row: Option<OverlayExtent>,
    pub col: Option<OverlayExtent>,
    pub margin: Option<OverlayMargin>,
    /// Whether it does not take focus.
    pub non_capturing: bool,
    /// Whether it fits the screen size.
    pub is_visible: bool,
}

/// Empty cells around an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct OverlayMargin {
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    pub left: f64,
}

/// Cells, or a percentage of the screen such as `50%`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum OverlayExtent {
    Cells(f64),
    /// Text that ends in a percent sign.
    Share(String),
}

/// Information about the screen for extensions.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScreenInfo {
    pub columns: usize,
    pub rows: usize,
    /// Whether the program uses the full screen.
    pub fullscreen: bool,
    /// Whether details are shown.
    pub expanded: bool,
    /// The checked-out Git branch.
    pub branch: Option<String>,
    /// Status texts of extensions in the footer, by key.
    pub statuses: Vec<(String, String)>,
    /// Number of configured providers.
    pub providers: usize,
    /// `light` or `dark`.
    pub scheme: &'static str,
}

/// Information for an extension's editor.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EditorInfo {
    /// Columns left empty next to the text.
    pub padding: usize,
    /// Maximum number of visible completions.
    pub completions: usize,
    pub border: &'static str,
    /// The available application actions.
    pub actions: Vec<&'static str>,
}

/// The colors of a theme, as escape sequences to write before text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThemeData {
    pub name: String,
    pub path: Option<String>,
    /// `truecolor` or `256color`.
    pub mode: &'static str,
    /// Escape sequences by token.
    pub colors: BTreeMap<&'static str, String>,
}

/// An available theme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThemeInfo {
    pub name: String,
    /// The theme file; `None` for a built-in theme.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A completion request of an extension's editor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExtensionCompletionRequest {
    pub lines: Vec<String>,
    pub line: usize,
    /// The cursor's column, in UTF-16 code units as in JavaScript.
    pub column: usize,
    /// Whether the user requested it explicitly.
    #[serde(default)]
    pub force: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompletionItem {
    pub value: String,
    #[serde(default)]
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Completion items, and the text they replace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExtensionCompletions {
    /// Matching items, best first.
    pub items: Vec<CompletionItem>,
    /// The text before the cursor that an item replaces.
    #[serde(default)]
    pub prefix: String,
}

/// A completion that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChosenCompletion {
    pub line: String,
    /// The cursor's column, in UTF-16 code units.
    pub column: usize,
    pub item: CompletionItem,
    /// The text it replaces.
    pub prefix: String,
}

/// An active shortcut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExtensionShortcut {
    pub extension: String,
    /// The key, as written by the extension.
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The part of a terminal that extensions use.
pub trait ExtensionScreen: Send + Sync {
    /// Connects the extensions of a session, or none. Everything previous extensions showed is
    /// removed.
    fn connect(&self, handle: Option<ExtensionHandle>);

    /// Applies a change; `extension` is set if it is known.
    fn change(&self, extension: Option<&str>, change: ScreenChange);

    /// Called after a component has handled input or a change of focus: components may draw differently now.
    fn input_handled(&self) {}

    fn info(&self) -> ScreenInfo;

    fn editor_info(&self) -> EditorInfo;

    /// Returns a theme; the current one if `name` is absent.
    fn theme(&self, name: Option<&str>) -> Option<ThemeData>;

    fn themes(&self) -> Vec<ThemeInfo>;

    /// Activates a theme and saves it as the setting.
    fn set_theme(&self, name: &str) -> Result<(), String>;

    /// Lists the active shortcuts.
    fn shortcuts(&self) -> Vec<ExtensionShortcut>;

    /// Returns the cells an overlay covers, as row, column, width and height.
    fn overlay_bounds(&self, id: ComponentId) -> Option<[usize; 4]>;

    /// Returns the built-in completions.
    fn complete(
        &self,
        request: ExtensionCompletionRequest,
    ) -> BoxFuture<'static, Option<ExtensionCompletions>>;

    /// Returns the line and the cursor's column after applying a built-in completion.
    fn apply_completion(&self, chosen: &ChosenCompletion) -> (String, usize);

    /// Returns whether Tab completes a path at this position.
    fn completes_path(&self, request: &ExtensionCompletionRequest) -> bool;
}
