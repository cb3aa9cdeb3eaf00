use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{HOSTILE, Stage, survives_every_size, withstands_anything};

fn points(texts: &[&str]) -> Vec<ForkPoint> {
    let point = |(index, text): (usize, &&str)| ForkPoint {
        entry: EntryId::from(format!("0000000{index}")),
        text: (*text).to_owned(),
    };
    texts.iter().enumerate().map(point).collect()
}

#[test]
fn the_newest_message_is_selected_and_going_down_begins_again() {
    let look = Look::for_tests();
    let points = points(&["plan a garden", "yes,\ndahlias", "and a pond"]);
    let mut stage = Stage::new(&look, ForkDialog::open(look.clone(), points.clone()));
    insta::assert_snapshot!(stage.screen());
    stage.press("down down enter");
    let entry = points[1].entry.clone();
    assert_eq!(stage.intents(), [Intent::Fork { entry }]);
    assert!(stage.is_done());
}

#[test]
fn a_click_forks() {
    let look = Look::for_tests();
    let points = points(&["one", "two"]);
    let mut stage = Stage::new(&look, ForkDialog::open(look.clone(), points.clone()));
    stage.click("one");
    let entry = points[0].entry.clone();
    assert_eq!(stage.intents(), [Intent::Fork { entry }]);
}

#[test]
fn many_messages_scroll_and_say_where_one_is() {
    let look = Look::for_tests();
    let texts: Vec<String> = (0..50).map(|index| format!("message {index}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let dialog = ForkDialog::open(look.clone(), points(&texts));
    let mut stage = Stage::sized(&look, dialog, 40, 12);
    let screen = stage.screen();
    assert!(screen.contains("→ message 49"), "{screen}");
    stage.press("pageUp");
    assert!(!stage.screen().contains("→ message 49"));
}

#[test]
fn any_text_fits_any_terminal() {
    survives_every_size(ForkDialog::open(Look::for_tests(), points(&[HOSTILE; 30])));
    survives_every_size(ForkDialog::open(Look::for_tests(), Vec::new()));
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || {
        ForkDialog::open(look.clone(), points(&[HOSTILE; 30]))
    });
}
