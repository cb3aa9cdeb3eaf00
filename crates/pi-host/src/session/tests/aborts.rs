//! Cancellation in every phase: the session always settles, and its transcript can be continued.

use pi_providers::{FauxGate, FauxResponse};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::harness::{
    HarnessOptions, SessionHarness, echo, endless, long, overloaded, small_model, tight,
};
use crate::session::{BashRequest, NavigateOptions};
use pi_core::{InputSource, Prompt};

/// Sends a prompt, waits for a line, aborts, and returns the lines from that one on.
async fn abort_at(harness: &SessionHarness, line: &str) -> Vec<String> {
    harness.session.prompt(Prompt::text("go")).await.unwrap();
    harness.events.wait_for(line).await;
    harness.session.abort().await;
    assert!(harness.session.is_idle());
    let lines = harness.lines();
    let from = lines.iter().position(|one| one.starts_with(line)).unwrap();
    let settled = lines.iter().filter(|one| *one == "agent_settled").count();
    assert_eq!(settled, 1, "{lines:?}");
    // The session can be used after every kind of cancellation.
    harness.faux.set_script(["fine".into()]);
    harness.prompt("go on").await;
    assert_eq!(harness.context().last().unwrap(), "assistant fine");
    lines[from..].to_vec()
}

#[tokio::test]
async fn before_the_response_starts() {
    let harness = SessionHarness::new();
    harness.faux.push(FauxResponse::stall());
    assert_eq!(
        abort_at(&harness, "message_end user").await,
        [
            "message_end user",
            "message_start assistant",
            "message_end assistant aborted",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
}

#[tokio::test]
async fn in_the_middle_of_the_response() {
    let harness = SessionHarness::new();
    harness.faux.push(FauxResponse::text("half").then_stall());
    assert_eq!(
        abort_at(&harness, "message_start assistant").await,
        [
            "message_start assistant",
            "message_end assistant aborted",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
}

#[tokio::test]
async fn while_a_tool_runs() {
    let harness = SessionHarness::with_options(HarnessOptions {
        tools: vec![echo(), endless()],
        ..HarnessOptions::default()
    });
    harness
        .faux
        .push(FauxResponse::tool_call("endless", json!({})));
    let lines = abort_at(&harness, "tool_execution_start").await;
    assert_eq!(
        lines[..5],
        [
            "tool_execution_start endless",
            "tool_execution_end endless",
            "message_start toolResult",
            "message_end toolResult",
            "turn_end",
        ]
    );
    assert_eq!(lines[lines.len() - 2..], ["agent_end", "agent_settled"]);
}

#[tokio::test(start_paused = true)]
async fn during_the_retry_delay() {
    let harness = SessionHarness::new();
    harness.faux.push(FauxResponse::error(overloaded()));
    assert_eq!(
        abort_at(&harness, "auto_retry_start").await,
        [
            "auto_retry_start 1/3 2000",
            "entry_appended context_edit",
            "auto_retry_end 1 false",
            "agent_settled"
        ]
    );
}

#[tokio::test]
async fn during_auto_compaction() {
    let harness = SessionHarness::with_options(HarnessOptions {
        models: vec![small_model()],
        settings: tight(),
        ..HarnessOptions::default()
    });
    harness.faux.push(FauxResponse::text(long(40)));
    harness.prompt("first").await;
    harness.faux.push(FauxResponse::text(long(1600)));
    harness.faux.push(FauxResponse::stall());
    harness.session.prompt(Prompt::text("go")).await.unwrap();
    harness.events.wait_for("compaction_start").await;
    let before = harness.entries();
    harness.session.abort().await;
    let lines = harness.lines();
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "compaction_start threshold",
            "compaction_end threshold aborted",
            "agent_settled"
        ]
    );
    assert_eq!(harness.entries(), before);
}

#[tokio::test]
async fn queued_messages_survive_and_can_be_cleared() {
    let harness = SessionHarness::new();
    let gate = FauxGate::new();
    harness
        .faux
        .push(FauxResponse::text("half").wait_for(&gate));
    harness.session.prompt(Prompt::text("go")).await.unwrap();
    gate.reached().await;
    let session = &harness.session;
    let source = InputSource::Rpc;
    session
        .queue()
        .steer("s", Vec::new(), source)
        .await
        .unwrap();
    session
        .queue()
        .follow_up("f", Vec::new(), source)
        .await
        .unwrap();
    session.abort().await;
    assert_eq!(session.queue().message_count(), 2);
    let queued = session.queue().clear().await;
    assert_eq!(
        (queued.steering, queued.follow_up),
        (vec!["s".to_owned()], vec!["f".to_owned()])
    );
    assert_eq!(harness.lines().last().unwrap(), "queue_update [] []");
    assert_eq!(session.queue().message_count(), 0);
}

#[tokio::test]
async fn while_a_branch_is_summarized() {
    let harness = SessionHarness::new();
    harness.faux.extend(["one".into(), "two".into()]);
    harness.prompt("first").await;
    harness.prompt("second").await;
    let target = harness.session.history().messages_for_forking().unwrap()[1]
        .entry_id
        .clone();
    let gate = FauxGate::new();
    harness
        .faux
        .push(FauxResponse::after(&gate).then_text("never"));
    let before = harness.entries();
    let session = harness.session.clone();
    let moving = tokio::spawn(async move {
        let options = NavigateOptions {
            summarize: true,
            ..NavigateOptions::default()
        };
        session.navigation().navigate(&target, options).await
    });
    gate.reached().await;
    harness.session.abort().await;
    let moved = moving.await.unwrap().unwrap();
    assert!(moved.cancelled && moved.aborted);
    assert_eq!(harness.entries(), before);
    assert!(harness.session.is_idle());
}

#[cfg(unix)]
#[tokio::test]
async fn bash_commands_are_stopped_by_abort_bash_and_by_dispose() {
    let harness = SessionHarness::new();
    let run = |command: &str| {
        let session = harness.session.clone();
        let request = BashRequest {
            command: command.to_owned(),
            ..BashRequest::default()
        };
        tokio::spawn(async move { session.user_commands().run(request).await.unwrap() })
    };
    let running = run("echo begun; sleep 60");
    harness.events.wait_for("bash_execution_update begun").await;
    assert!(harness.session.user_commands().is_running());
    harness.session.abort().await;
    assert!(harness.session.user_commands().is_running());
    harness.session.user_commands().abort();
    assert!(running.await.unwrap().cancelled);
    harness.lines();

    let running = run("echo begun; sleep 60");
    harness.events.wait_for("bash_execution_update begun").await;
    harness.session.dispose().await;
    assert!(running.await.unwrap().cancelled);
    assert!(!harness.session.user_commands().is_running());
}
