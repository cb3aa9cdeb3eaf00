//! The main screen: what is written, what stays, what the cursor does.

use pi_tui::{CURSOR_MARKER, Component, ExitBehavior, ShrinkPolicy, Size, TuiOptions, WidthPolicy};
use pretty_assertions::assert_eq;

use crate::emulator::{Avt, Emulator as _, Fixed, Paragraph, Stage, strict};

const SIZE: Size = Size {
    columns: 20,
    rows: 5,
};

fn stage() -> Stage<Avt> {
    Stage::new(SIZE, strict(ShrinkPolicy::LeaveEmpty))
}

fn fixed(component: &mut dyn Component) -> &mut Fixed {
    (component as &mut dyn std::any::Any)
        .downcast_mut()
        .unwrap()
}

#[test]
fn finished_lines_enter_the_scrollback_once() {
    let mut stage = stage();
    stage.tui.dock_mut().push(Fixed::new(&["> "]));
    for start in [0, 3, 6] {
        stage
            .tui
            .transcript_mut()
            .push(Fixed::numbered(start..start + 3));
        stage.frame();
    }
    assert_eq!(
        stage.scrollback(),
        ["line 0", "line 1", "line 2", "line 3", "line 4"]
    );
    assert_eq!(
        stage.screen(),
        ["line 5", "line 6", "line 7", "line 8", ">"]
    );
}

#[test]
fn a_settled_block_is_not_rendered_again() {
    let mut stage = stage();
    let settled = stage.tui.transcript_mut().push(Fixed::new(&["settled"]));
    let live = stage.tui.transcript_mut().push_live(Fixed::new(&["live"]));
    for _ in 0..3 {
        stage.frame();
    }
    let renders =
        |stage: &mut Stage<Avt>, id| fixed(stage.tui.transcript_mut().get_mut(id).unwrap()).renders;
    assert_eq!(renders(&mut stage, settled), 1);
    assert_eq!(renders(&mut stage, live), 3);
    stage.frame();
    assert_eq!(renders(&mut stage, settled), 2);
}

#[test]
fn one_changed_line_among_ten_thousand_is_a_few_bytes() {
    let mut stage = stage();
    let mut last = None;
    for start in (0..10_000).step_by(10) {
        last = Some(
            stage
                .tui
                .transcript_mut()
                .push(Fixed::numbered(start..start + 10)),
        );
    }
    stage.tui.dock_mut().push(Fixed::new(&["> ", "footer"]));
    stage.frame();
    let block = stage.tui.transcript_mut().get_mut(last.unwrap()).unwrap();
    fixed(block).lines[9] = "line 9999 changed".to_owned();
    stage.frame();
    assert_eq!(
        stage.last_frame,
        "\x1b[?2026h\x1b[2A\x1b[10G\x1b[K changed\x1b[2B\r\x1b[?2026l"
    );
    assert_eq!(
        stage.screen(),
        ["line 9997", "line 9998", "line 9999 changed", ">", "footer"]
    );
}

#[test]
fn what_the_shell_left_stays_above() {
    let mut stage = stage();
    stage.emulator.feed("$ ls\r\nfile\r\n$ pi\r\n");
    stage.tui.transcript_mut().push(Fixed::new(&["hello"]));
    stage.frame();
    assert_eq!(stage.screen(), ["$ ls", "file", "$ pi", "hello", ""]);
    stage.tui.transcript_mut().push(Fixed::numbered(0..4));
    stage.frame();
    assert_eq!(stage.scrollback(), ["$ ls", "file", "$ pi"]);
    stage.resize(Size { rows: 7, ..SIZE });
    stage.frame();
    assert_eq!(
        stage.screen(),
        ["hello", "line 0", "line 1", "line 2", "line 3", "", ""]
    );
}

#[test]
fn a_resize_before_the_screen_is_full_keeps_the_shell_above() {
    for size in [
        Size { rows: 4, ..SIZE },
        Size { rows: 9, ..SIZE },
        Size {
            columns: 30,
            ..SIZE
        },
    ] {
        let mut stage = stage();
        stage.emulator.feed("$ ls\r\n$ pi\r\n");
        stage
            .tui
            .transcript_mut()
            .push(Fixed::new(&["hello", "world"]));
        stage.frame();
        stage.resize(size);
        stage.frame();
        let shown: Vec<String> = stage
            .screen()
            .into_iter()
            .filter(|row| !row.is_empty())
            .collect();
        assert_eq!(shown, ["$ ls", "$ pi", "hello", "world"], "{size:?}");
    }
}

#[test]
fn rows_that_become_free_stay_empty_or_are_filled_from_above() {
    let cases = [
        (ShrinkPolicy::LeaveEmpty, ["line 3", "line 4", "> ", "", ""]),
        (
            ShrinkPolicy::PullBack,
            ["line 1", "line 2", "line 3", "line 4", "> "],
        ),
    ];
    for (shrink, expected) in cases {
        let mut stage: Stage<Avt> = Stage::new(SIZE, strict(shrink));
        stage.tui.transcript_mut().push(Fixed::numbered(0..5));
        let dock = stage.tui.dock_mut().push(Fixed::new(&["> ", "a", "b"]));
        stage.frame();
        fixed(stage.tui.dock_mut().get_mut(dock).unwrap())
            .lines
            .truncate(1);
        stage.frame();
        let expected = expected.map(str::trim_end);
        assert_eq!(stage.screen(), expected, "{shrink:?}");
        assert_eq!(
            stage.scrollback(),
            ["line 0", "line 1", "line 2"],
            "{shrink:?}"
        );
        // Growing again commits nothing twice.
        fixed(stage.tui.dock_mut().get_mut(dock).unwrap())
            .lines
            .extend(["a".to_owned(), "b".to_owned()]);
        stage.frame();
        assert_eq!(stage.screen(), ["line 3", "line 4", ">", "a", "b"]);
        assert_eq!(
            stage.scrollback(),
            ["line 0", "line 1", "line 2"],
            "{shrink:?}"
        );
    }
}

