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
fn declining_leaves_the_models_as_they_are() {
    let mut tester = LlamaTester::new();
    for dialog in [
        LlamaDialog::Unload("small".to_owned()),
        LlamaDialog::Load {
            model: "large".to_owned(),
            others: vec!["small".to_owned()],
        },
    ] {
        tester.llama.dialog = dialog;
        let commands = tester.answer(QuestionAnswer::Dismissed);
        assert!(commands.is_empty(), "no work is started: {commands:?}");
        assert!(matches!(tester.llama.dialog, LlamaDialog::None));
    }
}
