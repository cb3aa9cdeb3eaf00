//! Editor behavior, as tables of keys and the resulting text.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::buffer::TextPosition;
use super::*;
use crate::autocomplete::{
    CombinedCompletionProvider, CommandCompletion, CompletionReply, CompletionRequest, Suggestions,
};
use crate::component::CURSOR_MARKER;
use crate::components::SelectItem;
use crate::input::{
    InputEvent, KeyEvent, KeyId, Keybindings, Modifiers, Paste, Platform, TUI_ACTIONS,
    UserKeybindings, action,
};
use parking_lot::Mutex;
use pretty_assertions::assert_eq;

/// An editor with simulated input.
struct EditorHarness {
    editor: Editor,
    bindings: Keybindings,
    submitted: Arc<Mutex<Vec<String>>>,
    now: Instant,
}

impl EditorHarness {
    fn new() -> Self {
        Self::with_bindings(&UserKeybindings::default())
    }

    fn with_bindings(user: &UserKeybindings) -> Self {
        let mut editor = Editor::new(EditorTheme::default(), EditorOptions::default());
        let submitted = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&submitted);
        editor.on_event(move |event| {
            if let EditorEvent::Submitted(text) = event {
                log.lock().push(text);
            }
        });
        editor.render(80);
        Self {
            editor,
            bindings: Keybindings::new(TUI_ACTIONS, Platform::Linux, user),
            submitted,
            now: Instant::now(),
        }
    }

    fn send(&mut self, event: &InputEvent) -> InputOutcome {
        let context = InputContext {
            keybindings: &self.bindings,
            now: self.now,
            rows: 24,
        };
        self.editor.handle_input(event, &context)
    }

    fn press(&mut self, key: &str) -> &mut Self {
        let id: KeyId = key.parse().unwrap();
        self.send(&InputEvent::Key(KeyEvent::press(id)));
        self
    }

    fn type_text(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            self.send(&InputEvent::Key(KeyEvent::typed(character)));
        }
        self
    }

    fn paste(&mut self, text: &str) -> &mut Self {
        self.send(&InputEvent::Paste(Paste {
            text: text.to_owned(),
        }));
        self
    }

    /// Runs a script: words are keys, `'…'` is typed, `"…"` is pasted.
    fn run(&mut self, script: &str) -> &mut Self {
        let mut rest = script.trim_start();
        while let Some(first) = rest.chars().next() {
            let (word, tail) = match first {
                '\'' | '"' => rest.get(1..).unwrap().split_once(first).unwrap(),
                _ => rest.split_once(' ').unwrap_or((rest, "")),
            };
            match first {
                '\'' => self.type_text(word),
                '"' => self.paste(&word.replace("\\n", "\n")),
                _ => self.press(word),
            };
            rest = tail.trim_start();
        }
        self
    }

    /// Sets the text, with `|` for the cursor.
    fn set_text_and_cursor(&mut self, text: &str) -> &mut Self {
        let at = text.find('|').unwrap();
        self.editor.set_text(&text.replacen('|', "", 1));
        let (before, _) = text.split_at(at);
        self.editor.text.buffer.cursor = TextPosition {
            line: before.matches('\n').count(),
            offset: before.rsplit('\n').next().unwrap().len(),
        };
        self
    }

    /// Returns the text with `|` for the cursor.
    fn shown(&self) -> String {
        let (line, offset) = self.editor.cursor();
        let mut lines: Vec<String> = self.editor.text().split('\n').map(str::to_owned).collect();
        lines[line].insert(offset, '|');
        lines.join("\n")
    }
}

/// Checks rows of initial text, keys and resulting text.
fn check(cases: &[(&str, &str, &str)]) {
    for (start, keys, expected) in cases {
        let mut harness = EditorHarness::new();
        harness.set_text_and_cursor(start).run(keys);
        assert_eq!(harness.shown(), *expected, "{start:?} then {keys}");
    }
}

#[test]
fn cursor_moves_by_character_word_and_line() {
    check(&[
        ("ab|", "left", "a|b"),
        ("|ab", "right right right", "ab|"),
        ("a\n|b", "left", "a|\nb"),
        ("a|\nb", "right", "a\n|b"),
        ("👨‍👩‍👧|", "left", "|👨‍👩‍👧"),
        ("|e\u{301}x", "right", "e\u{301}|x"),
        ("foo bar|", "alt+left", "foo |bar"),
        ("foo.bar|", "alt+b alt+b", "foo|.bar"),
        ("|foo bar", "ctrl+right", "foo| bar"),
        ("a\n|b", "alt+left", "a|\nb"),
        ("a|\nb", "alt+f", "a\n|b"),
        ("ab\nc|d", "home", "ab\n|cd"),
        ("a|b\ncd", "ctrl+e", "ab|\ncd"),
        ("ab|", "ctrl+b ctrl+f ctrl+a", "|ab"),
    ]);
}

