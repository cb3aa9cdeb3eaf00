//! Tests of the llama.cpp dialogs.

use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;

struct LlamaTester {
    llama: LlamaController,
    app: TestContext,
}

impl LlamaTester {
    fn new() -> Self {
        let (handle, _posted) = AppHandle::new();
        Self {
            llama: LlamaController::new(handle),
            app: TestContext::default(),
        }
    }

    fn send(&mut self, message: LlamaMsg) -> Vec<String> {
        listed(&self.llama.update(message, &self.app.context()))
    }

    fn answer(&mut self, answer: QuestionAnswer) -> Vec<String> {
        self.send(LlamaMsg::Answered(answer))
    }
}

#[test]
fn a_missing_server_is_reported() {
    let mut tester = LlamaTester::new();
    assert_eq!(tester.send(LlamaMsg::Open), ["session FindLlamaRouter"]);
    assert_eq!(
        tester.send(LlamaMsg::Found(Ok(None))),
        ["Warning: No llama.cpp server configured. Run /login llama.cpp to add one."]
    );
}

#[test]
fn an_unreachable_server_can_be_tried_again() {
    let mut tester = LlamaTester::new();
    let commands = tester.send(LlamaMsg::Listed(Err("refused".to_owned())));
    assert_eq!(commands[0], "Status(ModelChanged)");
    assert!(commands[1].contains("llama.cpp server not reachable"));
    assert!(matches!(tester.llama.dialog, LlamaDialog::Retry));
    tester.answer(QuestionAnswer::Chosen(1));
    assert!(matches!(tester.llama.dialog, LlamaDialog::None));
}

#[test]
fn the_entry_after_the_models_downloads_one() {
    let mut tester = LlamaTester::new();
    tester.send(LlamaMsg::Listed(Ok(Vec::new())));
    let commands = tester.answer(QuestionAnswer::Chosen(0));
    assert!(commands[0].contains("Download a model"), "{commands:?}");
    let commands = tester.answer(QuestionAnswer::Text("no repository".to_owned()));
    assert_eq!(
        commands,
        ["Error: no repository is not a valid owner/repository"]
    );
}

#[test]
fn dismissing_the_progress_cancels_the_work() {
    let mut tester = LlamaTester::new();
    let cancel = CancellationToken::new();
    tester.llama.dialog = LlamaDialog::Progress {
        cancel: cancel.clone(),
        canceled: "Loading canceled",
    };
    let commands = tester.answer(QuestionAnswer::Dismissed);
    assert_eq!(commands, ["Status: Loading canceled"]);
    assert!(cancel.is_cancelled());
    let progress = ProgressUpdate::default();
    assert!(tester.send(LlamaMsg::Progress(progress)).is_empty());
    let finished = LlamaMsg::Finished {
        outcome: None,
        done: "Loaded".to_owned(),
    };
    assert_eq!(tester.send(finished), ["Llama(ListIfFree)"]);
}

#[test]
fn finished_work_closes_its_dialog() {
    let mut tester = LlamaTester::new();
    tester.llama.dialog = LlamaDialog::Progress {
        cancel: CancellationToken::new(),
        canceled: "",
    };
    let finished = LlamaMsg::Finished {
        outcome: Some(Ok(())),
        done: "Unloaded m".to_owned(),
    };
    assert_eq!(
        tester.send(finished),
        [
            "Dialogs(Finish(Llama))",
            "Status: Unloaded m",
            "Llama(ListIfFree)"
        ]
    );
}

#[test]
fn hugging_face_names_are_recognized() {
    for name in ["owner/model", "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M"] {
        assert!(is_repository(name), "{name}");
    }
    for name in [
        "",
        "model",
        "a/b/c",
        "a/b:",
        "a b/c",
        "https://x/y",
        "a/..:x y",
    ] {
        assert!(!is_repository(name), "{name}");
    }
}

#[test]
fn the_models_are_not_listed_over_another_dialog() {
    let mut tester = LlamaTester::new();
    let ctx = AppContext {
        has_dialog: true,
        ..tester.app.context()
    };
    assert!(tester.llama.update(LlamaMsg::ListIfFree, &ctx).is_empty());
}

#[test]
fn a_loaded_model_is_unloaded_only_after_confirmation() {
    let mut tester = LlamaTester::new();
    let model = |id: &str, state| LlamaModel {
        id: id.to_owned(),
        state,
        context: None,
        exit_code: None,
    };
    let models = || {
        vec![
            model("small", LlamaState::Loaded),
            model("large", LlamaState::Unloaded),
        ]
    };
    tester.send(LlamaMsg::Listed(Ok(models())));
    let commands = tester.answer(QuestionAnswer::Chosen(0));
    assert!(commands[0].contains("Unload this model?"), "{commands:?}");
    assert!(matches!(&tester.llama.dialog, LlamaDialog::Unload(model) if model == "small"));

    tester.send(LlamaMsg::Listed(Ok(models())));
    let commands = tester.answer(QuestionAnswer::Chosen(1));
    assert!(
        commands[0].contains("Other models are loaded"),
        "{commands:?}"
    );
    assert!(matches!(
        &tester.llama.dialog,
        LlamaDialog::Load { model, others } if model == "large" && others[..] == ["small"]
    ));
}

#[test]
fn models_are_listed_with_their_state_and_context() {
    let model = |state, context| {
        describe(&LlamaModel {
            id: "m".to_owned(),
            state,
            context,
            exit_code: None,
        })
    };
    let loaded = || LlamaState::Loaded;
    assert_eq!(model(loaded(), None), format!("m · {}", loaded().as_str()));
    assert!(model(loaded(), Some(999)).ends_with("· 999 context"));
    assert!(model(loaded(), Some(32_768)).ends_with("· 33k context"));
    let unloaded = model(LlamaState::Unloaded, Some(32_768));
    assert!(!unloaded.contains("context"), "{unloaded}");
}
