//! Aborts: in every phase the run ends in order, with a valid transcript.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    Backend as _, CancelScope, ContextCheck, HookError, Input, PendingToolCall, Rejection, Reply,
    ReviewedToolCall, TurnDecision,
};
use pi_protocol::{
    AgentMessage, CompactionDecision, CompactionReason, Delivery, SessionEvent, ToolOutput,
};
use pretty_assertions::assert_eq;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::backend::{TestBackend, TestHooks};
use crate::script::{ScriptedModel, ScriptedResponse, TestTool};

#[tokio::test]
async fn a_running_tool_is_canceled_and_its_result_kept() {
    let begun = Arc::new(Notify::new());
    let tool = TestTool::of("waits", {
        let begun = Arc::clone(&begun);
        move |_, _, cancel| {
            let begun = Arc::clone(&begun);
            async move {
                begun.notify_one();
                cancel.cancelled().await;
                Ok(ToolOutput::text("stopped in time"))
            }
        }
    });
    let session =
        ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "waits")])]).session(vec![tool]);
    assert_eq!(session.prompt("go").await, Reply::Started);
    begun.notified().await;
    assert_eq!(session.control().machine().pending_calls(), ["1"]);
    session.abort();
    session.control().wait_for_idle().await;
    assert_eq!(
        session.texts()[2..],
        [
            "assistant ToolUse: ",
            "result 1: stopped in time",
            "assistant Aborted: "
        ]
    );
    assert!(session.control().machine().pending_calls().is_empty());
}

#[tokio::test]
async fn an_idle_session_ignores_an_abort() {
    let session = ScriptedModel::new([]).session(Vec::new());
    session.abort();
    session.run("hi").await;
    assert_eq!(session.texts(), ["user: hi", "assistant Stop: done"]);
}

#[tokio::test]
async fn queued_messages_survive_an_abort() {
    let script = ScriptedModel::new([ScriptedResponse::Stall("half")]);
    let session = script.session(Vec::new());
    assert_eq!(session.prompt("go").await, Reply::Started);
    script.stalled.notified().await;
    session.enqueue("steered", Delivery::Steer).await;
    session.enqueue("followed", Delivery::FollowUp).await;
    session.abort();
    session.control().wait_for_idle().await;
    assert_eq!(session.texts(), ["user: go", "assistant Aborted: half"]);
    let queued = session.control().machine().queue().texts();
    assert_eq!(
        (queued.steering, queued.follow_up),
        (vec!["steered".to_owned()], vec!["followed".to_owned()])
    );
}

/// A place where a hook aborts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AbortPoint {
    Check,
    Preparation,
    Event(&'static str),
    ToolCall,
    TurnEnd,
    Settle,
}

struct AbortingHooks(AbortPoint);

impl AbortingHooks {
    fn reached(&self, point: AbortPoint, backend: &TestBackend) {
        if self.0 == point {
            backend.abort();
        }
    }
}

impl TestHooks for AbortingHooks {
    fn on_event<'a>(
        &'a self,
        backend: &'a TestBackend,
        event: &'a SessionEvent,
    ) -> BoxFuture<'a, ()> {
        let value = serde_json::to_value(event).unwrap();
        if let AbortPoint::Event(name) = self.0
            && value["type"].as_str() == Some(name)
        {
            backend.abort();
        }
        Box::pin(std::future::ready(()))
    }

    fn check_prompt<'a>(&'a self, backend: &'a TestBackend) -> BoxFuture<'a, Result<(), String>> {
        self.reached(AbortPoint::Check, backend);
        Box::pin(std::future::ready(Ok(())))
    }

    fn prepare_run<'a>(&'a self, backend: &'a TestBackend) -> BoxFuture<'a, Vec<AgentMessage>> {
        self.reached(AbortPoint::Preparation, backend);
        Box::pin(std::future::ready(Vec::new()))
    }

    fn before_tool_call<'a>(
        &'a self,
        backend: &'a TestBackend,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        self.reached(AbortPoint::ToolCall, backend);
        Box::pin(std::future::ready(Ok(ReviewedToolCall::allow(
            call.arguments,
        ))))
    }

    fn finish_turn<'a>(&'a self, backend: &'a TestBackend) -> BoxFuture<'a, TurnDecision> {
        self.reached(AbortPoint::TurnEnd, backend);
        Box::pin(std::future::ready(TurnDecision::Default))
    }

    fn before_settle<'a>(&'a self, backend: &'a TestBackend) -> BoxFuture<'a, bool> {
        self.reached(AbortPoint::Settle, backend);
        // Without the abort, the run would never end.
        Box::pin(std::future::ready(self.0 == AbortPoint::Settle))
    }
}

/// Runs one tool call and a final response, and aborts at a point.
async fn abort_at(point: AbortPoint) -> (Reply, TestBackend) {
    let script = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "echo")])]);
    let session = script.session_with(vec![TestTool::echo("echo")], AbortingHooks(point));
    let reply = session.prompt("go").await;
    session.control().wait_for_idle().await;
    (reply, session)
}

#[tokio::test]
async fn before_the_run_starts_the_prompt_is_rejected() {
    for point in [AbortPoint::Check, AbortPoint::Preparation] {
        let (reply, session) = abort_at(point).await;
        assert_eq!(reply, Reply::Rejected(Rejection::Canceled), "{point:?}");
        assert!(session.lines().is_empty(), "{point:?}");
        assert!(session.texts().is_empty(), "{point:?}");
    }
}

#[tokio::test]
async fn before_the_request_the_response_is_aborted() {
    for event in ["agent_start", "turn_start", "message_start"] {
        let (_, session) = abort_at(AbortPoint::Event(event)).await;
        assert_eq!(
            session.texts(),
            ["system", "user: go", "assistant Aborted: "],
            "{event}"
        );
    }
}

