//! The application's actions and default keys, in addition to those of `pi-tui`.
//!
//! Some share a key intentionally: the actions of a dialog apply only while it is open.

use pi_tui::{
    ActionDefinition, InputEvent, Keybindings, Platform, TUI_ACTIONS, UserKeybindings, action,
};

pub const INTERRUPT: &str = "app.interrupt";
pub const CLEAR: &str = "app.clear";
pub const EXIT: &str = "app.exit";
pub const SUSPEND: &str = "app.suspend";
pub const THINKING_CYCLE: &str = "app.thinking.cycle";
pub const THINKING_SAVE: &str = "app.thinking.save";
pub const THINKING_TOGGLE: &str = "app.thinking.toggle";
pub const MODEL_CYCLE_FORWARD: &str = "app.model.cycleForward";
pub const MODEL_CYCLE_BACKWARD: &str = "app.model.cycleBackward";
pub const MODEL_SELECT: &str = "app.model.select";
pub const TOOLS_EXPAND: &str = "app.tools.expand";
pub const EDITOR_EXTERNAL: &str = "app.editor.external";
pub const MESSAGE_COPY: &str = "app.message.copy";
pub const MESSAGE_FOLLOW_UP: &str = "app.message.followUp";
pub const MESSAGE_DEQUEUE: &str = "app.message.dequeue";
pub const PROMPT_HISTORY: &str = "app.prompt.history";
pub const PROMPT_STASH: &str = "app.prompt.stash";
pub const PALETTE: &str = "app.palette";
pub const CLIPBOARD_PASTE_IMAGE: &str = "app.clipboard.pasteImage";
pub const SESSION_NEW: &str = "app.session.new";
pub const SESSION_TREE: &str = "app.session.tree";
pub const SESSION_FORK: &str = "app.session.fork";
pub const SESSION_RESUME: &str = "app.session.resume";
pub const SESSION_TOGGLE_PATH: &str = "app.session.togglePath";
pub const SESSION_TOGGLE_SORT: &str = "app.session.toggleSort";
pub const SESSION_TOGGLE_NAMED_FILTER: &str = "app.session.toggleNamedFilter";
pub const SESSION_SEARCH_TEXT: &str = "app.session.searchText";
pub const SESSION_RENAME: &str = "app.session.rename";
pub const SESSION_DELETE: &str = "app.session.delete";
pub const SESSION_DELETE_NONINVASIVE: &str = "app.session.deleteNoninvasive";
pub const MODELS_SAVE: &str = "app.models.save";
pub const MODELS_ENABLE_ALL: &str = "app.models.enableAll";
pub const MODELS_CLEAR_ALL: &str = "app.models.clearAll";
pub const MODELS_TOGGLE_PROVIDER: &str = "app.models.toggleProvider";
pub const MODELS_REORDER_UP: &str = "app.models.reorderUp";
pub const MODELS_REORDER_DOWN: &str = "app.models.reorderDown";
pub const TREE_FOLD_OR_UP: &str = "app.tree.foldOrUp";
pub const TREE_UNFOLD_OR_DOWN: &str = "app.tree.unfoldOrDown";
pub const TREE_EDIT_LABEL: &str = "app.tree.editLabel";
pub const TREE_TOGGLE_LABEL_TIMESTAMP: &str = "app.tree.toggleLabelTimestamp";
pub const TREE_FILTER_DEFAULT: &str = "app.tree.filter.default";
pub const TREE_FILTER_NO_TOOLS: &str = "app.tree.filter.noTools";
pub const TREE_FILTER_USER_ONLY: &str = "app.tree.filter.userOnly";
pub const TREE_FILTER_LABELED_ONLY: &str = "app.tree.filter.labeledOnly";
pub const TREE_FILTER_ALL: &str = "app.tree.filter.all";
pub const TREE_FILTER_CYCLE_FORWARD: &str = "app.tree.filter.cycleForward";
pub const TREE_FILTER_CYCLE_BACKWARD: &str = "app.tree.filter.cycleBackward";

