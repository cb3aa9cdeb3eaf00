//! A terminal as extensions use it: their components on the screen, its colors, keys and size.
//!
//! A front end with a terminal implements [`ExtensionScreen`]. Everything in it is called on the
//! JavaScript thread and must not wait: changes are noted, answers are what is known at the moment.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::handle::ExtensionHandle;

/// Names a component of an extension; never used twice by the same extensions.
pub type ComponentId = u64;

/// Something extensions change about the screen.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum ScreenChange {
    /// A component is to be shown.
    Mount {
        id: ComponentId,
        #[serde(rename = "place")]
        placement: ComponentPlacement,
        /// Whether it hears of released keys.
        key_release: bool,
    },
    /// A component is to be shown no more.
    Unmount { id: ComponentId },
    /// Components may have other lines than before.
    Redraw,
    /// A component gets the keyboard, or whoever usually has it.
    Focus { id: Option<ComponentId> },
    /// An overlay is hidden for a while, or comes back.
    OverlayHidden {
        id: ComponentId,
        /// Whether it is hidden.
        hidden: bool,
    },
    /// An overlay fits the size of the screen, or does not.
    OverlayVisible {
        id: ComponentId,
        /// Whether it is shown.
        visible: bool,
    },
    /// An overlay gives the keyboard away.
    OverlayReleased {
        id: ComponentId,
        /// Whether who usually follows gets it.
        #[serde(rename = "usual")]
        restore_default: bool,
        /// Who gets it otherwise.
        #[serde(rename = "heir")]
        next_focus: Option<ComponentId>,
    },
    /// Extensions want to see what is typed before anybody else, or no more.
    RawInput { listening: bool },
    /// Extensions take part in completion.
    Completion {
        /// What starts a completion besides the usual characters.
        triggers: Vec<String>,
    },
    /// The text of an extension's editor was sent.
    EditorSubmitted { text: String },
    /// The text of an extension's editor is another one.
    EditorChanged { text: String },
    /// A key of the application was pressed in an extension's editor.
    EditorAction { action: String },
    /// The program's own editor is back.
    EditorRestored {
        /// The text it goes on with.
        text: String,
    },
    /// A key of a shortcut was pressed in an extension's editor.
    Shortcut { extension: String, key: String },
    /// A row of the transcript has other lines than before.
    RowChanged { id: ComponentId },
    /// Details are shown, or are not.
    Expanded { expanded: bool },
    /// Work is under way, as the window shows it.
    Progress { active: bool },
    /// Something for the terminal itself.
    Write { data: String },
}

/// Where a component is shown.
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
    /// In the place of the program's name.
    Header,
    /// In the place of the last lines.
    Footer,
    /// In the place of the prompt, for a while.
    Custom,
    /// In the place of the prompt, as the prompt.
    Editor,
    Bottom,
    Overlay(Box<OverlayPlacement>),
}

/// Where an overlay is shown, as extensions say it.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OverlayPlacement {
    pub width: Option<OverlayExtent>,
    pub min_width: Option<f64>,
    pub max_height: Option<OverlayExtent>,
    /// The point it holds on to, such as `top-right`.
    pub anchor: Option<String>,
    /// Columns to move it right.
    pub offset_x: f64,
    /// Rows to move it down.
    pub offset_y: f64,
    pub row: Option<OverlayExtent>,
    pub col: Option<OverlayExtent>,
    /// Cells kept free around it.
    pub margin: Option<OverlayMargin>,
    /// Whether it does not take the keyboard.
    pub non_capturing: bool,
    /// Whether it fits the size of the screen.
    pub is_visible: bool,
}

/// Cells kept free around an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct OverlayMargin {
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    pub left: f64,
}

/// Cells, or a share of the screen such as `50%`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum OverlayExtent {
    Cells(f64),
    /// A text that ends in a percent sign.
    Share(String),
}

/// What extensions may know of the screen.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScreenInfo {
    pub columns: usize,
    pub rows: usize,
    /// Whether the program has all of it.
    pub fullscreen: bool,
    /// Whether details are shown.
    pub expanded: bool,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// What extensions say in the footer, by key.
    pub statuses: Vec<(String, String)>,
    /// How many providers can be asked.
    pub providers: usize,
    /// `light` or `dark`.
    pub scheme: &'static str,
}

/// What an editor of an extension must know.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EditorInfo {
    /// Columns left free beside the text.
    pub padding: usize,
    /// How many completions show.
    pub completions: usize,
    /// The color of the border.
    pub border: &'static str,
    /// The actions the application knows.
    pub actions: Vec<&'static str>,
}

/// The colors of a theme: what to write before text of each token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThemeData {
    pub name: String,
    pub path: Option<String>,
    /// `truecolor` or `256color`.
    pub mode: &'static str,
    /// The sequences by token.
    pub colors: BTreeMap<&'static str, String>,
}

/// A theme that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThemeInfo {
    pub name: String,
    /// Its file; none if it needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A question about completions, as the editors of extensions put it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExtensionCompletionRequest {
    /// The text, by line.
    pub lines: Vec<String>,
    pub line: usize,
    /// The cursor's column, in UTF-16 units as JavaScript counts.
    pub column: usize,
    /// Whether the user asked for it.
    #[serde(default)]
    pub force: bool,
}

/// Something a completion may insert.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompletionItem {
    pub value: String,
    #[serde(default)]
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What may be completed, and the text it would replace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExtensionCompletions {
    /// What fits, best first.
    pub items: Vec<CompletionItem>,
    /// The text before the cursor that an item replaces.
    #[serde(default)]
    pub prefix: String,
}

/// A completion that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChosenCompletion {
    pub line: String,
    /// The cursor's column, in UTF-16 units.
    pub column: usize,
    pub item: CompletionItem,
    /// The text it replaces.
    pub prefix: String,
}

/// A shortcut that is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExtensionShortcut {
    pub extension: String,
    /// The key, as the extension spells it.
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The part of a terminal that extensions use.
pub trait ExtensionScreen: Send + Sync {
    /// Begins with the extensions of a session, or without any: whatever others showed is gone.
    fn connect(&self, handle: Option<ExtensionHandle>);

    /// Takes a change; the extension is named where it is known.
    fn change(&self, extension: Option<&str>, change: ScreenChange);

    /// Returns what extensions may know of the screen.
    fn info(&self) -> ScreenInfo;

    /// Returns what an editor of an extension must know.
    fn editor_info(&self) -> EditorInfo;

    /// Returns a theme, the one in use without a name.
    fn theme(&self, name: Option<&str>) -> Option<ThemeData>;

    /// Lists the themes.
    fn themes(&self) -> Vec<ThemeInfo>;

    /// Puts a theme into use, also in later sessions.
    fn set_theme(&self, name: &str) -> Result<(), String>;

    /// Lists the shortcuts that are in force.
    fn shortcuts(&self) -> Vec<ExtensionShortcut>;

    /// Returns the cells an overlay covers, as row, column, width and height.
    fn overlay_bounds(&self, id: ComponentId) -> Option<[usize; 4]>;

    /// Completes as the prompt does by itself.
    fn complete(
        &self,
        question: ExtensionCompletionRequest,
    ) -> BoxFuture<'static, Option<ExtensionCompletions>>;

    /// Returns the line and the cursor's column after a completion of the prompt's own.
    fn apply_completion(&self, chosen: &ChosenCompletion) -> (String, usize);

    /// Returns whether Tab completes a path here.
    fn completes_path(&self, question: &ExtensionCompletionRequest) -> bool;
}
