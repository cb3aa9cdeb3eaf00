//! The main screen: what is written, what stays, and where the cursor goes.

use pi_tui::{
    CURSOR_MARKER, Component, ExitBehavior, OverlayOptions, ShrinkPolicy, Size, TuiOptions,
    WidthPolicy,
};
use pretty_assertions::assert_eq;

use crate::emulator::{Avt, EmulatedTui, Emulator as _, FixedLines, Paragraph, strict};

const SIZE: Size = Size {
    columns: 20,
    rows: 5,
};

fn ui() -> EmulatedTui<Avt> {
    EmulatedTui::new(SIZE, strict(ShrinkPolicy::LeaveEmpty))
}

fn as_fixed_lines(component: &mut dyn Component) -> &mut FixedLines {
    (component as &mut dyn std::any::Any)
        .downcast_mut()
        .unwrap()
}

#[test]
fn finished_lines_enter_the_scrollback_once() {
    let mut ui = ui();
    ui.tui.dock_mut().push(FixedLines::new(&["> "]));
    for start in [0, 3, 6] {
        ui.tui
            .transcript_mut()
            .push(FixedLines::numbered(start..start + 3));
        ui.frame();
    }
    assert_eq!(
        ui.scrollback(),
        ["line 0", "line 1", "line 2", "line 3", "line 4"]
    );
    assert_eq!(ui.screen(), ["line 5", "line 6", "line 7", "line 8", ">"]);
}

#[test]
fn a_settled_block_is_not_rendered_again() {
    let mut ui = ui();
    let settled = ui.tui.transcript_mut().push(FixedLines::new(&["settled"]));
    let live = ui
        .tui
        .transcript_mut()
        .push_live(FixedLines::new(&["live"]));
    for _ in 0..3 {
        ui.frame();
    }
    let renders = |ui: &mut EmulatedTui<Avt>, id| {
        as_fixed_lines(ui.tui.transcript_mut().get_mut(id).unwrap()).renders
    };
    assert_eq!(renders(&mut ui, settled), 1);
    assert_eq!(renders(&mut ui, live), 3);
    ui.frame();
    assert_eq!(renders(&mut ui, settled), 2);
}

#[test]
fn a_resized_screen_is_not_erased_from_its_corner() {
    let mut ui = ui();
    ui.tui.transcript_mut().push(FixedLines::numbered(0..9));
    ui.tui.dock_mut().push(FixedLines::new(&["> "]));
    ui.frame();
    for (columns, rows) in [(18, 5), (20, 5), (20, 4), (20, 5)] {
        ui.resize(Size { columns, rows });
        ui.frame();
        // tmux would push the whole screen into the scrollback.
        assert!(
            !ui.last_frame.contains("\x1b[H\x1b[J"),
            "{:?}",
            ui.last_frame
        );
        assert_eq!(ui.screen().last().unwrap(), ">");
    }
}

#[test]
fn one_changed_line_among_ten_thousand_is_a_few_bytes() {
    let mut ui = ui();
    let mut last = None;
    for start in (0..10_000).step_by(10) {
        last = Some(
            ui.tui
                .transcript_mut()
                .push(FixedLines::numbered(start..start + 10)),
        );
    }
    ui.tui.dock_mut().push(FixedLines::new(&["> ", "footer"]));
    ui.frame();
    let block = ui.tui.transcript_mut().get_mut(last.unwrap()).unwrap();
    as_fixed_lines(block).lines[9] = "line 9999 changed".to_owned();
    ui.frame();
    assert_eq!(
        ui.last_frame,
        "\x1b[?2026h\x1b[2A\x1b[10G\x1b[K changed\x1b[2B\r\x1b[?2026l"
    );
    assert_eq!(
        ui.screen(),
        ["line 9997", "line 9998", "line 9999 changed", ">", "footer"]
    );
}

