//! The full screen: scrolling, selecting, searching.

use std::time::{Duration, Instant};

use pi_tui::{
    Component, FocusTarget, InputEvent, Key, KeyEvent, KeyId, Keybindings, ExitBehavior, MouseReport,
    Platform, EventResponse, ScreenMode, ShrinkPolicy, Size, TUI_ACTIONS, Tui, TuiOptions, UserKeybindings,
    action,
};
use pretty_assertions::assert_eq;

use crate::emulator::{Avt, Emulator as _, Fixed, Stage, strict};

const SIZE: Size = Size {
    columns: 24,
    rows: 6,
};

fn stage() -> Stage<Avt> {
    let options = TuiOptions {
        mode: ScreenMode::Full,
        keybindings: Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserKeybindings::default()),
        copy_on_select: true,
        ..strict(ShrinkPolicy::LeaveEmpty)
    };
    let mut stage = Stage::new(SIZE, options);
    stage.tui.transcript_mut().push(Fixed::numbered(0..30));
    stage.tui.dock_mut().push(Fixed::new(&["> "]));
    stage.frame();
    stage
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
fn it_follows_the_end_and_keeps_the_dock() {
    let mut stage = stage();
    assert_eq!(
        stage.screen(),
        ["line 25", "line 26", "line 27", "line 28", "line 29", ">"]
    );
    stage.tui.transcript_mut().push(Fixed::new(&["new"]));
    stage.frame();
    assert_eq!(stage.screen()[4..], ["new", ">"]);
    assert_eq!(stage.scrollback(), Vec::<String>::new());
}

#[test]
fn keys_and_wheel_scroll_and_the_end_label_leads_back() {
    let mut stage = stage();
    press(&mut stage.tui, action::ALT_SCREEN_PAGE_UP);
    stage.frame();
    assert!(
        stage.screen()[0].starts_with("line 24"),
        "{:?}",
        stage.screen()
    );
    assert!(!stage.tui.follows_end());
    mouse(&mut stage.tui, 64, (1, 1), false);
    stage.frame();
    assert!(stage.screen()[0].starts_with("line 23"));
    assert!(
        stage.screen()[4].contains("\u{2193} end"),
        "{:?}",
        stage.screen()
    );
    // What comes below does not move what is read.
    stage.tui.transcript_mut().push(Fixed::new(&["new"]));
    stage.frame();
    assert!(stage.screen()[0].starts_with("line 23"));
    mouse(&mut stage.tui, 0, (22, 4), false);
    mouse(&mut stage.tui, 0, (22, 4), true);
    stage.frame();
    assert_eq!(stage.screen()[4], "new");
    press(&mut stage.tui, action::ALT_SCREEN_TOP);
    stage.frame();
    assert!(stage.screen()[0].starts_with("line 0"));
    press(&mut stage.tui, action::ALT_SCREEN_BOTTOM);
    assert!(stage.tui.follows_end());
}

#[test]
fn a_drag_selects_and_copies() {
    let mut stage = stage();
    mouse(&mut stage.tui, 0, (5, 1), false);
    mouse(&mut stage.tui, 32, (3, 2), false);
    stage.frame();
    assert!(
        stage.last_frame.contains("\x1b[7m26\x1b[27m"),
        "{:?}",
        stage.last_frame
    );
    let reaction = mouse(&mut stage.tui, 0, (3, 2), true);
    assert_eq!(stage.tui.selected_text().as_deref(), Some("26\nline"));
    assert_eq!(reaction.output, "\x1b]52;c;MjYKbGluZQ==\x07");
    // A click elsewhere drops it.
    mouse(&mut stage.tui, 0, (1, 0), false);
    mouse(&mut stage.tui, 0, (1, 0), true);
    assert_eq!(stage.tui.selected_text(), None);
}

#[test]
fn a_double_click_selects_a_word() {
    let mut stage = stage();
    for _ in 0..2 {
        mouse(&mut stage.tui, 0, (1, 0), false);
        mouse(&mut stage.tui, 0, (1, 0), true);
    }
    assert_eq!(stage.tui.selected_text().as_deref(), Some("line"));
}

#[test]
fn a_drag_at_the_edge_scrolls_on() {
    let mut stage = stage();
    mouse(&mut stage.tui, 0, (0, 2), false);
    mouse(&mut stage.tui, 32, (0, 0), false);
    let due = stage.tui.deadline().unwrap();
    stage.tui.tick(due);
    stage.tui.tick(due + Duration::from_secs(1));
    stage.frame();
    assert!(
        stage.screen()[0].starts_with("line 22"),
        "{:?}",
        stage.screen()
    );
    mouse(&mut stage.tui, 0, (0, 1), true);
    // What is left is the message that the selection was copied.
    let gone = stage.tui.deadline().unwrap();
    stage.tui.tick(gone);
    assert_eq!(stage.tui.deadline(), None);
}

