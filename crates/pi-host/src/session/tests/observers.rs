//! Many live sessions in one process, with observers that read quickly, slowly or never.

use pi_core::{Observed, Observer};
use pi_protocol::SessionEvent;
use pi_providers::FauxResponse;
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::task::JoinSet;

use super::harness::SessionHarness;

const SESSIONS: usize = 50;
const PROMPTS: usize = 3;

/// Reads until the session is closed; returns the number of settled runs and whether events were missed.
async fn read_all(mut observer: Observer, delay: bool) -> (usize, bool) {
    let (mut settled, mut has_lagged) = (0, false);
    while let Some(observed) = observer.next().await {
        match observed {
            Observed::Event(envelope) => {
                if matches!(envelope.event, SessionEvent::AgentSettled) {
                    settled += 1;
                }
            }
            Observed::Lagged => has_lagged = true,
        }
        if delay {
            tokio::task::yield_now().await;
        }
    }
    (settled, has_lagged)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_sessions_run_with_three_observers_each_one_of_which_never_reads() {
    let mut sessions = JoinSet::new();
    for _ in 0..SESSIONS {
        sessions.spawn(async {
            let harness = SessionHarness::new();
            let quick = tokio::spawn(read_all(harness.session.observe(None), false));
            let slow = tokio::spawn(read_all(harness.session.observe(None), true));
            let mut idle = harness.session.observe(None);
            // More deltas than the log keeps, so that the idle observer misses some.
            let text = "word ".repeat(2000);
            for number in 0..PROMPTS {
                harness.faux.push(FauxResponse::text(text.clone()));
                harness.prompt(&format!("prompt {number}")).await;
            }
            let last_seq = harness.session.observe(None).cursor().seq;
            harness.session.dispose().await;
            assert_eq!(quick.await.unwrap().0, PROMPTS);
            slow.await.unwrap();
            // The observer that never read costs a bounded log. It learns that it lagged and is then up to date.
            match idle.next().await {
                Some(Observed::Lagged) => assert_eq!(idle.cursor().seq, last_seq),
                other => panic!("the observer has missed events: {other:?}"),
            }
            harness.session.history().messages().unwrap().len()
        });
    }
    let counts = sessions.join_all().await;
    assert_eq!(counts.len(), SESSIONS);
    // System message, and a prompt and a response per run.
    assert!(
        counts.iter().all(|count| *count == 1 + 2 * PROMPTS),
        "{counts:?}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_idle_session_needs_less_than_three_mebibytes() {
    // Fills caches that all sessions of a process share.
    let first = SessionHarness::new();
    first.faux.push(FauxResponse::text("hi"));
    first.prompt("hello").await;
    let before = resident_bytes();
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let harness = SessionHarness::new();
        harness.faux.push(FauxResponse::text("hi"));
        harness.prompt("hello").await;
        sessions.push(harness);
    }
    let per_session = resident_bytes().saturating_sub(before) / SESSIONS;
    assert!(
        per_session <= 3 * 1024 * 1024,
        "{per_session} bytes per session"
    );
}

#[cfg(target_os = "linux")]
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Takes what was logged, as the types and fields of the events.
pub(super) fn logged(observer: &mut Observer) -> Vec<serde_json::Value> {
    std::iter::from_fn(|| observer.try_next())
        .filter_map(|observed| match observed {
            Observed::Event(envelope) => Some(serde_json::to_value(&envelope.event).unwrap()),
            Observed::Lagged => None,
        })
        .collect()
}

#[tokio::test]
async fn changes_of_state_are_logged_and_listeners_of_the_compatibility_wire_are_spared() {
    let harness = SessionHarness::new();
    let session = &harness.session;
    harness.faux.push(FauxResponse::text("hi"));
    harness.prompt("hello").await;
    let target = session.history().entries_since(None).unwrap().entries[0]
        .id
        .clone();
    // Takes what the listener has received so far.
    harness.lines();
    let mut observer = session.observe(None);

    session.history().set_label(&target, Some("here")).unwrap();
    session.history().set_label(&target, None).unwrap();
    session.tools().set_active(&[]);
    session.tools().set_active(&[]);
    session
        .queue()
        .set_steering_mode(pi_protocol::QueueMode::All)
        .unwrap();
    assert_eq!(
        logged(&mut observer),
        [
            json!({"type": "label_changed", "targetId": target, "label": "here"}),
            json!({"type": "label_changed", "targetId": target}),
            json!({"type": "active_tools_changed", "tools": []}),
            json!({"type": "queue_modes_changed", "steeringMode": "all", "followUpMode": "one-at-a-time"}),
        ]
    );
    assert_eq!(harness.lines(), [""; 0]);
}

#[cfg(unix)]
#[tokio::test]
async fn the_start_and_end_of_a_user_command_are_logged() {
    let harness = SessionHarness::new();
    let mut observer = harness.session.observe(None);
    let request = crate::session::BashRequest {
        id: Some(json!("r1")),
        command: "exit 3".to_owned(),
        exclude_from_context: true,
    };
    harness.session.user_commands().run(request).await.unwrap();
    assert_eq!(
        logged(&mut observer),
        [
            json!({"type": "bash_execution_start", "id": "r1", "command": "exit 3", "excludeFromContext": true}),
            json!({"type": "bash_execution_end", "id": "r1", "exitCode": 3, "cancelled": false}),
        ]
    );
}