#[test]
fn shell_output_stays_above() {
    let mut ui = ui();
    ui.emulator.feed("$ ls\r\nfile\r\n$ pi\r\n");
    ui.tui.transcript_mut().push(FixedLines::new(&["hello"]));
    ui.frame();
    assert_eq!(ui.screen(), ["$ ls", "file", "$ pi", "hello", ""]);
    ui.tui.transcript_mut().push(FixedLines::numbered(0..4));
    ui.frame();
    assert_eq!(ui.scrollback(), ["$ ls", "file", "$ pi"]);
    ui.resize(Size { rows: 7, ..SIZE });
    ui.frame();
    assert_eq!(
        ui.screen(),
        ["hello", "line 0", "line 1", "line 2", "line 3", "", ""]
    );
}

#[test]
fn resizing_a_partly_filled_screen_keeps_shell_output() {
    for size in [
        Size { rows: 4, ..SIZE },
        Size { rows: 9, ..SIZE },
        Size {
            columns: 30,
            ..SIZE
        },
    ] {
        let mut ui = ui();
        ui.emulator.feed("$ ls\r\n$ pi\r\n");
        ui.tui
            .transcript_mut()
            .push(FixedLines::new(&["hello", "world"]));
        ui.frame();
        ui.resize(size);
        ui.frame();
        let shown: Vec<String> = ui
            .screen()
            .into_iter()
            .filter(|row| !row.is_empty())
            .collect();
        assert_eq!(shown, ["$ ls", "$ pi", "hello", "world"], "{size:?}");
    }
}

#[test]
fn freed_rows_stay_empty_or_are_filled_from_scrollback() {
    let cases = [
        (ShrinkPolicy::LeaveEmpty, ["line 3", "line 4", "> ", "", ""]),
        (
            ShrinkPolicy::PullBack,
            ["line 1", "line 2", "line 3", "line 4", "> "],
        ),
    ];
    for (shrink, expected) in cases {
        let mut ui: EmulatedTui<Avt> = EmulatedTui::new(SIZE, strict(shrink));
        ui.tui.transcript_mut().push(FixedLines::numbered(0..5));
        let dock = ui.tui.dock_mut().push(FixedLines::new(&["> ", "a", "b"]));
        ui.frame();
        as_fixed_lines(ui.tui.dock_mut().get_mut(dock).unwrap())
            .lines
            .truncate(1);
        ui.frame();
        let expected = expected.map(str::trim_end);
        assert_eq!(ui.screen(), expected, "{shrink:?}");
        assert_eq!(
            ui.scrollback(),
            ["line 0", "line 1", "line 2"],
            "{shrink:?}"
        );
        // Growing again does not commit any line twice.
        as_fixed_lines(ui.tui.dock_mut().get_mut(dock).unwrap())
            .lines
            .extend(["a".to_owned(), "b".to_owned()]);
        ui.frame();
        assert_eq!(ui.screen(), ["line 3", "line 4", ">", "a", "b"]);
        assert_eq!(
            ui.scrollback(),
            ["line 0", "line 1", "line 2"],
            "{shrink:?}"
        );
    }
}

#[test]
fn changes_to_scrollback_lines_are_not_written() {
    let mut ui = ui();
    let first = ui.tui.transcript_mut().push(FixedLines::numbered(0..3));
    ui.tui.transcript_mut().push(FixedLines::numbered(3..9));
    ui.frame();
    as_fixed_lines(ui.tui.transcript_mut().get_mut(first).unwrap()).lines =
        vec!["changed".to_owned(); 8];
    ui.frame();
    assert_eq!(ui.last_frame, "");
    ui.tui.transcript_mut().push(FixedLines::new(&["next"]));
    ui.frame();
    assert_eq!(ui.scrollback()[..3], ["line 0", "line 1", "line 2"]);
    assert_eq!(
        ui.screen(),
        ["line 5", "line 6", "line 7", "line 8", "next"]
    );
}

#[test]
fn only_an_explicit_request_clears_the_scrollback() {
    let mut ui = ui();
    ui.tui.transcript_mut().push(FixedLines::numbered(0..9));
    ui.frame();
    assert!(!ui.last_frame.contains("\x1b[3J"));
    ui.tui.transcript_mut().clear();
    ui.tui.transcript_mut().push(FixedLines::new(&["fresh"]));
    ui.tui.clear_terminal();
    ui.frame();
    assert!(ui.last_frame.contains("\x1b[2J\x1b[H\x1b[3J"));
    assert_eq!(ui.screen(), ["fresh", "", "", "", ""]);
}

