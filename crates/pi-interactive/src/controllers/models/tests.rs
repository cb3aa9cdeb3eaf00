//! Tests of model and thinking-level selection.

use pi_views::test_support::model;
use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;

fn send(app: &TestContext, message: ModelMsg) -> Vec<String> {
    listed(&ModelController.update(message, &app.context()))
}

fn select(reference: &str, available: &[Arc<Model>]) -> Vec<AppCommand> {
    let app = TestContext::default();
    let available_models = || available.to_vec();
    let ctx = AppContext {
        available_models: &available_models,
        ..app.context()
    };
    ModelController.update(ModelMsg::Select(reference.to_owned()), &ctx)
}

#[test]
fn an_exact_reference_selects_the_model_and_others_open_the_picker() {
    let available = [
        model("anthropic", "opus"),
        model("openai", "gpt"),
        model("openrouter", "gpt"),
    ];
    let used = |reference: &str| match select(reference, &available).pop() {
        Some(AppCommand::Send(crate::app::message::AppMsg::Models(ModelMsg::Use {
            model,
            ..
        }))) => Some(model.provider.clone()),
        _ => None,
    };
    assert_eq!(used("OPUS").as_deref(), Some("anthropic"));
    assert_eq!(used("openrouter/gpt").as_deref(), Some("openrouter"));
    assert_eq!(used("gpt"), None, "two providers have it");
    let commands = listed(&select("gpt", &available));
    assert_eq!(commands, ["Dialogs(Open(Models { search: \"gpt\" }))"]);
    let commands = listed(&select("", &available));
    assert_eq!(commands, ["Dialogs(Open(Models { search: \"\" }))"]);
}

#[test]
fn a_saved_model_is_reported_as_the_default() {
    let app = TestContext::default();
    let set = |persist, result| ModelMsg::Set {
        name: "Opus".to_owned(),
        persist,
        result,
    };
    assert_eq!(
        send(&app, set(Persist::Default, Ok(()))),
        [
            "Status(ModelChanged)",
            "Status: Model: Opus (saved as default)"
        ]
    );
    let failed = set(Persist::Session, Err("no key".to_owned()));
    assert_eq!(send(&app, failed), ["Error: no key"]);
}

#[test]
fn only_the_levels_of_the_model_can_be_selected() {
    let mut app = TestContext::default();
    let select = |name: &str| ModelMsg::SelectThinking(name.to_owned());
    assert_eq!(
        send(&app, select("")),
        ["Status: This model has no thinking levels"]
    );
    app.session.supports_thinking = true;
    app.session.thinking_levels = vec![ThinkingLevel::Off, ThinkingLevel::High];
    assert_eq!(send(&app, select("")), ["Dialogs(Open(Thinking))"]);
    assert_eq!(
        send(&app, select("high")),
        ["Models(UseThinking { level: High, persist: Session })"]
    );
    assert_eq!(
        send(&app, select("low")),
        ["Error: Unknown thinking level \"low\" for this model; available: off, high"]
    );
}

#[test]
fn cycling_without_another_model_says_which_models_were_tried() {
    let mut app = TestContext::default();
    assert_eq!(
        send(&app, ModelMsg::Cycled(Ok(None))),
        ["Status: No other model available"]
    );
    app.session.scoped_models = vec![ScopedModel {
        model: model("openai", "gpt"),
        thinking: None,
    }];
    assert_eq!(
        send(&app, ModelMsg::Cycled(Ok(None))),
        ["Status: No other scoped model"]
    );
}

#[test]
fn saving_the_scope_writes_the_setting() {
    let app = TestContext::default();
    let patterns = Some(vec!["openai/*".to_owned()]);
    let commands = send(&app, ModelMsg::SaveScope(patterns));
    assert_eq!(
        commands,
        [
            "change Setting(EnabledModels(Some([\"openai/*\"])))",
            "Status: Scoped models saved"
        ]
    );
}

#[test]
fn the_thinking_level_is_reported_as_the_session_clamped_it() {
    let mut app = TestContext::default();
    app.session.thinking = ThinkingLevel::Medium;
    let set = |persist, result| ModelMsg::ThinkingSet { persist, result };
    assert_eq!(
        send(&app, set(Persist::Default, Ok(()))),
        ["Status: Thinking: medium (saved as default)"]
    );
    assert_eq!(
        send(&app, set(Persist::Session, Err("closed".to_owned()))),
        ["Error: closed"]
    );
    assert_eq!(
        send(&app, ModelMsg::ThinkingCycled(Ok(Some(ThinkingLevel::Low)))),
        ["Status: Thinking: low"]
    );
    assert_eq!(
        send(&app, ModelMsg::ThinkingCycled(Ok(None))),
        ["Status: This model has no thinking levels"]
    );
}

#[test]
fn selections_are_left_to_the_session() {
    let app = TestContext::default();
    let level = ThinkingLevel::High;
    let persist = Persist::Session;
    for (message, command) in [
        (
            ModelMsg::Cycle(CycleDirection::Backward),
            "session CycleModel",
        ),
        (ModelMsg::CycleThinking, "session CycleThinking"),
        (
            ModelMsg::UseThinking { level, persist },
            "session SetThinking",
        ),
        (ModelMsg::SetScope(None), "change SetScope([])"),
    ] {
        assert_eq!(send(&app, message), [command]);
    }
}

#[test]
fn fetched_models_go_to_the_picker_or_to_the_sign_in() {
    let app = TestContext::default();
    let refreshed = |provider: Option<&str>| ModelMsg::Refreshed {
        provider: provider.map(str::to_owned),
        available: Vec::new(),
        failed: Vec::new(),
    };
    assert_eq!(send(&app, refreshed(None)), ["UpdateDialog(Models([]))"]);
    let failed = ModelMsg::Refreshed {
        provider: None,
        available: Vec::new(),
        failed: vec!["openai".to_owned(), "groq".to_owned()],
    };
    assert_eq!(
        send(&app, failed),
        [
            "UpdateDialog(Models([]))",
            "UpdateDialog(Failed(\"Could not refresh the models of openai, groq; showing cached ones.\"))"
        ]
    );
    assert_eq!(
        send(&app, refreshed(Some("openai"))),
        ["SignIn(ModelsRefreshed { provider: \"openai\", available: [] })"]
    );
}
