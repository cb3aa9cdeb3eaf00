use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

fn points(texts: &[&str]) -> Vec<ForkPoint> {
    let point = |(index, text): (usize, &&str)| ForkPoint {
        entry: EntryId::from(format!("0000000{index}")),
        text: (*text).to_owned(),
    };
    texts.iter().enumerate().map(point).collect()
}

#[test]
fn the_newest_message_is_selected_and_the_list_wraps() {
    let ui = UiTheme::for_tests();
    let points = points(&["plan a garden", "yes,\ndahlias", "and a pond"]);
    let mut tester = DialogTester::new(&ui, ForkDialog::open(ui.clone(), points.clone()));
    insta::assert_snapshot!(tester.screen());
    tester.press("down down enter");
    let entry = points[1].entry.clone();
    assert_eq!(tester.intents(), [Intent::Fork { entry }]);
    assert!(tester.is_done());
}

#[test]
fn a_click_forks() {
    let ui = UiTheme::for_tests();
    let points = points(&["one", "two"]);
    let mut tester = DialogTester::new(&ui, ForkDialog::open(ui.clone(), points.clone()));
    tester.click("one");
    let entry = points[0].entry.clone();
    assert_eq!(tester.intents(), [Intent::Fork { entry }]);
}

#[test]
fn many_messages_scroll_and_show_the_position() {
    let ui = UiTheme::for_tests();
    let texts: Vec<String> = (0..50).map(|index| format!("message {index}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let dialog = ForkDialog::open(ui.clone(), points(&texts));
    let mut tester = DialogTester::sized(&ui, dialog, 40, 12);
    let screen = tester.screen();
    assert!(screen.contains("→ message 49"), "{screen}");
    tester.press("pageUp");
    assert!(!tester.screen().contains("→ message 49"));
}

#[test]
fn any_text_fits_any_terminal() {
    fits_every_size(ForkDialog::open(
        UiTheme::for_tests(),
        points(&[HOSTILE; 30]),
    ));
    fits_every_size(ForkDialog::open(UiTheme::for_tests(), Vec::new()));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || ForkDialog::open(ui.clone(), points(&[HOSTILE; 30])));
}
