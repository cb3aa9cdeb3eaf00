//! Prompts, responses, queues and idle state.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{AgentError, AgentEvent, AgentListener};
use pretty_assertions::assert_eq;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::script::{EventLogger, ScriptedModel, ScriptedResponse, TestTool, texts};

#[tokio::test]
async fn a_response_is_streamed_word_by_word() {
    let agent = ScriptedModel::new([ScriptedResponse::Text("one two")]).agent(Vec::new());
    let notebook = Arc::new(EventLogger::default());
    let _subscription = agent.subscribe(notebook.clone());
    agent.prompt_text("hi", Vec::new()).await.unwrap();
    assert_eq!(
        notebook.lines(),
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
            "agent_end"
        ]
    );
    assert_eq!(
        texts(&agent.state().messages),
        ["user: hi", "assistant Stop: one two"]
    );
}

#[tokio::test]
async fn a_second_prompt_is_rejected_while_the_first_runs() {
    let script = ScriptedModel::new([ScriptedResponse::Stall("thinking")]);
    let agent = script.agent(Vec::new());
    let running = tokio::spawn({
        let agent = agent.clone();
        async move { agent.prompt_text("first", Vec::new()).await }
    });
    script.stalled.notified().await;
    assert_eq!(
        agent.prompt_text("second", Vec::new()).await,
        Err(AgentError::Busy)
    );
    assert_eq!(agent.reset(), Err(AgentError::Busy));
    agent.abort();
    assert_eq!(running.await.unwrap(), Ok(()));
    assert_eq!(
        texts(&agent.state().messages),
        ["user: first", "assistant Aborted: thinking"]
    );
}

/// Blocks `agent_end` until it gets a permit.
struct SlowListener(Semaphore);

impl AgentListener for SlowListener {
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if matches!(event, AgentEvent::AgentEnd { .. }) {
                self.0.acquire().await.unwrap().forget();
            }
        })
    }
}

#[tokio::test]
async fn the_agent_is_idle_only_after_the_agent_end_listeners_returned() {
    let agent = ScriptedModel::new([]).agent(Vec::new());
    let slow = Arc::new(SlowListener(Semaphore::new(0)));
    let _subscription = agent.subscribe(slow.clone());
    let prompt = agent.prompt_text("hi", Vec::new());
    tokio::pin!(prompt);
    for _ in 0..50 {
        assert!(futures_util::poll!(&mut prompt).is_pending());
        tokio::task::yield_now().await;
    }
    assert!(agent.state().is_running);
    assert_eq!(
        agent.prompt_text("again", Vec::new()).await,
        Err(AgentError::Busy)
    );
    slow.0.add_permits(1);
    prompt.await.unwrap();
    assert!(!agent.state().is_running);
}

#[tokio::test]
async fn steering_reaches_the_model_with_the_tool_results() {
    let script = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "echo")])]);
    let agent = script.agent(vec![TestTool::echo("echo")]);
    agent.steer(agent.user_message("and mind the gap", Vec::new()));
    agent.follow_up(agent.user_message("then this", Vec::new()));
    agent.prompt_text("go", Vec::new()).await.unwrap();
    assert_eq!(
        texts(&agent.state().messages),
        [
            "system",
            "user: go",
            "user: and mind the gap",
            "assistant ToolUse: ",
            "result 1: argument",
            "assistant Stop: done",
            "user: then this",
            "assistant Stop: done"
        ]
    );
    assert_eq!(script.requests.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn a_failed_response_can_be_resumed_with_queued_messages() {
    let agent =
        ScriptedModel::new([ScriptedResponse::Fail("connection refused")]).agent(Vec::new());
    agent.prompt_text("hi", Vec::new()).await.unwrap();
    assert_eq!(
        agent.state().error_message.as_deref(),
        Some("connection refused")
    );
    assert_eq!(agent.resume().await, Err(AgentError::AlreadyAnswered));
    agent.follow_up(agent.user_message("try again", Vec::new()));
    agent.resume().await.unwrap();
    assert_eq!(
        texts(&agent.state().messages)[2..],
        ["user: try again", "assistant Stop: done"]
    );
    assert_eq!(agent.state().error_message, None);
}

#[tokio::test]
async fn a_dropped_subscription_receives_nothing() {
    let agent = ScriptedModel::new([]).agent(Vec::new());
    let notebook = Arc::new(EventLogger::default());
    drop(agent.subscribe(notebook.clone()));
    agent.prompt_text("hi", Vec::new()).await.unwrap();
    assert!(notebook.lines().is_empty());
}
