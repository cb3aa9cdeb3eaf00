//! Tests of the default keys and of what they do at the prompt.

use pi_tui::{
    Component as _, EditorOptions, InputContext, InputEvent, KeyEvent, Platform, TUI_ACTIONS,
    UserKeybindings,
};
use pi_views::keys::{APP_ACTIONS, keybindings};
use pi_views::theme::ui_theme::UiTheme;

use super::editor_area::{EditorArea, PromptEvent};

#[test]
fn every_default_key_is_valid() {
    for definition in APP_ACTIONS {
        let keys = definition.default_keys(Platform::Linux);
        assert_eq!(keys.len(), definition.keys.len(), "{}", definition.id);
    }
    assert_eq!(TUI_ACTIONS.len() + APP_ACTIONS.len(), 94);
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
    let editing = TUI_ACTIONS
        .iter()
        .filter(|action| action.id.starts_with("tui.editor.") || action.id == "tui.input.newLine");
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
    let in_sessions = ["toggle", "searchText", "rename", "delete"];
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