#[tokio::test]
async fn a_call_that_has_not_started_is_not_run() {
    let points = [
        AbortPoint::Event("tool_execution_start"),
        AbortPoint::ToolCall,
    ];
    for point in points {
        let (_, session) = abort_at(point).await;
        assert_eq!(
            session.texts()[2..],
            [
                "assistant ToolUse: ",
                "failure 1: Operation aborted",
                "assistant Aborted: "
            ],
            "{point:?}"
        );
    }
}

#[tokio::test]
async fn the_arguments_of_a_call_are_not_checked_after_an_abort() {
    let invalid = ScriptedResponse::Written("echo", r#"{"other": 1}"#);
    let hooks = AbortingHooks(AbortPoint::Event("tool_execution_start"));
    let session = ScriptedModel::new([invalid]).session_with(vec![TestTool::echo("echo")], hooks);
    session.prompt("go").await;
    session.control().wait_for_idle().await;
    assert_eq!(session.texts()[3], "failure 1: Operation aborted");
}

#[tokio::test]
async fn after_the_tools_no_response_follows() {
    let points = [
        AbortPoint::Event("tool_execution_end"),
        AbortPoint::TurnEnd,
        AbortPoint::Event("turn_end"),
    ];
    for point in points {
        let (_, session) = abort_at(point).await;
        assert_eq!(
            session.texts()[3..],
            ["result 1: argument", "assistant Aborted: "],
            "{point:?}"
        );
    }
}

#[tokio::test]
async fn at_the_end_of_the_loop_the_run_settles() {
    let points = [
        AbortPoint::Event("agent_end"),
        AbortPoint::Settle,
        AbortPoint::Event("agent_settled"),
    ];
    for point in points {
        let (_, session) = abort_at(point).await;
        assert_eq!(
            session.texts()[3..],
            ["result 1: argument", "assistant Stop: done"],
            "{point:?}"
        );
        assert_eq!(session.lines_of("agent_settled").len(), 1, "{point:?}");
    }
}

#[tokio::test]
async fn a_session_is_usable_after_an_abort_anywhere() {
    let events = [
        "agent_start",
        "turn_start",
        "message_start",
        "message_update",
        "message_end",
        "tool_execution_start",
        "tool_execution_end",
        "turn_end",
        "agent_end",
        "agent_settled",
    ];
    let others = [
        AbortPoint::Check,
        AbortPoint::Preparation,
        AbortPoint::ToolCall,
        AbortPoint::TurnEnd,
        AbortPoint::Settle,
    ];
    for point in events.map(AbortPoint::Event).into_iter().chain(others) {
        let (_, session) = abort_at(point).await;
        // The next abort is the only reason for a run to end early, so a new token is in use.
        let token = session.control().begin(CancelScope::Run);
        assert!(!token.is_cancelled(), "{point:?}");
        let lines = session.lines();
        assert_eq!(lines.is_empty(), session.texts().is_empty(), "{point:?}");
        let last = lines.last().map_or("agent_settled", String::as_str);
        assert_eq!(last, "agent_settled", "{point:?}");
    }
}

/// Compacts before the prompt, and waits until that is canceled.
#[derive(Default)]
struct CompactingHooks(Arc<Notify>);

impl TestHooks for CompactingHooks {
    fn check_context(&self, check: &ContextCheck) -> CompactionDecision {
        match check {
            ContextCheck::BeforePrompt { .. } => CompactionDecision::Compact {
                reason: CompactionReason::Threshold,
                omit: Vec::new(),
                retry: false,
            },
            _ => CompactionDecision::Skip,
        }
    }

    fn compact(&self, cancel: CancellationToken) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            self.0.notify_one();
            cancel.cancelled().await;
            false
        })
    }
}

#[tokio::test]
async fn a_compaction_ends_with_the_prompt_or_alone() {
    let begun = Arc::new(Notify::new());
    let hooks = CompactingHooks(Arc::clone(&begun));
    let session = ScriptedModel::new([]).session_with(Vec::new(), hooks);
    for (input, reply) in [
        (Input::Abort, Reply::Rejected(Rejection::Canceled)),
        (Input::AbortCompaction, Reply::Started),
    ] {
        let (answer, ()) = tokio::join!(session.prompt("go"), async {
            begun.notified().await;
            assert!(session.control().activity().is_compacting);
            session.control().interrupt(input);
        });
        assert_eq!(answer, reply);
        session.control().wait_for_idle().await;
    }
    assert_eq!(session.texts(), ["user: go", "assistant Stop: done"]);
    let events = session.events();
    let aborted = events
        .iter()
        .filter(|event| matches!(event, SessionEvent::CompactionEnd { aborted: true, .. }));
    assert_eq!(aborted.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_delay_ends_the_run_with_the_failed_response() {
    for input in [Input::AbortRetry, Input::Abort] {
        let begin = tokio::time::Instant::now();
        let script = ScriptedModel::new([ScriptedResponse::Fail("connection refused")]);
        let session = script.session(Vec::new());
        session.prompt("hi").await;
        session.reach(|activity| activity.is_retrying).await;
        session.control().interrupt(input);
        session.control().wait_for_idle().await;
        assert_eq!(begin.elapsed().as_secs(), 0);
        assert_eq!(script.requests.lock().unwrap().len(), 1);
        let events = session.events();
        let ended = events
            .iter()
            .find(|event| matches!(event, SessionEvent::AutoRetryEnd { .. }));
        assert!(matches!(
            ended,
            Some(SessionEvent::AutoRetryEnd {
                success: false,
                attempt: 1,
                canceled: true,
                ..
            })
        ));
    }
}
