//! The actions of this library's components, with their default keys.
//!
//! Applications add their own definitions. Some actions share a key on purpose: full-screen actions
//! take precedence over the editor's, and those of an open list over both.

use super::{ActionDefinition, Platform};

pub const EDITOR_CURSOR_UP: &str = "tui.editor.cursorUp";
pub const EDITOR_CURSOR_DOWN: &str = "tui.editor.cursorDown";
pub const EDITOR_HISTORY_PREVIOUS: &str = "tui.editor.historyPrevious";
pub const EDITOR_HISTORY_NEXT: &str = "tui.editor.historyNext";
pub const EDITOR_CURSOR_LEFT: &str = "tui.editor.cursorLeft";
pub const EDITOR_CURSOR_RIGHT: &str = "tui.editor.cursorRight";
pub const EDITOR_CURSOR_WORD_LEFT: &str = "tui.editor.cursorWordLeft";
pub const EDITOR_CURSOR_WORD_RIGHT: &str = "tui.editor.cursorWordRight";
pub const EDITOR_CURSOR_LINE_START: &str = "tui.editor.cursorLineStart";
pub const EDITOR_CURSOR_LINE_END: &str = "tui.editor.cursorLineEnd";
pub const EDITOR_JUMP_FORWARD: &str = "tui.editor.jumpForward";
pub const EDITOR_JUMP_BACKWARD: &str = "tui.editor.jumpBackward";
pub const EDITOR_PAGE_UP: &str = "tui.editor.pageUp";
pub const EDITOR_PAGE_DOWN: &str = "tui.editor.pageDown";
pub const EDITOR_DELETE_CHAR_BACKWARD: &str = "tui.editor.deleteCharBackward";
pub const EDITOR_DELETE_CHAR_FORWARD: &str = "tui.editor.deleteCharForward";
pub const EDITOR_DELETE_WORD_BACKWARD: &str = "tui.editor.deleteWordBackward";
pub const EDITOR_DELETE_WORD_FORWARD: &str = "tui.editor.deleteWordForward";
pub const EDITOR_DELETE_TO_LINE_START: &str = "tui.editor.deleteToLineStart";
pub const EDITOR_DELETE_TO_LINE_END: &str = "tui.editor.deleteToLineEnd";
pub const EDITOR_YANK: &str = "tui.editor.yank";
pub const EDITOR_YANK_POP: &str = "tui.editor.yankPop";
pub const EDITOR_UNDO: &str = "tui.editor.undo";
pub const INPUT_NEW_LINE: &str = "tui.input.newLine";
pub const INPUT_SUBMIT: &str = "tui.input.submit";
pub const INPUT_TAB: &str = "tui.input.tab";
pub const INPUT_COPY: &str = "tui.input.copy";
pub const SELECT_UP: &str = "tui.select.up";
pub const SELECT_DOWN: &str = "tui.select.down";
pub const SELECT_PAGE_UP: &str = "tui.select.pageUp";
pub const SELECT_PAGE_DOWN: &str = "tui.select.pageDown";
pub const SELECT_CONFIRM: &str = "tui.select.confirm";
pub const SELECT_CANCEL: &str = "tui.select.cancel";
pub const ALT_SCREEN_PAGE_UP: &str = "tui.altScreen.pageUp";
pub const ALT_SCREEN_PAGE_DOWN: &str = "tui.altScreen.pageDown";
pub const ALT_SCREEN_HALF_PAGE_UP: &str = "tui.altScreen.halfPageUp";
pub const ALT_SCREEN_HALF_PAGE_DOWN: &str = "tui.altScreen.halfPageDown";
pub const ALT_SCREEN_LINE_UP: &str = "tui.altScreen.lineUp";
pub const ALT_SCREEN_LINE_DOWN: &str = "tui.altScreen.lineDown";
pub const ALT_SCREEN_PREVIOUS_PROMPT: &str = "tui.altScreen.previousPrompt";
pub const ALT_SCREEN_NEXT_PROMPT: &str = "tui.altScreen.nextPrompt";
pub const ALT_SCREEN_SEARCH: &str = "tui.altScreen.search";
pub const ALT_SCREEN_SEARCH_NEXT: &str = "tui.altScreen.searchNext";
pub const ALT_SCREEN_SEARCH_PREVIOUS: &str = "tui.altScreen.searchPrevious";
pub const ALT_SCREEN_SEARCH_CLOSE: &str = "tui.altScreen.searchClose";
pub const ALT_SCREEN_TOP: &str = "tui.altScreen.top";
pub const ALT_SCREEN_BOTTOM: &str = "tui.altScreen.bottom";

/// The definitions of all actions of this module, in the order users see them.
pub const TUI_ACTIONS: &[ActionDefinition] = &[
    define(EDITOR_CURSOR_UP, "Move the cursor up", &["up"], &[]),
    define(EDITOR_CURSOR_DOWN, "Move the cursor down", &["down"], &[]),
    define(
        EDITOR_HISTORY_PREVIOUS,
        "Show the previous prompt in history",
        &[],
        &[],
    ),
    define(
        EDITOR_HISTORY_NEXT,
        "Show the next prompt in history",
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
        &["home", "ctrl+a"],
        &[],
    ),
    define(
        EDITOR_CURSOR_LINE_END,
        "Move to the end of the line",
        &["end", "ctrl+e"],
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
        "Jump backward to a character",
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
        "Paste the most recently deleted text",
        &["ctrl+y"],
        &[],
    ),
    define(
        EDITOR_YANK_POP,
        "Cycle through deleted text after pasting",
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
    define(SELECT_UP, "Move selection up", &["up"], &[]),
    define(SELECT_DOWN, "Move selection down", &["down"], &[]),
    define(
        SELECT_PAGE_UP,
        "Move selection up by a page",
        &["pageUp"],
        &[],
    ),
    define(
        SELECT_PAGE_DOWN,
        "Move selection down by a page",
        &["pageDown"],
        &[],
    ),
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
    define(ALT_SCREEN_TOP, "Scroll to the top", &["ctrl+home"], &[]),
    define(
        ALT_SCREEN_BOTTOM,
        "Scroll to the bottom",
        &["ctrl+end"],
        &[],
    ),
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
