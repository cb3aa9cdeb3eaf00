//! Overlays on the screen, and who has the keyboard.

use std::time::Instant;

use pi_tui::{
    OverlayAnchor, FocusTarget, FocusFallback, InputEvent, InputOutcome, KeyEvent, ExitBehavior, OverlayId,
    OverlayOptions, ShrinkPolicy, Size, Tui, OverlayWidth,
};
use pretty_assertions::assert_eq;

use crate::emulator::{Avt, Emulator as _, Fixed, Stage, strict};

const SIZE: Size = Size {
    columns: 12,
    rows: 4,
};

fn narrow() -> OverlayOptions {
    OverlayOptions {
        width: OverlayWidth::Columns(4),
        anchor: OverlayAnchor::TopRight,
        ..OverlayOptions::default()
    }
}

fn stage() -> Stage<Avt> {
    Stage::new(SIZE, strict(ShrinkPolicy::LeaveEmpty))
}

#[test]
fn an_overlay_covers_and_uncovers() {
    let mut stage = stage();
    stage
        .tui
        .transcript_mut()
        .push(Fixed::new(&["\x1b[31m123456789012", "漢漢漢漢漢漢"]));
    stage.frame();
    let options = OverlayOptions {
        column: Some(pi_tui::OverlayPosition::Cell(3)),
        ..narrow()
    };
    let id = stage.tui.show_overlay(Fixed::new(&["over", "la"]), options);
    stage.frame();
    assert_eq!(stage.screen()[0], "123over89012");
    assert_eq!(stage.screen()[1].replace(' ', ""), "漢la漢漢");
    assert_eq!(
        stage.tui.overlay_bounds(id).map(|bounds| bounds.column),
        Some(3)
    );
    stage.tui.remove_overlay(id);
    stage.frame();
    assert_eq!(stage.screen()[0], "123456789012");
    assert!(!stage.tui.has_overlay());
}

#[test]
fn nothing_of_an_overlay_enters_the_scrollback() {
    let mut stage = stage();
    stage.tui.transcript_mut().push(Fixed::numbered(0..4));
    stage
        .tui
        .show_overlay(Fixed::new(&["over", "over"]), narrow());
    stage.frame();
    assert_eq!(stage.screen()[0], "line 0  over");
    stage.tui.transcript_mut().push(Fixed::numbered(4..7));
    stage.frame();
    assert_eq!(stage.scrollback(), ["line 0", "line 1", "line 2"]);
    assert_eq!(
        stage.screen(),
        ["line 3  over", "line 4  over", "line 5", "line 6"]
    );
}

#[test]
fn nothing_of_an_overlay_stays_after_the_end() {
    let mut stage = stage();
    stage.tui.transcript_mut().push(Fixed::numbered(0..2));
    stage.tui.show_overlay(Fixed::new(&["over"]), narrow());
    stage.frame();
    let bytes = stage.tui.stop(ExitBehavior::RestoreScreen);
    stage.emulator.feed(&bytes);
    assert_eq!(stage.screen(), ["line 0", "line 1", "", ""]);
}

#[test]
fn an_overlay_on_an_empty_screen_is_placed_by_the_screen() {
    let mut stage = stage();
    let options = OverlayOptions {
        anchor: OverlayAnchor::BottomLeft,
        ..narrow()
    };
    stage.tui.show_overlay(Fixed::new(&["over"]), options);
    stage.frame();
    assert_eq!(stage.screen(), ["", "", "", "over"]);
}

fn type_key(tui: &mut Tui) -> InputOutcome {
    let event = InputEvent::Key(KeyEvent::typed('x'));
    tui.handle(&event, Instant::now()).outcome
}

fn overlay(tui: &mut Tui, captures_focus: bool) -> OverlayId {
    let options = OverlayOptions {
        captures_focus,
        ..narrow()
    };
    tui.show_overlay(Fixed::new(&["o"]), options)
}

#[test]
fn the_keyboard_goes_to_the_overlay_and_back() {
    let mut stage = stage();
    let tui = &mut stage.tui;
    let editor = FocusTarget::Dock(tui.dock_mut().push(Fixed::new(&["> "])));
    assert_eq!(type_key(tui), InputOutcome::Ignored);
    tui.set_focus(Some(editor));
    assert_eq!(type_key(tui), InputOutcome::Consumed);
    let passive = overlay(tui, false);
    assert_eq!(tui.focused(), Some(editor));
    let first = overlay(tui, true);
    let second = overlay(tui, true);
    assert_eq!(tui.focused(), Some(FocusTarget::Overlay(second)));
    tui.set_overlay_hidden(second, true);
    assert_eq!(tui.focused(), Some(FocusTarget::Overlay(first)));
    tui.set_overlay_hidden(second, false);
    assert_eq!(tui.focused(), Some(FocusTarget::Overlay(second)));
    // The one below leaves first; what it remembered passes to the one above.
    tui.remove_overlay(first);
    tui.remove_overlay(second);
    assert_eq!(tui.focused(), Some(editor));
    tui.focus_overlay(passive);
    assert_eq!(tui.focused(), Some(FocusTarget::Overlay(passive)));
    tui.release_overlay(passive, FocusFallback::Automatic);
    assert_eq!(tui.focused(), Some(editor));
}

#[test]
fn an_overlay_gets_the_keyboard_back_after_a_replacement() {
    let mut stage = stage();
    let tui = &mut stage.tui;
    let editor = FocusTarget::Dock(tui.dock_mut().push(Fixed::new(&["> "])));
    tui.set_focus(Some(editor));
    let overlay = FocusTarget::Overlay(overlay(tui, true));
    let dialog = tui.dock_mut().push(Fixed::new(&["yes/no"]));
    tui.set_focus(Some(FocusTarget::Dock(dialog)));
    assert_eq!(type_key(tui), InputOutcome::Consumed);
    assert_eq!(tui.focused(), Some(FocusTarget::Dock(dialog)));
    tui.dock_mut().remove(dialog);
    tui.set_focus(Some(editor));
    assert_eq!(tui.focused(), Some(overlay));
    tui.set_focus(Some(FocusTarget::Dock(dialog)));
    tui.set_focus(None);
    assert_eq!(tui.focused(), Some(overlay));
}

#[test]
fn an_overlay_that_a_small_screen_hides_has_no_keyboard() {
    let mut stage = stage();
    let tui = &mut stage.tui;
    let editor = FocusTarget::Dock(tui.dock_mut().push(Fixed::new(&["> "])));
    tui.set_focus(Some(editor));
    let options = OverlayOptions {
        visible: |size| size.columns > 10,
        ..narrow()
    };
    let id = tui.show_overlay(Fixed::new(&["o"]), options);
    assert_eq!(tui.focused(), Some(FocusTarget::Overlay(id)));
    tui.set_size(Size { columns: 8, ..SIZE });
    assert_eq!(type_key(tui), InputOutcome::Consumed);
    assert_eq!(tui.focused(), Some(editor));
    tui.set_size(SIZE);
    type_key(tui);
    assert_eq!(tui.focused(), Some(FocusTarget::Overlay(id)));
}
