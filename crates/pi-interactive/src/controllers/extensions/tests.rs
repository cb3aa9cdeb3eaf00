//! Tests of extension requests.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;

#[derive(Default)]
struct ExtensionTester {
    extensions: ExtensionController,
    app: TestContext,
}

impl ExtensionTester {
    fn send(&mut self, message: ExtensionMsg) -> Vec<String> {
        listed(&self.extensions.update(message, &self.app.context()))
    }

    fn event(&mut self, event: ExtensionEvent) -> Vec<String> {
        self.send(ExtensionMsg::Event(event))
    }

    fn connect(&mut self, keys: &[&str]) -> Vec<String> {
        let shortcuts = keys.iter().map(|key| ExtensionShortcut {
            extension: "a.ts".to_owned(),
            key: (*key).to_owned(),
            description: None,
        });
        self.send(ExtensionMsg::Connected(ConnectedExtensions {
            shortcuts: Some(shortcuts.collect()),
            hidden_commands: vec!["model".to_owned()],
        }))
    }
}

fn failure(error: &str) -> ExtensionFailure {
    ExtensionFailure {
        extension: Some("a.ts".to_owned()),
        event: "timer".to_owned(),
        error: error.to_owned(),
        stack: Some("Error\n at one\n at two".to_owned()),
    }
}

#[test]
fn nothing_changes_without_extensions() {
    let mut tester = ExtensionTester::default();
    let none = || ExtensionMsg::Connected(ConnectedExtensions::default());
    assert!(tester.send(none()).is_empty());
    tester.connect(&[]);
    let commands = tester.send(none());
    assert_eq!(
        commands[..2],
        ["Extension(Reset)", "Dialogs(ExtensionsGone)"],
        "what the unloaded ones showed is removed"
    );
}

#[test]
fn connecting_registers_shortcuts_and_warns_about_hidden_commands() {
    let mut tester = ExtensionTester::default();
    let commands = tester.connect(&["ctrl+shift+x", "ctrl+c"]);
    let warnings: Vec<&String> = commands
        .iter()
        .filter(|line| line.starts_with("Warning"))
        .collect();
    assert_eq!(
        warnings,
        [
            "Warning: a.ts: shortcut ctrl+c ignored: reserved for tui.input.copy",
            "Warning: Extension command /model is hidden by the built-in command",
        ]
    );
    let key = |key: &str| ExtensionMsg::KeyPressed(key.parse().unwrap());
    assert_eq!(
        tester.send(key("ctrl+shift+x")),
        ["RunShortcut { extension: \"a.ts\", key: \"ctrl+shift+x\" }"]
    );
    assert!(tester.send(key("ctrl+c")).is_empty());
}

#[test]
fn a_repeated_failure_is_reported_once() {
    let mut tester = ExtensionTester::default();
    let failed = |error| ExtensionEvent::Failed(failure(error));
    assert_eq!(
        tester.event(failed("boom")),
        ["Error: Extension \"a.ts\" failed (timer): boom\n  at one\n  at two"]
    );
    assert!(tester.event(failed("boom")).is_empty());
    assert_eq!(tester.event(failed("bang")).len(), 1);
}

#[test]
fn failures_while_leaving_a_session_are_shown_in_the_next_one() {
    let mut tester = ExtensionTester::default();
    let failed = |event: &str| {
        ExtensionEvent::Failed(ExtensionFailure {
            event: event.to_owned(),
            stack: None,
            ..failure("boom")
        })
    };
    let shown = ["Error: Extension \"a.ts\" failed (session_before_switch): boom"];
    assert_eq!(tester.event(failed("session_before_switch")), shown);
    tester.event(failed("timer"));
    tester.connect(&[]);
    assert_eq!(tester.send(ExtensionMsg::SessionReplaced), shown);
    assert!(tester.send(ExtensionMsg::SessionReplaced).is_empty());
    tester.event(failed("session_before_fork"));
    tester.send(ExtensionMsg::Settled);
    assert!(
        tester.send(ExtensionMsg::SessionReplaced).is_empty(),
        "the session was not replaced then"
    );
}

#[test]
fn shutdown_waits_for_the_run() {
    let mut tester = ExtensionTester::default();
    assert_eq!(tester.event(ExtensionEvent::ShutDown), ["Quit(Quit)"]);
    tester.app.session.activity.idle = false;
    assert!(tester.send(ExtensionMsg::Settled).is_empty());
    assert!(tester.event(ExtensionEvent::ShutDown).is_empty());
    assert_eq!(tester.send(ExtensionMsg::Settled), ["Quit(Quit)"]);
}

