//! A session file that stops taking records: the run ends and says why, and what is in memory is
//! what is in the file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_agent::AgentEvent;
use pi_ai::{AgentMessage, FauxAnswer};
use pi_session::{Access, OpenSession, Session};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::harness::{HarnessOptions, SessionHarness};
use crate::event::SessionEvent;
use crate::session::{AgentSession, SessionListener};

/// Takes the file away when the nth message of a run begins, as a full disk would.
struct Thief {
    session: AgentSession,
    countdown: Mutex<usize>,
    hidden: PathBuf,
    error: Mutex<Option<String>>,
}

impl SessionListener for Thief {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        match event {
            SessionEvent::Agent(AgentEvent::MessageStart { .. }) => {
                let mut countdown = self.countdown.lock().unwrap();
                if *countdown == 0 {
                    let path = self.session.session_file().unwrap();
                    if path.exists() {
                        std::fs::rename(path, &self.hidden).unwrap();
                    }
                }
                *countdown = countdown.saturating_sub(1);
            }
            SessionEvent::Agent(AgentEvent::TurnEnd { message, .. }) => {
                if let AgentMessage::Assistant(response) = &**message {
                    self.error.lock().unwrap().clone_from(&response.error_message);
                }
            }
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn an_append_that_fails_ends_the_run_with_a_clear_error_at_every_record() {
    for nth in 0..4 {
        let harness = SessionHarness::new();
        harness.faux.push("hello");
        harness.say("warm up").await;
        harness.told();
        let stored = harness.entries();
        let thief = Arc::new(Thief {
            session: harness.session.clone(),
            countdown: Mutex::new(nth),
            hidden: harness.directory.path().join("hidden"),
            error: Mutex::default(),
        });
        let subscription = harness.session.subscribe(Arc::clone(&thief) as _);
        harness
            .faux
            .push(FauxAnswer::tool_call("echo", json!({"text": "hi"})));
        harness.faux.push("done");
        harness.say("go").await;
        let told = harness.told();
        assert_eq!(
            told[told.len() - 4..],
            [
                "message_end assistant error",
                "turn_end",
                "agent_end",
                "agent_settled"
            ],
            "{nth}: {told:?}"
        );
        let error = thief.error.lock().unwrap().clone().unwrap();
        assert!(
            error.contains("nothing was added to the session"),
            "{error}"
        );
        drop(subscription);

        // Memory holds what the file holds: the messages before the one that failed.
        let kinds = ["user", "assistant", "toolResult"];
        let expected = stored
            .iter()
            .map(String::as_str)
            .chain(kinds.into_iter().take(nth));
        assert_eq!(harness.entries(), expected.collect::<Vec<_>>());
        let file = Session::open(
            &harness.directory.path().join("hidden"),
            OpenSession {
                access: Access::Read,
                ..OpenSession::default()
            },
        );
        let count = file.unwrap().projection().unwrap().messages().count();
        assert_eq!(harness.session.messages().unwrap().len(), count, "{nth}");
    }
}

#[tokio::test]
async fn a_session_whose_file_is_back_goes_on() {
    let harness = SessionHarness::new();
    harness.faux.push("hello");
    harness.say("warm up").await;
    let path = harness.session.session_file().unwrap();
    let hidden = harness.directory.path().join("hidden");
    std::fs::rename(&path, &hidden).unwrap();
    harness.say("lost").await;
    std::fs::rename(&hidden, &path).unwrap();
    harness.faux.push("found");
    harness.say("again").await;
    assert_eq!(
        harness.context()[1..],
        [
            "user warm up",
            "assistant hello",
            "user again",
            "assistant found"
        ]
    );
}

#[tokio::test]
async fn a_long_session_is_counted_without_being_read_and_continues() {
    let first = SessionHarness::new();
    for number in 0..20 {
        first.faux.push("answer");
        first.say(&format!("question {number}")).await;
    }
    let path = first.session.session_file().unwrap();
    let count = first.session.message_count();
    first.session.dispose().await;
    let SessionHarness {
        directory, session, ..
    } = first;
    drop(session);
    let opened = Session::open(&path, OpenSession::default()).unwrap();
    let entries = opened.len();
    let second = SessionHarness::with_options(HarnessOptions {
        session: Some(opened),
        ..HarnessOptions::default()
    });
    assert_eq!(second.session.message_count(), count);
    assert_eq!(second.session.messages().unwrap().len(), count);
    assert_eq!(second.entries().len(), entries);
    second.faux.push("more");
    second.say("go on").await;
    assert_eq!(second.context().last().unwrap(), "assistant more");
    drop(directory);
}
