//! Many concurrent callers: nothing is lost, and no caller waits forever.

use std::sync::Arc;

use pi_protocol::Delivery;
use pi_providers::{FauxProvider, FauxResponse};
use pretty_assertions::assert_eq;
use tokio::task::JoinSet;

use super::harness::SessionHarness;
use crate::session::PromptError;
use pi_core::{Prompt, PromptOutcome};

fn script_responses(faux: &FauxProvider, count: usize) {
    faux.extend((0..count).map(|_| FauxResponse::text("ok")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_prompts_all_get_a_response() {
    let harness = Arc::new(SessionHarness::new());
    script_responses(&harness.faux, 40);
    let mut callers = JoinSet::new();
    for number in 0..20 {
        let session = harness.session.clone();
        callers.spawn(async move {
            let prompt = Prompt {
                streaming_behavior: Some(Delivery::FollowUp),
                ..Prompt::text(format!("prompt {number}"))
            };
            session.prompt(prompt).await.unwrap()
        });
    }
    let runs = callers.join_all().await;
    assert!(runs.contains(&PromptOutcome::Started));
    harness.session.wait_for_idle().await;
    // A follow-up that was queued while the last run settled waits for the next one.
    harness.prompt("last").await;
    let mut asked: Vec<_> = harness.context();
    asked.retain(|line| line.starts_with("user"));
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), 21, "{asked:?}");
    assert_eq!(harness.session.queue().message_count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_is_usable_after_an_abort_at_any_time() {
    let harness = SessionHarness::new();
    let mut started = 0;
    for round in 0..60 {
        script_responses(&harness.faux, 2);
        let session = harness.session.clone();
        let aborting = tokio::spawn(async move {
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            session.abort().await;
        });
        match harness.session.prompt(Prompt::text("go")).await {
            Ok(PromptOutcome::Started) => started += 1,
            // Aborted before the run started: nothing was sent.
            Err(PromptError::Canceled) => {}
            other => panic!("{other:?}"),
        }
        harness.session.wait_for_idle().await;
        aborting.await.unwrap();
        assert!(harness.session.is_idle());
    }
    harness.faux.set_script(["fine".into()]);
    harness.prompt("at last").await;
    assert_eq!(harness.context().last().unwrap(), "assistant fine");
    let lines = harness.lines();
    let count = |name: &str| lines.iter().filter(|line| line.as_str() == name).count();
    assert_eq!(count("agent_settled"), started + 1);
    let stored = harness
        .session
        .history()
        .with_session(|session| session.current_branch().projection().unwrap());
    assert_eq!(
        stored.messages().count(),
        harness.session.history().messages().unwrap().len()
    );
}
