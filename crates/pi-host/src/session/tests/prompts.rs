//! Prompts that are rejected, handled or queued before a run.

use std::sync::Arc;

use base64::Engine as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_protocol::{ImageContent, Message};
use pi_providers::{FauxGate, FauxResponse};
use pretty_assertions::assert_eq;

use super::harness::{HarnessOptions, SessionHarness};
use crate::participants::{InputHook, InputVerdict, Participants, UserInput};
use crate::session::PromptError;
use pi_core::{InputSource, Prompt, PromptOutcome};

#[tokio::test]
async fn a_prompt_without_a_model_or_after_dispose_is_rejected() {
    let harness = SessionHarness::new();
    let before = harness.entries();
    harness.session.0.machine().selection_mut().model = None;
    let refused = harness.session.prompt(Prompt::text("hi")).await;
    assert!(matches!(refused, Err(PromptError::NoModel)));
    assert!(harness.session.is_idle());
    let mut stranger = harness.faux.model();
    stranger.provider = "stranger".to_owned();
    harness.session.0.machine().selection_mut().model = Some(Arc::new(stranger));
    let refused = harness.session.prompt(Prompt::text("hi")).await;
    assert!(matches!(refused, Err(PromptError::UnknownProvider { .. })));
    harness.session.dispose().await;
    harness.session.dispose().await;
    let refused = harness.session.prompt(Prompt::text("hi")).await;
    assert!(matches!(refused, Err(PromptError::Closed)));
    assert_eq!(harness.entries(), before);
    assert_eq!(harness.lines(), Vec::<String>::new());
}

#[tokio::test]
async fn a_prompt_during_a_run_needs_a_delivery() {
    let harness = SessionHarness::new();
    let gate = FauxGate::new();
    harness
        .faux
        .push(FauxResponse::after(&gate).then_text("hi"));
    harness.session.prompt(Prompt::text("go")).await.unwrap();
    let refused = harness.session.prompt(Prompt::text("now")).await;
    assert!(matches!(refused, Err(PromptError::Busy)));
    gate.open();
    harness.session.wait_for_idle().await;
    assert_eq!(harness.faux.call_count(), 1);
}

#[tokio::test]
async fn steering_an_idle_session_waits_for_the_next_run() {
    let harness = SessionHarness::new();
    let session = &harness.session;
    session
        .queue()
        .steer("left", Vec::new(), InputSource::Rpc)
        .await
        .unwrap();
    assert!(session.is_idle());
    harness.faux.push("ok");
    harness.prompt("go").await;
    assert_eq!(
        harness.context()[1..],
        ["user go", "user left", "assistant ok"]
    );
    assert_eq!(session.queue().message_count(), 0);
}

/// Has one command, rewrites one text and handles another.
#[derive(Default)]
struct CommandHooks(Mutex<Vec<String>>);

impl InputHook for CommandHooks {
    fn has_command(&self, name: &str) -> bool {
        name == "hello"
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        let line = format!("{name}({arguments})");
        self.0.lock().push(line);
        Box::pin(std::future::ready(()))
    }

    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        let verdict = match input.text.as_str() {
            "swallow" => InputVerdict::Handled,
            "shout" => InputVerdict::Replace {
                text: "SHOUT".to_owned(),
                images: None,
            },
            _ => InputVerdict::Continue,
        };
        Box::pin(std::future::ready(verdict))
    }
}

#[tokio::test]
async fn commands_and_hooks_come_before_the_model() {
    let hooks = Arc::new(CommandHooks::default());
    let harness = SessionHarness::with_options(HarnessOptions {
        participants: Participants::builder().input(Arc::clone(&hooks)).build(),
        ..HarnessOptions::default()
    });
    let session = &harness.session;
    for text in ["/hello big world", "/hello", "swallow"] {
        assert_eq!(
            session.prompt(Prompt::text(text)).await.unwrap(),
            PromptOutcome::Handled
        );
    }
    assert_eq!(*hooks.0.lock(), ["hello(big world)", "hello()"]);
    let refused = session
        .queue()
        .steer("/hello", Vec::new(), InputSource::Rpc)
        .await;
    assert!(matches!(
        refused,
        Err(PromptError::CommandNotQueueable { .. })
    ));
    harness.faux.extend(["a".into(), "b".into()]);
    harness.prompt("shout").await;
    harness.prompt("/unknown command").await;
    assert_eq!(
        harness.context()[1..],
        [
            "user SHOUT",
            "assistant a",
            "user /unknown command",
            "assistant b"
        ]
    );
}

#[tokio::test]
async fn invalid_images_are_dropped_with_a_note() {
    let harness = SessionHarness::new();
    harness.faux.push("seen");
    let data = base64::engine::general_purpose::STANDARD.encode("no image");
    let prompt = Prompt {
        images: vec![ImageContent::new(data, "image/png")],
        ..Prompt::text("look")
    };
    harness.session.prompt(prompt).await.unwrap();
    harness.session.wait_for_idle().await;
    let request = harness.faux.last_request().unwrap();
    let Some(Message::User(user)) = request.messages.last() else {
        panic!("expected the prompt last")
    };
    let text = user.content.joined_text();
    assert!(
        text.starts_with("look\n\n[") && text.ends_with(']'),
        "{text}"
    );
}