#[test]
fn a_change_in_the_scrollback_leaves_it_alone() {
    let mut stage = stage();
    let first = stage.tui.transcript_mut().push(Fixed::numbered(0..3));
    stage.tui.transcript_mut().push(Fixed::numbered(3..9));
    stage.frame();
    fixed(stage.tui.transcript_mut().get_mut(first).unwrap()).lines = vec!["changed".to_owned(); 8];
    stage.frame();
    assert_eq!(stage.last_frame, "");
    stage.tui.transcript_mut().push(Fixed::new(&["next"]));
    stage.frame();
    assert_eq!(stage.scrollback()[..3], ["line 0", "line 1", "line 2"]);
    assert_eq!(
        stage.screen(),
        ["line 5", "line 6", "line 7", "line 8", "next"]
    );
}

#[test]
fn only_an_explicit_request_clears_the_scrollback() {
    let mut stage = stage();
    stage.tui.transcript_mut().push(Fixed::numbered(0..9));
    stage.frame();
    assert!(!stage.last_frame.contains("\x1b[3J"));
    stage.tui.transcript_mut().clear();
    stage.tui.transcript_mut().push(Fixed::new(&["fresh"]));
    stage.tui.clear_terminal();
    stage.frame();
    assert!(stage.last_frame.contains("\x1b[2J\x1b[H\x1b[3J"));
    assert_eq!(stage.screen(), ["fresh", "", "", "", ""]);
}

#[test]
fn the_cursor_follows_the_marker() {
    let mut stage = stage();
    stage.tui.render_options_mut().show_cursor = true;
    let dock = stage.tui.dock_mut().push(Fixed::new(&["> ", "footer"]));
    stage.frame();
    assert!(stage.last_frame.contains("\x1b[?25l"));
    fixed(stage.tui.dock_mut().get_mut(dock).unwrap()).lines[0] = format!("> 漢{CURSOR_MARKER}x");
    stage.frame();
    assert!(stage.last_frame.contains("\x1b[?25h"));
    assert_eq!(stage.emulator.cursor(), (4, 0));
    assert_eq!(stage.screen()[0], "> 漢 x");
    assert!(!stage.last_frame.contains(CURSOR_MARKER));
}

#[test]
fn styles_and_links_end_with_their_line() {
    let mut stage = stage();
    stage.tui.transcript_mut().push(Fixed::new(&[
        "\x1b[1;31mred \x1b]8;;http://x\x1b\\link",
        "plain",
    ]));
    stage.frame();
    let reset = "\x1b[0m\x1b]8;;\x07\r\nplain";
    assert!(stage.last_frame.contains(reset), "{:?}", stage.last_frame);
}

#[test]
fn a_line_that_is_too_wide_fails_in_tests_and_is_cut_elsewhere() {
    let mut options = strict(ShrinkPolicy::LeaveEmpty);
    let wide = "123456789012345678901";
    let mut strict: Stage<Avt> = Stage::new(SIZE, options.clone());
    strict.tui.transcript_mut().push(Fixed::new(&[wide]));
    let error = strict.tui.frame().unwrap_err().to_string();
    assert!(
        error.contains("21 columns wide on a screen of 20"),
        "{error}"
    );
    options.render.width_policy = WidthPolicy::Truncate;
    let mut cut: Stage<Avt> = Stage::new(SIZE, options);
    cut.tui.transcript_mut().push(Fixed::new(&[wide]));
    cut.frame();
    assert_eq!(cut.screen()[..2], [wide.strip_suffix('1').unwrap(), ""]);
}

#[test]
fn a_width_change_lays_out_what_is_visible() {
    let mut stage: Stage<Avt> = Stage::new(SIZE, strict(ShrinkPolicy::LeaveEmpty));
    let words = "one two three four five six";
    for _ in 0..4 {
        stage.tui.transcript_mut().push(Paragraph(words.to_owned()));
    }
    stage.frame();
    stage.resize(Size {
        columns: 10,
        ..SIZE
    });
    stage.frame();
    assert_eq!(
        stage.screen(),
        [
            "three four",
            "five six",
            "one two",
            "three four",
            "five six"
        ]
    );
    assert!(!stage.last_frame.contains("\x1b[3J") && !stage.last_frame.contains("\x1b[2J"));
}

#[test]
fn leaving_puts_the_cursor_below_the_content() {
    let mut stage = stage();
    stage.tui.transcript_mut().push(Fixed::new(&["hello"]));
    let id = stage
        .tui
        .dock_mut()
        .push(Fixed::new(&[CURSOR_MARKER, "footer"]));
    stage.frame();
    let bytes = stage.tui.stop(ExitBehavior::RestoreScreen);
    stage.emulator.feed(&bytes);
    stage.emulator.feed("$ ");
    assert_eq!(stage.screen(), ["hello", "", "footer", "$", ""]);
    // After a suspension the live part is shown again below.
    stage.emulator.feed("fg\r\n");
    stage.tui.start();
    stage.frame();
    assert!(stage.tui.dock().contains(id));
    assert_eq!(stage.screen(), ["footer", "$ fg", "hello", "", "footer"]);
}

#[test]
fn a_frame_without_change_is_empty() {
    let mut stage: Stage<Avt> = Stage::new(SIZE, TuiOptions::default());
    stage.frame();
    stage.tui.dock_mut().push_live(Fixed::new(&["same"]));
    stage.frame();
    assert_ne!(stage.last_frame, "");
    stage.frame();
    assert_eq!(stage.last_frame, "");
}
