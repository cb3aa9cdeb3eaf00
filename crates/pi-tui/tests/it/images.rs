//! Images in both screen modes.

use pi_tui::{
    ImageCells, ImageProtocol, Lines, ScreenMode, ShrinkPolicy, Size, TuiOptions, image_lines,
    kitty_delete,
};

use crate::emulator::{Avt, EmulatedTui, FixedLines, strict};

/// A PNG with a single red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const SIZE: Size = Size {
    columns: 20,
    rows: 6,
};

fn image(protocol: ImageProtocol) -> FixedLines {
    let cells = ImageCells {
        columns: 4,
        rows: 3,
    };
    let lines = image_lines(protocol, PIXEL, 77, cells);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    FixedLines::new(&lines)
}

fn ui(mode: ScreenMode) -> EmulatedTui<Avt> {
    let options = TuiOptions {
        mode,
        ..strict(ShrinkPolicy::LeaveEmpty)
    };
    EmulatedTui::new(SIZE, options)
}

#[test]
fn an_image_is_drawn_once_its_rows_exist() {
    let mut ui = ui(ScreenMode::Main);
    ui.tui.transcript_mut().push(image(ImageProtocol::Kitty));
    ui.tui.dock_mut().push(FixedLines::new(&["> "]));
    ui.frame();
    let (before, _) = ui.last_frame.split_once("\x1b_Ga=T").unwrap();
    assert_eq!(before.matches("\r\n").count(), 2, "{before:?}");
    assert!(before.ends_with("\x1b[2A\r\x1b7"), "{before:?}");
    assert_eq!(ui.screen()[3], ">");
    ui.frame();
    assert_eq!(ui.last_frame, "");
}

#[test]
fn an_image_is_deleted_before_its_rows_change() {
    let mut ui = ui(ScreenMode::Main);
    let above = ui.tui.transcript_mut().push(FixedLines::new(&["above"]));
    ui.tui.transcript_mut().push(image(ImageProtocol::Kitty));
    ui.frame();
    let block = ui.tui.transcript_mut().get_mut(above).unwrap();
    let block: &mut dyn std::any::Any = block;
    block
        .downcast_mut::<FixedLines>()
        .unwrap()
        .lines
        .push("more".to_owned());
    ui.frame();
    let deleted = ui.last_frame.find(&kitty_delete(77)).unwrap();
    let drawn = ui.last_frame.find("\x1b_Ga=T").unwrap();
    assert!(deleted < drawn);
    assert_eq!(ui.screen()[..2], ["above", "more"]);
}

#[test]
fn changes_elsewhere_do_not_redraw_an_image() {
    let mut ui = ui(ScreenMode::Main);
    ui.tui.transcript_mut().push(image(ImageProtocol::Kitty));
    ui.frame();
    ui.tui.transcript_mut().push(FixedLines::new(&["below"]));
    ui.frame();
    assert!(!ui.last_frame.contains("\x1b_G"), "{:?}", ui.last_frame);
}

#[test]
fn an_inline_file_is_drawn_from_its_first_row() {
    let mut ui = ui(ScreenMode::Main);
    ui.tui.transcript_mut().push(image(ImageProtocol::ITerm2));
    ui.frame();
    assert!(ui.last_frame.contains("\r\x1b7\x1b[2A\x1b]1337;File="));
}

#[test]
fn full_screen_crops_images_at_the_edges_and_sends_them_once() {
    let mut ui = ui(ScreenMode::Full);
    ui.tui.transcript_mut().push(FixedLines::numbered(0..4));
    ui.tui.transcript_mut().push(image(ImageProtocol::Kitty));
    ui.tui.transcript_mut().push(FixedLines::numbered(4..8));
    ui.frame();
    assert!(ui.last_frame.contains("a=T") && ui.last_frame.contains("r=2;"));
    ui.tui.scroll_by(-2);
    ui.frame();
    let full_image = "\x1b_Ga=d,d=a,q=2\x1b\\\x1b[2;1H\x1b_Ga=p,q=2,C=1,c=4,r=3,i=77;\x1b\\";
    assert!(ui.last_frame.contains(full_image), "{:?}", ui.last_frame);
    ui.tui.scroll_by(-100);
    ui.frame();
    assert!(ui.last_frame.contains("a=p") && ui.last_frame.contains("r=2;"));
}

#[test]
fn full_screen_shows_a_placeholder_for_inline_files() {
    let mut ui = ui(ScreenMode::Full);
    ui.tui.transcript_mut().push(image(ImageProtocol::ITerm2));
    ui.frame();
    assert!(!ui.last_frame.contains("1337"));
    assert!(ui.screen().contains(&"[image]".to_owned()));
}

#[test]
fn lines_of_an_image_count_as_its_rows() {
    let lines: Lines = image(ImageProtocol::Kitty)
        .lines
        .iter()
        .map(String::as_str)
        .collect();
    assert_eq!(lines.len(), 3);
}
