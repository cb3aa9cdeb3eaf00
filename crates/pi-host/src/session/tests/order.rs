//! The order of events, as expected by clients of the TypeScript pi.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_core::{InputSource, Prompt, PromptOutcome};
use pi_protocol::{AgentEvent, Delivery, SessionEvent, ToolOutput};
use pi_providers::{FauxGate, FauxResponse};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::Notify;

use super::harness::{HarnessOptions, SessionHarness, one_turn, tool};
use crate::session::{AgentSession, SessionListener};

#[tokio::test]
async fn only_the_first_prompt_emits_the_system_message() {
    let harness = SessionHarness::new();
    harness.faux.extend(["one".into(), "two".into()]);
    harness.prompt("first").await;
    assert_eq!(
        harness.lines(),
        [
            "agent_start",
            "turn_start",
            "message_start system",
            "message_end system",
            "message_start user",
            "message_end user",
            "message_start assistant",
            "message_end assistant stop",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
    );
    harness.prompt("second").await;
    let expected = [one_turn("stop"), vec!["agent_settled".to_owned()]].concat();
    assert_eq!(harness.lines(), expected);
    assert_eq!(
        harness.entries(),
        [
            "model_change",
            "thinking_level_change",
            "system",
            "user",
            "assistant",
            "user",
            "assistant"
        ]
    );
}

#[tokio::test]
async fn tools_run_and_their_results_follow_before_the_turn_ends() {
    let harness = SessionHarness::new();
    harness
        .faux
        .push(FauxResponse::tool_call("echo", json!({"text": "hi"})));
    harness.faux.push("done");
    harness.prompt("go").await;
    assert_eq!(
        harness.lines()[6..],
        [
            "message_start assistant",
            "message_end assistant toolUse",
            "tool_execution_start echo",
            "tool_execution_end echo",
            "message_start toolResult",
            "message_end toolResult",
            "turn_end",
            "turn_start",
            "message_start assistant",
            "message_end assistant stop",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
    );
}

#[tokio::test]
async fn steering_during_tools_joins_the_next_turn_and_follow_ups_wait() {
    let release = Arc::new(Notify::new());
    let gate = Arc::clone(&release);
    let waiting = tool("wait", move |_, _, _| {
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            Ok(ToolOutput::text("waited"))
        }
    });
    let harness = SessionHarness::with_options(HarnessOptions {
        tools: vec![waiting],
        ..HarnessOptions::default()
    });
    harness
        .faux
        .push(FauxResponse::tool_call("wait", json!({})));
    harness.faux.extend(["steered".into(), "followed".into()]);
    harness.session.prompt(Prompt::text("go")).await.unwrap();
    harness.events.wait_for("tool_execution_start").await;
    let session = &harness.session;
    let images = Vec::new;
    let steered = session
        .queue()
        .steer("left", images(), InputSource::Rpc)
        .await;
    assert_eq!(steered.unwrap(), PromptOutcome::Queued);
    let later = Prompt {
        streaming_behavior: Some(Delivery::FollowUp),
        ..Prompt::text("later")
    };
    assert_eq!(session.prompt(later).await.unwrap(), PromptOutcome::Queued);
    assert_eq!(session.queue().message_count(), 2);
    release.notify_one();
    session.wait_for_idle().await;
    assert_eq!(
        harness.lines()[8..],
        [
            "tool_execution_start wait",
            "queue_update [\"left\"] []",
            "queue_update [\"left\"] [\"later\"]",
            "tool_execution_end wait",
            "message_start toolResult",
            "message_end toolResult",
            "turn_end",
            "turn_start",
            "queue_update [] [\"later\"]",
            "message_start user",
            "message_end user",
            "message_start assistant",
            "message_end assistant stop",
            "turn_end",
            "turn_start",
            "queue_update [] []",
            "message_start user",
            "message_end user",
            "message_start assistant",
            "message_end assistant stop",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
    );
}

/// Checks at the end of every message that it is in the session.
struct StorageChecker {
    session: AgentSession,
    missing: Mutex<Vec<String>>,
    seen: Mutex<usize>,
}

impl SessionListener for StorageChecker {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let SessionEvent::Agent(AgentEvent::MessageEnd { message }) = event {
            let is_stored = self.session.history().with_session(|session| {
                let leaf = session.current_branch().leaf().unwrap().unwrap();
                leaf.body.as_message() == Some(message)
            });
            *self.seen.lock() += 1;
            if !is_stored {
                let text = serde_json::to_string(&**message).unwrap();
                self.missing.lock().push(text);
            }
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_message_is_stored_before_its_end_is_published() {
    let harness = SessionHarness::new();
    let auditor = Arc::new(StorageChecker {
        session: harness.session.clone(),
        missing: Mutex::default(),
        seen: Mutex::default(),
    });
    let _subscription = harness.session.subscribe(Arc::clone(&auditor) as _);
    harness
        .faux
        .push(FauxResponse::tool_call("echo", json!({"text": "hi"})));
    harness.faux.push("done");
    harness.prompt("go").await;
    assert_eq!(*auditor.missing.lock(), Vec::<String>::new());
    assert_eq!(*auditor.seen.lock(), 5);
}

/// Prompts once from within `agent_settled`.
struct PromptOnSettle(AgentSession, Mutex<Vec<Prompt>>);

impl SessionListener for PromptOnSettle {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if matches!(event, SessionEvent::AgentSettled { .. }) {
                let prompts = std::mem::take(&mut *self.1.lock());
                for prompt in prompts {
                    assert_eq!(self.0.prompt(prompt).await.unwrap(), PromptOutcome::Queued);
                }
            }
        })
    }
}

#[tokio::test]
async fn prompts_sent_while_settling_run_afterwards_and_delay_idle() {
    let harness = SessionHarness::new();
    let prompts = vec![Prompt::text("second"), Prompt::text("third")];
    let eager = Arc::new(PromptOnSettle(harness.session.clone(), Mutex::new(prompts)));
    let _subscription = harness.session.subscribe(eager);
    harness.faux.extend(["1".into(), "2".into(), "3".into()]);
    harness.prompt("first").await;
    let lines = harness.lines();
    let settled = lines.iter().filter(|line| *line == "agent_settled");
    assert_eq!(settled.count(), 3, "{lines:?}");
    assert_eq!(
        harness.context()[1..],
        [
            "user first",
            "assistant 1",
            "user second",
            "assistant 2",
            "user third",
            "assistant 3"
        ]
    );
}

#[tokio::test]
async fn a_run_waits_until_its_acceptance_is_dropped() {
    let harness = SessionHarness::new();
    let gate = FauxGate::new();
    harness
        .faux
        .push(FauxResponse::after(&gate).then_text("hi"));
    let accepted = harness.session.accept_prompt(Prompt::text("go")).await;
    let accepted = accepted.unwrap();
    assert_eq!(accepted.outcome, PromptOutcome::Started);
    tokio::task::yield_now().await;
    assert_eq!(harness.events.take(), Vec::<String>::new());
    drop(accepted);
    assert!(harness.session.is_streaming());
    gate.open();
    harness.session.wait_for_idle().await;
    assert_eq!(harness.lines().first().unwrap(), "agent_start");
}

/// Steers once at the start of a turn, and waits for the reply or not.
struct SteerAtTurnStart {
    session: AgentSession,
    waits: bool,
    is_done: AtomicBool,
}

impl SessionListener for SteerAtTurnStart {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let is_start = matches!(event, SessionEvent::Agent(AgentEvent::TurnStart));
            if !is_start || self.is_done.swap(true, Ordering::Relaxed) {
                return;
            }
            let steering = self
                .session
                .queue()
                .steer("more", Vec::new(), InputSource::Extension);
            if self.waits {
                assert_eq!(steering.await.unwrap(), PromptOutcome::Queued);
            } else {
                let polled = steering.now_or_never();
                assert!(polled.is_none(), "the reply needs another task");
            }
        })
    }
}

#[tokio::test]
async fn a_request_of_a_listener_is_performed_whether_or_not_it_waits() {
    for waits in [true, false] {
        let harness = SessionHarness::new();
        let _subscription = harness.session.subscribe(Arc::new(SteerAtTurnStart {
            session: harness.session.clone(),
            waits,
            is_done: AtomicBool::new(false),
        }));
        harness.faux.extend(["1".into(), "2".into()]);
        harness.prompt("go").await;
        let context = harness.context();
        assert!(context.contains(&"user more".to_owned()), "{context:?}");
        let lines = harness.lines();
        let settled = lines.iter().filter(|line| *line == "agent_settled");
        assert_eq!(settled.count(), 1, "{lines:?}");
        // A request that no one waits for may publish the queue after the end.
        let rest = lines.rsplit(|line| line == "agent_settled").next();
        let rest = rest.unwrap_or_default();
        assert!(
            rest.is_empty() || (!waits && rest == ["queue_update [] []"]),
            "{lines:?}"
        );
    }
}
