//! The rules of the editor, as tables of keys and what they leave behind.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::*;
use crate::autocomplete::{
    CombinedCompletionProvider, CommandCompletion, CompletionReply, CompletionRequest, Suggestions,
};
use crate::components::SelectItem;
use crate::input::{
    InputEvent, KeyEvent, KeyId, Keybindings, Modifiers, Paste, Platform, TUI_ACTIONS,
    UserKeybindings, action,
};
use pretty_assertions::assert_eq;

/// An editor with a keyboard.
struct Desk {
    editor: Editor,
    bindings: Keybindings,
    submitted: Arc<Mutex<Vec<String>>>,
    now: Instant,
}

impl Desk {
    fn new() -> Self {
        Self::with_bindings(&UserKeybindings::default())
    }

    fn with_bindings(user: &UserKeybindings) -> Self {
        let mut editor = Editor::new(EditorTheme::default(), EditorOptions::default());
        let submitted = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&submitted);
        editor.on_event(move |event| {
            if let EditorEvent::Submitted(text) = event {
                log.lock().unwrap().push(text);
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
    fn set(&mut self, text: &str) -> &mut Self {
        let at = text.find('|').unwrap();
        self.editor.set_text(&text.replacen('|', "", 1));
        let (before, _) = text.split_at(at);
        self.editor.buffer.cursor = TextPosition {
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

/// Checks rows of start, keys and end.
fn check(cases: &[(&str, &str, &str)]) {
    for (start, keys, expected) in cases {
        let mut desk = Desk::new();
        desk.set(start).run(keys);
        assert_eq!(desk.shown(), *expected, "{start:?} then {keys}");
    }
}

#[test]
fn the_cursor_moves_by_character_word_and_line() {
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
    let mut desk = Desk::new();
    desk.set("aaaa bbbb cccc|");
    desk.editor.render(6);
    desk.press("up");
    assert_eq!(desk.shown(), "aaaa bbbb| cccc");
    desk.press("up");
    assert_eq!(desk.shown(), "aaaa| bbbb cccc");
    desk.press("down").press("down");
    assert_eq!(desk.shown(), "aaaa bbbb cccc|");
}

#[test]
fn pages_are_a_third_of_the_screen() {
    let text = (0..20).map(|line| line.to_string()).collect::<Vec<_>>();
    let mut desk = Desk::new();
    desk.editor.set_text(&text.join("\n"));
    desk.press("pageUp");
    assert_eq!(desk.editor.cursor().0, 12);
    desk.press("pageUp").press("pageUp");
    assert_eq!(desk.editor.cursor().0, 0);
    desk.press("pageDown");
    assert_eq!(desk.editor.cursor().0, 7);
}

#[test]
fn jumping_goes_to_the_next_such_character() {
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
fn deleting_takes_characters_words_and_line_ends() {
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
fn undo_takes_back_words() {
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
    let mut desk = Desk::new();
    desk.run("'sent' enter ctrl+-");
    assert_eq!(desk.shown(), "|", "submitting forgets");
    desk.editor.set_text("set");
    desk.press("ctrl+-");
    assert_eq!(desk.shown(), "|", "a text that was set can be undone");
}

#[test]
fn enter_submits_and_a_backslash_breaks_the_line() {
    for (start, keys, shown, submitted) in [
        ("hi|", "enter", "|", Some("hi")),
        ("  hi \n|", "enter", "|", Some("hi")),
        ("a|", "shift+enter", "a\n|", None),
        ("a|", "ctrl+j", "a\n|", None),
        ("a\\|", "enter", "a\n|", None),
        ("a\\|b", "enter", "a\n|b", None),
        ("a\\ |", "enter", "|", Some("a\\")),
    ] {
        let mut desk = Desk::new();
        desk.set(start).run(keys);
        assert_eq!(desk.shown(), shown, "{start:?} then {keys}");
        let sent = desk.submitted.lock().unwrap().clone();
        assert_eq!(sent.first().map(String::as_str), submitted, "{start:?}");
    }
}

#[test]
fn a_backslash_submits_where_enter_breaks_lines() {
    let mut user = UserKeybindings::default();
    user.bind(action::INPUT_SUBMIT, ["shift+enter"]);
    user.bind(action::INPUT_NEW_LINE, ["enter"]);
    let mut desk = Desk::with_bindings(&user);
    desk.run("'a' enter 'b\\' enter");
    assert_eq!(*desk.submitted.lock().unwrap(), ["a\nb"]);
}

#[test]
fn raw_encodings_of_shift_enter_break_the_line() {
    for raw in [&b"\x1b\r"[..], b"\x1b[13;2~", b"\n"] {
        let mut desk = Desk::new();
        desk.type_text("a");
        desk.send(&InputEvent::Unknown(raw.to_vec()));
        assert_eq!(desk.shown(), "a\n|", "{raw:?}");
    }
}

#[test]
fn submitting_can_be_forbidden() {
    let mut desk = Desk::new();
    desk.editor.set_submit_enabled(false);
    desk.run("'a' enter");
    assert_eq!(desk.shown(), "a|");
}

fn with_history() -> Desk {
    let mut desk = Desk::new();
    for prompt in ["first", "  second\nline  ", "second\nline", ""] {
        desk.editor.add_to_history(prompt);
    }
    desk
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
        let mut desk = with_history();
        desk.set(start).run(keys);
        assert_eq!(desk.shown(), expected, "{start:?} then {keys}");
    }
}

#[test]
fn history_keeps_a_hundred_prompts() {
    let mut desk = Desk::new();
    for prompt in 0..150 {
        desk.editor.add_to_history(&prompt.to_string());
    }
    for _ in 0..200 {
        desk.press("up");
    }
    assert_eq!(desk.shown(), "|50");
}

#[test]
fn dedicated_keys_browse_from_anywhere() {
    let mut user = UserKeybindings::default();
    user.bind(action::EDITOR_HISTORY_PREVIOUS, ["alt+p"]);
    user.bind(action::EDITOR_HISTORY_NEXT, ["alt+n"]);
    let mut desk = Desk::with_bindings(&user);
    desk.editor.add_to_history("old");
    desk.set("a\nb|c").press("alt+p");
    assert_eq!(desk.shown(), "|old");
    desk.press("alt+n");
    assert_eq!(desk.shown(), "a\nb|c");
}

#[test]
fn pastes_are_cleaned_and_spaced() {
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
    let mut desk = Desk::new();
    desk.type_text("a").paste(&long).type_text("b");
    assert_eq!(desk.shown(), format!("a{marker}b|"));
    desk.run("left left");
    assert_eq!(desk.shown(), format!("a|{marker}b"));
    desk.press("right");
    assert_eq!(desk.shown(), format!("a{marker}|b"));
    desk.press("alt+left");
    assert_eq!(desk.shown(), format!("a|{marker}b"));
    assert_eq!(desk.editor.expanded_text(), format!("a{long}b"));
    desk.run("end enter");
    assert_eq!(*desk.submitted.lock().unwrap(), [format!("a{long}b")]);
}

#[test]
fn a_deleted_marker_takes_its_paste_along() {
    let mut desk = Desk::new();
    desk.paste(&"x".repeat(1001)).paste(&"y".repeat(1002));
    assert_eq!(
        desk.editor.text(),
        "[paste #1 1001 chars][paste #2 1002 chars]"
    );
    desk.run("left backspace");
    assert_eq!(desk.shown(), "|[paste #1 1002 chars]");
    assert_eq!(desk.editor.expanded_text(), "y".repeat(1002));
    desk.press("ctrl+-");
    assert_eq!(
        desk.editor.expanded_text(),
        "x".repeat(1001) + &"y".repeat(1002)
    );
    desk.run("home delete");
    assert_eq!(desk.editor.expanded_text(), "y".repeat(1002));
}

#[test]
fn typed_markers_are_text() {
    let mut desk = Desk::new();
    desk.type_text("[paste #7 +20 lines]").press("left");
    assert_eq!(desk.shown(), "[paste #7 +20 lines|]");
    desk.press("enter");
    assert_eq!(*desk.submitted.lock().unwrap(), ["[paste #7 +20 lines]"]);
}

#[test]
fn a_marker_broken_over_lines_is_one_stop() {
    let mut desk = Desk::new();
    desk.type_text("ab ")
        .paste(&"x\n".repeat(11))
        .type_text(" cd");
    desk.editor.render(9);
    desk.press("home").press("down");
    assert_eq!(desk.shown(), "ab |[paste #1 +12 lines] cd");
    desk.press("down");
    assert_eq!(desk.shown(), "ab [paste #1 +12 lines] |cd");
    desk.press("up");
    assert_eq!(desk.shown(), "ab |[paste #1 +12 lines] cd");
}

#[test]
fn borders_count_hidden_lines() {
    let text = (0..20).map(|line| line.to_string()).collect::<Vec<_>>();
    let mut desk = Desk::new();
    desk.editor.set_text(&text.join("\n"));
    for key in ["pageUp", "up", "up", "up"] {
        desk.editor.render(20);
        desk.press(key);
    }
    let lines = desk.editor.render(20);
    assert_eq!(lines[0].as_str(), "───── ↑ 9 more ─────");
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[8].as_str(), "───── ↓ 4 more ─────");
    assert_eq!(desk.editor.render(10)[0].as_str(), "─── ↑ 9...");
}

#[test]
fn the_cursor_is_drawn_and_marked_while_focused() {
    let mut desk = Desk::new();
    desk.set("a|b");
    assert_eq!(desk.editor.render(4)[1].as_str(), "a\x1b[7mb\x1b[27m  ");
    desk.editor.set_focused(true);
    desk.press("end");
    assert_eq!(
        desk.editor.render(4)[1].as_str(),
        format!("ab{CURSOR_MARKER}\x1b[7m \x1b[27m ")
    );
}

#[test]
fn a_click_sets_the_cursor() {
    let mut desk = Desk::new();
    desk.set("abc\nd|");
    desk.editor.render(20);
    let context = InputContext {
        keybindings: &desk.bindings,
        now: desk.now,
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
    assert!(desk.editor.handle_mouse(&click(1, 1), &context).focus);
    assert_eq!(desk.editor.cursor(), (0, 1));
    desk.editor.handle_mouse(&click(2, 9), &context);
    assert_eq!(desk.editor.cursor(), (1, 1));
    desk.editor.handle_mouse(&click(0, 0), &context);
    assert_eq!(desk.editor.cursor(), (1, 1));
}

#[test]
fn copy_is_left_to_the_owner() {
    let mut desk = Desk::new();
    let copy = KeyEvent::press("ctrl+c".parse().unwrap());
    assert_eq!(desk.send(&InputEvent::Key(copy)), InputOutcome::Ignored);
}

fn with_commands() -> Desk {
    let mut desk = Desk::new();
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
    desk.editor.set_completion_provider(Arc::new(provider));
    desk
}

#[test]
fn commands_complete_on_the_first_line() {
    let mut desk = with_commands();
    desk.type_text("/");
    assert!(desk.editor.is_completing());
    desk.type_text("mo");
    let lines = desk.editor.render(60);
    assert_eq!(
        lines[3].trim_end(),
        "→ model       <name> — Choose the model"
    );
    desk.press("tab");
    assert_eq!(desk.shown(), "/model |");
    assert!(!desk.editor.is_completing());
    desk.type_text("g");
    desk.press("down").press("enter");
    assert_eq!(desk.shown(), "/model gemini|");
}

#[test]
fn what_is_offered_cannot_steer_the_terminal_or_hide() {
    let evil = "a\x1b[2J\u{9b}2J\x1b]0;t\x07\nb\u{202e}c";
    let mut desk = with_commands();
    let command = CommandCompletion::new("model", evil).arguments(move |_| {
        vec![SelectItem {
            value: "value".to_owned(),
            label: evil.to_owned(),
            description: Some(evil.to_owned()),
        }]
    });
    let provider = CombinedCompletionProvider::new(vec![command], "/nonexistent".into(), None);
    desk.editor.set_completion_provider(Arc::new(provider));
    for typed in ["/mo", "del x"] {
        desk.type_text(typed);
        assert!(desk.editor.is_completing());
        let lines = desk.editor.render(60);
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
    let mut desk = with_commands();
    desk.run("'/cle' enter");
    assert_eq!(*desk.submitted.lock().unwrap(), ["/clear"]);
    desk.run("'/rev' enter");
    assert_eq!(desk.submitted.lock().unwrap()[1], "/skill:review");
    desk.run("'/skil' enter");
    assert_eq!(desk.submitted.lock().unwrap()[2], "/skill:review");
}

#[test]
fn a_popup_follows_the_text_and_escape_closes_it() {
    let mut desk = with_commands();
    desk.run("'/model' escape");
    assert!(!desk.editor.is_completing());
    assert_eq!(desk.shown(), "/model|");
    desk.press("backspace");
    assert!(desk.editor.is_completing(), "deleting asks again");
    desk.type_text("xyz");
    assert!(!desk.editor.is_completing(), "nothing fits");
    let mut desk = with_commands();
    desk.run("'a' shift+enter '/'");
    assert!(!desk.editor.is_completing(), "not on other lines");
}

/// Keeps requests until the test answers them.
#[derive(Default)]
struct Slow {
    open: Mutex<Vec<(CompletionRequest, CompletionReply)>>,
}

impl crate::autocomplete::CompletionProvider for Slow {
    fn suggest(&self, request: CompletionRequest, reply: CompletionReply) {
        self.open.lock().unwrap().push((request, reply));
    }
}

fn answer(slow: &Slow, values: &[&str]) {
    let (request, reply) = slow.open.lock().unwrap().pop().unwrap();
    reply.send(Suggestions {
        items: values.iter().copied().map(SelectItem::new).collect(),
        prefix: request.before_cursor().to_owned(),
    });
}

#[test]
fn attachments_wait_for_a_pause_and_stale_answers_are_dropped() {
    let slow = Arc::new(Slow::default());
    let mut desk = Desk::new();
    desk.editor.set_completion_provider(slow.clone());
    desk.type_text("@a");
    assert!(slow.open.lock().unwrap().is_empty());
    let due = desk.editor.next_tick().unwrap();
    assert_eq!(due, desk.now + Duration::from_millis(20));
    desk.editor.tick(due);
    desk.type_text("b");
    answer(&slow, &["@old"]);
    desk.editor.render(40);
    assert!(!desk.editor.is_completing(), "the question is stale");
    desk.editor.tick(due + Duration::from_millis(20));
    desk.press("left");
    answer(&slow, &["@moved"]);
    desk.editor.render(40);
    assert!(!desk.editor.is_completing(), "the cursor moved");
    desk.press("right").type_text("c");
    desk.editor.tick(due + Duration::from_millis(40));
    answer(&slow, &["@abc"]);
    desk.editor.render(40);
    assert!(desk.editor.is_completing());
    desk.press("enter");
    assert_eq!(desk.shown(), "@abc |");
}

#[test]
fn tab_lists_paths_and_takes_the_only_one() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["alpha.txt", "beta.txt", "my file"] {
        std::fs::File::create(directory.path().join(name)).unwrap();
    }
    std::fs::create_dir(directory.path().join("bin")).unwrap();
    let provider = CombinedCompletionProvider::new(Vec::new(), directory.path().to_owned(), None);
    let mut desk = Desk::new();
    desk.editor.set_completion_provider(Arc::new(provider));
    desk.run("'cat a' tab");
    assert_eq!(desk.shown(), "cat alpha.txt|");
    desk.run("' b' tab");
    let lines = desk.editor.render(40);
    assert_eq!(lines[3].trim_end(), "→ bin/", "directories come first");
    desk.run("down tab");
    assert_eq!(desk.shown(), "cat alpha.txt beta.txt|");
    desk.run("' my' tab");
    assert_eq!(desk.shown(), "cat alpha.txt beta.txt \"my file\"|");
}

#[test]
fn the_status_stands_in_the_upper_border_where_there_is_room() {
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
