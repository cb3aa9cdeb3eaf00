//! Tools that ignore their abort signal: the run ends without their result.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::rpc_session::{RpcSession, is_entered, is_response};
use super::{BadHook, ENDLESS, SILENT, for_each};
use crate::harness::{TestContext, text_reply, tool_call_reply};

/// The tool never ends. How long an abort awaits it is a test of `pi-extensions`, where time is paused.
pub(super) async fn assert_abort_abandons(context: &TestContext, hook: BadHook) {
    let mut session = RpcSession::start(context, hook, &[]);
    session.prompt().await;
    session.until(is_entered).await;
    session.send(json!({"type": "abort"})).await;
    session.until(is_response("abort")).await;
    session.send(json!({"type": "get_messages"})).await;
    let response = session.record(is_response("get_messages")).await;
    let messages = response["data"]["messages"].as_array().unwrap();
    let result = messages
        .iter()
        .find(|message| message["role"] == "toolResult");
    let result = result.unwrap_or_else(|| panic!("{hook:?}: {messages:#?}"));
    assert_eq!(result["isError"], json!(true), "{hook:?}");
    // The session is usable.
    session.prompt().await;
    session
        .until(|record| record["type"] == "agent_settled")
        .await;
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

pub(super) fn replies() -> [pi_test_support::ScriptedReply; 2] {
    [tool_call_reply("bad", &json!({})), text_reply("done")]
}

pub(super) fn tools() -> Vec<BadHook> {
    let hooks = SILENT.map(|manner| BadHook {
        hook: "tool",
        manner,
        timeout: ENDLESS,
    });
    hooks.into()
}

#[tokio::test]
async fn an_abort_does_not_wait_for_tools() {
    let check = async |hook| {
        let context = TestContext::new(replies()).await;
        assert_abort_abandons(&context, hook).await;
    };
    for_each(tools(), check).await;
}
