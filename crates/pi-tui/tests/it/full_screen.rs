//! Full-screen mode: scrolling, selecting, searching.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pi_tui::{
    Component, EventResponse, ExitBehavior, FocusTarget, InputContext, InputEvent, Key, KeyEvent,
    KeyId, Keybindings, Lines, MouseEvent, MouseEventKind, MouseOutcome, MouseReport, Platform,
    ScreenMode, ShrinkPolicy, Size, TUI_ACTIONS, Tui, TuiOptions, UserKeybindings, action,
};
use pretty_assertions::assert_eq;

use crate::emulator::{Avt, EmulatedTui, Emulator as _, FixedLines, strict};

const SIZE: Size = Size {
    columns: 24,
    rows: 6,
};

fn ui() -> EmulatedTui<Avt> {
    let options = TuiOptions {
        mode: ScreenMode::Full,
        keybindings: Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserKeybindings::default()),
        copy_on_select: true,
        ..strict(ShrinkPolicy::LeaveEmpty)
    };
    let mut ui = EmulatedTui::new(SIZE, options);
    ui.tui.transcript_mut().push(FixedLines::numbered(0..30));
    ui.tui.dock_mut().push(FixedLines::new(&["> "]));
    ui.frame();
    ui
}

fn press(tui: &mut Tui, action: &str) -> EventResponse {
    let key = tui.keybindings().keys(action).first().copied().unwrap();
    tui.handle(&InputEvent::Key(KeyEvent::press(key)), Instant::now())
}

fn mouse(tui: &mut Tui, code: u16, (column, row): (usize, usize), released: bool) -> EventResponse {
    let report = MouseReport {
        code,
        released,
        column,
        row,
    };
    tui.handle(&InputEvent::Mouse(report), Instant::now())
}

#[test]
fn viewport_follows_the_end_and_keeps_the_dock() {
    let mut ui = ui();
    assert_eq!(
        ui.screen(),
        ["line 25", "line 26", "line 27", "line 28", "line 29", ">"]
    );
    ui.tui.transcript_mut().push(FixedLines::new(&["new"]));
    ui.frame();
    assert_eq!(ui.screen()[4..], ["new", ">"]);
    assert_eq!(ui.scrollback(), Vec::<String>::new());
}

#[test]
fn keys_and_wheel_scroll_and_the_end_label_scrolls_back() {
    let mut ui = ui();
    press(&mut ui.tui, action::ALT_SCREEN_PAGE_UP);
    ui.frame();
    assert!(ui.screen()[0].starts_with("line 24"), "{:?}", ui.screen());
    assert!(!ui.tui.follows_end());
    mouse(&mut ui.tui, 64, (1, 1), false);
    ui.frame();
    assert!(ui.screen()[0].starts_with("line 23"));
    assert!(ui.screen()[4].contains("\u{2193} end"), "{:?}", ui.screen());
    // Lines added below do not move the viewport.
    ui.tui.transcript_mut().push(FixedLines::new(&["new"]));
    ui.frame();
    assert!(ui.screen()[0].starts_with("line 23"));
    mouse(&mut ui.tui, 0, (22, 4), false);
    mouse(&mut ui.tui, 0, (22, 4), true);
    ui.frame();
    assert_eq!(ui.screen()[4], "new");
    press(&mut ui.tui, action::ALT_SCREEN_TOP);
    ui.frame();
    assert!(ui.screen()[0].starts_with("line 0"));
    press(&mut ui.tui, action::ALT_SCREEN_BOTTOM);
    assert!(ui.tui.follows_end());
}

#[test]
fn the_end_label_is_on_a_blank_row_of_the_dock_if_there_is_one() {
    let mut ui = ui();
    ui.tui.dock_mut().clear();
    ui.tui.dock_mut().push(FixedLines::new(&["", "> "]));
    ui.frame();
    press(&mut ui.tui, action::ALT_SCREEN_TOP);
    ui.frame();
    let screen = ui.screen();
    assert!(!screen[3].contains("end"), "{screen:?}");
    assert!(screen[4].ends_with(" \u{2193} end "), "{screen:?}");
    mouse(&mut ui.tui, 0, (22, 4), false);
    mouse(&mut ui.tui, 0, (22, 4), true);
    assert!(ui.tui.follows_end());
}

#[test]
fn a_drag_selects_and_copies() {
    let mut ui = ui();
    mouse(&mut ui.tui, 0, (5, 1), false);
    mouse(&mut ui.tui, 32, (3, 2), false);
    ui.frame();
    assert!(
        ui.last_frame.contains("\x1b[7m26\x1b[27m"),
        "{:?}",
        ui.last_frame
    );
    let response = mouse(&mut ui.tui, 0, (3, 2), true);
    assert_eq!(ui.tui.selected_text().as_deref(), Some("26\nline"));
    assert_eq!(response.output, "\x1b]52;c;MjYKbGluZQ==\x07");
    // A click elsewhere clears the selection.
    mouse(&mut ui.tui, 0, (1, 0), false);
    mouse(&mut ui.tui, 0, (1, 0), true);
    assert_eq!(ui.tui.selected_text(), None);
}

