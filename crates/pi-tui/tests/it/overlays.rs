//! Overlays on the screen, and keyboard focus.

use std::time::Instant;

use pi_tui::{
    ExitBehavior, FocusFallback, FocusTarget, InputEvent, InputOutcome, KeyEvent, OverlayAnchor,
    OverlayId, OverlayOptions, OverlayWidth, ShrinkPolicy, Size, Tui,
};
use pretty_assertions::assert_eq;

use crate::emulator::{Avt, EmulatedTui, Emulator as _, FixedLines, strict};

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

fn ui() -> EmulatedTui<Avt> {
    EmulatedTui::new(SIZE, strict(ShrinkPolicy::LeaveEmpty))
}

#[test]
fn an_overlay_covers_and_uncovers() {
    let mut ui = ui();
    ui.tui
        .transcript_mut()
        .push(FixedLines::new(&["\x1b[31m123456789012", "漢漢漢漢漢漢"]));
    ui.frame();
    let options = OverlayOptions {
        column: Some(pi_tui::OverlayPosition::Cell(3)),
        ..narrow()
    };
    let id = ui
        .tui
        .scene_mut()
        .show_overlay(FixedLines::new(&["over", "la"]), options);
    ui.frame();
    assert_eq!(ui.screen()[0], "123over89012");
    assert_eq!(ui.screen()[1].replace(' ', ""), "漢la漢漢");
    assert_eq!(
        ui.tui
            .scene()
            .overlay_bounds(id)
            .map(|bounds| bounds.column),
        Some(3)
    );
    ui.tui.scene_mut().remove_overlay(id);
    ui.frame();
    assert_eq!(ui.screen()[0], "123456789012");
    assert!(!ui.tui.scene().has_overlay());
}

#[test]
fn overlays_do_not_enter_the_scrollback() {
    let mut ui = ui();
    ui.tui.transcript_mut().push(FixedLines::numbered(0..4));
    ui.tui
        .scene_mut()
        .show_overlay(FixedLines::new(&["over", "over"]), narrow());
    ui.frame();
    assert_eq!(ui.screen()[0], "line 0  over");
    ui.tui.transcript_mut().push(FixedLines::numbered(4..7));
    ui.frame();
    assert_eq!(ui.scrollback(), ["line 0", "line 1", "line 2"]);
    assert_eq!(
        ui.screen(),
        ["line 3  over", "line 4  over", "line 5", "line 6"]
    );
}

#[test]
fn overlays_do_not_remain_after_exit() {
    let mut ui = ui();
    ui.tui.transcript_mut().push(FixedLines::numbered(0..2));
    ui.tui
        .scene_mut()
        .show_overlay(FixedLines::new(&["over"]), narrow());
    ui.frame();
    let bytes = ui.tui.stop(ExitBehavior::RestoreScreen);
    ui.emulator.feed(&bytes);
    assert_eq!(ui.screen(), ["line 0", "line 1", "", ""]);
}

#[test]
fn overlays_are_positioned_relative_to_the_screen() {
    let mut ui = ui();
    let options = OverlayOptions {
        anchor: OverlayAnchor::BottomLeft,
        ..narrow()
    };
    ui.tui
        .scene_mut()
        .show_overlay(FixedLines::new(&["over"]), options);
    ui.frame();
    assert_eq!(ui.screen(), ["", "", "", "over"]);
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
    tui.scene_mut()
        .show_overlay(FixedLines::new(&["o"]), options)
}

#[test]
fn focus_moves_to_the_overlay_and_back() {
    let mut ui = ui();
    let tui = &mut ui.tui;
    let editor = FocusTarget::Dock(tui.dock_mut().push(FixedLines::new(&["> "])));
    assert_eq!(type_key(tui), InputOutcome::Ignored);
    tui.scene_mut().set_focus(Some(editor));
    assert_eq!(type_key(tui), InputOutcome::Consumed);
    let non_capturing = overlay(tui, false);
    assert_eq!(tui.scene().focused(), Some(editor));
    let first = overlay(tui, true);
    let second = overlay(tui, true);
    assert_eq!(tui.scene().focused(), Some(FocusTarget::Overlay(second)));
    tui.scene_mut().set_overlay_hidden(second, true);
    assert_eq!(tui.scene().focused(), Some(FocusTarget::Overlay(first)));
    tui.scene_mut().set_overlay_hidden(second, false);
    assert_eq!(tui.scene().focused(), Some(FocusTarget::Overlay(second)));
    // The lower overlay is removed first; its previous focus target passes to the one above.
    tui.scene_mut().remove_overlay(first);
    tui.scene_mut().remove_overlay(second);
    assert_eq!(tui.scene().focused(), Some(editor));
    tui.scene_mut().focus_overlay(non_capturing);
    assert_eq!(
        tui.scene().focused(),
        Some(FocusTarget::Overlay(non_capturing))
    );
    tui.scene_mut()
        .release_overlay(non_capturing, FocusFallback::Automatic);
    assert_eq!(tui.scene().focused(), Some(editor));
}

#[test]
fn overlay_regains_focus_after_a_replacement() {
    let mut ui = ui();
    let tui = &mut ui.tui;
    let editor = FocusTarget::Dock(tui.dock_mut().push(FixedLines::new(&["> "])));
    tui.scene_mut().set_focus(Some(editor));
    let overlay = FocusTarget::Overlay(overlay(tui, true));
    let dialog = tui.dock_mut().push(FixedLines::new(&["yes/no"]));
    tui.scene_mut().set_focus(Some(FocusTarget::Dock(dialog)));
    assert_eq!(type_key(tui), InputOutcome::Consumed);
    assert_eq!(tui.scene().focused(), Some(FocusTarget::Dock(dialog)));
    tui.dock_mut().remove(dialog);
    tui.scene_mut().set_focus(Some(editor));
    assert_eq!(tui.scene().focused(), Some(overlay));
    tui.scene_mut().set_focus(Some(FocusTarget::Dock(dialog)));
    tui.scene_mut().set_focus(None);
    assert_eq!(tui.scene().focused(), Some(overlay));
}

#[test]
fn overlay_hidden_by_a_small_screen_has_no_focus() {
    let mut ui = ui();
    let tui = &mut ui.tui;
    let editor = FocusTarget::Dock(tui.dock_mut().push(FixedLines::new(&["> "])));
    tui.scene_mut().set_focus(Some(editor));
    let options = OverlayOptions {
        visible: |size| size.columns > 10,
        ..narrow()
    };
    let id = tui
        .scene_mut()
        .show_overlay(FixedLines::new(&["o"]), options);
    assert_eq!(tui.scene().focused(), Some(FocusTarget::Overlay(id)));
    tui.set_size(Size { columns: 8, ..SIZE });
    assert_eq!(type_key(tui), InputOutcome::Consumed);
    assert_eq!(tui.scene().focused(), Some(editor));
    tui.set_size(SIZE);
    type_key(tui);
    assert_eq!(tui.scene().focused(), Some(FocusTarget::Overlay(id)));
}