#[test]
fn the_cursor_follows_the_marker() {
    let mut ui = ui();
    ui.tui.render_options_mut().show_cursor = true;
    let dock = ui.tui.dock_mut().push(FixedLines::new(&["> ", "footer"]));
    ui.frame();
    assert!(ui.last_frame.contains("\x1b[?25l"));
    as_fixed_lines(ui.tui.dock_mut().get_mut(dock).unwrap()).lines[0] =
        format!("> 漢{CURSOR_MARKER}x");
    ui.frame();
    assert!(ui.last_frame.contains("\x1b[?25h"));
    assert_eq!(ui.emulator.cursor(), (4, 0));
    assert_eq!(ui.screen()[0], "> 漢 x");
    assert!(!ui.last_frame.contains(CURSOR_MARKER));
}

#[test]
fn styles_and_links_end_with_their_line() {
    let mut ui = ui();
    ui.tui.transcript_mut().push(FixedLines::new(&[
        "\x1b[1;31mred \x1b]8;;http://x\x1b\\link",
        "plain",
    ]));
    ui.frame();
    let reset = "\x1b[0m\x1b]8;;\x07\r\nplain";
    assert!(ui.last_frame.contains(reset), "{:?}", ui.last_frame);
}

#[test]
fn too_wide_lines_fail_in_strict_mode_and_are_truncated_otherwise() {
    let mut options = strict(ShrinkPolicy::LeaveEmpty);
    let wide = "123456789012345678901";
    let mut strict: EmulatedTui<Avt> = EmulatedTui::new(SIZE, options.clone());
    strict.tui.transcript_mut().push(FixedLines::new(&[wide]));
    let error = strict.tui.frame().unwrap_err().to_string();
    assert!(
        error.contains("21 columns wide on a screen of 20"),
        "{error}"
    );
    options.render.width_policy = WidthPolicy::Truncate;
    let mut cut: EmulatedTui<Avt> = EmulatedTui::new(SIZE, options);
    cut.tui.transcript_mut().push(FixedLines::new(&[wide]));
    cut.frame();
    assert_eq!(cut.screen()[..2], [wide.strip_suffix('1').unwrap(), ""]);
}

#[test]
fn width_change_lays_out_visible_blocks() {
    let mut ui: EmulatedTui<Avt> = EmulatedTui::new(SIZE, strict(ShrinkPolicy::LeaveEmpty));
    let words = "one two three four five six";
    for _ in 0..4 {
        ui.tui.transcript_mut().push(Paragraph(words.to_owned()));
    }
    ui.frame();
    ui.resize(Size {
        columns: 10,
        ..SIZE
    });
    ui.frame();
    assert_eq!(
        ui.screen(),
        [
            "three four",
            "five six",
            "one two",
            "three four",
            "five six"
        ]
    );
    assert!(!ui.last_frame.contains("\x1b[3J") && !ui.last_frame.contains("\x1b[2J"));
}

#[test]
fn stopping_erases_the_dock_and_resuming_prints_nothing_twice() {
    for shrink in [ShrinkPolicy::LeaveEmpty, ShrinkPolicy::PullBack] {
        let mut ui: EmulatedTui<Avt> = EmulatedTui::new(SIZE, strict(shrink));
        ui.tui.transcript_mut().push(FixedLines::numbered(0..3));
        let dock = ui.tui.dock_mut();
        dock.push(FixedLines::new(&[CURSOR_MARKER, "footer"]));
        ui.frame();
        let bytes = ui.tui.stop(ExitBehavior::RestoreScreen);
        ui.emulator.feed(&bytes);
        ui.emulator.feed("$ fg\r\n");
        assert_eq!(ui.screen(), ["line 0", "line 1", "line 2", "$ fg", ""]);
        let bytes = ui.tui.start();
        ui.emulator.feed(&bytes);
        ui.frame();
        assert_eq!(ui.screen(), ["line 1", "line 2", "$ fg", "", "footer"]);
        // Wrapping changes neither what is printed nor where.
        ui.resize(Size {
            columns: 18,
            ..SIZE
        });
        ui.frame();
        assert_eq!(ui.screen(), ["line 1", "line 2", "$ fg", "", "footer"]);
        ui.tui.transcript_mut().push(FixedLines::numbered(3..5));
        ui.frame();
        assert_eq!(ui.screen(), ["$ fg", "line 3", "line 4", "", "footer"]);
        assert_eq!(ui.scrollback(), ["line 0", "line 1", "line 2"]);
    }
}