#[test]
fn a_double_click_selects_a_word() {
    let mut ui = ui();
    for _ in 0..2 {
        mouse(&mut ui.tui, 0, (1, 0), false);
        mouse(&mut ui.tui, 0, (1, 0), true);
    }
    assert_eq!(ui.tui.selected_text().as_deref(), Some("line"));
}

#[test]
fn dragging_at_the_edge_scrolls() {
    let mut ui = ui();
    mouse(&mut ui.tui, 0, (0, 2), false);
    mouse(&mut ui.tui, 32, (0, 0), false);
    let due = ui.tui.deadline().unwrap();
    ui.tui.tick(due);
    ui.tui.tick(due + Duration::from_secs(1));
    ui.frame();
    assert!(ui.screen()[0].starts_with("line 22"), "{:?}", ui.screen());
    mouse(&mut ui.tui, 0, (0, 1), true);
    // What remains is the message that the selection was copied.
    let expires = ui.tui.deadline().unwrap();
    ui.tui.tick(expires);
    assert_eq!(ui.tui.deadline(), None);
}

#[test]
fn a_clicked_link_is_reported() {
    let mut ui = ui();
    let link = "\x1b]8;;http://example.org\x1b\\here\x1b]8;;\x1b\\";
    ui.tui.transcript_mut().push(FixedLines::new(&[link]));
    ui.frame();
    mouse(&mut ui.tui, 0, (2, 4), false);
    let response = mouse(&mut ui.tui, 0, (2, 4), true);
    assert_eq!(response.open_url.as_deref(), Some("http://example.org"));
}

/// Delivers the click that waits for a second one.
fn wait_for_click(tui: &mut Tui) {
    let due = tui.deadline().unwrap();
    assert_eq!(tui.tick(due), pi_tui::FrameUrgency::Soon);
    assert_eq!(tui.deadline(), None);
}

/// Counts its clicks.
struct Clickable(Arc<AtomicUsize>);

impl Component for Clickable {
    fn render(&mut self, _width: usize) -> Lines {
        vec!["\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\ and text".to_owned()].into()
    }

