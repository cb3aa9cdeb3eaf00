//! The application's actions and default keys, in addition to those of `pi-tui`.
//!
//! Some share a key intentionally: the actions of a dialog apply only while it is open.

use pi_tui::{ActionDefinition, Keybindings, Platform, TUI_ACTIONS, UserKeybindings};

pub(crate) const INTERRUPT: &str = "app.interrupt";
pub(crate) const CLEAR: &str = "app.clear";
pub(crate) const EXIT: &str = "app.exit";
pub(crate) const SUSPEND: &str = "app.suspend";
pub(crate) const THINKING_CYCLE: &str = "app.thinking.cycle";
pub(crate) const THINKING_SAVE: &str = "app.thinking.save";
pub(crate) const THINKING_TOGGLE: &str = "app.thinking.toggle";
pub(crate) const MODEL_CYCLE_FORWARD: &str = "app.model.cycleForward";
pub(crate) const MODEL_CYCLE_BACKWARD: &str = "app.model.cycleBackward";
pub(crate) const MODEL_SELECT: &str = "app.model.select";
pub(crate) const TOOLS_EXPAND: &str = "app.tools.expand";
pub(crate) const EDITOR_EXTERNAL: &str = "app.editor.external";
pub(crate) const MESSAGE_COPY: &str = "app.message.copy";
pub(crate) const MESSAGE_FOLLOW_UP: &str = "app.message.followUp";
pub(crate) const MESSAGE_DEQUEUE: &str = "app.message.dequeue";
pub(crate) const CLIPBOARD_PASTE_IMAGE: &str = "app.clipboard.pasteImage";
pub(crate) const SESSION_NEW: &str = "app.session.new";
pub(crate) const SESSION_TREE: &str = "app.session.tree";
pub(crate) const SESSION_FORK: &str = "app.session.fork";
pub(crate) const SESSION_RESUME: &str = "app.session.resume";
pub(crate) const SESSION_TOGGLE_PATH: &str = "app.session.togglePath";
pub(crate) const SESSION_TOGGLE_SORT: &str = "app.session.toggleSort";
pub(crate) const SESSION_TOGGLE_NAMED_FILTER: &str = "app.session.toggleNamedFilter";
pub(crate) const SESSION_RENAME: &str = "app.session.rename";
pub(crate) const SESSION_DELETE: &str = "app.session.delete";
pub(crate) const SESSION_DELETE_NONINVASIVE: &str = "app.session.deleteNoninvasive";
pub(crate) const MODELS_SAVE: &str = "app.models.save";
pub(crate) const MODELS_ENABLE_ALL: &str = "app.models.enableAll";
pub(crate) const MODELS_CLEAR_ALL: &str = "app.models.clearAll";
pub(crate) const MODELS_TOGGLE_PROVIDER: &str = "app.models.toggleProvider";
pub(crate) const MODELS_REORDER_UP: &str = "app.models.reorderUp";
pub(crate) const MODELS_REORDER_DOWN: &str = "app.models.reorderDown";
pub(crate) const TREE_FOLD_OR_UP: &str = "app.tree.foldOrUp";
pub(crate) const TREE_UNFOLD_OR_DOWN: &str = "app.tree.unfoldOrDown";
pub(crate) const TREE_EDIT_LABEL: &str = "app.tree.editLabel";
pub(crate) const TREE_TOGGLE_LABEL_TIMESTAMP: &str = "app.tree.toggleLabelTimestamp";
pub(crate) const TREE_FILTER_DEFAULT: &str = "app.tree.filter.default";
pub(crate) const TREE_FILTER_NO_TOOLS: &str = "app.tree.filter.noTools";
pub(crate) const TREE_FILTER_USER_ONLY: &str = "app.tree.filter.userOnly";
pub(crate) const TREE_FILTER_LABELED_ONLY: &str = "app.tree.filter.labeledOnly";
pub(crate) const TREE_FILTER_ALL: &str = "app.tree.filter.all";
pub(crate) const TREE_FILTER_CYCLE_FORWARD: &str = "app.tree.filter.cycleForward";
pub(crate) const TREE_FILTER_CYCLE_BACKWARD: &str = "app.tree.filter.cycleBackward";