#[test]
fn an_unfinished_block_is_erased_while_paused_and_printed_once() {
    let mut ui = ui();
    ui.tui.transcript_mut().push(FixedLines::numbered(0..2));
    let growing = ui.tui.transcript_mut().push_live(FixedLines::new(&["par"]));
    ui.tui.dock_mut().push(FixedLines::new(&["> "]));
    ui.frame();
    let bytes = ui.tui.stop(ExitBehavior::Pause);
    ui.emulator.feed(&bytes);
    assert_eq!(ui.screen(), ["line 0", "line 1", "", "", ""]);
    ui.emulator.feed("$ fg\r\n");
    let bytes = ui.tui.start();
    ui.emulator.feed(&bytes);
    let component = ui.tui.transcript_mut().get_mut(growing).unwrap();
    as_fixed_lines(component).lines = vec!["partial and more".to_owned()];
    ui.frame();
    assert_eq!(
        ui.screen(),
        ["line 0", "line 1", "$ fg", "partial and more", ">"]
    );
    // At the end, it stays.
    let bytes = ui.tui.stop(ExitBehavior::RestoreScreen);
    ui.emulator.feed(&bytes);
    assert_eq!(
        ui.screen(),
        ["line 0", "line 1", "$ fg", "partial and more", ""]
    );
}

#[test]
fn lines_above_a_closed_dialog_are_shown_again() {
    let size = Size { rows: 12, ..SIZE };
    let mut ui: EmulatedTui<Avt> = EmulatedTui::new(size, strict(ShrinkPolicy::LeaveEmpty));
    ui.tui.transcript_mut().push(FixedLines::numbered(0..20));
    let dock = ui.tui.dock_mut().push(FixedLines::new(&["> "]));
    ui.frame();
    let before = ui.screen();
    let set_dock = |ui: &mut EmulatedTui<Avt>, lines: usize| {
        let component = ui.tui.dock_mut().get_mut(dock).unwrap();
        as_fixed_lines(component).lines = vec!["> ".to_owned(); lines];
        ui.frame();
    };
    set_dock(&mut ui, 9);
    set_dock(&mut ui, 1);
    assert_eq!(ui.screen(), before);
    // Lines that were shown again enter the scrollback once.
    ui.tui.transcript_mut().push(FixedLines::numbered(20..30));
    ui.frame();
    let rows = [ui.scrollback(), ui.screen()].concat();
    assert_eq!(rows.iter().filter(|row| *row == "line 12").count(), 1);
    assert_eq!(rows.iter().filter(|row| *row == "line 25").count(), 1);
}

#[test]
fn a_dialog_after_resuming_leaves_no_empty_screen() {
    let mut ui = ui();
    ui.tui.transcript_mut().push(FixedLines::numbered(0..4));
    ui.tui.dock_mut().push(FixedLines::new(&["> "]));
    ui.frame();
    let bytes = ui.tui.stop(ExitBehavior::RestoreScreen);
    ui.emulator.feed(&bytes);
    ui.emulator.feed("$ fg\r\n");
    ui.frame();
    let dialog = FixedLines::new(&["dialog"]);
    let dialog = ui
        .tui
        .scene_mut()
        .show_overlay(dialog, OverlayOptions::default());
    ui.frame();
    ui.tui.scene_mut().remove_overlay(dialog);
    ui.frame();
    assert_eq!(ui.screen(), ["line 0", "line 1", "line 2", "line 3", ">"]);
}

#[test]
fn a_frame_without_change_is_empty() {
    let mut ui: EmulatedTui<Avt> = EmulatedTui::new(SIZE, TuiOptions::default());
    ui.frame();
    ui.tui.dock_mut().push_live(FixedLines::new(&["same"]));
    ui.frame();
    assert_ne!(ui.last_frame, "");
    ui.frame();
    assert_eq!(ui.last_frame, "");
}
