use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, fits_every_size, survives_random_input};

fn open(ui: &UiTheme) -> DialogFrame<ThinkingDialog> {
    let levels = ThinkingLevel::ALL[..5].to_vec();
    let (current, default) = (ThinkingLevel::Medium, Some(ThinkingLevel::High));
    ThinkingDialog::open(ui.clone(), levels, current, default)
}

fn tester() -> DialogTester<DialogFrame<ThinkingDialog>> {
    let ui = UiTheme::for_tests();
    DialogTester::new(&ui, open(&ui))
}

#[test]
fn the_current_level_is_selected() {
    let mut tester = tester();
    insta::assert_snapshot!(tester.screen());
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::SetThinking(ThinkingLevel::Medium)]
    );
}

#[test]
fn a_level_is_found_by_name_and_saved() {
    let mut tester = tester();
    tester.press("'min ctrl+s");
    assert_eq!(
        tester.intents(),
        [Intent::SaveDefaultThinking(ThinkingLevel::Minimal)]
    );
    assert!(tester.is_done());
}

#[test]
fn the_selection_wraps() {
    let mut tester = tester();
    tester.press("down down enter");
    assert_eq!(tester.intents(), [Intent::SetThinking(ThinkingLevel::Off)]);
}

#[test]
fn fits_any_terminal() {
    fits_every_size(open(&UiTheme::for_tests()));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || open(&ui));
}
