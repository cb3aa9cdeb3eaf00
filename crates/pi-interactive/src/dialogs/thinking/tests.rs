use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{Stage, survives_every_size, withstands_anything};

fn open(look: &Look) -> Window<ThinkingDialog> {
    let levels = ThinkingLevel::ALL[..5].to_vec();
    let (current, default) = (ThinkingLevel::Medium, Some(ThinkingLevel::High));
    ThinkingDialog::open(look.clone(), levels, current, default)
}

fn stage() -> Stage<Window<ThinkingDialog>> {
    let look = Look::for_tests();
    Stage::new(&look, open(&look))
}

#[test]
fn the_level_in_use_is_selected() {
    let mut stage = stage();
    insta::assert_snapshot!(stage.screen());
    stage.press("enter");
    assert_eq!(
        stage.intents(),
        [Intent::SetThinking(ThinkingLevel::Medium)]
    );
}

#[test]
fn a_level_is_found_by_its_name_and_kept() {
    let mut stage = stage();
    stage.press("'min ctrl+s");
    assert_eq!(
        stage.intents(),
        [Intent::SaveDefaultThinking(ThinkingLevel::Minimal)]
    );
    assert!(stage.is_done());
}

#[test]
fn the_selection_goes_round() {
    let mut stage = stage();
    stage.press("down down enter");
    assert_eq!(stage.intents(), [Intent::SetThinking(ThinkingLevel::Off)]);
}

#[test]
fn it_fits_any_terminal() {
    survives_every_size(open(&Look::for_tests()));
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || open(&look));
}
