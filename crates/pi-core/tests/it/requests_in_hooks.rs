//! Requests that hooks make while the run waits for them: none of them waits for the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_core::{
    Backend as _, CustomDelivery, CustomMessageOptions, HookError, Input, PendingToolCall,
    Rejection, Reply, ReviewedToolCall,
};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use pi_protocol::{Delivery, SessionEvent};

use crate::backend::{TestBackend, TestHooks, prompt_input};
use crate::script::{ScriptedModel, ScriptedResponse, TestTool};

/// A deadlock fails the test instead of blocking it.
const DEADLOCK: Duration = Duration::from_secs(10);

type Request = Box<dyn Fn(TestBackend) -> BoxFuture<'static, Reply> + Send + Sync>;

/// Makes one request from inside a hook and waits for the reply.
struct RequestingHooks {
    /// Type of the event, or one of the names below.
    place: &'static str,
    request: Request,
    is_done: AtomicBool,
    reply: SharedReply,
}

const CHECK_PROMPT: &str = "check_prompt";
const BEFORE_TOOL_CALL: &str = "before_tool_call";
const BEFORE_SETTLE: &str = "before_settle";

impl RequestingHooks {
    async fn reached(&self, place: &str, backend: &TestBackend) {
        if self.place == place && !self.is_done.swap(true, Ordering::Relaxed) {
            let reply = (self.request)(backend.clone()).await;
            *self.reply.lock().unwrap() = Some(reply);
        }
    }
}

impl TestHooks for RequestingHooks {
    fn on_event<'a>(
        &'a self,
        backend: &'a TestBackend,
        event: &'a SessionEvent,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let value = serde_json::to_value(event).unwrap();
            self.reached(value["type"].as_str().unwrap_or_default(), backend)
                .await;
        })
    }

    fn check_prompt<'a>(&'a self, backend: &'a TestBackend) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            self.reached(CHECK_PROMPT, backend).await;
            Ok(())
        })
    }

    fn before_tool_call<'a>(
        &'a self,
        backend: &'a TestBackend,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            self.reached(BEFORE_TOOL_CALL, backend).await;
            Ok(ReviewedToolCall::allow(call.arguments))
        })
    }

    fn before_settle<'a>(&'a self, backend: &'a TestBackend) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            self.reached(BEFORE_SETTLE, backend).await;
            false
        })
    }
}

type SharedReply = Arc<Mutex<Option<Reply>>>;

/// Returns a session that calls a tool and responds, with a request in a hook, and the place of the reply.
fn session_with_request<Requesting>(
    place: &'static str,
    request: impl Fn(TestBackend) -> Requesting + Send + Sync + 'static,
) -> (TestBackend, SharedReply)
where
    Requesting: Future<Output = Reply> + Send + 'static,
{
    let reply = SharedReply::default();
    let hooks = RequestingHooks {
        place,
        request: Box::new(move |backend| Box::pin(request(backend))),
        is_done: AtomicBool::new(false),
        reply: Arc::clone(&reply),
    };
    let script = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "echo")])]);
    let session = script.session_with(vec![TestTool::echo("echo")], hooks);
    (session, reply)
}

/// Runs a prompt with a request in a hook. Returns the reply, and the messages after the user's prompt.
async fn request_at<Requesting>(
    place: &'static str,
    request: impl Fn(TestBackend) -> Requesting + Send + Sync + 'static,
) -> (Reply, Vec<String>)
where
    Requesting: Future<Output = Reply> + Send + 'static,
{
    let (session, reply) = session_with_request(place, request);
    let running = tokio::time::timeout(DEADLOCK, session.run("go"));
    running.await.unwrap();
    assert_eq!(*session.reports(), Vec::<String>::new());
    let reply = reply.lock().unwrap().take();
    (reply.unwrap(), session.texts().split_off(2))
}

const WITH_RUN: CustomMessageOptions = CustomMessageOptions {
    trigger_turn: Some(true),
    deliver_as: None,
};

const WITHOUT_RUN: CustomMessageOptions = CustomMessageOptions {
    trigger_turn: Some(false),
    deliver_as: None,
};

#[tokio::test]
async fn a_custom_message_without_a_turn_is_stored_at_the_end_of_the_turn() {
    for place in [
        "turn_start",
        "tool_execution_start",
        BEFORE_TOOL_CALL,
        "turn_end",
    ] {
        let (reply, texts) = request_at(place, |session| async move {
            session.send_custom("note", WITHOUT_RUN).await
        })
        .await;
        assert_eq!(reply, Reply::Queued, "{place}");
        assert_eq!(
            texts,
            [
                "assistant ToolUse: ",
                "result 1: argument",
                "custom: note",
                "assistant Stop: done"
            ],
            "{place}"
        );
    }
}