#[test]
fn vertical_movement_keeps_its_column() {
    check(&[
        ("abcd\nx\nabc|d", "up", "abcd\nx|\nabcd"),
        ("abcd\nx\nabc|d", "up up", "abc|d\nx\nabcd"),
        ("abc|d\nx\nabcd", "down down", "abcd\nx\nabc|d"),
        ("abcd\nx\nabc|d", "up left up", "|abcd\nx\nabcd"),
        ("漢字|x\nabcdef", "down", "漢字x\nabcd|ef"),
        ("ab|", "up", "|ab"),
        ("a|b", "down", "ab|"),
    ]);
}

#[test]
fn vertical_movement_follows_visual_lines() {
    let mut harness = EditorHarness::new();
    harness.set_text_and_cursor("aaaa bbbb cccc|");
    harness.editor.render(6);
    harness.press("up");
    assert_eq!(harness.shown(), "aaaa bbbb| cccc");
    harness.press("up");
    assert_eq!(harness.shown(), "aaaa| bbbb cccc");
    harness.press("down").press("down");
    assert_eq!(harness.shown(), "aaaa bbbb cccc|");
}

#[test]
fn pages_are_a_third_of_the_screen() {
    let text = (0..20).map(|line| line.to_string()).collect::<Vec<_>>();
    let mut harness = EditorHarness::new();
    harness.editor.set_text(&text.join("\n"));
    harness.press("pageUp");
    assert_eq!(harness.editor.cursor().0, 12);
    harness.press("pageUp").press("pageUp");
    assert_eq!(harness.editor.cursor().0, 0);
    harness.press("pageDown");
    assert_eq!(harness.editor.cursor().0, 7);
}

#[test]
fn jump_moves_to_the_next_matching_character() {
    check(&[
        ("|abcb", "ctrl+] 'b'", "a|bcb"),
        ("a|bcb", "ctrl+] 'b'", "abc|b"),
        ("a|b\nxc", "ctrl+] 'c'", "ab\nx|c"),
        ("abcb|", "ctrl+alt+] 'b'", "abc|b"),
        ("ab\nx|c", "ctrl+alt+] 'a'", "|ab\nxc"),
        ("|ab", "ctrl+] 'z'", "|ab"),
        ("|ab", "ctrl+] ctrl+] 'b'", "b|ab"),
        ("|ab", "ctrl+] right 'x'", "ax|b"),
    ]);
}

#[test]
fn delete_removes_characters_words_and_line_breaks() {
    check(&[
        ("ab|", "backspace", "a|"),
        ("👨‍👩‍👧|", "backspace", "|"),
        ("a\n|b", "backspace", "a|b"),
        ("|", "backspace", "|"),
        ("|ab", "delete", "|b"),
        ("a|\nb", "ctrl+d", "a|b"),
        ("ab|", "shift+backspace", "a|"),
        ("|ab", "shift+delete", "|b"),
        ("foo bar|", "ctrl+w", "foo |"),
        ("foo bar |", "alt+backspace", "foo |"),
        ("a\n|b", "ctrl+w", "a|b"),
        ("|foo bar", "alt+d", "| bar"),
        ("a|\nb", "alt+d", "a|b"),
        ("ab|cd", "ctrl+u", "|cd"),
        ("ab\n|cd", "ctrl+u", "ab|cd"),
        ("ab|cd", "ctrl+k", "ab|"),
        ("ab|\ncd", "ctrl+k", "ab|cd"),
    ]);
}

#[test]
fn kills_merge_and_yanks_rotate() {
    check(&[
        ("one two three|", "ctrl+w ctrl+w ctrl+y", "one two three|"),
        ("|a b", "alt+d alt+d ctrl+y", "a b|"),
        ("a|b", "ctrl+k ctrl+u ctrl+y", "ab|"),
        ("one two|", "ctrl+w left ctrl+k ctrl+y", "one |"),
        ("one two|", "ctrl+w left ctrl+k ctrl+y alt+y", "onetwo|"),
        ("one two|", "ctrl+w left ctrl+k ctrl+y alt+y alt+y", "one |"),
        ("a\nb|", "ctrl+u ctrl+u ctrl+y", "a\nb|"),
        ("one|", "ctrl+w ctrl+y 'x' alt+y", "onex|"),
        ("x|", "ctrl+y", "x|"),
        (
            "a\nb|",
            "ctrl+u ctrl+u 'z' left ctrl+k ctrl+y alt+y",
            "a\nb|",
        ),
    ]);
}

