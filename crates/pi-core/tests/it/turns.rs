//! Prompts, responses, queues and idle state.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{Backend as _, Input, Rejection, Reply};
use pi_protocol::{ActivityKind, Delivery, SessionEvent};
use pretty_assertions::assert_eq;
use tokio::sync::Semaphore;

use crate::backend::{TestBackend, TestHooks, prompt_input};
use crate::script::{ScriptedModel, ScriptedResponse, TestTool};

#[tokio::test]
async fn a_response_is_streamed_word_by_word() {
    let session = ScriptedModel::new([ScriptedResponse::Text("one two")]).session(Vec::new());
    session.run("hi").await;
    assert_eq!(
        session.lines(),
        [
            "agent_start",
            "turn_start",
            "message_start user",
            "message_end user",
            "message_start assistant",
            "message_update",
            "message_update one",
            "message_update two",
            "message_update",
            "message_end assistant",
            "turn_end assistant",
            "agent_end",
            "agent_settled"
        ]
    );
    assert_eq!(session.texts(), ["user: hi", "assistant Stop: one two"]);
}

#[tokio::test]
async fn a_second_prompt_is_rejected_or_queued_while_the_first_runs() {
    let script = ScriptedModel::new([ScriptedResponse::Stall("thinking")]);
    let session = script.session(Vec::new());
    assert_eq!(session.prompt("first").await, Reply::Started);
    script.stalled.notified().await;
    let busy = Reply::Rejected(Rejection::Busy);
    assert_eq!(session.prompt("second").await, busy);
    assert_eq!(session.request(Input::Compact).await, busy);
    assert_eq!(session.request(Input::Navigate).await, busy);
    let mut queued = prompt_input("third".to_owned());
    queued.delivery = Some(Delivery::FollowUp);
    assert_eq!(session.request(Input::Prompt(queued)).await, Reply::Queued);
    session.abort();
    session.control().wait_for_idle().await;
    assert_eq!(
        session.texts(),
        ["user: first", "assistant Aborted: thinking"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_concurrent_prompts_starts() {
    for _ in 0..50 {
        let script = ScriptedModel::new([ScriptedResponse::Stall("thinking")]);
        let session = script.session(Vec::new());
        let prompts = (0..4).map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.prompt("go").await })
        });
        let mut started = 0;
        for reply in futures_util::future::join_all(prompts).await {
            match reply.unwrap() {
                Reply::Started => started += 1,
                reply => assert_eq!(reply, Reply::Rejected(Rejection::Busy)),
            }
        }
        assert_eq!(started, 1);
        script.stalled.notified().await;
        session.abort();
        session.control().wait_for_idle().await;
        assert_eq!(script.requests.lock().unwrap().len(), 1);
    }
}

/// Blocks `agent_settled` until it gets a permit.
struct SlowHooks(Arc<Semaphore>);

impl TestHooks for SlowHooks {
    fn on_event<'a>(
        &'a self,
        _backend: &'a TestBackend,
        event: &'a SessionEvent,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if matches!(event, SessionEvent::AgentSettled { .. }) {
                self.0.acquire().await.unwrap().forget();
            }
        })
    }
}

#[tokio::test]
async fn a_session_is_idle_only_after_the_hooks_of_agent_settled_returned() {
    let permits = Arc::new(Semaphore::new(0));
    let session = ScriptedModel::new([]).session_with(Vec::new(), SlowHooks(Arc::clone(&permits)));
    assert_eq!(session.prompt("hi").await, Reply::Started);
    let idle = session.control().wait_for_idle();
    tokio::pin!(idle);
    for _ in 0..50 {
        assert!(futures_util::poll!(&mut idle).is_pending());
        tokio::task::yield_now().await;
    }
    assert_eq!(session.control().activity().kind, ActivityKind::Settling);
    permits.add_permits(1);
    idle.await;
    assert_eq!(session.lines().last().unwrap(), "agent_settled");
}

#[tokio::test]
async fn a_prompt_of_a_client_waits_until_the_session_has_settled() {
    let permits = Arc::new(Semaphore::new(0));
    let session = ScriptedModel::new([]).session_with(Vec::new(), SlowHooks(Arc::clone(&permits)));
    session.prompt("first").await;
    session
        .reach(|activity| activity.kind == ActivityKind::Settling)
        .await;
    let second = session.prompt("second");
    tokio::pin!(second);
    for _ in 0..50 {
        assert!(futures_util::poll!(&mut second).is_pending());
        tokio::task::yield_now().await;
    }
    permits.add_permits(2);
    assert_eq!(second.await, Reply::Started);
    session.control().wait_for_idle().await;
    assert_eq!(
        session.texts()[2..],
        ["user: second", "assistant Stop: done"]
    );
}

#[tokio::test]
async fn steering_reaches_the_model_with_the_tool_results() {
    let script = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "echo")])]);
    let session = script.session(vec![TestTool::echo("echo")]);
    session.enqueue("with the prompt", Delivery::Steer).await;
    session.enqueue("with the results", Delivery::Steer).await;
    session.enqueue("then this", Delivery::FollowUp).await;
    session.run("go").await;
    assert_eq!(
        session.texts(),
        [
            "system",
            "user: go",
            "user: with the prompt",
            "assistant ToolUse: ",
            "result 1: argument",
            "user: with the results",
            "assistant Stop: done",
            "user: then this",
            "assistant Stop: done"
        ]
    );
    assert_eq!(script.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_permanent_error_ends_the_run_and_the_next_prompt_continues() {
    let script = ScriptedModel::new([ScriptedResponse::Fail("no such model")]);
    let session = script.session(Vec::new());
    session.run("hi").await;
    assert_eq!(session.last_error().as_deref(), Some("no such model"));
    session.run("again").await;
    assert_eq!(
        session.texts(),
        [
            "user: hi",
            "assistant Error: ",
            "user: again",
            "assistant Stop: done"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_transient_error_is_omitted_and_the_turn_retried_after_a_delay() {
    let begin = tokio::time::Instant::now();
    let fail = || ScriptedResponse::Fail("connection refused");
    let script = ScriptedModel::new([fail(), fail()]);
    let session = script.session(Vec::new());
    session.run("hi").await;
    assert_eq!(session.texts(), ["user: hi", "assistant Stop: done"]);
    assert_eq!(
        begin.elapsed().as_secs(),
        60 + 60,
        "the delay is at most one minute"
    );
    assert_eq!(
        session.lines_of("auto_"),
        ["auto_retry_start", "auto_retry_start", "auto_retry_end"]
    );
}
