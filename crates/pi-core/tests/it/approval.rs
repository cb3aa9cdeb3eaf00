//! Tool calls that a policy asks about, answered by clients.

use futures_util::future::BoxFuture;
use pi_core::{
    AnswerError, Backend as _, Decision, HookError, Input, PendingToolCall, Reply, ReviewedToolCall,
};
use pi_protocol::{Answer, RequestId, RequestKind, SessionActivity};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::backend::{TestBackend, TestHooks};
use crate::script::{ScriptedModel, ScriptedResponse, TestTool};

/// Asks about calls of `risky`, with changed arguments.
struct AskingHooks;

impl TestHooks for AskingHooks {
    fn before_tool_call<'a>(
        &'a self,
        _backend: &'a TestBackend,
        mut call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            if call.call.name != "risky" {
                return Ok(ReviewedToolCall::allow(call.arguments));
            }
            let request = call.approval_request(Some("writes files".to_owned()));
            call.arguments.insert("text".to_owned(), json!("changed"));
            Ok(ReviewedToolCall {
                decision: Decision::Ask(request),
                arguments: call.arguments,
            })
        })
    }
}

/// A session in which call `1` waits for approval and call `2` has ended.
async fn session_waiting() -> TestBackend {
    let calls = vec![("1", "risky"), ("2", "echo")];
    let tools = vec![TestTool::echo("risky"), TestTool::echo("echo")];
    let script = ScriptedModel::new([ScriptedResponse::Calls(calls)]);
    let session = script.session_with(tools, AskingHooks);
    assert_eq!(session.prompt("go").await, Reply::Started);
    while session.lines_of("tool_execution_end").is_empty() {
        tokio::task::yield_now().await;
    }
    session
}

async fn answer(session: &TestBackend, answer: Answer) -> Reply {
    let request = RequestId("approval-1".to_owned());
    session.request(Input::Answer { request, answer }).await
}

#[tokio::test]
async fn a_call_runs_when_a_client_allows_it() {
    let session = session_waiting().await;
    let requests = session.control().machine().pending_requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].call.as_deref(), Some("1"));
    let RequestKind::Approval { args, reason, .. } = &requests[0].kind else {
        panic!("{requests:?}");
    };
    assert_eq!(args["text"], "changed");
    assert_eq!(reason.as_deref(), Some("writes files"));
    assert_eq!(answer(&session, Answer::Allow).await, Reply::Done);
    session.control().wait_for_idle().await;
    assert_eq!(
        session.texts()[3..],
        [
            "result 1: changed",
            "result 2: argument",
            "assistant Stop: done"
        ]
    );
    assert_eq!(
        session.lines_of("approval_"),
        ["approval_requested", "approval_resolved"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_two_clients_answers() {
    for _ in 0..50 {
        let session = session_waiting().await;
        let deny = Answer::Deny { reason: None };
        let clients = [Answer::Allow, deny].map(|given| {
            let session = session.clone();
            tokio::spawn(async move { answer(&session, given).await })
        });
        let mut replies = Vec::new();
        for client in clients {
            replies.push(client.await.unwrap());
        }
        session.control().wait_for_idle().await;
        let accepted = replies.iter().filter(|reply| **reply == Reply::Done);
        assert_eq!(accepted.count(), 1, "{replies:?}");
        let first = session.texts()[3].clone();
        let expected = if replies[0] == Reply::Done {
            "result 1: changed"
        } else {
            "failure 1: The user denied this tool call"
        };
        assert_eq!(first, expected);
        let late = Reply::AnswerRejected(AnswerError::Unknown);
        assert_eq!(answer(&session, Answer::Allow).await, late);
    }
}

#[tokio::test]
async fn an_abort_ends_a_run_that_waits_for_approval() {
    let session = session_waiting().await;
    session.abort();
    session.control().wait_for_idle().await;
    assert_eq!(session.control().activity(), SessionActivity::default());
    assert_eq!(session.lines_of("approval_resolved").len(), 1);
    assert!(session.control().machine().pending_requests().is_empty());
    session.run("again").await;
    assert_eq!(session.texts().last().unwrap(), "assistant Stop: done");
}
