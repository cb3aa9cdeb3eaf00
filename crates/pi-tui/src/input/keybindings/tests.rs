use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::input::{KeyboardMode, TUI_ACTIONS};

fn names(keys: &[KeyId]) -> Vec<String> {
    keys.iter().map(ToString::to_string).collect()
}

fn user(file: serde_json::Value) -> UserKeybindings {
    let serde_json::Value::Object(object) = file else {
        panic!("{file}")
    };
    UserKeybindings::from_json(&object, |name| {
        (name == "cursorUp").then_some(action::EDITOR_CURSOR_UP)
    })
}

#[test]
fn every_default_key_is_valid() {
    for definition in TUI_ACTIONS {
        let lists = definition
            .overrides
            .iter()
            .map(|(_, keys)| *keys)
            .chain([definition.keys]);
        for key in lists.flatten() {
            assert!(key.parse::<KeyId>().is_ok(), "{}: {key}", definition.id);
        }
    }
    let mut ids: Vec<_> = TUI_ACTIONS.iter().map(|definition| definition.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), TUI_ACTIONS.len());
}

#[test]
fn defaults_depend_on_the_platform() {
    let keys = |platform, action| {
        let bindings = Keybindings::new(TUI_ACTIONS, platform, &UserKeybindings::default());
        names(bindings.keys(action))
    };
    assert_eq!(keys(Platform::Linux, action::EDITOR_UNDO), ["ctrl+-"]);
    assert_eq!(keys(Platform::MacOs, action::EDITOR_UNDO), ["ctrl+-"]);
    assert_eq!(keys(Platform::Windows, action::EDITOR_UNDO), ["ctrl+z"]);
    assert_eq!(keys(Platform::Wsl, action::EDITOR_UNDO), ["alt+z"]);
    assert_eq!(keys(Platform::Wsl, action::ALT_SCREEN_SEARCH), ["ctrl+f"]);
    assert_eq!(
        keys(Platform::Linux, action::EDITOR_HISTORY_NEXT),
        Vec::<String>::new()
    );
    assert_eq!(keys(Platform::Linux, "unknown"), Vec::<String>::new());
}

#[test]
fn user_bindings_replace_and_disable_defaults() {
    let user = user(json!({
        "tui.editor.cursorUp": "ctrl+p",
        "tui.editor.cursorDown": ["ctrl+n", "ctrl+n", "alt+j"],
        "tui.editor.yank": [],
        "tui.editor.undo": 7,
        "tui.input.submit": ["hyper+x"],
        "tui.input.tab": ["tab", "nonsense"],
        "my.extension": "f5",
    }));
    let bindings = Keybindings::new(TUI_ACTIONS, Platform::Linux, &user);
    assert_eq!(names(bindings.keys(action::EDITOR_CURSOR_UP)), ["ctrl+p"]);
    assert_eq!(
        names(bindings.keys(action::EDITOR_CURSOR_DOWN)),
        ["ctrl+n", "alt+j"]
    );
    assert_eq!(
        names(bindings.keys(action::EDITOR_YANK)),
        Vec::<String>::new()
    );
    assert_eq!(names(bindings.keys(action::EDITOR_UNDO)), ["ctrl+-"]);
    assert_eq!(names(bindings.keys(action::INPUT_SUBMIT)), ["enter"]);
    assert_eq!(names(bindings.keys(action::INPUT_TAB)), ["tab"]);
    let invalid: Vec<_> = user
        .invalid()
        .iter()
        .map(|one| (&*one.action, &*one.key))
        .collect();
    assert_eq!(
        invalid,
        [
            ("tui.input.submit", "hyper+x"),
            ("tui.input.tab", "nonsense")
        ]
    );

    let up = KeyEvent::parse(b"\x10", KeyboardMode::default()).unwrap();
    assert!(bindings.matches(&up, action::EDITOR_CURSOR_UP));
    assert!(!bindings.matches(&up, action::SELECT_UP));
}

#[test]
fn old_action_names_apply_unless_the_new_name_is_present() {
    assert_eq!(
        names(
            user(json!({"cursorUp": "f1"}))
                .get(action::EDITOR_CURSOR_UP)
                .unwrap()
        ),
        ["f1"]
    );
    for file in [
        json!({"cursorUp": "f1", "tui.editor.cursorUp": "f2"}),
        json!({"tui.editor.cursorUp": "f2", "cursorUp": "f1"}),
    ] {
        assert_eq!(
            names(user(file).get(action::EDITOR_CURSOR_UP).unwrap()),
            ["f2"]
        );
    }
}

#[test]
fn only_user_bindings_conflict() {
    let none = Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserKeybindings::default());
    assert_eq!(none.conflicts(), []);
    let user = user(json!({
        "tui.editor.yank": "f5",
        "tui.editor.undo": ["F5", "f6"],
        "tui.editor.cursorUp": "down",
        "my.extension": "f6",
    }));
    let bindings = Keybindings::new(TUI_ACTIONS, Platform::Linux, &user);
    let expected = KeyConflict {
        key: "f5".parse().unwrap(),
        actions: vec![action::EDITOR_YANK, action::EDITOR_UNDO],
    };
    assert_eq!(bindings.conflicts(), [expected]);
}