#[test]
fn undo_removes_words() {
    check(&[
        ("|", "'hello' ctrl+-", "|"),
        ("|", "'hello world' ctrl+-", "hello|"),
        ("|", "'a  b' ctrl+-", "a |"),
        ("|", "'ab' left 'x' ctrl+-", "a|b"),
        ("|", "'ab' ctrl+w ctrl+-", "ab|"),
        ("|", "'ab' \"cd\" ctrl+-", "ab|"),
        ("|", "'ab' shift+enter 'c' ctrl+- ctrl+-", "ab|"),
        ("|", "ctrl+-", "|"),
    ]);
    let mut harness = EditorHarness::new();
    harness.run("'sent' enter ctrl+-");
    assert_eq!(harness.shown(), "|", "submitting clears the undo stack");
    harness.editor.set_text("set");
    harness.press("ctrl+-");
    assert_eq!(harness.shown(), "|", "set_text can be undone");
}

#[test]
fn enter_submits_and_backslash_enter_breaks_the_line() {
    for (start, keys, shown, submitted) in [
        ("hi|", "enter", "|", Some("hi")),
        ("  hi \n|", "enter", "|", Some("hi")),
        ("a|", "shift+enter", "a\n|", None),
        ("a|", "ctrl+j", "a\n|", None),
        ("a\\|", "enter", "a\n|", None),
        ("a\\|b", "enter", "a\n|b", None),
        ("a\\ |", "enter", "|", Some("a\\")),
    ] {
        let mut harness = EditorHarness::new();
        harness.set_text_and_cursor(start).run(keys);
        assert_eq!(harness.shown(), shown, "{start:?} then {keys}");
        let sent = harness.submitted.lock().clone();
        assert_eq!(sent.first().map(String::as_str), submitted, "{start:?}");
    }
}

#[test]
fn backslash_enter_submits_where_enter_breaks_lines() {
    let mut user = UserKeybindings::default();
    user.bind(action::INPUT_SUBMIT, ["shift+enter"]);
    user.bind(action::INPUT_NEW_LINE, ["enter"]);
    let mut harness = EditorHarness::with_bindings(&user);
    harness.run("'a' enter 'b\\' enter");
    assert_eq!(*harness.submitted.lock(), ["a\nb"]);
}

#[test]
fn raw_encodings_of_shift_enter_break_the_line() {
    for raw in [&b"\x1b\r"[..], b"\x1b[13;2~", b"\n"] {
        let mut harness = EditorHarness::new();
        harness.type_text("a");
        harness.send(&InputEvent::Unknown(raw.to_vec()));
        assert_eq!(harness.shown(), "a\n|", "{raw:?}");
    }
}

#[test]
fn submitting_can_be_disabled() {
    let mut harness = EditorHarness::new();
    harness.editor.set_submit_enabled(false);
    harness.run("'a' enter");
    assert_eq!(harness.shown(), "a|");
}

fn with_history() -> EditorHarness {
    let mut harness = EditorHarness::new();
    for prompt in ["first", "  second\nline  ", "second\nline", ""] {
        harness.editor.add_to_history(prompt);
    }
    harness
}

#[test]
fn history_is_browsed_from_the_edges() {
    for (start, keys, expected) in [
        ("|", "up", "|second\nline"),
        ("|", "up up", "|first"),
        ("|", "up up up", "|first"),
        ("|draft", "up", "|second\nline"),
        ("dra|ft", "up", "|draft"),
        ("dra|ft", "up up down down", "|draft"),
        ("|", "up up down", "second\nline|"),
        ("|", "up down", "second\n|line"),
        ("|", "up down down", "|"),
        ("|draft", "up 'x' down", "xsecond\nl|ine"),
        ("|draft", "up ctrl+-", "|draft"),
        ("dr|aft", "down", "draft|"),
    ] {
        let mut harness = with_history();
        harness.set_text_and_cursor(start).run(keys);
        assert_eq!(harness.shown(), expected, "{start:?} then {keys}");
    }
}