/// All application actions, in the order of the documentation.
pub const APP_ACTIONS: &[ActionDefinition] = &[
    define(
        INTERRUPT,
        "Interrupt the current operation",
        &["escape"],
        &[],
    ),
    define(
        CLEAR,
        "Clear the editor; press twice to exit",
        &["ctrl+c"],
        &[],
    ),
    define(EXIT, "Exit when the editor is empty", &["ctrl+d"], &[]),
    define(
        SUSPEND,
        "Suspend to the shell",
        &["ctrl+z"],
        &[(Platform::Windows, &[])],
    ),
    define(THINKING_CYCLE, "Next thinking level", &["shift+tab"], &[]),
    define(
        THINKING_SAVE,
        "Save the thinking level as default",
        &["ctrl+s"],
        &[],
    ),
    define(THINKING_TOGGLE, "Show or hide thinking", &["ctrl+t"], &[]),
    define(MODEL_CYCLE_FORWARD, "Next model", &["ctrl+p"], &[]),
    define(
        MODEL_CYCLE_BACKWARD,
        "Previous model",
        &["shift+ctrl+p"],
        &[(Platform::Windows, &["alt+p"]), (Platform::Wsl, &["alt+p"])],
    ),
    define(MODEL_SELECT, "Select a model", &["ctrl+l"], &[]),
    define(TOOLS_EXPAND, "Expand or collapse details", &["ctrl+o"], &[]),
    define(
        EDITOR_EXTERNAL,
        "Open the external editor",
        &["ctrl+g"],
        &[],
    ),
    define(MESSAGE_COPY, "Copy the last response", &["ctrl+x"], &[]),
    define(
        MESSAGE_FOLLOW_UP,
        "Queue a follow-up message",
        &["alt+enter"],
        &[
            (Platform::Windows, &["ctrl+q"]),
            (Platform::Wsl, &["ctrl+q"]),
        ],
    ),
    define(
        MESSAGE_DEQUEUE,
        "Edit queued messages",
        &["alt+up"],
        &[(Platform::Windows, &["alt+q"]), (Platform::Wsl, &["alt+q"])],
    ),
    define(PROMPT_HISTORY, "Search earlier prompts", &["ctrl+r"], &[]),
    define(
        PROMPT_STASH,
        "Stash the draft, or restore it",
        &["alt+s"],
        &[],
    ),
    define(PALETTE, "Open the command palette", &["alt+x"], &[]),
    define(
        CLIPBOARD_PASTE_IMAGE,
        "Paste an image from the clipboard",
        &["ctrl+v"],
        &[(Platform::Windows, &["alt+v"]), (Platform::Wsl, &["alt+v"])],
    ),
    define(SESSION_NEW, "Start a new session", &[], &[]),
    define(SESSION_TREE, "Open the session tree", &[], &[]),
    define(SESSION_FORK, "Fork from an earlier message", &[], &[]),
    define(SESSION_RESUME, "Resume another session", &[], &[]),
    define(
        SESSION_TOGGLE_PATH,
        "Show or hide session paths",
        &["ctrl+p"],
        &[],
    ),
    define(
        SESSION_TOGGLE_SORT,
        "Change the sort order",
        &["ctrl+s"],
        &[],
    ),
    define(
        SESSION_TOGGLE_NAMED_FILTER,
        "Show only named sessions",
        &["ctrl+n"],
        &[],
    ),
    define(
        SESSION_SEARCH_TEXT,
        "Search the text of sessions, or their names",
        &["ctrl+f"],
        &[(Platform::Windows, &["alt+f"]), (Platform::Wsl, &["alt+f"])],
    ),
    define(SESSION_RENAME, "Rename the session", &["ctrl+r"], &[]),
    define(SESSION_DELETE, "Delete the session", &["ctrl+d"], &[]),
    define(
        SESSION_DELETE_NONINVASIVE,
        "Delete the session if the search is empty",
        &["ctrl+backspace"],
        &[],
    ),
    define(MODELS_SAVE, "Save the model selection", &["ctrl+s"], &[]),
    define(MODELS_ENABLE_ALL, "Enable all models", &["ctrl+a"], &[]),
    define(MODELS_CLEAR_ALL, "Disable all models", &["ctrl+x"], &[]),
    define(
        MODELS_TOGGLE_PROVIDER,
        "Enable or disable a provider",
        &["ctrl+p"],
        &[],
    ),
    define(MODELS_REORDER_UP, "Move the model up", &["alt+up"], &[]),
    define(
        MODELS_REORDER_DOWN,
        "Move the model down",
        &["alt+down"],
        &[],
    ),
    define(
        TREE_FOLD_OR_UP,
        "Fold, or go to the branch above",
        &["ctrl+left", "alt+left"],
        &[(Platform::MacOs, &["alt+left", "ctrl+left"])],
    ),
    define(
        TREE_UNFOLD_OR_DOWN,
        "Unfold, or go to the branch below",
        &["ctrl+right", "alt+right"],
        &[(Platform::MacOs, &["alt+right", "ctrl+right"])],
    ),
    define(TREE_EDIT_LABEL, "Edit the label", &["shift+l"], &[]),
    define(
        TREE_TOGGLE_LABEL_TIMESTAMP,
        "Show or hide label times",
        &["shift+t"],
        &[],
    ),
    define(
        TREE_FILTER_DEFAULT,
        "Show default entries",
        &["ctrl+d"],
        &[],
    ),
    define(TREE_FILTER_NO_TOOLS, "Hide tool calls", &["ctrl+t"], &[]),
    define(
        TREE_FILTER_USER_ONLY,
        "Show only user messages",
        &["ctrl+u"],
        &[],
    ),
    define(
        TREE_FILTER_LABELED_ONLY,
        "Show only labeled entries",
        &["ctrl+l"],
        &[],
    ),
    define(TREE_FILTER_ALL, "Show all entries", &["ctrl+a"], &[]),
    define(TREE_FILTER_CYCLE_FORWARD, "Next filter", &["ctrl+o"], &[]),
    define(
        TREE_FILTER_CYCLE_BACKWARD,
        "Previous filter",
        &["shift+ctrl+o"],
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

/// Resolves the keys of all actions, those of `pi-tui` and of the application.
pub fn keybindings(platform: Platform, user: &UserKeybindings) -> Keybindings {
    let definitions: Vec<ActionDefinition> =
        TUI_ACTIONS.iter().chain(APP_ACTIONS).copied().collect();
    Keybindings::new(&definitions, platform, user)
}

/// Actions that scroll towards the start of the transcript.
const SCROLL_UP: [&str; 4] = [
    action::ALT_SCREEN_PAGE_UP,
    action::ALT_SCREEN_HALF_PAGE_UP,
    action::ALT_SCREEN_LINE_UP,
    action::ALT_SCREEN_PREVIOUS_PROMPT,
];

/// A movement towards the start of the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpwardScroll {
    Some,
    ToStart,
}

/// Returns how an event scrolls towards the start of the transcript.
pub fn upward_scroll(event: &InputEvent, keys: &Keybindings) -> Option<UpwardScroll> {
    match event {
        InputEvent::Key(key) if !key.is_release() => {
            let matches = |action: &str| keys.matches(key, action);
            if matches(action::ALT_SCREEN_TOP) {
                return Some(UpwardScroll::ToStart);
            }
            let is_upward = SCROLL_UP.iter().any(|action| matches(action));
            is_upward.then_some(UpwardScroll::Some)
        }
        InputEvent::Mouse(report) => (report.wheel_direction() < 0).then_some(UpwardScroll::Some),
        _ => None,
    }
}
