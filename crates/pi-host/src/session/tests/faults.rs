//! A session file that cannot be written: the run ends with an error, and memory matches the file.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_protocol::{AgentEvent, AgentMessage, SessionEvent};
use pi_providers::FauxResponse;
use pi_session::{AccessMode, OpenSession, Session};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::harness::{HarnessOptions, SessionHarness};
use crate::session::{AgentSession, SessionListener};

/// Moves the file away when the nth message of a run starts, simulating a full disk.
struct FileRemover {
    session: AgentSession,
    countdown: Mutex<usize>,
    hidden: PathBuf,
    error: Mutex<Option<String>>,
}

impl SessionListener for FileRemover {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        match event {
            SessionEvent::Agent(AgentEvent::MessageStart { .. }) => {
                let mut countdown = self.countdown.lock();
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
                    self.error.lock().clone_from(&response.error_message);
                }
            }
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn a_failed_append_ends_the_run_with_a_clear_error() {
    for nth in 0..4 {
        let harness = SessionHarness::new();
        harness.faux.push("hello");
        harness.prompt("warm up").await;
        harness.lines();
        let stored = harness.entries();
        let remover = Arc::new(FileRemover {
            session: harness.session.clone(),
            countdown: Mutex::new(nth),
            hidden: harness.directory.path().join("hidden"),
            error: Mutex::default(),
        });
        let subscription = harness.session.subscribe(Arc::clone(&remover) as _);
        harness
            .faux
            .push(FauxResponse::tool_call("echo", json!({"text": "hi"})));
        harness.faux.push("done");
        harness.prompt("go").await;
        let lines = harness.lines();
        assert_eq!(
            lines[lines.len() - 4..],
            [
                "message_end assistant error",
                "turn_end",
                "agent_end",
                "agent_settled"
            ],
            "{nth}: {lines:?}"
        );
        let error = remover.error.lock().clone().unwrap();
        assert!(error.contains("cannot append to session"), "{error}");
        drop(subscription);

        // Memory matches the file: the messages before the one that failed.
        let kinds = ["user", "assistant", "toolResult"];
        let expected = stored
            .iter()
            .map(String::as_str)
            .chain(kinds.into_iter().take(nth));
        assert_eq!(harness.entries(), expected.collect::<Vec<_>>());
        let file = Session::open(
            &harness.directory.path().join("hidden"),
            OpenSession {
                access: AccessMode::Read,
                ..OpenSession::default()
            },
        );
        let count = file
            .unwrap()
            .current_branch()
            .projection()
            .unwrap()
            .messages()
            .count();
        assert_eq!(
            harness.session.history().messages().unwrap().len(),
            count,
            "{nth}"
        );
    }
}

#[tokio::test]
async fn a_session_continues_when_its_file_is_back() {
    let harness = SessionHarness::new();
    harness.faux.push("hello");
    harness.prompt("warm up").await;
    let path = harness.session.session_file().unwrap();
    let hidden = harness.directory.path().join("hidden");
    std::fs::rename(&path, &hidden).unwrap();
    harness.prompt("lost").await;
    std::fs::rename(&hidden, &path).unwrap();
    harness.faux.push("found");
    harness.prompt("again").await;
    assert_eq!(
        harness.context()[1..],
        [
            "user warm up",
            "assistant hello",
            "user again",
            "user lost",
            "assistant found"
        ]
    );
}

#[tokio::test]
async fn a_long_session_is_counted_without_loading_it_and_continues() {
    let first = SessionHarness::new();
    for number in 0..20 {
        first.faux.push("answer");
        first.prompt(&format!("question {number}")).await;
    }
    let path = first.session.session_file().unwrap();
    let count = first.session.history().message_count();
    first.session.dispose().await;
    let SessionHarness {
        directory, session, ..
    } = first;
    drop(session);
    let opened = Session::open(&path, OpenSession::default()).unwrap();
    let entries = opened.entries().len();
    let second = SessionHarness::with_options(HarnessOptions {
        session: Some(opened),
        ..HarnessOptions::default()
    });
    assert_eq!(second.session.history().message_count(), count);
    assert_eq!(second.session.history().messages().unwrap().len(), count);
    assert_eq!(second.entries().len(), entries);
    second.faux.push("more");
    second.prompt("go on").await;
    assert_eq!(second.context().last().unwrap(), "assistant more");
    drop(directory);
}