#[test]
fn history_keeps_a_hundred_prompts() {
    let mut harness = EditorHarness::new();
    for prompt in 0..150 {
        harness.editor.add_to_history(&prompt.to_string());
    }
    for _ in 0..200 {
        harness.press("up");
    }
    assert_eq!(harness.shown(), "|50");
}

#[test]
fn dedicated_keys_browse_from_anywhere() {
    let mut user = UserKeybindings::default();
    user.bind(action::EDITOR_HISTORY_PREVIOUS, ["alt+p"]);
    user.bind(action::EDITOR_HISTORY_NEXT, ["alt+n"]);
    let mut harness = EditorHarness::with_bindings(&user);
    harness.editor.add_to_history("old");
    harness.set_text_and_cursor("a\nb|c").press("alt+p");
    assert_eq!(harness.shown(), "|old");
    harness.press("alt+n");
    assert_eq!(harness.shown(), "a\nb|c");
}

#[test]
fn pastes_are_sanitized_and_spaced() {
    check(&[
        ("a|", "\"b\\nc\"", "ab\nc|"),
        ("see|", "\"/tmp/x\"", "see /tmp/x|"),
        ("see |", "\"~/x\"", "see ~/x|"),
        ("(|", "\"./x\"", "(./x|"),
    ]);
}

#[test]
fn large_pastes_act_as_one_character() {
    let long = "x\n".repeat(11);
    let marker = "[paste #1 +12 lines]";
    let mut harness = EditorHarness::new();
    harness.type_text("a").paste(&long).type_text("b");
    assert_eq!(harness.shown(), format!("a{marker}b|"));
    harness.run("left left");
    assert_eq!(harness.shown(), format!("a|{marker}b"));
    harness.press("right");
    assert_eq!(harness.shown(), format!("a{marker}|b"));
    harness.press("alt+left");
    assert_eq!(harness.shown(), format!("a|{marker}b"));
    assert_eq!(harness.editor.expanded_text(), format!("a{long}b"));
    harness.run("end enter");
    assert_eq!(*harness.submitted.lock(), [format!("a{long}b")]);
}

#[test]
fn deleting_a_marker_removes_its_paste() {
    let mut harness = EditorHarness::new();
    harness.paste(&"x".repeat(1001)).paste(&"y".repeat(1002));
    assert_eq!(
        harness.editor.text(),
        "[paste #1 1001 chars][paste #2 1002 chars]"
    );
    harness.run("left backspace");
    assert_eq!(harness.shown(), "|[paste #1 1002 chars]");
    assert_eq!(harness.editor.expanded_text(), "y".repeat(1002));
    harness.press("ctrl+-");
    assert_eq!(
        harness.editor.expanded_text(),
        "x".repeat(1001) + &"y".repeat(1002)
    );
    harness.run("home delete");
    assert_eq!(harness.editor.expanded_text(), "y".repeat(1002));
}

#[test]
fn typed_markers_are_text() {
    let mut harness = EditorHarness::new();
    harness.type_text("[paste #7 +20 lines]").press("left");
    assert_eq!(harness.shown(), "[paste #7 +20 lines|]");
    harness.press("enter");
    assert_eq!(*harness.submitted.lock(), ["[paste #7 +20 lines]"]);
}

#[test]
fn a_wrapped_marker_is_one_cursor_stop() {
    let mut harness = EditorHarness::new();
    harness
        .type_text("ab ")
        .paste(&"x\n".repeat(11))
        .type_text(" cd");
    harness.editor.render(9);
    harness.press("home").press("down");
    assert_eq!(harness.shown(), "ab |[paste #1 +12 lines] cd");
    harness.press("down");
    assert_eq!(harness.shown(), "ab [paste #1 +12 lines] |cd");
    harness.press("up");
    assert_eq!(harness.shown(), "ab |[paste #1 +12 lines] cd");
}

#[test]
fn borders_count_hidden_lines() {
    let text = (0..20).map(|line| line.to_string()).collect::<Vec<_>>();
    let mut harness = EditorHarness::new();
    harness.editor.set_text(&text.join("\n"));
    for key in ["pageUp", "up", "up", "up"] {
        harness.editor.render(20);
        harness.press(key);
    }
    let lines = harness.editor.render(20);
    assert_eq!(lines[0].as_str(), "───── ↑ 9 more ─────");
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[8].as_str(), "───── ↓ 4 more ─────");
    assert_eq!(harness.editor.render(10)[0].as_str(), "─── ↑ 9...");
}

