//! What is refused, handled and queued before a run.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use futures_util::future::BoxFuture;
use pi_ai::{FauxGate, FauxResponse, ImageContent, Message};
use pretty_assertions::assert_eq;

use super::stage::{Setting, Stage};
use crate::hooks::{InputVerdict, SessionHooks, UserInput};
use crate::session::{InputSource, Prompt, PromptRefused, Run};

#[tokio::test]
async fn a_prompt_without_a_model_or_after_the_end_is_refused_and_leaves_nothing() {
    let stage = Stage::new();
    let before = stage.entries();
    stage.session.live().model = None;
    let refused = stage.session.prompt(Prompt::text("hi")).await;
    assert!(matches!(refused, Err(PromptRefused::NoModel)));
    assert!(stage.session.is_idle());
    let mut stranger = stage.faux.model();
    stranger.provider = "stranger".to_owned();
    stage.session.live().model = Some(Arc::new(stranger));
    let refused = stage.session.prompt(Prompt::text("hi")).await;
    assert!(matches!(
        refused,
        Err(PromptRefused::UnknownProvider { .. })
    ));
    stage.session.dispose().await;
    stage.session.dispose().await;
    let refused = stage.session.prompt(Prompt::text("hi")).await;
    assert!(matches!(refused, Err(PromptRefused::Closed)));
    assert_eq!(stage.entries(), before);
    assert_eq!(stage.told(), Vec::<String>::new());
}

#[tokio::test]
async fn a_prompt_during_a_run_must_say_how_it_is_queued() {
    let stage = Stage::new();
    let gate = FauxGate::new();
    stage.faux.push(FauxResponse::after(&gate).then_text("hi"));
    stage.session.prompt(Prompt::text("go")).await.unwrap();
    let refused = stage.session.prompt(Prompt::text("now")).await;
    assert!(matches!(refused, Err(PromptRefused::Busy)));
    gate.open();
    stage.session.wait_for_idle().await;
    assert_eq!(stage.faux.call_count(), 1);
}

#[tokio::test]
async fn steering_an_idle_session_waits_for_the_next_run() {
    let stage = Stage::new();
    let session = &stage.session;
    session
        .steer("left", Vec::new(), InputSource::Rpc)
        .await
        .unwrap();
    assert!(session.is_idle());
    stage.faux.push("ok");
    stage.say("go").await;
    assert_eq!(
        stage.context()[1..],
        ["user go", "user left", "assistant ok"]
    );
    assert_eq!(session.pending_message_count(), 0);
}

/// Knows one command, rewrites one text and handles another.
#[derive(Default)]
struct Host(Mutex<Vec<String>>);

impl SessionHooks for Host {
    fn has_command(&self, name: &str) -> bool {
        name == "hello"
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        let line = format!("{name}({arguments})");
        self.0.lock().unwrap().push(line);
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
    let host = Arc::new(Host::default());
    let stage = Stage::set(Setting {
        hooks: Arc::clone(&host) as _,
        ..Setting::default()
    });
    let session = &stage.session;
    for text in ["/hello big world", "/hello", "swallow"] {
        assert_eq!(
            session.prompt(Prompt::text(text)).await.unwrap(),
            Run::Handled
        );
    }
    assert_eq!(*host.0.lock().unwrap(), ["hello(big world)", "hello()"]);
    let refused = session.steer("/hello", Vec::new(), InputSource::Rpc).await;
    assert!(matches!(
        refused,
        Err(PromptRefused::CommandNotQueueable { .. })
    ));
    stage.faux.extend(["a".into(), "b".into()]);
    stage.say("shout").await;
    stage.say("/unknown command").await;
    assert_eq!(
        stage.context()[1..],
        [
            "user SHOUT",
            "assistant a",
            "user /unknown command",
            "assistant b"
        ]
    );
}

#[tokio::test]
async fn images_that_cannot_be_shown_are_left_out_with_a_note() {
    let stage = Stage::new();
    stage.faux.push("seen");
    let data = base64::engine::general_purpose::STANDARD.encode("no image");
    let prompt = Prompt {
        images: vec![ImageContent::new(data, "image/png")],
        ..Prompt::text("look")
    };
    stage.session.prompt(prompt).await.unwrap();
    stage.session.wait_for_idle().await;
    let request = stage.faux.last_request().unwrap();
    let Some(Message::User(user)) = request.messages.last() else {
        panic!("the prompt comes last")
    };
    let text = user.content.joined_text();
    assert!(
        text.starts_with("look\n\n[") && text.ends_with(']'),
        "{text}"
    );
}
