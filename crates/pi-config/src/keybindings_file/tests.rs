//! Tests of `keybindings.json`.

use pi_test_support::TempHome;
use pretty_assertions::assert_eq;

use super::*;

const KNOWN: [&str; 3] = ["app.exit", "app.clear", "tui.input.submit"];

fn read(content: &str) -> UserKeybindings {
    let home = TempHome::new();
    let file = home.write("keybindings.json", content);
    read_keybindings(&file, &KNOWN)
}

fn messages(read: &UserKeybindings) -> Vec<(DiagnosticLevel, &str)> {
    read.diagnostics
        .iter()
        .map(|it| {
            let (_, problem) = it.message.split_once("keybindings.json").unwrap();
            (it.level, problem.trim_start_matches([':', ' ']))
        })
        .collect()
}

fn keys(read: &UserKeybindings) -> Vec<(&str, Vec<&str>)> {
    read.keys
        .iter()
        .map(|(action, keys)| (action.as_str(), keys.iter().map(String::as_str).collect()))
        .collect()
}

#[test]
fn keys_replace_defaults_and_empty_list_disables() {
    let read = read(
        "\u{feff}{\"app.exit\": \"ctrl+q\", \"app.clear\": [], \"tui.input.submit\": [\"enter\", \"enter\", \"ctrl+m\"]}",
    );
    assert_eq!(
        keys(&read),
        [
            ("app.clear", vec![]),
            ("app.exit", vec!["ctrl+q"]),
            ("tui.input.submit", vec!["enter", "ctrl+m"]),
        ]
    );
    assert_eq!(messages(&read), []);
}

#[test]
fn legacy_names_are_accepted_and_current_names_win() {
    let read = read(r#"{"exit": "x", "clear": "c", "app.clear": "d", "submit": "s"}"#);
    assert_eq!(
        keys(&read),
        [
            ("app.clear", vec!["d"]),
            ("app.exit", vec!["x"]),
            ("tui.input.submit", vec!["s"]),
        ]
    );
}

#[test]
fn conflicts_and_invalid_entries_are_reported() {
    let read = read(
        r#"{"$schema": "s", "app.exit": ["ctrl+q", "f1"], "app.clear": "Ctrl+Q", "app.later": "x", "tui.input.submit": {"key": 1}}"#,
    );
    assert_eq!(
        read.conflicts,
        [KeybindingConflict {
            key: "ctrl+q".to_owned(),
            actions: vec!["app.exit".to_owned(), "app.clear".to_owned()],
        }]
    );
    assert_eq!(
        messages(&read),
        [
            (DiagnosticLevel::Info, "unknown action `app.later`"),
            (
                DiagnosticLevel::Warning,
                "ignoring `tui.input.submit`: expected a key or a list of keys"
            ),
            (
                DiagnosticLevel::Warning,
                "ctrl+q is bound to several actions: app.exit, app.clear"
            ),
        ]
    );
}

#[test]
fn unreadable_file_is_treated_as_empty() {
    assert_eq!(
        read_keybindings(Path::new("/nonexistent/keybindings.json"), &KNOWN),
        UserKeybindings::default()
    );
    for content in ["", "{}"] {
        assert_eq!(read(content), UserKeybindings::default());
    }
    for content in ["{", "[]", "null", "\0", "{\"a\": 1,}"] {
        let read = read(content);
        assert_eq!(keys(&read), []);
        assert_eq!(read.diagnostics.len(), 1, "{content:?}");
    }
}
