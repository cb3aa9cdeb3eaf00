//! Panics of hooks, tools and the backend, and callers that stop waiting: the session stays usable, and no message is
//! lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use pi_core::{
    Backend as _, HookError, Input, PendingToolCall, Rejection, Reply, ReviewedToolCall,
    TurnDecision, submit,
};
use pi_protocol::{AgentMessage, Delivery, SessionActivity, SessionEvent, SharedMessage};
use pretty_assertions::assert_eq;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::backend::{TestBackend, TestHooks, prompt_input};
use crate::script::{ScriptedModel, ScriptedResponse, TestTool};

/// Panics once, in one place: the type of an event, or the name of a method.
pub(crate) struct PanickingHooks {
    place: &'static str,
    panics: AtomicUsize,
}

impl PanickingHooks {
    pub(crate) fn at(place: &'static str) -> Self {
        Self {
            place,
            panics: AtomicUsize::new(1),
        }
    }

    /// Panics every time.
    fn always_at(place: &'static str) -> Self {
        Self {
            place,
            panics: AtomicUsize::new(usize::MAX),
        }
    }

    fn reach(&self, place: &str) {
        let is_due = self.place == place
            && self
                .panics
                .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.checked_sub(1)
                })
                .is_ok();
        assert!(!is_due, "a defect in {place}");
    }
}

impl TestHooks for PanickingHooks {
    fn on_event<'a>(
        &'a self,
        _backend: &'a TestBackend,
        event: &'a SessionEvent,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let value = serde_json::to_value(event).unwrap();
            self.reach(value["type"].as_str().unwrap_or_default());
        })
    }

    fn check_prompt<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, Result<(), String>> {
        self.reach("check_prompt");
        Box::pin(std::future::ready(Ok(())))
    }

    fn prepare_run<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, Vec<AgentMessage>> {
        self.reach("prepare_run");
        Box::pin(std::future::ready(Vec::new()))
    }

    fn replace_message(&self, message: SharedMessage) -> Result<SharedMessage, HookError> {
        self.reach("replace_message");
        Ok(message)
    }

    fn before_tool_call<'a>(
        &'a self,
        _backend: &'a TestBackend,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        self.reach("before_tool_call");
        Box::pin(std::future::ready(Ok(ReviewedToolCall::allow(
            call.arguments,
        ))))
    }

    fn finish_turn<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, TurnDecision> {
        self.reach("finish_turn");
        Box::pin(std::future::ready(TurnDecision::Default))
    }

    fn compact(&self, _cancel: CancellationToken) -> BoxFuture<'_, bool> {
        self.reach("compact");
        Box::pin(std::future::ready(true))
    }

    fn before_settle<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, bool> {
        self.reach("before_settle");
        Box::pin(std::future::ready(false))
    }
}

/// A session that calls a tool, with hooks.
fn session_with(hooks: PanickingHooks) -> TestBackend {
    let script = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "echo")])]);
    script.session_with(vec![TestTool::echo("echo")], hooks)
}

const IN_RUN: [&str; 13] = [
    "agent_start",
    "turn_start",
    "message_start",
    "message_update",
    "replace_message",
    "message_end",
    "tool_execution_start",
    "before_tool_call",
    "tool_execution_end",
    "finish_turn",
    "turn_end",
    "before_settle",
    "agent_settled",
];

#[tokio::test]
async fn a_panic_anywhere_ends_the_run_and_the_session_continues() {
    for place in IN_RUN {
        let session = session_with(PanickingHooks::at(place));
        assert_eq!(session.prompt("first").await, Reply::Started, "{place}");
        session.control().wait_for_idle().await;
        assert_eq!(
            *session.reports(),
            [format!("panic: a defect in {place}")],
            "{place}"
        );
        let ends = ["agent_end", "agent_settled"];
        assert_eq!(session.lines().split_off(session.lines().len() - 2), ends);
        if !["before_settle", "agent_settled"].contains(&place) {
            let error = session.last_error().unwrap_or_default();
            assert!(error.contains(&format!("a defect in {place}")), "{error}");
        }
        session.run("second").await;
        let texts = session.texts();
        for prompt in ["user: first", "user: second"] {
            let count = texts.iter().filter(|text| *text == prompt).count();
            assert_eq!(count, 1, "{place}: {prompt} in {texts:?}");
        }
        assert_eq!(texts.last().unwrap(), "assistant Stop: done", "{place}");
    }
}

