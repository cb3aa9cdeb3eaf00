use pi_tui::{Platform, Text, UserKeybindings};
use std::sync::Arc;

use super::*;
use crate::dialogs::testing::{DialogTester, fits_every_size, survives_random_input};
use crate::keys;

#[test]
fn shortcuts_are_grouped_by_section() {
    let ui = UiTheme::for_tests();
    let dialog = ReaderDialog::hotkeys(ui.clone());
    let mut tester = DialogTester::sized(&ui, dialog, 80, 120);
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn user_keybindings_are_shown() {
    let ui = UiTheme::for_tests();
    let mut user = UserKeybindings::default();
    user.bind(keys::MODEL_SELECT, ["alt+m"]);
    user.bind(keys::TOOLS_EXPAND, []);
    ui.update(|ctx| {
        ctx.keys = Arc::new(keys::keybindings(Platform::Linux, &user));
    });
    let mut tester = DialogTester::sized(&ui, ReaderDialog::hotkeys(ui.clone()), 80, 120);
    let screen = tester.screen();
    assert!(screen.contains("alt+m"), "{screen}");
    assert!(!screen.contains("Expand or collapse details"), "{screen}");
}

#[test]
fn a_long_text_scrolls() {
    let ui = UiTheme::for_tests();
    let text: Vec<String> = (1..=50).map(|line| format!("line {line}.")).collect();
    let content = Box::new(Text::new(text.join("\n")).padding(1, 0));
    let dialog = ReaderDialog::open(ui.clone(), "News", content);
    let mut tester = DialogTester::sized(&ui, dialog, 40, 20);
    assert!(tester.screen().contains("Lines 1–10 of 50"));
    tester.press("down pageDown");
    assert!(tester.screen().contains("Lines 12–21 of 50"));
    tester.press("end");
    assert!(tester.screen().contains("line 50."));
    tester.press("down down up");
    assert!(tester.screen().contains("Lines 40–49 of 50"));
    tester.press("home");
    assert!(tester.screen().contains("line 1."));
    tester.press("escape");
    assert!(tester.is_done());
}

#[test]
fn fits_any_terminal() {
    fits_every_size(ReaderDialog::hotkeys(UiTheme::for_tests()));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || ReaderDialog::hotkeys(ui.clone()));
}
