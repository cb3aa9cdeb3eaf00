use pi_tui::{Platform, Text, UserKeybindings};
use std::sync::Arc;

use super::*;
use crate::dialogs::testing::{Stage, survives_every_size, withstands_anything};
use crate::keys;

#[test]
fn the_keys_are_listed_by_where_they_count() {
    let look = Look::for_tests();
    let dialog = ReaderDialog::hotkeys(look.clone());
    let mut stage = Stage::sized(&look, dialog, 80, 120);
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn the_keys_are_those_in_force() {
    let look = Look::for_tests();
    let mut user = UserKeybindings::default();
    user.bind(keys::MODEL_SELECT, ["alt+m"]);
    user.bind(keys::TOOLS_EXPAND, []);
    look.change(|appearance| {
        appearance.keys = Arc::new(keys::keybindings(Platform::Linux, &user));
    });
    let mut stage = Stage::sized(&look, ReaderDialog::hotkeys(look.clone()), 80, 120);
    let screen = stage.screen();
    assert!(screen.contains("alt+m"), "{screen}");
    assert!(!screen.contains("Expand or collapse details"), "{screen}");
}

#[test]
fn a_long_text_scrolls_and_ends() {
    let look = Look::for_tests();
    let text: Vec<String> = (1..=50).map(|line| format!("line {line}.")).collect();
    let content = Box::new(Text::new(text.join("\n")).padding(1, 0));
    let dialog = ReaderDialog::open(look.clone(), "News", content);
    let mut stage = Stage::sized(&look, dialog, 40, 20);
    assert!(stage.screen().contains("lines 1–10 of 50"));
    stage.press("down pageDown");
    assert!(stage.screen().contains("lines 12–21 of 50"));
    stage.press("end");
    assert!(stage.screen().contains("line 50."));
    stage.press("down down up");
    assert!(stage.screen().contains("lines 40–49 of 50"));
    stage.press("home");
    assert!(stage.screen().contains("line 1."));
    stage.press("escape");
    assert!(stage.is_done());
}

#[test]
fn it_fits_any_terminal() {
    survives_every_size(ReaderDialog::hotkeys(Look::for_tests()));
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || ReaderDialog::hotkeys(look.clone()));
}
