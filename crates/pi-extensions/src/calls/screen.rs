//! Calls to the terminal. Without one, queries return nothing and changes have no effect.

use serde::Serialize;

use super::group::calls;
use crate::screen::{
    ChosenCompletion, ComponentId, EditorInfo, ExtensionCompletionRequest, ExtensionCompletions,
    ExtensionShortcut, ScreenChange, ScreenInfo, ThemeData, ThemeInfo,
};

#[derive(Serialize)]
pub(crate) struct ThemeChange {
    pub(crate) success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The cells an overlay covers.
#[derive(Serialize)]
pub(crate) struct OverlayBounds {
    pub(crate) row: usize,
    pub(crate) col: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// A line and the cursor's column after a completion.
#[derive(Serialize)]
pub(crate) struct AppliedCompletion {
    pub(crate) line: String,
    pub(crate) column: usize,
}

calls! {
    trait ScreenCalls {
        call "screen.change" => change(change as "...": ScreenChange);
        /// Reports that a component is not shown. Returns whether a client can know what a screen is.
        call "screen.missing" => missing() -> bool;
        call "screen.info" => info() -> Option<ScreenInfo>;
        call "screen.editor" => editor() -> EditorInfo;
        /// Returns a theme; the current one if no name is given.
        call "screen.theme" => theme(name: Option<String>) -> Option<ThemeData>;
        call "screen.themes" => themes() -> Vec<ThemeInfo>;
        call "screen.setTheme" => set_theme(name: String) -> ThemeChange;
        call "screen.shortcuts" => shortcuts() -> Vec<ExtensionShortcut>;
        call "screen.overlayBounds" => overlay_bounds(id: ComponentId) -> Option<OverlayBounds>;
        request "screen.complete" => complete(
            request as "...": ExtensionCompletionRequest,
        ) -> Option<ExtensionCompletions>;
        call "screen.applyCompletion" => apply_completion(
            chosen as "...": ChosenCompletion,
        ) -> AppliedCompletion;
        /// Returns whether Tab completes a path at this position.
        call "screen.completesPath" => completes_path(
            request as "...": ExtensionCompletionRequest,
        ) -> bool;
    }
}