#[test]
fn text_submitted_in_an_extension_editor_is_a_prompt() {
    let mut tester = ExtensionTester::default();
    let text = "hello".to_owned();
    let submitted = ExtensionEvent::Changed(ScreenChange::EditorSubmitted { text });
    assert_eq!(
        tester.event(submitted),
        [
            "Extension(EditorText(\"\"))",
            "Prompt(Submitted { text: \"hello\", delivery: Steer })"
        ]
    );
}

#[test]
fn completion_starts_at_the_characters_of_the_extension() {
    let mut tester = ExtensionTester::default();
    assert_eq!(tester.extensions.completion_triggers(), None);
    let triggers = vec!["#".to_owned(), "@@".to_owned()];
    let changed = ExtensionEvent::Changed(ScreenChange::Completion { triggers });
    assert_eq!(tester.event(changed), ["RefreshCompletion"]);
    assert_eq!(
        tester.extensions.completion_triggers(),
        Some(&['#', '@'][..])
    );
}

#[test]
fn components_learn_about_another_branch_once() {
    let mut tester = ExtensionTester::default();
    let branch = |name: &str| ExtensionMsg::Branch(Some(name.to_owned()));
    let changed = tester.send(branch("main"));
    assert!(changed[0].contains("has_changed: true"), "{changed:?}");
    let same = tester.send(branch("main"));
    assert!(same[0].contains("has_changed: false"), "{same:?}");
}

#[test]
fn too_wide_lines_name_the_extension() {
    let mut tester = ExtensionTester::default();
    let commands = tester.send(ExtensionMsg::TooWide {
        owner: Some("a.ts".to_owned()),
        lines: 1,
        width: 80,
    });
    assert_eq!(
        commands,
        ["Warning: Component of a.ts rendered 1 line wider than 80 columns; truncated"]
    );
}

#[test]
fn an_indicator_is_limited_to_the_frame_rate() {
    let (frames, interval) = read_indicator(&json!({ "frames": ["-", "+"], "intervalMs": 1 }));
    assert_eq!(frames, ["-", "+"]);
    assert_eq!(interval, Duration::from_millis(16));
    let (frames, interval) = read_indicator(&json!({}));
    assert_eq!(frames.len(), pi_views::working_indicator::FRAMES.len());
    assert_eq!(interval, INTERVAL);
}

#[test]
fn a_failed_shortcut_is_reported() {
    let mut tester = ExtensionTester::default();
    let ended = ExtensionMsg::ShortcutEnded;
    assert!(tester.send(ended(Ok(()))).is_empty());
    assert_eq!(
        tester.send(ended(Err("boom".to_owned()))),
        ["Error: Shortcut failed: boom"]
    );
}

#[test]
fn notices_change_the_screen_or_the_prompt() {
    let mut tester = ExtensionTester::default();
    let text = || "x".to_owned();
    for (notice, command) in [
        (
            ExtensionNotice::Notify {
                message: text(),
                notify_type: Some("warning".to_owned()),
            },
            "Warning: x",
        ),
        (
            ExtensionNotice::Notify {
                message: text(),
                notify_type: None,
            },
            "Status: x",
        ),
        (ExtensionNotice::Title { title: text() }, "SetTitle(\"x\")"),
        (
            ExtensionNotice::EditorText { text: text() },
            "Prompt(SetText(\"x\"))",
        ),
        (
            ExtensionNotice::EditorPaste { text: text() },
            "Prompt(Insert(\"x\"))",
        ),
    ] {
        assert_eq!(tester.event(ExtensionEvent::Notice(notice)), [command]);
    }
}

#[test]
fn notices_that_arrive_while_the_session_moves_are_shown_after_the_new_transcript() {
    let mut tester = ExtensionTester::default();
    let notify = |tester: &mut ExtensionTester, message: &str| {
        tester.event(ExtensionEvent::Notice(ExtensionNotice::Notify {
            message: message.to_owned(),
            notify_type: None,
        }))
    };
    assert!(tester.send(ExtensionMsg::NavigationStarted).is_empty());
    assert!(notify(&mut tester, "Restored 3 files").is_empty());
    let ended = tester.send(ExtensionMsg::NavigationEnded);
    assert_eq!(ended, ["Status: Restored 3 files"]);
    assert_eq!(notify(&mut tester, "later"), ["Status: later"]);
}
