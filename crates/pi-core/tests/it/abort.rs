//! Aborts: in every phase the run ends in order, with a valid transcript.

use std::sync::Arc;

use pi_core::ToolOutput;
use pretty_assertions::assert_eq;
use tokio::sync::Notify;

use crate::script::{ScriptedModel, ScriptedResponse, TestTool, texts};

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
    let agent =
        ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "waits")])]).agent(vec![tool]);
    let running = tokio::spawn({
        let agent = agent.clone();
        async move { agent.prompt_text("go", Vec::new()).await }
    });
    begun.notified().await;
    assert_eq!(agent.state().pending_tool_calls, ["1"]);
    agent.abort();
    running.await.unwrap().unwrap();
    assert_eq!(
        texts(&agent.state().messages)[2..],
        [
            "assistant ToolUse: ",
            "result 1: stopped in time",
            "assistant Aborted: "
        ]
    );
    assert!(agent.state().pending_tool_calls.is_empty());
}

#[tokio::test]
async fn an_idle_agent_ignores_an_abort() {
    let agent = ScriptedModel::new([]).agent(Vec::new());
    agent.abort();
    agent.prompt_text("hi", Vec::new()).await.unwrap();
    assert_eq!(
        texts(&agent.state().messages),
        ["user: hi", "assistant Stop: done"]
    );
}

#[tokio::test]
async fn queued_messages_survive_an_abort() {
    let script = ScriptedModel::new([ScriptedResponse::Stall("half")]);
    let agent = script.agent(Vec::new());
    let running = tokio::spawn({
        let agent = agent.clone();
        async move { agent.prompt_text("go", Vec::new()).await }
    });
    script.stalled.notified().await;
    agent.steer(agent.user_message("steered", Vec::new()));
    agent.follow_up(agent.user_message("followed", Vec::new()));
    agent.abort();
    running.await.unwrap().unwrap();
    let (steering, follow_ups) = agent.queued_messages();
    assert_eq!((steering.len(), follow_ups.len()), (1, 1));
}