#[test]
fn cursor_is_drawn_and_marked_while_focused() {
    let mut harness = EditorHarness::new();
    harness.set_text_and_cursor("a|b");
    assert_eq!(harness.editor.render(4)[1].as_str(), "a\x1b[7mb\x1b[27m  ");
    harness.editor.set_focused(true);
    harness.press("end");
    assert_eq!(
        harness.editor.render(4)[1].as_str(),
        format!("ab{CURSOR_MARKER}\x1b[7m \x1b[27m ")
    );
}

#[test]
fn a_click_sets_the_cursor() {
    let mut harness = EditorHarness::new();
    harness.set_text_and_cursor("abc\nd|");
    harness.editor.render(20);
    let context = InputContext {
        keybindings: &harness.bindings,
        now: harness.now,
        rows: 24,
    };
    let click = |row, column| MouseEvent {
        kind: MouseEventKind::Click { count: 1 },
        button: MouseButton::Left,
        modifiers: Modifiers::NONE,
        column,
        row,
        screen_column: column,
        screen_row: row,
        width: 20,
        height: 4,
    };
    assert!(harness.editor.handle_mouse(&click(1, 1), &context).focus);
    assert_eq!(harness.editor.cursor(), (0, 1));
    harness.editor.handle_mouse(&click(2, 9), &context);
    assert_eq!(harness.editor.cursor(), (1, 1));
    harness.editor.handle_mouse(&click(0, 0), &context);
    assert_eq!(harness.editor.cursor(), (1, 1));
}

#[test]
fn copy_is_ignored() {
    let mut harness = EditorHarness::new();
    let copy = KeyEvent::press("ctrl+c".parse().unwrap());
    assert_eq!(harness.send(&InputEvent::Key(copy)), InputOutcome::Ignored);
}

fn with_commands() -> EditorHarness {
    let mut harness = EditorHarness::new();
    let models = |typed: &str| {
        ["gpt", "gemini", "claude"]
            .into_iter()
            .filter(|name| name.starts_with(typed))
            .map(SelectItem::new)
            .collect()
    };
    let commands = vec![
        CommandCompletion::new("model", "Choose the model")
            .argument_hint("<name>")
            .arguments(models),
        CommandCompletion::new("clear", "Start over"),
        CommandCompletion::new("skill:review", "Review"),
    ];
    let provider = CombinedCompletionProvider::new(commands, "/nonexistent".into(), None);
    harness.editor.set_completion_provider(Arc::new(provider));
    harness
}

#[test]
fn commands_complete_on_the_first_line() {
    let mut harness = with_commands();
    harness.type_text("/");
    assert!(harness.editor.is_completing());
    harness.type_text("mo");
    let lines = harness.editor.render(60);
    assert_eq!(
        lines[3].trim_end(),
        "→ model       <name> — Choose the model"
    );
    harness.press("tab");
    assert_eq!(harness.shown(), "/model |");
    assert!(!harness.editor.is_completing());
    harness.type_text("g");
    harness.press("down").press("enter");
    assert_eq!(harness.shown(), "/model gemini|");
}

#[test]
fn completions_are_sanitized() {
    let malicious = "a\x1b[2J\u{9b}2J\x1b]0;t\x07\nb\u{202e}c";
    let mut harness = with_commands();
    let command = CommandCompletion::new("model", malicious).arguments(move |_| {
        vec![SelectItem {
            value: "value".to_owned(),
            label: malicious.to_owned(),
            description: Some(malicious.to_owned()),
        }]
    });
    let provider = CombinedCompletionProvider::new(vec![command], "/nonexistent".into(), None);
    harness.editor.set_completion_provider(Arc::new(provider));
    for typed in ["/mo", "del x"] {
        harness.type_text(typed);
        assert!(harness.editor.is_completing());
        let lines = harness.editor.render(60);
        let text: Vec<&str> = lines.iter().map(crate::line::Line::as_str).collect();
        let text = text.join("\n");
        assert!(text.contains("a b<U+202E>c"), "{text:?}");
        for sequence in ["\x1b[2J", "\u{9b}", "\x1b]0"] {
            assert!(!text.contains(sequence), "{text:?}");
        }
    }
}

