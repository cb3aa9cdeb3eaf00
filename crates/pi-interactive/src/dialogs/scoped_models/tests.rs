use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{HOSTILE, Stage, model, survives_every_size, withstands_anything};

fn models() -> Vec<Arc<Model>> {
    vec![
        model("acme", "alpha"),
        model("acme", "beta"),
        model("mock", "gamma"),
    ]
}

fn stage(enabled: Option<Vec<EnabledModel>>) -> Stage<Window<ScopedModelsDialog>> {
    let look = Look::for_tests();
    Stage::new(
        &look,
        ScopedModelsDialog::open(look.clone(), models(), enabled),
    )
}

fn scoped(models: &[Arc<Model>]) -> Vec<ScopedModel> {
    let scoped = |model: &Arc<Model>| ScopedModel {
        model: Arc::clone(model),
        thinking: None,
    };
    models.iter().map(scoped).collect()
}

#[test]
fn switching_one_off_counts_at_once_and_is_not_saved() {
    let mut stage = stage(None);
    insta::assert_snapshot!(stage.screen());
    stage.press("enter");
    assert_eq!(
        stage.intents(),
        [Intent::SetScope(Some(scoped(&[
            model("acme", "beta"),
            model("mock", "gamma")
        ])))]
    );
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn switching_the_last_one_on_means_all_again() {
    let mut stage = stage(None);
    stage.press("enter up enter");
    assert_eq!(stage.intents().pop(), Some(Intent::SetScope(None)));
}

#[test]
fn the_order_changes_and_is_saved() {
    let mut stage = stage(None);
    stage.press("ctrl+x down enter");
    stage.press("up up enter");
    stage.intents();
    stage.press("up alt+up ctrl+s");
    assert_eq!(
        stage.intents(),
        [
            Intent::SetScope(Some(scoped(&[
                model("mock", "gamma"),
                model("acme", "beta")
            ]))),
            Intent::SaveScope(Some(vec!["mock/gamma".to_owned(), "acme/beta".to_owned()]))
        ]
    );
    assert!(!stage.screen().contains("Not saved yet."));
}

#[test]
fn what_is_not_available_stays_when_saved() {
    let mut stage = stage(Some(vec![
        EnabledModel::missing("gone/model".to_owned()),
        EnabledModel::available(model("acme", "beta"), Some(pi_ai::ThinkingLevel::High)),
    ]));
    assert!(stage.screen().contains("gone/model [not available now]"));
    stage.press("ctrl+s");
    assert_eq!(
        stage.intents(),
        [Intent::SaveScope(Some(vec![
            "gone/model".to_owned(),
            "acme/beta:high".to_owned()
        ]))]
    );
}

#[test]
fn a_provider_goes_on_and_off_as_a_whole() {
    let mut stage = stage(None);
    stage.press("ctrl+p");
    assert_eq!(
        stage.intents(),
        [Intent::SetScope(Some(scoped(&[model("mock", "gamma")])))]
    );
    stage.press("down ctrl+p");
    assert_eq!(stage.intents().pop(), Some(Intent::SetScope(None)));
}

#[test]
fn all_and_none_are_about_what_was_searched_for() {
    let mut stage = stage(None);
    stage.press("'beta ctrl+x");
    assert_eq!(
        stage.intents(),
        [Intent::SetScope(Some(scoped(&[
            model("acme", "alpha"),
            model("mock", "gamma")
        ])))]
    );
    stage.press("ctrl+c");
    assert!(!stage.is_done());
    stage.press("ctrl+c");
    assert!(stage.is_done());
}

#[test]
fn news_replace_the_models() {
    let mut stage = stage(Some(vec![EnabledModel::missing("new/one".to_owned())]));
    stage.feed(DialogNews::Models(vec![model("new", "one")]));
    assert!(stage.screen().contains("✓ one [new]"));
}

#[test]
fn any_name_fits_any_terminal() {
    let hostile = vec![model(HOSTILE, HOSTILE)];
    let enabled = Some(vec![EnabledModel::missing(HOSTILE.to_owned())]);
    survives_every_size(ScopedModelsDialog::open(
        Look::for_tests(),
        hostile,
        enabled,
    ));
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || {
        ScopedModelsDialog::open(look.clone(), models(), None)
    });
}