/// All application actions, in the order of the documentation.
pub(crate) const APP_ACTIONS: &[ActionDefinition] = &[
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
pub(crate) fn keybindings(platform: Platform, user: &UserKeybindings) -> Keybindings {
    let definitions: Vec<ActionDefinition> =
        TUI_ACTIONS.iter().chain(APP_ACTIONS).copied().collect();
    Keybindings::new(&definitions, platform, user)
}

#[cfg(test)]
mod tests {
    use pi_tui::{Component as _, EditorOptions, InputContext, InputEvent, KeyEvent};

    use super::*;
    use crate::prompt::editor_area::{EditorArea, PromptEvent};
    use crate::theme::ui_theme::UiTheme;

    #[test]
    fn every_default_key_is_valid() {
        for definition in APP_ACTIONS {
            let keys = definition.default_keys(Platform::Linux);
            assert_eq!(keys.len(), definition.keys.len(), "{}", definition.id);
        }
        assert_eq!(TUI_ACTIONS.len() + APP_ACTIONS.len(), 90);
    }

    /// A prompt with history, kill-ring contents and several lines.
    fn prompt() -> EditorArea {
        let options = EditorOptions {
            padding: 0,
            max_completions: 5,
        };
        let mut area = EditorArea::new(&UiTheme::for_tests(), options);
        area.set_focused(true);
        let editor = area.editor();
        editor.add_to_history("an earlier prompt");
        editor.set_text("one two three\nfour five six\nseven eight nine");
        area
    }

    /// Presses keys by name, with an action's keys replaced by F9.
    fn press(area: &mut EditorArea, action: &str, keys: &[&str]) {
        let mut user = UserKeybindings::default();
        user.bind(action, ["f9"]);
        let keybindings = keybindings(Platform::Linux, &user);
        let context = InputContext {
            keybindings: &keybindings,
            now: std::time::Instant::now(),
            rows: 24,
        };
        for key in keys {
            let key = match key.chars().collect::<Vec<_>>().as_slice() {
                [character] => KeyEvent::typed(*character),
                _ => KeyEvent::press(key.parse().unwrap()),
            };
            area.handle_input(&InputEvent::Key(key), &context);
        }
    }

    #[test]
    fn every_prompt_action_has_an_effect() {
        // Keys pressed first, so that the action has an effect.
        let before: &[(&str, &[&str])] = &[
            ("tui.editor.cursorRight", &["ctrl+a"]),
            ("tui.editor.cursorWordRight", &["ctrl+a"]),
            ("tui.editor.cursorLineEnd", &["ctrl+a"]),
            ("tui.editor.cursorDown", &["up"]),
            ("tui.editor.pageDown", &["up", "up"]),
            ("tui.editor.deleteCharForward", &["ctrl+a"]),
            ("tui.editor.deleteWordForward", &["ctrl+a"]),
            ("tui.editor.deleteToLineEnd", &["ctrl+a"]),
            ("tui.editor.yank", &["ctrl+w"]),
            (
                "tui.editor.yankPop",
                &["ctrl+w", "left", "ctrl+w", "ctrl+y"],
            ),
            ("tui.editor.undo", &["ctrl+w"]),
            ("tui.editor.jumpForward", &["ctrl+a"]),
            (
                "tui.editor.historyNext",
                &["ctrl+u", "ctrl+u", "ctrl+u", "ctrl+u", "ctrl+u", "up"],
            ),
        ];
        let editing = TUI_ACTIONS.iter().filter(|action| {
            action.id.starts_with("tui.editor.") || action.id == "tui.input.newLine"
        });
        for action in editing {
            let mut area = prompt();
            let keys = before.iter().find(|(id, _)| *id == action.id);
            press(&mut area, "none", keys.map_or(&[], |(_, keys)| *keys));
            let shown = area.render(40);
            press(&mut area, action.id, &["f9"]);
            if action.id.contains(".jump") {
                // The next key is the jump target.
                press(&mut area, "none", &["e"]);
            }
            assert_ne!(area.render(40), shown, "{}", action.id);
        }
    }

    #[test]
    fn every_application_action_is_handled_by_the_prompt_or_a_dialog() {
        let in_dialogs = ["app.thinking.save", "app.models.", "app.tree."];
        let in_sessions = ["toggle", "rename", "delete"];
        for action in APP_ACTIONS {
            let mut area = prompt();
            area.editor().set_text("");
            area.take_events();
            press(&mut area, action.id, &["f9"]);
            let handled = area.take_events() == [PromptEvent::Action(action.id)];
            let elsewhere = in_dialogs
                .iter()
                .any(|prefix| action.id.starts_with(prefix))
                || (action.id.starts_with("app.session.")
                    && in_sessions.iter().any(|word| action.id.contains(word)));
            assert_ne!(handled, elsewhere, "{}", action.id);
        }
    }
}