#[tokio::test]
async fn a_custom_message_at_the_end_of_a_run_starts_none() {
    for (place, expected) in [
        ("agent_end", Reply::Queued),
        (BEFORE_SETTLE, Reply::Queued),
        ("agent_settled", Reply::Done),
    ] {
        let (reply, texts) = request_at(place, |session| async move {
            session.send_custom("note", WITHOUT_RUN).await
        })
        .await;
        assert_eq!(reply, expected, "{place}");
        assert_eq!(
            texts[2..],
            ["assistant Stop: done", "custom: note"],
            "{place}"
        );
    }
}

#[tokio::test]
async fn a_custom_message_with_a_turn_joins_the_run_or_starts_the_next_one() {
    for place in ["agent_end", BEFORE_SETTLE, "agent_settled"] {
        let (reply, texts) = request_at(place, |session| async move {
            session.send_custom("note", WITH_RUN).await
        })
        .await;
        assert_eq!(reply, Reply::Queued, "{place}");
        assert_eq!(
            texts[2..],
            [
                "assistant Stop: done",
                "custom: note",
                "assistant Stop: done"
            ],
            "{place}"
        );
    }
}

#[tokio::test]
async fn a_custom_message_for_the_next_prompt_waits() {
    let options = CustomMessageOptions {
        deliver_as: Some(CustomDelivery::NextTurn),
        ..CustomMessageOptions::default()
    };
    let (reply, texts) = request_at("turn_end", move |session| async move {
        session.send_custom("note", options).await
    })
    .await;
    assert_eq!(reply, Reply::Queued);
    assert_eq!(texts[2..], ["assistant Stop: done"]);
}

#[tokio::test]
async fn steering_from_a_hook_joins_the_next_turn() {
    for place in ["message_end", BEFORE_TOOL_CALL, "turn_end"] {
        let (reply, texts) = request_at(place, |session| async move {
            session.enqueue("steered", Delivery::Steer).await
        })
        .await;
        assert_eq!(reply, Reply::Queued, "{place}");
        let steered = texts.iter().position(|line| line == "user: steered");
        let answered = texts.iter().position(|line| line == "assistant Stop: done");
        assert!(
            steered < answered && steered.is_some(),
            "{place}: {texts:?}"
        );
    }
}

#[tokio::test]
async fn messages_queued_at_the_end_of_a_run_continue_it() {
    for place in ["agent_end", BEFORE_SETTLE] {
        for delivery in [Delivery::Steer, Delivery::FollowUp] {
            let (reply, texts) = request_at(place, move |session| async move {
                session.enqueue("more", delivery).await
            })
            .await;
            assert_eq!(reply, Reply::Queued, "{place}");
            assert_eq!(
                texts[3..],
                ["user: more", "assistant Stop: done"],
                "{place}"
            );
        }
    }
}

#[tokio::test]
async fn a_prompt_while_settling_runs_before_the_session_is_idle() {
    let (reply, texts) = request_at("agent_settled", |session| async move {
        session.defer_prompt("next").await
    })
    .await;
    assert_eq!(reply, Reply::Queued);
    assert_eq!(texts[3..], ["user: next", "assistant Stop: done"]);

    let (reply, texts) = request_at("agent_settled", |session| async move {
        let mut prompt = prompt_input("next".to_owned());
        prompt.is_in_hook = true;
        session.request(Input::Prompt(prompt)).await
    })
    .await;
    assert_eq!(reply, Reply::Queued);
    assert_eq!(texts[3..], ["user: next", "assistant Stop: done"]);
}

#[tokio::test]
async fn deferred_requests_run_in_their_order() {
    let (_, texts) = request_at("agent_settled", |session| async move {
        session.defer_prompt("first").await;
        session.send_custom("second", WITH_RUN).await;
        session.defer_prompt("third").await
    })
    .await;
    assert_eq!(
        texts[3..],
        [
            "user: first",
            "assistant Stop: done",
            "custom: second",
            "assistant Stop: done",
            "user: third",
            "assistant Stop: done"
        ]
    );
}

#[tokio::test]
async fn a_deferred_prompt_of_an_idle_session_runs_at_once() {
    let session = ScriptedModel::new([]).session(Vec::new());
    assert_eq!(session.defer_prompt("hi").await, Reply::Queued);
    session.control().wait_for_idle().await;
    assert_eq!(session.texts(), ["user: hi", "assistant Stop: done"]);
}

#[tokio::test]
async fn a_deferred_prompt_runs_after_the_prompt_before_it_was_canceled() {
    let (session, _) = session_with_request(CHECK_PROMPT, |session| async move {
        let reply = session.defer_prompt("next").await;
        session.abort();
        reply
    });
    let canceled = tokio::time::timeout(DEADLOCK, session.prompt("go")).await;
    assert_eq!(canceled.unwrap(), Reply::Rejected(Rejection::Canceled));
    session.control().wait_for_idle().await;
    assert_eq!(session.texts()[1], "user: next");
    assert_eq!(session.texts().last().unwrap(), "assistant Stop: done");
}
