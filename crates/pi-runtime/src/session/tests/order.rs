//! The order of events, as clients of the TypeScript pi expect it.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_agent::{AgentEvent, ToolOutput};
use pi_ai::{FauxGate, FauxResponse};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::Notify;

use super::stage::{Setting, Stage, one_turn, tool};
use crate::event::SessionEvent;
use crate::session::{AgentSession, Delivery, InputSource, Prompt, Run, SessionListener};

#[tokio::test]
async fn a_first_prompt_tells_of_the_system_message_and_later_ones_do_not() {
    let stage = Stage::new();
    stage.faux.extend(["one".into(), "two".into()]);
    stage.say("first").await;
    assert_eq!(
        stage.told(),
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
    stage.say("second").await;
    let expected = [one_turn("stop"), vec!["agent_settled".to_owned()]].concat();
    assert_eq!(stage.told(), expected);
    assert_eq!(
        stage.entries(),
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
    let stage = Stage::new();
    stage
        .faux
        .push(FauxResponse::tool_call("echo", json!({"text": "hi"})));
    stage.faux.push("done");
    stage.say("go").await;
    assert_eq!(
        stage.told()[6..],
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
    let stage = Stage::set(Setting {
        tools: vec![waiting],
        ..Setting::default()
    });
    stage.faux.push(FauxResponse::tool_call("wait", json!({})));
    stage.faux.extend(["steered".into(), "followed".into()]);
    stage.session.prompt(Prompt::text("go")).await.unwrap();
    stage.notes.heard("tool_execution_start").await;
    let session = &stage.session;
    let images = Vec::new;
    let steered = session.steer("left", images(), InputSource::Rpc).await;
    assert_eq!(steered.unwrap(), Run::Queued);
    let later = Prompt {
        streaming_behavior: Some(Delivery::FollowUp),
        ..Prompt::text("later")
    };
    assert_eq!(session.prompt(later).await.unwrap(), Run::Queued);
    assert_eq!(session.pending_message_count(), 2);
    release.notify_one();
    session.wait_for_idle().await;
    assert_eq!(
        stage.told()[8..],
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

/// Checks at the end of every message that the session has it.
struct Auditor {
    session: AgentSession,
    missing: Mutex<Vec<String>>,
    seen: Mutex<usize>,
}

impl SessionListener for Auditor {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let SessionEvent::Agent(AgentEvent::MessageEnd { message }) = event {
            let is_stored = self.session.with_session(|session| {
                let leaf = session.leaf().unwrap().unwrap();
                leaf.body.as_message() == Some(message)
            });
            *self.seen.lock().unwrap() += 1;
            if !is_stored {
                let text = serde_json::to_string(&**message).unwrap();
                self.missing.lock().unwrap().push(text);
            }
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_message_is_in_the_file_before_anybody_hears_of_its_end() {
    let stage = Stage::new();
    let auditor = Arc::new(Auditor {
        session: stage.session.clone(),
        missing: Mutex::default(),
        seen: Mutex::default(),
    });
    let _subscription = stage.session.subscribe(Arc::clone(&auditor) as _);
    stage
        .faux
        .push(FauxResponse::tool_call("echo", json!({"text": "hi"})));
    stage.faux.push("done");
    stage.say("go").await;
    assert_eq!(*auditor.missing.lock().unwrap(), Vec::<String>::new());
    assert_eq!(*auditor.seen.lock().unwrap(), 5);
}

/// Prompts once from within `agent_settled`.
struct Eager(AgentSession, Mutex<Vec<Prompt>>);

impl SessionListener for Eager {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if matches!(event, SessionEvent::AgentSettled) {
                let prompts = std::mem::take(&mut *self.1.lock().unwrap());
                for prompt in prompts {
                    assert_eq!(self.0.prompt(prompt).await.unwrap(), Run::Queued);
                }
            }
        })
    }
}

#[tokio::test]
async fn what_is_asked_for_while_settling_happens_afterwards_and_idleness_waits_for_it() {
    let stage = Stage::new();
    let prompts = vec![Prompt::text("second"), Prompt::text("third")];
    let eager = Arc::new(Eager(stage.session.clone(), Mutex::new(prompts)));
    let _subscription = stage.session.subscribe(eager);
    stage.faux.extend(["1".into(), "2".into(), "3".into()]);
    stage.say("first").await;
    let told = stage.told();
    let settled = told.iter().filter(|line| *line == "agent_settled");
    assert_eq!(settled.count(), 3, "{told:?}");
    assert_eq!(
        stage.context()[1..],
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
async fn acceptance_is_announced_before_the_first_event() {
    let stage = Stage::new();
    let gate = FauxGate::new();
    stage.faux.push(FauxResponse::after(&gate).then_text("hi"));
    let notes = Arc::clone(&stage.notes);
    let announced = stage
        .session
        .prompt_announced(Prompt::text("go"), |run| async move {
            assert_eq!(run, Run::Started);
            tokio::task::yield_now().await;
            assert_eq!(notes.take(), Vec::<String>::new());
        })
        .await;
    assert_eq!(announced.unwrap(), Run::Started);
    assert!(stage.session.is_streaming());
    gate.open();
    stage.session.wait_for_idle().await;
    assert_eq!(stage.told().first().unwrap(), "agent_start");
}
