use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};
use crate::test_support::model;

fn models() -> Vec<Arc<Model>> {
    vec![
        model("acme", "alpha"),
        model("acme", "beta"),
        model("mock", "gamma"),
    ]
}

fn tester(enabled: Option<Vec<EnabledModel>>) -> DialogTester<DialogFrame<ScopedModelsDialog>> {
    let ui = UiTheme::for_tests();
    DialogTester::new(&ui, ScopedModelsDialog::open(ui.clone(), models(), enabled))
}

fn scoped(models: &[Arc<Model>]) -> Vec<ScopedModel> {
    let scoped = |model: &Arc<Model>| ScopedModel {
        model: Arc::clone(model),
        thinking: None,
    };
    models.iter().map(scoped).collect()
}

#[test]
fn disabling_a_model_applies_at_once_without_saving() {
    let mut tester = tester(None);
    insta::assert_snapshot!(tester.screen());
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::SetScope(Some(scoped(&[
            model("acme", "beta"),
            model("mock", "gamma")
        ])))]
    );
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn enabling_the_last_model_means_all() {
    let mut tester = tester(None);
    tester.press("enter up enter");
    assert_eq!(tester.intents().pop(), Some(Intent::SetScope(None)));
}

#[test]
fn the_order_changes_and_is_saved() {
    let mut tester = tester(None);
    tester.press("ctrl+x down enter");
    tester.press("up up enter");
    tester.intents();
    tester.press("up alt+up ctrl+s");
    assert_eq!(
        tester.intents(),
        [
            Intent::SetScope(Some(scoped(&[
                model("mock", "gamma"),
                model("acme", "beta")
            ]))),
            Intent::SaveScope(Some(vec!["mock/gamma".to_owned(), "acme/beta".to_owned()]))
        ]
    );
    assert!(!tester.screen().contains("Unsaved changes."));
}

#[test]
fn unavailable_models_are_kept_when_saving() {
    let mut tester = tester(Some(vec![
        EnabledModel::missing("gone/model".to_owned()),
        EnabledModel::available(
            model("acme", "beta"),
            Some(pi_protocol::ThinkingLevel::High),
        ),
    ]));
    assert!(tester.screen().contains("gone/model [unavailable]"));
    tester.press("ctrl+s");
    assert_eq!(
        tester.intents(),
        [Intent::SaveScope(Some(vec![
            "gone/model".to_owned(),
            "acme/beta:high".to_owned()
        ]))]
    );
}

#[test]
fn a_provider_is_toggled_completely() {
    let mut tester = tester(None);
    tester.press("ctrl+p");
    assert_eq!(
        tester.intents(),
        [Intent::SetScope(Some(scoped(&[model("mock", "gamma")])))]
    );
    tester.press("down ctrl+p");
    assert_eq!(tester.intents().pop(), Some(Intent::SetScope(None)));
}

#[test]
fn bulk_actions_apply_to_search_results() {
    let mut tester = tester(None);
    tester.press("'beta ctrl+x");
    assert_eq!(
        tester.intents(),
        [Intent::SetScope(Some(scoped(&[
            model("acme", "alpha"),
            model("mock", "gamma")
        ])))]
    );
    tester.press("ctrl+c");
    assert!(!tester.is_done());
    tester.press("ctrl+c");
    assert!(tester.is_done());
}

#[test]
fn updates_replace_the_models() {
    let mut tester = tester(Some(vec![EnabledModel::missing("new/one".to_owned())]));
    tester.on_update(DialogUpdate::Models(vec![model("new", "one")]));
    assert!(tester.screen().contains("✓ one [new]"));
}

#[test]
fn any_name_fits_any_terminal() {
    let hostile = vec![model(HOSTILE, HOSTILE)];
    let enabled = Some(vec![EnabledModel::missing(HOSTILE.to_owned())]);
    fits_every_size(ScopedModelsDialog::open(
        UiTheme::for_tests(),
        hostile,
        enabled,
    ));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || ScopedModelsDialog::open(ui.clone(), models(), None));
}
