//! Many live sessions in one process, with observers that read quickly, slowly or never.

use pi_core::{Observed, Observer};
use pi_protocol::SessionEvent;
use pi_providers::FauxResponse;
use pretty_assertions::assert_eq;
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
            harness.session.messages().unwrap().len()
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