    fn handle_mouse(&mut self, event: &MouseEvent, _context: &InputContext<'_>) -> MouseOutcome {
        if matches!(event.kind, MouseEventKind::Click { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
            return MouseOutcome::handled();
        }
        MouseOutcome::default()
    }
}

#[test]
fn a_block_receives_clicks_that_select_nothing_and_hit_no_link() {
    let mut ui = ui();
    let clicks = Arc::new(AtomicUsize::new(0));
    let block = Clickable(Arc::clone(&clicks));
    ui.tui.transcript_mut().push(block);
    ui.frame();
    let count = || clicks.load(Ordering::Relaxed);
    mouse(&mut ui.tui, 0, (8, 4), false);
    assert_eq!(count(), 0);
    mouse(&mut ui.tui, 0, (8, 4), true);
    assert_eq!(count(), 0);
    wait_for_click(&mut ui.tui);
    assert_eq!(count(), 1);
    // The link takes the click.
    mouse(&mut ui.tui, 0, (2, 4), false);
    let response = mouse(&mut ui.tui, 0, (2, 4), true);
    assert!(response.open_url.is_some());
    // A drag selects.
    mouse(&mut ui.tui, 0, (5, 4), false);
    mouse(&mut ui.tui, 32, (8, 4), false);
    mouse(&mut ui.tui, 0, (8, 4), true);
    assert_eq!(count(), 1);
    // A double click selects; a click elsewhere does not make it wait longer.
    for _ in 0..2 {
        mouse(&mut ui.tui, 0, (10, 4), false);
        mouse(&mut ui.tui, 0, (10, 4), true);
    }
    assert_eq!(ui.tui.selected_text().as_deref(), Some("text"));
    assert_eq!(count(), 1);
    mouse(&mut ui.tui, 0, (8, 4), false);
    mouse(&mut ui.tui, 0, (8, 4), true);
    assert_eq!(count(), 1);
    mouse(&mut ui.tui, 0, (1, 0), false);
    assert_eq!(count(), 2);
}

#[test]
fn search_highlights_and_reveals_matches() {
    let mut ui = ui();
    ui.resize(Size {
        columns: 60,
        ..SIZE
    });
    ui.frame();
    press(&mut ui.tui, action::ALT_SCREEN_SEARCH);
    for character in "LINE 7".chars() {
        let key = InputEvent::Key(KeyEvent::typed(character));
        ui.tui.handle(&key, Instant::now());
    }
    ui.frame();
    let screen = ui.screen();
    assert!(screen.iter().any(|row| row.contains("1/1")), "{screen:?}");
    assert!(
        screen.iter().any(|row| row.starts_with("line 7")),
        "{screen:?}"
    );
    assert!(ui.last_frame.contains("\x1b[1;7mline 7\x1b[22;27m"));
    press(&mut ui.tui, action::ALT_SCREEN_SEARCH_CLOSE);
    ui.frame();
    assert!(!ui.tui.scene().has_overlay());
}

#[test]
fn search_panel_buttons_highlight_on_hover() {
    let mut ui = ui();
    ui.resize(Size {
        columns: 60,
        rows: 8,
    });
    press(&mut ui.tui, action::ALT_SCREEN_SEARCH);
    ui.frame();
    for character in "line 1".chars() {
        let key = InputEvent::Key(KeyEvent::typed(character));
        ui.tui.handle(&key, Instant::now());
    }
    ui.frame();
    let row = ui.screen().iter().position(|row| row.contains('↓'));
    let row = row.unwrap();
    let column = |ui: &mut EmulatedTui<Avt>, mark: char| {
        let line = ui.screen()[row].clone();
        line.chars()
            .position(|character| character == mark)
            .unwrap()
    };
    let next = column(&mut ui, '↓');
    mouse(&mut ui.tui, 35, (next, row), false);
    ui.frame();
    assert!(ui.last_frame.contains("\x1b[7m↓"), "{:?}", ui.last_frame);
    let matches = |ui: &mut EmulatedTui<Avt>| {
        let screen = ui.screen();
        let found = screen.iter().find(|row| row.contains("/11 "));
        found.unwrap().clone()
    };
    let before = matches(&mut ui);
    mouse(&mut ui.tui, 0, (next, row), false);
    mouse(&mut ui.tui, 0, (next, row), true);
    ui.frame();
    assert_ne!(matches(&mut ui), before);
    let previous = column(&mut ui, '↑');
    mouse(&mut ui.tui, 0, (previous, row), false);
    mouse(&mut ui.tui, 0, (previous, row), true);
    ui.frame();
    assert_eq!(matches(&mut ui), before);
    mouse(&mut ui.tui, 35, (0, 0), false);
    ui.frame();
    assert!(ui.last_frame.contains('↑'), "the highlight is removed");
    // A new match is counted without typing.
    ui.tui.transcript_mut().push(FixedLines::new(&["line 1"]));
    ui.frame();
    let screen = ui.screen();
    assert!(screen.iter().any(|row| row.contains("/12 ")), "{screen:?}");
}

#[test]
fn flash_messages_are_shown_in_the_corner() {
    let mut ui = ui();
    let now = Instant::now();
    ui.tui
        .flash("saved\n\x1b[31mit", Duration::from_secs(1), now);
    ui.tui.flash("again", Duration::from_secs(5), now);
    ui.frame();
    let screen = ui.screen();
    assert_eq!(
        screen[..2],
        ["line 25        saved it ", "line 26           again "]
    );
    assert_eq!(ui.tui.deadline(), Some(now + Duration::from_secs(1)));
    assert_ne!(
        ui.tui.tick(now + Duration::from_secs(1)),
        pi_tui::FrameUrgency::None
    );
    ui.frame();
    assert_eq!(ui.screen()[..2], ["line 25           again ", "line 26"]);
    ui.tui.tick(now + Duration::from_secs(5));
    ui.frame();
    assert_eq!(ui.screen()[0], "line 25");
    assert_eq!(ui.tui.deadline(), None);
}

#[test]
fn jumping_between_prompts() {
    let mut ui = ui();
    let prompt = "\x1b]133;A\x07prompt";
    ui.tui.transcript_mut().push(FixedLines::new(&[prompt]));
    ui.tui.transcript_mut().push(FixedLines::numbered(0..30));
    ui.frame();
    press(&mut ui.tui, action::ALT_SCREEN_PREVIOUS_PROMPT);
    ui.frame();
    assert!(ui.screen()[0].starts_with("prompt"), "{:?}", ui.screen());
}

#[test]
fn unbound_keys_reach_the_focused_component() {
    let mut ui = ui();
    let dock = ui.tui.dock().ids().next().unwrap();
    ui.tui.scene_mut().set_focus(Some(FocusTarget::Dock(dock)));
    let key = InputEvent::Key(KeyEvent::press(KeyId::new(Key::Char('x'))));
    let response = ui.tui.handle(&key, Instant::now());
    assert_eq!(response.outcome, pi_tui::InputOutcome::Consumed);
}

#[test]
fn stopping_restores_the_screen_with_the_transcript() {
    let mut ui = ui();
    ui.resize(Size { rows: 40, ..SIZE });
    ui.frame();
    let bytes = ui.tui.stop(ExitBehavior::PrintTranscript);
    assert!(bytes.contains("\x1b[?1006l") && bytes.contains("\x1b[?7h\x1b[?1049l"));
    ui.emulator.feed(&bytes);
    assert_eq!(ui.screen()[..2], ["line 0", "line 1"]);
    assert_eq!(ui.screen()[29..31], ["line 29", ""], "without the dock");
}

#[test]
fn mode_can_change_while_running() {
    let mut ui = ui();
    let bytes = ui.tui.set_mode(ScreenMode::Main);
    ui.emulator.feed(&bytes);
    ui.frame();
    assert_eq!(ui.screen()[4..], ["line 29", ">"]);
    assert_eq!(ui.scrollback().len(), 25);
}

#[test]
fn main_screen_continues_where_it_was_left() {
    let mut ui: EmulatedTui<Avt> = EmulatedTui::new(SIZE, strict(ShrinkPolicy::LeaveEmpty));
    ui.tui.transcript_mut().push(FixedLines::numbered(0..9));
    ui.frame();
    let bytes = ui.tui.set_mode(ScreenMode::Full);
    ui.emulator.feed(&bytes);
    ui.tui.transcript_mut().push(FixedLines::new(&["new"]));
    ui.frame();
    let bytes = ui.tui.stop(ExitBehavior::PrintTranscript);
    ui.emulator.feed(&bytes);
    ui.emulator.feed("$ ");
    let mut all = ui.scrollback();
    all.extend(ui.screen());
    let expected: Vec<String> = (0..9)
        .map(|number| format!("line {number}"))
        .chain(["new".to_owned(), "$".to_owned()])
        .collect();
    assert_eq!(all, expected);
}

#[test]
fn view_scrollback_shows_recent_lines_and_restores_the_main_screen() {
    let mut ui: EmulatedTui<Avt> = EmulatedTui::new(SIZE, strict(ShrinkPolicy::LeaveEmpty));
    let first = ui.tui.transcript_mut().push(FixedLines::numbered(0..20));
    ui.tui.dock_mut().push(FixedLines::new(&["> "]));
    ui.frame();
    let bytes = ui.tui.view_scrollback();
    ui.emulator.feed(&bytes);
    ui.frame();
    assert_eq!(ui.tui.mode(), ScreenMode::Full);
    let shown = ui.screen();
    assert!(!shown.contains(&"line 19".to_owned()), "{shown:?}");
    let in_view = shown.first().cloned();
    // Earlier lines are loaded above, and new lines are added below.
    let earlier: Vec<Box<dyn Component>> = vec![Box::new(FixedLines::new(&["early", "on"]))];
    ui.tui.transcript_mut().insert_all_before(first, earlier);
    ui.tui.transcript_mut().push(FixedLines::new(&["new"]));
    ui.frame();
    assert_eq!(ui.screen().first().cloned(), in_view, "nothing moved");
    let bytes = ui.tui.set_mode(ScreenMode::Main);
    ui.emulator.feed(&bytes);
    ui.frame();
    let mut all = ui.scrollback();
    all.extend(ui.screen());
    let expected: Vec<String> = (0..20)
        .map(|number| format!("line {number}"))
        .chain(["new".to_owned(), ">".to_owned()])
        .collect();
    assert_eq!(all, expected, "each line once, without the earlier ones");
}

#[test]
fn listeners_receive_keys_first() {
    use pi_tui::{InputOutcome, ListenerOutcome};
    let mut ui = ui();
    let field = ui.tui.dock_mut().push(FixedLines::new(&[]));
    ui.tui.scene_mut().set_focus(Some(FocusTarget::Dock(field)));
    let listener = ui.tui.add_listener(|event| match event {
        InputEvent::Key(key) if key.text() == Some('x') => ListenerOutcome::Consumed,
        InputEvent::Key(key) if key.text() == Some('a') => {
            ListenerOutcome::Replaced(InputEvent::Key(KeyEvent::typed('b')))
        }
        _ => ListenerOutcome::Pass,
    });
    let type_in = |ui: &mut EmulatedTui<Avt>, character| {
        let key = InputEvent::Key(KeyEvent::typed(character));
        ui.tui.handle(&key, Instant::now()).outcome
    };
    for character in "xac".chars() {
        assert_eq!(type_in(&mut ui, character), InputOutcome::Consumed);
    }
    ui.tui.remove_listener(listener);
    type_in(&mut ui, 'x');
    let component: &dyn std::any::Any = ui.tui.dock().get(field).unwrap();
    assert_eq!(component.downcast_ref::<FixedLines>().unwrap().typed, "bcx");
}
