//! The actions of this library's own components, with their default keys.
//!
//! Applications add their own definitions to these. Some share a key on purpose: the full-screen
//! actions shadow the editor's, and a list is not open while the editor has the focus.

use super::{ActionDefinition, Platform};

/// Move the cursor up.
pub const EDITOR_CURSOR_UP: &str = "tui.editor.cursorUp";
/// Move the cursor down.
pub const EDITOR_CURSOR_DOWN: &str = "tui.editor.cursorDown";
/// Show the previous prompt of the history.
pub const EDITOR_HISTORY_PREVIOUS: &str = "tui.editor.historyPrevious";
/// Show the next prompt of the history.
pub const EDITOR_HISTORY_NEXT: &str = "tui.editor.historyNext";
/// Move the cursor left.
pub const EDITOR_CURSOR_LEFT: &str = "tui.editor.cursorLeft";
/// Move the cursor right.
pub const EDITOR_CURSOR_RIGHT: &str = "tui.editor.cursorRight";
/// Move the cursor one word left.
pub const EDITOR_CURSOR_WORD_LEFT: &str = "tui.editor.cursorWordLeft";
/// Move the cursor one word right.
pub const EDITOR_CURSOR_WORD_RIGHT: &str = "tui.editor.cursorWordRight";
/// Move to the start of the line.
pub const EDITOR_CURSOR_LINE_START: &str = "tui.editor.cursorLineStart";
/// Move to the end of the line.
pub const EDITOR_CURSOR_LINE_END: &str = "tui.editor.cursorLineEnd";
/// Jump forward to a character.
pub const EDITOR_JUMP_FORWARD: &str = "tui.editor.jumpForward";
/// Jump back to a character.
pub const EDITOR_JUMP_BACKWARD: &str = "tui.editor.jumpBackward";
/// Move up by a page.
pub const EDITOR_PAGE_UP: &str = "tui.editor.pageUp";
/// Move down by a page.
pub const EDITOR_PAGE_DOWN: &str = "tui.editor.pageDown";
/// Delete the character before the cursor.
pub const EDITOR_DELETE_CHAR_BACKWARD: &str = "tui.editor.deleteCharBackward";
/// Delete the character under the cursor.
pub const EDITOR_DELETE_CHAR_FORWARD: &str = "tui.editor.deleteCharForward";
/// Delete the word before the cursor.
pub const EDITOR_DELETE_WORD_BACKWARD: &str = "tui.editor.deleteWordBackward";
/// Delete the word after the cursor.
pub const EDITOR_DELETE_WORD_FORWARD: &str = "tui.editor.deleteWordForward";
/// Delete to the start of the line.
pub const EDITOR_DELETE_TO_LINE_START: &str = "tui.editor.deleteToLineStart";
/// Delete to the end of the line.
pub const EDITOR_DELETE_TO_LINE_END: &str = "tui.editor.deleteToLineEnd";
/// Insert what was deleted last.
pub const EDITOR_YANK: &str = "tui.editor.yank";
/// Replace the inserted text by an earlier deletion.
pub const EDITOR_YANK_POP: &str = "tui.editor.yankPop";
/// Undo.
pub const EDITOR_UNDO: &str = "tui.editor.undo";
/// Insert a line break.
pub const INPUT_NEW_LINE: &str = "tui.input.newLine";
/// Submit.
pub const INPUT_SUBMIT: &str = "tui.input.submit";
/// Complete.
pub const INPUT_TAB: &str = "tui.input.tab";
/// Copy the selection.
pub const INPUT_COPY: &str = "tui.input.copy";
/// Select the entry above.
pub const SELECT_UP: &str = "tui.select.up";
/// Select the entry below.
pub const SELECT_DOWN: &str = "tui.select.down";
/// Select a page above.
pub const SELECT_PAGE_UP: &str = "tui.select.pageUp";
/// Select a page below.
pub const SELECT_PAGE_DOWN: &str = "tui.select.pageDown";
/// Confirm the selection.
pub const SELECT_CONFIRM: &str = "tui.select.confirm";
/// Cancel.
pub const SELECT_CANCEL: &str = "tui.select.cancel";
/// Scroll up by a page.
pub const ALT_SCREEN_PAGE_UP: &str = "tui.altScreen.pageUp";
/// Scroll down by a page.
pub const ALT_SCREEN_PAGE_DOWN: &str = "tui.altScreen.pageDown";
/// Scroll up by half a page.
pub const ALT_SCREEN_HALF_PAGE_UP: &str = "tui.altScreen.halfPageUp";
/// Scroll down by half a page.
pub const ALT_SCREEN_HALF_PAGE_DOWN: &str = "tui.altScreen.halfPageDown";
/// Scroll up by a line.
pub const ALT_SCREEN_LINE_UP: &str = "tui.altScreen.lineUp";
/// Scroll down by a line.
pub const ALT_SCREEN_LINE_DOWN: &str = "tui.altScreen.lineDown";
/// Jump to the previous prompt.
pub const ALT_SCREEN_PREVIOUS_PROMPT: &str = "tui.altScreen.previousPrompt";
/// Jump to the next prompt.
pub const ALT_SCREEN_NEXT_PROMPT: &str = "tui.altScreen.nextPrompt";
/// Search the transcript.
pub const ALT_SCREEN_SEARCH: &str = "tui.altScreen.search";
/// Go to the next match.
pub const ALT_SCREEN_SEARCH_NEXT: &str = "tui.altScreen.searchNext";
/// Go to the previous match.
pub const ALT_SCREEN_SEARCH_PREVIOUS: &str = "tui.altScreen.searchPrevious";
/// Close the search.
pub const ALT_SCREEN_SEARCH_CLOSE: &str = "tui.altScreen.searchClose";
/// Scroll to the top.
pub const ALT_SCREEN_TOP: &str = "tui.altScreen.top";
/// Scroll to the bottom.
pub const ALT_SCREEN_BOTTOM: &str = "tui.altScreen.bottom";