#[tokio::test]
async fn a_session_settles_even_if_every_hook_panics() {
    for place in IN_RUN {
        let session = session_with(PanickingHooks::always_at(place));
        assert_eq!(session.prompt("go").await, Reply::Started, "{place}");
        session.control().wait_for_idle().await;
        assert_eq!(session.lines().last().unwrap(), "agent_settled", "{place}");
        assert_eq!(session.control().activity(), SessionActivity::default());
    }
}

#[tokio::test]
async fn queued_messages_stay_queued_after_a_panic() {
    let session = session_with(PanickingHooks::at("tool_execution_start"));
    let prompted = submit(&session, Input::Prompt(prompt_input("go".to_owned())));
    session.enqueue("steering", Delivery::Steer).await;
    session.enqueue("later", Delivery::FollowUp).await;
    drop(prompted.reply().await);
    session.control().wait_for_idle().await;
    // Steering was delivered with the first request.
    let queued = session.control().machine().queue().texts();
    assert_eq!(queued.follow_up, ["later"]);
    session.run("second").await;
    let texts = session.texts();
    for text in ["user: steering", "user: later", "user: second"] {
        assert!(texts.iter().any(|one| one == text), "{text} in {texts:?}");
    }
}

#[tokio::test]
async fn a_panic_in_a_preparation_rejects_the_prompt() {
    for place in ["check_prompt", "prepare_run"] {
        let session = session_with(PanickingHooks::at(place));
        let crashed = Reply::Rejected(Rejection::Crashed);
        assert_eq!(session.prompt("first").await, crashed, "{place}");
        assert_eq!(session.control().activity(), SessionActivity::default());
        session.run("second").await;
        assert_eq!(session.texts().last().unwrap(), "assistant Stop: done");
    }
}

#[tokio::test]
async fn a_compaction_that_panics_ends_with_an_event() {
    let session = session_with(PanickingHooks::at("compact"));
    let compacted = submit(&session, Input::Compact).reply().await;
    assert_eq!(compacted.compaction, Some(false));
    assert_eq!(
        session.lines_of("compaction"),
        ["compaction_start", "compaction_end"]
    );
    assert_eq!(session.control().activity(), SessionActivity::default());
}

/// Waits in the check of a prompt.
#[derive(Default)]
struct WaitingHooks {
    reached: Arc<Notify>,
    gate: Arc<Notify>,
}

impl TestHooks for WaitingHooks {
    fn check_prompt<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            self.reached.notify_one();
            self.gate.notified().await;
            Ok(())
        })
    }
}

#[tokio::test]
async fn a_caller_that_stops_waiting_does_not_affect_its_request() {
    let hooks = WaitingHooks::default();
    let (reached, gate) = (Arc::clone(&hooks.reached), Arc::clone(&hooks.gate));
    let session = ScriptedModel::new([]).session_with(Vec::new(), hooks);
    tokio::select! {
        biased;
        reply = session.prompt("go") => panic!("{reply:?}"),
        () = reached.notified() => {}
    }
    gate.notify_one();
    session.control().wait_for_idle().await;
    assert_eq!(session.texts(), ["user: go", "assistant Stop: done"]);
}

#[tokio::test]
async fn a_run_begins_when_the_caller_has_processed_the_reply() {
    let session = ScriptedModel::new([]).session(Vec::new());
    let prompted = submit(&session, Input::Prompt(prompt_input("go".to_owned())));
    let reply = prompted.reply().await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(session.lines().is_empty());
    drop(reply);
    session.control().wait_for_idle().await;
    assert_eq!(session.lines().last().unwrap(), "agent_settled");
}
