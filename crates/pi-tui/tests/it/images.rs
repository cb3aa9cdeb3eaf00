//! Images on both kinds of screen.

use pi_tui::{
    ImageCells, ImageProtocol, Lines, ScreenMode, ShrinkPolicy, Size, TuiOptions, image_lines,
    kitty_delete,
};

use crate::emulator::{Avt, Fixed, Stage, strict};

/// A PNG of one red pixel, 1 by 1.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const SIZE: Size = Size {
    columns: 20,
    rows: 6,
};

fn image(protocol: ImageProtocol) -> Fixed {
    let cells = ImageCells {
        columns: 4,
        rows: 3,
    };
    let lines = image_lines(protocol, PIXEL, 77, cells);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Fixed::new(&lines)
}

fn stage(mode: ScreenMode) -> Stage<Avt> {
    let options = TuiOptions {
        mode,
        ..strict(ShrinkPolicy::LeaveEmpty)
    };
    Stage::new(SIZE, options)
}

#[test]
fn an_image_is_drawn_once_its_rows_exist() {
    let mut stage = stage(ScreenMode::Main);
    stage.tui.transcript_mut().push(image(ImageProtocol::Kitty));
    stage.tui.dock_mut().push(Fixed::new(&["> "]));
    stage.frame();
    let (before, _) = stage.last_frame.split_once("\x1b_Ga=T").unwrap();
    assert_eq!(before.matches("\r\n").count(), 2, "{before:?}");
    assert!(before.ends_with("\x1b[2A\r\x1b7"), "{before:?}");
    assert_eq!(stage.screen()[3], ">");
    stage.frame();
    assert_eq!(stage.last_frame, "");
}

#[test]
fn an_image_is_deleted_before_its_rows_change() {
    let mut stage = stage(ScreenMode::Main);
    let above = stage.tui.transcript_mut().push(Fixed::new(&["above"]));
    stage.tui.transcript_mut().push(image(ImageProtocol::Kitty));
    stage.frame();
    let block = stage.tui.transcript_mut().get_mut(above).unwrap();
    let block: &mut dyn std::any::Any = block;
    block
        .downcast_mut::<Fixed>()
        .unwrap()
        .lines
        .push("more".to_owned());
    stage.frame();
    let deleted = stage.last_frame.find(&kitty_delete(77)).unwrap();
    let drawn = stage.last_frame.find("\x1b_Ga=T").unwrap();
    assert!(deleted < drawn);
    assert_eq!(stage.screen()[..2], ["above", "more"]);
}

#[test]
fn a_change_elsewhere_leaves_an_image_alone() {
    let mut stage = stage(ScreenMode::Main);
    stage.tui.transcript_mut().push(image(ImageProtocol::Kitty));
    stage.frame();
    stage.tui.transcript_mut().push(Fixed::new(&["below"]));
    stage.frame();
    assert!(
        !stage.last_frame.contains("\x1b_G"),
        "{:?}",
        stage.last_frame
    );
}

#[test]
fn an_inline_file_is_drawn_from_its_first_row() {
    let mut stage = stage(ScreenMode::Main);
    stage
        .tui
        .transcript_mut()
        .push(image(ImageProtocol::ITerm2));
    stage.frame();
    assert!(stage.last_frame.contains("\r\x1b7\x1b[2A\x1b]1337;File="));
}

#[test]
fn a_full_screen_cuts_images_at_its_edges_and_sends_them_once() {
    let mut stage = stage(ScreenMode::Full);
    stage.tui.transcript_mut().push(Fixed::numbered(0..4));
    stage.tui.transcript_mut().push(image(ImageProtocol::Kitty));
    stage.tui.transcript_mut().push(Fixed::numbered(4..8));
    stage.frame();
    assert!(stage.last_frame.contains("a=T") && stage.last_frame.contains("r=2;"));
    stage.tui.scroll_by(-2);
    stage.frame();
    let whole = "\x1b_Ga=d,d=a,q=2\x1b\\\x1b[2;1H\x1b_Ga=p,q=2,C=1,c=4,r=3,i=77;\x1b\\";
    assert!(stage.last_frame.contains(whole), "{:?}", stage.last_frame);
    stage.tui.scroll_by(-100);
    stage.frame();
    assert!(stage.last_frame.contains("a=p") && stage.last_frame.contains("r=2;"));
}

#[test]
fn a_full_screen_names_inline_files_instead() {
    let mut stage = stage(ScreenMode::Full);
    stage
        .tui
        .transcript_mut()
        .push(image(ImageProtocol::ITerm2));
    stage.frame();
    assert!(!stage.last_frame.contains("1337"));
    assert!(stage.screen().contains(&"[image]".to_owned()));
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