#[test]
fn a_clicked_link_is_reported() {
    let mut stage = stage();
    let link = "\x1b]8;;http://example.org\x1b\\here\x1b]8;;\x1b\\";
    stage.tui.transcript_mut().push(Fixed::new(&[link]));
    stage.frame();
    mouse(&mut stage.tui, 0, (2, 4), false);
    let reaction = mouse(&mut stage.tui, 0, (2, 4), true);
    assert_eq!(reaction.open_url.as_deref(), Some("http://example.org"));
}

#[test]
fn a_search_finds_marks_and_reveals() {
    let mut stage = stage();
    stage.resize(Size {
        columns: 60,
        ..SIZE
    });
    stage.frame();
    press(&mut stage.tui, action::ALT_SCREEN_SEARCH);
    for character in "LINE 7".chars() {
        let key = InputEvent::Key(KeyEvent::typed(character));
        stage.tui.handle(&key, Instant::now());
    }
    stage.frame();
    let screen = stage.screen();
    assert!(screen.iter().any(|row| row.contains("1/1")), "{screen:?}");
    assert!(
        screen.iter().any(|row| row.starts_with("line 7")),
        "{screen:?}"
    );
    assert!(stage.last_frame.contains("\x1b[1;7mline 7\x1b[22;27m"));
    press(&mut stage.tui, action::ALT_SCREEN_SEARCH_CLOSE);
    stage.frame();
    assert!(!stage.tui.has_overlay());
}

#[test]
fn the_search_panel_has_buttons_that_light_up_under_the_pointer() {
    let mut stage = stage();
    stage.resize(Size {
        columns: 60,
        rows: 8,
    });
    press(&mut stage.tui, action::ALT_SCREEN_SEARCH);
    stage.frame();
    for character in "line 1".chars() {
        let key = InputEvent::Key(KeyEvent::typed(character));
        stage.tui.handle(&key, Instant::now());
    }
    stage.frame();
    let row = stage.screen().iter().position(|row| row.contains('↓'));
    let row = row.unwrap();
    let column = |stage: &mut Stage<Avt>, mark: char| {
        let line = stage.screen()[row].clone();
        line.chars()
            .position(|character| character == mark)
            .unwrap()
    };
    let next = column(&mut stage, '↓');
    mouse(&mut stage.tui, 35, (next, row), false);
    stage.frame();
    assert!(
        stage.last_frame.contains("\x1b[7m↓"),
        "{:?}",
        stage.last_frame
    );
    let matches = |stage: &mut Stage<Avt>| {
        let screen = stage.screen();
        let found = screen.iter().find(|row| row.contains("/11 "));
        found.unwrap().clone()
    };
    let before = matches(&mut stage);
    mouse(&mut stage.tui, 0, (next, row), false);
    mouse(&mut stage.tui, 0, (next, row), true);
    stage.frame();
    assert_ne!(matches(&mut stage), before);
    let previous = column(&mut stage, '↑');
    mouse(&mut stage.tui, 0, (previous, row), false);
    mouse(&mut stage.tui, 0, (previous, row), true);
    stage.frame();
    assert_eq!(matches(&mut stage), before);
    mouse(&mut stage.tui, 35, (0, 0), false);
    stage.frame();
    assert!(stage.last_frame.contains('↑'), "the light goes out");
    // A new match is counted although nobody typed.
    stage.tui.transcript_mut().push(Fixed::new(&["line 1"]));
    stage.frame();
    let screen = stage.screen();
    assert!(screen.iter().any(|row| row.contains("/12 ")), "{screen:?}");
}

#[test]
fn a_message_flashes_in_the_corner() {
    let mut stage = stage();
    let now = Instant::now();
    stage
        .tui
        .flash("saved\n\x1b[31mit", Duration::from_secs(1), now);
    stage.tui.flash("again", Duration::from_secs(5), now);
    stage.frame();
    let screen = stage.screen();
    assert_eq!(
        screen[..2],
        ["line 25        saved it ", "line 26           again "]
    );
    assert_eq!(stage.tui.deadline(), Some(now + Duration::from_secs(1)));
    assert_ne!(
        stage.tui.tick(now + Duration::from_secs(1)),
        pi_tui::FrameUrgency::None
    );
    stage.frame();
    assert_eq!(stage.screen()[..2], ["line 25           again ", "line 26"]);
    stage.tui.tick(now + Duration::from_secs(5));
    stage.frame();
    assert_eq!(stage.screen()[0], "line 25");
    assert_eq!(stage.tui.deadline(), None);
}

#[test]
fn prompts_are_jumped_between() {
    let mut stage = stage();
    let prompt = "\x1b]133;A\x07prompt";
    stage.tui.transcript_mut().push(Fixed::new(&[prompt]));
    stage.tui.transcript_mut().push(Fixed::numbered(0..30));
    stage.frame();
    press(&mut stage.tui, action::ALT_SCREEN_PREVIOUS_PROMPT);
    stage.frame();
    assert!(
        stage.screen()[0].starts_with("prompt"),
        "{:?}",
        stage.screen()
    );
}

