use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{HOSTILE, Stage, model, survives_every_size, withstands_anything};

fn choices() -> ModelChoices {
    ModelChoices {
        current: Some(model("mock", "alpha")),
        default: Some(("acme".to_owned(), "zeta".to_owned())),
        available: vec![
            model("mock", "beta"),
            model("acme", "gamma"),
            model("acme", "zeta"),
            model("mock", "alpha"),
        ],
        ..ModelChoices::default()
    }
}

fn stage(choices: ModelChoices) -> Stage<Window<ModelDialog>> {
    let look = Look::for_tests();
    Stage::new(&look, ModelDialog::open(look.clone(), choices))
}

#[test]
fn the_current_model_comes_first_then_the_default_then_by_provider() {
    insta::assert_snapshot!(stage(choices()).screen());
}

#[test]
fn typing_narrows_the_list_and_enter_uses_the_best_match() {
    let mut stage = stage(choices());
    stage.press("'gam");
    insta::assert_snapshot!(stage.screen());
    stage.press("enter");
    assert_eq!(stage.intents(), [Intent::SetModel(model("acme", "gamma"))]);
    assert!(stage.is_done());
}

#[test]
fn saving_makes_the_model_the_default_too() {
    let mut stage = stage(choices());
    stage.press("down ctrl+s");
    assert_eq!(
        stage.intents(),
        [Intent::SaveDefaultModel(model("acme", "zeta"))]
    );
    assert!(stage.is_done());
}

#[test]
fn the_word_default_finds_the_default() {
    let mut stage = stage(choices());
    stage.press("'def enter");
    assert_eq!(stage.intents(), [Intent::SetModel(model("acme", "zeta"))]);
}

#[test]
fn nothing_matching_is_said_and_enter_does_nothing() {
    let mut stage = stage(choices());
    stage.press("'nosuchmodel enter ctrl+s");
    assert!(stage.screen().contains("No model matches."));
    assert_eq!(stage.intents(), []);
    assert!(!stage.is_done());
    stage.press("escape");
    assert!(stage.is_done());
}

#[test]
fn without_any_model_the_way_to_sign_in_is_shown() {
    let mut stage = stage(ModelChoices::default());
    assert!(stage.screen().contains("/login"));
}

#[test]
fn a_scope_is_shown_first_and_tab_shows_all() {
    let mut choices = choices();
    choices.scoped = vec![ScopedModel {
        model: model("mock", "beta"),
        thinking: None,
    }];
    let mut stage = stage(choices);
    assert!(!stage.screen().contains("gamma"));
    stage.press("tab");
    assert!(stage.screen().contains("gamma"));
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn a_search_can_be_given_and_goes_on_where_it_ends() {
    let mut choices = choices();
    choices.search = "bet".to_owned();
    let mut stage = stage(choices);
    assert!(!stage.screen().contains("gamma"));
    stage.press("'a enter");
    assert_eq!(stage.intents(), [Intent::SetModel(model("mock", "beta"))]);
}

#[test]
fn news_of_catalogs_keep_the_selection() {
    let mut with_refresh = choices();
    with_refresh.refreshing = true;
    let mut stage = stage(with_refresh);
    assert!(stage.screen().contains("Looking for new models…"));
    stage.press("down down");
    let mut models = choices().available;
    models.push(model("aaa", "new"));
    stage.feed(DialogNews::Models(models));
    assert!(stage.screen().contains("The list is up to date."));
    stage.press("enter");
    assert_eq!(stage.intents(), [Intent::SetModel(model("acme", "gamma"))]);
}

#[test]
fn a_failed_refresh_is_told_and_the_list_stays() {
    let mut stage = stage(choices());
    stage.feed(DialogNews::Failed("mock: \x1b[2Jno network".to_owned()));
    let screen = stage.screen();
    assert!(screen.contains("mock: no network"), "{screen}");
    assert!(screen.contains("gamma"));
}

#[test]
fn a_click_uses_a_model() {
    let mut stage = stage(choices());
    stage.click("beta");
    assert_eq!(stage.intents(), [Intent::SetModel(model("mock", "beta"))]);
}

#[test]
fn names_of_models_cannot_write_on_the_screen() {
    let mut choices = choices();
    choices.available.push(model(HOSTILE, HOSTILE));
    let look = Look::for_tests();
    survives_every_size(ModelDialog::open(look.clone(), choices.clone()));
    let mut stage = Stage::new(&look, ModelDialog::open(look.clone(), choices));
    stage.press("up");
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn a_tiny_terminal_keeps_the_field_and_the_selection() {
    let look = Look::for_tests();
    let mut stage = Stage::sized(&look, ModelDialog::open(look.clone(), choices()), 20, 8);
    stage.press("down down");
    let screen = stage.screen();
    assert!(screen.contains(" >"), "{screen}");
    assert!(screen.contains("→   gamma"), "{screen}");
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || ModelDialog::open(look.clone(), choices()));
}
