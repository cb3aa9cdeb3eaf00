use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};
use crate::test_support::model;

fn choices() -> ModelDialogOptions {
    ModelDialogOptions {
        current: Some(model("mock", "alpha")),
        default: Some(("acme".to_owned(), "zeta".to_owned())),
        available: vec![
            model("mock", "beta"),
            model("acme", "gamma"),
            model("acme", "zeta"),
            model("mock", "alpha"),
        ],
        ..ModelDialogOptions::default()
    }
}

fn tester(choices: ModelDialogOptions) -> DialogTester<DialogFrame<ModelDialog>> {
    let ui = UiTheme::for_tests();
    DialogTester::new(&ui, ModelDialog::open(ui.clone(), choices))
}

#[test]
fn the_current_model_comes_first_then_the_default_then_by_provider() {
    insta::assert_snapshot!(tester(choices()).screen());
}

#[test]
fn typing_narrows_the_list_and_enter_uses_the_best_match() {
    let mut tester = tester(choices());
    tester.press("'gam");
    insta::assert_snapshot!(tester.screen());
    tester.press("enter");
    assert_eq!(tester.intents(), [Intent::SetModel(model("acme", "gamma"))]);
    assert!(tester.is_done());
}

#[test]
fn saving_makes_the_model_the_default_too() {
    let mut tester = tester(choices());
    tester.press("down ctrl+s");
    assert_eq!(
        tester.intents(),
        [Intent::SaveDefaultModel(model("acme", "zeta"))]
    );
    assert!(tester.is_done());
}

#[test]
fn the_word_default_finds_the_default() {
    let mut tester = tester(choices());
    tester.press("'def enter");
    assert_eq!(tester.intents(), [Intent::SetModel(model("acme", "zeta"))]);
}

#[test]
fn no_match_is_reported_and_enter_does_nothing() {
    let mut tester = tester(choices());
    tester.press("'nosuchmodel enter ctrl+s");
    assert!(tester.screen().contains("No matching models."));
    assert_eq!(tester.intents(), []);
    assert!(!tester.is_done());
    tester.press("escape");
    assert!(tester.is_done());
}

#[test]
fn without_models_the_sign_in_hint_is_shown() {
    let mut tester = tester(ModelDialogOptions::default());
    assert!(tester.screen().contains("/login"));
}

#[test]
fn a_scope_is_shown_first_and_tab_shows_all() {
    let mut choices = choices();
    choices.scoped = vec![ScopedModel {
        model: model("mock", "beta"),
        thinking: None,
    }];
    let mut tester = tester(choices);
    assert!(!tester.screen().contains("gamma"));
    tester.press("tab");
    assert!(tester.screen().contains("gamma"));
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn the_initial_search_can_be_extended() {
    let mut choices = choices();
    choices.search = "bet".to_owned();
    let mut tester = tester(choices);
    assert!(!tester.screen().contains("gamma"));
    tester.press("'a enter");
    assert_eq!(tester.intents(), [Intent::SetModel(model("mock", "beta"))]);
}

#[test]
fn models_that_contain_the_word_come_before_those_with_its_letters() {
    let mut choices = choices();
    // The letters of "opus" at the start of words score better than the word inside of one.
    choices.available = vec![
        model("o", "p-u-s"),
        model("reseller", "a-very-long-name-with-xopus-in-it"),
    ];
    choices.search = "opus".to_owned();
    let mut tester = tester(choices);
    tester.press("enter");
    let found = model("reseller", "a-very-long-name-with-xopus-in-it");
    assert_eq!(tester.intents(), [Intent::SetModel(found)]);
}

#[test]
fn catalog_updates_keep_the_selection() {
    let mut with_refresh = choices();
    with_refresh.refreshing = true;
    let mut tester = tester(with_refresh);
    assert!(tester.screen().contains("Updating models…"));
    tester.press("down down");
    let mut models = choices().available;
    models.push(model("aaa", "new"));
    tester.on_update(DialogUpdate::Models(models));
    assert!(tester.screen().contains("Models are up to date."));
    tester.press("enter");
    assert_eq!(tester.intents(), [Intent::SetModel(model("acme", "gamma"))]);
}

#[test]
fn a_failed_refresh_is_reported_and_the_list_stays() {
    let mut tester = tester(choices());
    tester.on_update(DialogUpdate::Failed("mock: \x1b[2Jno network".to_owned()));
    let screen = tester.screen();
    assert!(screen.contains("mock: no network"), "{screen}");
    assert!(screen.contains("gamma"));
}

#[test]
fn a_click_uses_a_model() {
    let mut tester = tester(choices());
    tester.click("beta");
    assert_eq!(tester.intents(), [Intent::SetModel(model("mock", "beta"))]);
}

#[test]
fn model_names_are_sanitized() {
    let mut choices = choices();
    choices.available.push(model(HOSTILE, HOSTILE));
    let ui = UiTheme::for_tests();
    fits_every_size(ModelDialog::open(ui.clone(), choices.clone()));
    let mut tester = DialogTester::new(&ui, ModelDialog::open(ui.clone(), choices));
    tester.press("up");
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn a_tiny_terminal_keeps_the_field_and_the_selection() {
    let ui = UiTheme::for_tests();
    let mut tester = DialogTester::sized(&ui, ModelDialog::open(ui.clone(), choices()), 20, 8);
    tester.press("down down");
    let screen = tester.screen();
    assert!(screen.contains(" >"), "{screen}");
    assert!(screen.contains("→   gamma"), "{screen}");
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || ModelDialog::open(ui.clone(), choices()));
}