#[test]
fn enter_on_a_command_runs_it() {
    let mut harness = with_commands();
    harness.run("'/cle' enter");
    assert_eq!(*harness.submitted.lock(), ["/clear"]);
    harness.run("'/rev' enter");
    assert_eq!(harness.submitted.lock()[1], "/skill:review");
    harness.run("'/skil' enter");
    assert_eq!(harness.submitted.lock()[2], "/skill:review");
}

#[test]
fn a_popup_follows_the_text_and_escape_closes_it() {
    let mut harness = with_commands();
    harness.run("'/model' escape");
    assert!(!harness.editor.is_completing());
    assert_eq!(harness.shown(), "/model|");
    harness.press("backspace");
    assert!(
        harness.editor.is_completing(),
        "deleting sends a new request"
    );
    harness.type_text("xyz");
    assert!(!harness.editor.is_completing(), "no matches");
    let mut harness = with_commands();
    harness.run("'a' shift+enter '/'");
    assert!(!harness.editor.is_completing(), "not on other lines");
}

/// Holds requests until the test replies to them.
#[derive(Default)]
struct ManualProvider {
    pending: Mutex<Vec<(CompletionRequest, CompletionReply)>>,
}

impl crate::autocomplete::CompletionProvider for ManualProvider {
    fn suggest(&self, request: CompletionRequest, reply: CompletionReply) {
        self.pending.lock().push((request, reply));
    }
}

fn reply_with(provider: &ManualProvider, values: &[&str]) {
    let (request, reply) = provider.pending.lock().pop().unwrap();
    reply.send(Suggestions {
        items: values.iter().copied().map(SelectItem::new).collect(),
        prefix: request.before_cursor().to_owned(),
    });
}

#[test]
fn attachments_are_debounced_and_stale_replies_dropped() {
    let provider = Arc::new(ManualProvider::default());
    let mut harness = EditorHarness::new();
    harness.editor.set_completion_provider(provider.clone());
    harness.type_text("@a");
    assert!(provider.pending.lock().is_empty());
    let due = harness.editor.next_tick().unwrap();
    assert_eq!(due, harness.now + Duration::from_millis(20));
    harness.editor.tick(due);
    harness.type_text("b");
    reply_with(&provider, &["@old"]);
    harness.editor.render(40);
    assert!(!harness.editor.is_completing(), "the request is stale");
    harness.editor.tick(due + Duration::from_millis(20));
    harness.press("left");
    reply_with(&provider, &["@moved"]);
    harness.editor.render(40);
    assert!(!harness.editor.is_completing(), "the cursor moved");
    harness.press("right").type_text("c");
    harness.editor.tick(due + Duration::from_millis(40));
    reply_with(&provider, &["@abc"]);
    harness.editor.render(40);
    assert!(harness.editor.is_completing());
    harness.press("enter");
    assert_eq!(harness.shown(), "@abc |");
}

#[test]
fn tab_lists_paths_and_accepts_a_single_match() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["alpha.txt", "beta.txt", "my file"] {
        std::fs::File::create(directory.path().join(name)).unwrap();
    }
    std::fs::create_dir(directory.path().join("bin")).unwrap();
    let provider = CombinedCompletionProvider::new(Vec::new(), directory.path().to_owned(), None);
    let mut harness = EditorHarness::new();
    harness.editor.set_completion_provider(Arc::new(provider));
    harness.run("'cat a' tab");
    assert_eq!(harness.shown(), "cat alpha.txt|");
    harness.run("' b' tab");
    let lines = harness.editor.render(40);
    assert_eq!(lines[3].trim_end(), "→ bin/", "directories come first");
    harness.run("down tab");
    assert_eq!(harness.shown(), "cat alpha.txt beta.txt|");
    harness.run("' my' tab");
    assert_eq!(harness.shown(), "cat alpha.txt beta.txt \"my file\"|");
}

#[test]
fn status_is_shown_in_the_upper_border_if_it_fits() {
    let mut editor = Editor::new(EditorTheme::default(), EditorOptions::default());
    editor.set_status("bash\x1b[31m\nmode");
    let mut top = |width| editor.render(width)[0].to_string();
    assert_eq!(top(20), "──────── bash mode ─");
    assert_eq!(top(14), "── bash mode ─");
    assert_eq!(top(13), "─────────────");
    editor.set_text(&"line\n".repeat(30));
    let mut top = |width| editor.render(width)[0].to_string();
    assert_eq!(top(41), "─────────────── ↑ 24 more ─── bash mode ─");
    assert_eq!(top(30), "───────── ↑ 24 more ──────────");
}