/// The definitions of all actions of this module, in the order users see them.
pub const TUI_ACTIONS: &[ActionDefinition] = &[
    define(EDITOR_CURSOR_UP, "Move the cursor up", &["up"], &[]),
    define(EDITOR_CURSOR_DOWN, "Move the cursor down", &["down"], &[]),
    define(
        EDITOR_HISTORY_PREVIOUS,
        "Show the previous prompt of the history",
        &[],
        &[],
    ),
    define(
        EDITOR_HISTORY_NEXT,
        "Show the next prompt of the history",
        &[],
        &[],
    ),
    define(
        EDITOR_CURSOR_LEFT,
        "Move the cursor left",
        &["left", "ctrl+b"],
        &[],
    ),
    define(
        EDITOR_CURSOR_RIGHT,
        "Move the cursor right",
        &["right", "ctrl+f"],
        &[],
    ),
    define(
        EDITOR_CURSOR_WORD_LEFT,
        "Move the cursor one word left",
        &["alt+left", "ctrl+left", "alt+b"],
        &[],
    ),
    define(
        EDITOR_CURSOR_WORD_RIGHT,
        "Move the cursor one word right",
        &["alt+right", "ctrl+right", "alt+f"],
        &[],
    ),
    define(
        EDITOR_CURSOR_LINE_START,
        "Move to the start of the line",
        &["home", "ctrl+home", "ctrl+a"],
        &[],
    ),
    define(
        EDITOR_CURSOR_LINE_END,
        "Move to the end of the line",
        &["end", "ctrl+end", "ctrl+e"],
        &[],
    ),
    define(
        EDITOR_JUMP_FORWARD,
        "Jump forward to a character",
        &["ctrl+]"],
        &[],
    ),
    define(
        EDITOR_JUMP_BACKWARD,
        "Jump back to a character",
        &["ctrl+alt+]"],
        &[],
    ),
    define(
        EDITOR_PAGE_UP,
        "Move up by a page",
        &["pageUp", "ctrl+pageUp"],
        &[],
    ),
    define(
        EDITOR_PAGE_DOWN,
        "Move down by a page",
        &["pageDown", "ctrl+pageDown"],
        &[],
    ),
    define(
        EDITOR_DELETE_CHAR_BACKWARD,
        "Delete the character before the cursor",
        &["backspace"],
        &[],
    ),
    define(
        EDITOR_DELETE_CHAR_FORWARD,
        "Delete the character under the cursor",
        &["delete", "ctrl+d"],
        &[],
    ),
    define(
        EDITOR_DELETE_WORD_BACKWARD,
        "Delete the word before the cursor",
        &["ctrl+w", "alt+backspace"],
        &[],
    ),
    define(
        EDITOR_DELETE_WORD_FORWARD,
        "Delete the word after the cursor",
        &["alt+d", "alt+delete"],
        &[],
    ),
    define(
        EDITOR_DELETE_TO_LINE_START,
        "Delete to the start of the line",
        &["ctrl+u"],
        &[],
    ),
    define(
        EDITOR_DELETE_TO_LINE_END,
        "Delete to the end of the line",
        &["ctrl+k"],
        &[],
    ),
    define(
        EDITOR_YANK,
        "Insert what was deleted last",
        &["ctrl+y"],
        &[],
    ),
    define(
        EDITOR_YANK_POP,
        "Replace the inserted text by an earlier deletion",
        &["alt+y"],
        &[],
    ),
    define(
        EDITOR_UNDO,
        "Undo",
        &["ctrl+-"],
        &[
            (Platform::Windows, &["ctrl+z"]),
            (Platform::Wsl, &["alt+z"]),
        ],
    ),
    define(
        INPUT_NEW_LINE,
        "Insert a line break",
        &["shift+enter", "ctrl+j"],
        &[],
    ),
    define(INPUT_SUBMIT, "Submit", &["enter"], &[]),
    define(INPUT_TAB, "Complete", &["tab"], &[]),
    define(INPUT_COPY, "Copy the selection", &["ctrl+c"], &[]),
    define(SELECT_UP, "Select the entry above", &["up"], &[]),
    define(SELECT_DOWN, "Select the entry below", &["down"], &[]),
    define(SELECT_PAGE_UP, "Select a page above", &["pageUp"], &[]),
    define(SELECT_PAGE_DOWN, "Select a page below", &["pageDown"], &[]),
    define(SELECT_CONFIRM, "Confirm the selection", &["enter"], &[]),
    define(SELECT_CANCEL, "Cancel", &["escape", "ctrl+c"], &[]),
    define(ALT_SCREEN_PAGE_UP, "Scroll up by a page", &["pageUp"], &[]),
    define(
        ALT_SCREEN_PAGE_DOWN,
        "Scroll down by a page",
        &["pageDown"],
        &[],
    ),
    define(
        ALT_SCREEN_HALF_PAGE_UP,
        "Scroll up by half a page",
        &[],
        &[],
    ),
    define(
        ALT_SCREEN_HALF_PAGE_DOWN,
        "Scroll down by half a page",
        &[],
        &[],
    ),
    define(ALT_SCREEN_LINE_UP, "Scroll up by a line", &[], &[]),
    define(ALT_SCREEN_LINE_DOWN, "Scroll down by a line", &[], &[]),
    define(
        ALT_SCREEN_PREVIOUS_PROMPT,
        "Jump to the previous prompt",
        &["ctrl+shift+up", "ctrl+up"],
        &[
            (Platform::Windows, &["ctrl+up"]),
            (Platform::Wsl, &["ctrl+up"]),
        ],
    ),
    define(
        ALT_SCREEN_NEXT_PROMPT,
        "Jump to the next prompt",
        &["ctrl+shift+down", "ctrl+down"],
        &[
            (Platform::Windows, &["ctrl+down"]),
            (Platform::Wsl, &["ctrl+down"]),
        ],
    ),
    define(
        ALT_SCREEN_SEARCH,
        "Search the transcript",
        &["ctrl+shift+f"],
        &[
            (Platform::Windows, &["ctrl+f"]),
            (Platform::Wsl, &["ctrl+f"]),
        ],
    ),
    define(
        ALT_SCREEN_SEARCH_NEXT,
        "Go to the next match",
        &["enter", "ctrl+g"],
        &[],
    ),
    define(
        ALT_SCREEN_SEARCH_PREVIOUS,
        "Go to the previous match",
        &["shift+enter", "ctrl+shift+g"],
        &[],
    ),
    define(
        ALT_SCREEN_SEARCH_CLOSE,
        "Close the search",
        &["escape"],
        &[],
    ),
    define(ALT_SCREEN_TOP, "Scroll to the top", &["home"], &[]),
    define(ALT_SCREEN_BOTTOM, "Scroll to the bottom", &["end"], &[]),
];

const fn define(
    id: &'static str,
    description: &'static str,
    keys: &'static [&'static str],
    overrides: &'static [(Platform, &'static [&'static str])],
) -> ActionDefinition {
    ActionDefinition {
        id,
        description,
        keys,
        overrides,
    }
}
