//! Requests that any client may answer, and the snapshot that shows them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    AnswerError, Decision, HookError, Observed, PendingToolCall, Prompt, ReviewedToolCall,
};
use pi_protocol::{ActivityKind, Answer, RequestId, RequestKind, SessionEvent};
use pi_providers::FauxResponse;
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::harness::{HarnessOptions, SessionHarness};
use crate::participants::{Participants, ToolPolicy};

struct AskAlways;

impl ToolPolicy for AskAlways {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            let request = call.approval_request(Some("always".to_owned()));
            Ok(ReviewedToolCall {
                decision: Decision::Ask(request),
                arguments: call.arguments,
            })
        })
    }
}

/// A session whose tool call waits for approval, and the request.
async fn waiting_session() -> (SessionHarness, RequestId) {
    let policy = Participants::builder().tool_policy(Arc::new(AskAlways));
    let harness = SessionHarness::with_options(HarnessOptions {
        participants: policy.build(),
        ..HarnessOptions::default()
    });
    harness
        .faux
        .push(FauxResponse::tool_call("echo", json!({"text": "hello"})));
    harness.faux.push(FauxResponse::text("done"));
    let mut observer = harness.session.observe(None);
    harness.session.prompt(Prompt::text("go")).await.unwrap();
    loop {
        if let Observed::Event(envelope) = observer.next().await.unwrap()
            && let SessionEvent::ApprovalRequested { request } = &envelope.event
        {
            return (harness, request.id.clone());
        }
    }
}

#[tokio::test]
async fn the_first_of_two_answers_wins_and_the_call_runs() {
    let (harness, id) = waiting_session().await;
    let requests = harness.session.requests();
    let unknown = requests.answer(RequestId("other".to_owned()), Answer::Allow);
    assert_eq!(unknown.await, Err(AnswerError::Unknown));

    let (one, other) = tokio::join!(
        requests.answer(id.clone(), Answer::Allow),
        requests.answer(id.clone(), Answer::Deny { reason: None }),
    );
    assert_eq!(one, Ok(()));
    assert!(other.is_err(), "{other:?}");
    harness.session.wait_for_idle().await;
    let texts = serde_json::to_string(&harness.session.history().messages().unwrap()).unwrap();
    assert!(texts.contains("hello"), "{texts}");
}

#[tokio::test]
async fn a_snapshot_shows_what_the_session_waits_for() {
    let (harness, id) = waiting_session().await;
    let session = &harness.session;
    let snapshot = session.snapshot();
    assert_eq!(snapshot.status.kind, ActivityKind::Running);
    assert_eq!(snapshot.cursor, session.observe(None).cursor());
    assert_eq!(snapshot.tools, ["echo"]);
    let [request] = snapshot.pending.as_slice() else {
        panic!("one request expected: {:?}", snapshot.pending);
    };
    assert_eq!(request.id, id);
    assert!(
        matches!(&request.kind, RequestKind::Approval { tool_name, .. } if tool_name == "echo")
    );

    session.abort().await;
    let snapshot = session.snapshot();
    assert_eq!(snapshot.status.kind, ActivityKind::Idle);
    assert_eq!(snapshot.pending, []);
}