#[test]
fn keys_that_mean_nothing_to_the_screen_reach_the_component() {
    let mut stage = stage();
    let dock = stage.tui.dock().ids().next().unwrap();
    stage.tui.set_focus(Some(FocusTarget::Dock(dock)));
    let key = InputEvent::Key(KeyEvent::press(KeyId::new(Key::Char('x'))));
    let reaction = stage.tui.handle(&key, Instant::now());
    assert_eq!(reaction.outcome, pi_tui::InputOutcome::Consumed);
}

#[test]
fn leaving_gives_the_screen_back_with_the_transcript() {
    let mut stage = stage();
    stage.resize(Size { rows: 40, ..SIZE });
    stage.frame();
    let bytes = stage.tui.stop(ExitBehavior::PrintTranscript);
    assert!(bytes.contains("\x1b[?1006l") && bytes.contains("\x1b[?7h\x1b[?1049l"));
    stage.emulator.feed(&bytes);
    assert_eq!(stage.screen()[..2], ["line 0", "line 1"]);
    assert_eq!(stage.screen()[30], ">");
}

#[test]
fn the_mode_changes_while_running() {
    let mut stage = stage();
    let bytes = stage.tui.set_mode(ScreenMode::Main);
    stage.emulator.feed(&bytes);
    stage.frame();
    assert_eq!(stage.screen()[4..], ["line 29", ">"]);
    assert_eq!(stage.scrollback().len(), 25);
}

#[test]
fn the_main_screen_goes_on_where_it_was_left() {
    let mut stage: Stage<Avt> = Stage::new(SIZE, strict(ShrinkPolicy::LeaveEmpty));
    stage.tui.transcript_mut().push(Fixed::numbered(0..9));
    stage.frame();
    let bytes = stage.tui.set_mode(ScreenMode::Full);
    stage.emulator.feed(&bytes);
    stage.tui.transcript_mut().push(Fixed::new(&["new"]));
    stage.frame();
    let bytes = stage.tui.stop(ExitBehavior::PrintTranscript);
    stage.emulator.feed(&bytes);
    stage.emulator.feed("$ ");
    let mut all = stage.scrollback();
    all.extend(stage.screen());
    let expected: Vec<String> = (0..9)
        .map(|number| format!("line {number}"))
        .chain(["new".to_owned(), "$".to_owned()])
        .collect();
    assert_eq!(all, expected);
}

#[test]
fn reading_back_shows_what_left_the_main_screen_and_leaves_it_as_it_was() {
    let mut stage: Stage<Avt> = Stage::new(SIZE, strict(ShrinkPolicy::LeaveEmpty));
    let first = stage.tui.transcript_mut().push(Fixed::numbered(0..20));
    stage.tui.dock_mut().push(Fixed::new(&["> "]));
    stage.frame();
    let bytes = stage.tui.view_scrollback();
    stage.emulator.feed(&bytes);
    stage.frame();
    assert_eq!(stage.tui.mode(), ScreenMode::Full);
    let shown = stage.screen();
    assert!(!shown.contains(&"line 19".to_owned()), "{shown:?}");
    let in_view = shown.first().cloned();
    // Earlier lines are loaded above, and something is said below.
    let earlier: Vec<Box<dyn Component>> = vec![Box::new(Fixed::new(&["early", "on"]))];
    stage.tui.transcript_mut().insert_all_before(first, earlier);
    stage.tui.transcript_mut().push(Fixed::new(&["new"]));
    stage.frame();
    assert_eq!(stage.screen().first().cloned(), in_view, "nothing moved");
    let bytes = stage.tui.set_mode(ScreenMode::Main);
    stage.emulator.feed(&bytes);
    stage.frame();
    let mut all = stage.scrollback();
    all.extend(stage.screen());
    let expected: Vec<String> = (0..20)
        .map(|number| format!("line {number}"))
        .chain(["new".to_owned(), ">".to_owned()])
        .collect();
    assert_eq!(all, expected, "each line once, the earlier ones not at all");
}

#[test]
fn listeners_hear_keys_first() {
    use pi_tui::{ListenerOutcome, InputOutcome};
    let mut stage = stage();
    let field = stage.tui.dock_mut().push(Fixed::new(&[]));
    stage.tui.set_focus(Some(FocusTarget::Dock(field)));
    let swallow = stage.tui.add_listener(|event| match event {
        InputEvent::Key(key) if key.text() == Some('x') => ListenerOutcome::Consumed,
        InputEvent::Key(key) if key.text() == Some('a') => {
            ListenerOutcome::Replaced(InputEvent::Key(KeyEvent::typed('b')))
        }
        _ => ListenerOutcome::Pass,
    });
    let type_in = |stage: &mut Stage<Avt>, character| {
        let key = InputEvent::Key(KeyEvent::typed(character));
        stage.tui.handle(&key, Instant::now()).outcome
    };
    for character in "xac".chars() {
        assert_eq!(type_in(&mut stage, character), InputOutcome::Consumed);
    }
    stage.tui.remove_listener(swallow);
    type_in(&mut stage, 'x');
    let component: &dyn std::any::Any = stage.tui.dock().get(field).unwrap();
    assert_eq!(component.downcast_ref::<Fixed>().unwrap().typed, "bcx");
}
