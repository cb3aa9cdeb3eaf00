//! What observers see, and what an idle session costs.

use pi_core::{Observed, Observer};
use pi_providers::FauxResponse;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::harness::SessionHarness;

#[cfg(target_os = "linux")]
const SESSIONS: usize = 50;

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
