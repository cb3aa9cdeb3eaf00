//! Lanes: when cancellations take effect, what ends with a lane, and who waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use futures_util::future::BoxFuture;
use pi_core::{Backend as _, Input, Outcome, Rejection, Reply, submit};
use pi_protocol::{Delivery, SessionActivity, SessionEvent, ToolOutput};
use pretty_assertions::assert_eq;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::backend::{NoHooks, TestBackend, TestHooks, prompt_input, user_message};
use crate::panics::PanickingHooks;
use crate::script::{ScriptedModel, ScriptedResponse, TestTool};

fn prompt(text: &str) -> Input {
    Input::Prompt(prompt_input(text.to_owned()))
}

/// Stores a summary unless that is canceled.
struct SummarizingHooks;

impl TestHooks for SummarizingHooks {
    fn compact(&self, cancel: CancellationToken) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(!cancel.is_cancelled()))
    }
}

#[tokio::test]
async fn work_that_has_not_begun_is_canceled_and_later_work_is_not() {
    let session = ScriptedModel::new([]).session_with(Vec::new(), SummarizingHooks);
    for is_canceled in [true, false] {
        let compaction = submit(&session, Input::Compact);
        assert!(session.control().activity().is_compacting);
        if is_canceled {
            session.control().interrupt(Input::AbortCompaction);
        }
        let compacted = compaction.reply().await;
        assert_eq!(compacted.reply, Reply::Done);
        assert_eq!(compacted.compaction, Some(!is_canceled));

        let token = session.control().begin_navigation().unwrap();
        if is_canceled {
            session.control().interrupt(Input::AbortNavigation);
        }
        assert_eq!(token.is_cancelled(), is_canceled);
        session.request(Input::Outcome(Outcome::Navigated)).await;

        let prompted = submit(&session, prompt("go"));
        let expected = if is_canceled {
            session.abort();
            Reply::Rejected(Rejection::Canceled)
        } else {
            Reply::Started
        };
        assert_eq!(prompted.reply().await.reply, expected);
        session.control().wait_for_idle().await;
    }
    assert_eq!(session.texts(), ["user: go", "assistant Stop: done"]);
}

#[tokio::test]
async fn a_request_to_cancel_ends_the_run_and_not_the_next_one() {
    let script = ScriptedModel::new([ScriptedResponse::Stall("half")]);
    let session = script.session(Vec::new());
    session.prompt("first").await;
    script.stalled.notified().await;
    session.abort();
    session.control().wait_for_idle().await;
    session.run("second").await;
    assert_eq!(
        session.texts(),
        [
            "user: first",
            "assistant Aborted: half",
            "user: second",
            "assistant Stop: done"
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_abort_never_reaches_the_next_run() {
    let session = ScriptedModel::new([]).session(Vec::new());
    for round in 0..300 {
        let aborting = tokio::spawn({
            let session = session.clone();
            async move {
                for _ in 0..round % 30 {
                    tokio::task::yield_now().await;
                }
                session.abort();
            }
        });
        session.prompt("aborted or not").await;
        session.control().wait_for_idle().await;
        aborting.await.unwrap();
        session.control().wait_for_idle().await;
        session.messages().clear();
        session.run("not aborted").await;
        assert_eq!(
            session.texts(),
            ["user: not aborted", "assistant Stop: done"],
            "round {round}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_canceled_delay_does_not_cancel_the_next_one() {
    let begin = tokio::time::Instant::now();
    let fail = || ScriptedResponse::Fail("connection refused");
    let session = ScriptedModel::new([fail(), fail()]).session(Vec::new());
    session.prompt("first").await;
    session.reach(|activity| activity.is_retrying).await;
    session.control().interrupt(Input::AbortRetry);
    session.control().wait_for_idle().await;
    session.control().interrupt(Input::AbortRetry);
    session.run("second").await;
    assert_eq!(begin.elapsed().as_secs(), 60);
    assert_eq!(session.texts().last().unwrap(), "assistant Stop: done");
}

/// Blocks its thread when a tool starts, until it is released.
struct BlockingHooks {
    reached: Arc<Notify>,
    release: Mutex<mpsc::Receiver<()>>,
}

impl TestHooks for BlockingHooks {
    fn on_event<'a>(
        &'a self,
        _backend: &'a TestBackend,
        event: &'a SessionEvent,
    ) -> BoxFuture<'a, ()> {
        let event = serde_json::to_value(event).unwrap();
        if event["type"] == "tool_execution_start" {
            self.reached.notify_one();
            // The second start finds the channel closed.
            self.release.lock().unwrap().recv().ok();
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_comes_when_the_run_has_to_wait() {
    let reached = Arc::new(Notify::new());
    let (released, release) = mpsc::channel();
    let hooks = BlockingHooks {
        reached: Arc::clone(&reached),
        release: Mutex::new(release),
    };
    let calls = ScriptedResponse::Calls(vec![("1", "quick"), ("2", "quick")]);
    let quick = TestTool::of("quick", |_, _, _| async { Ok(ToolOutput::default()) });
    let session = ScriptedModel::new([calls]).session_with(vec![quick], hooks);
    session.prompt("go").await;
    reached.notified().await;
    let steering = submit(
        &session,
        Input::Enqueue {
            message: user_message("left"),
            text: "left".to_owned(),
            delivery: Delivery::Steer,
        },
    );
    // The other worker performs tasks in the order in which they are spawned here.
    tokio::spawn(async {}).await.unwrap();
    assert!(!session.lines().contains(&"queue_update".to_owned()));
    drop(released);
    assert_eq!(steering.reply().await.reply, Reply::Queued);
    session.control().wait_for_idle().await;
    let lines = session.lines();
    let position = |name: &str| lines.iter().rposition(|line| line.starts_with(name));
    let first = lines.iter().position(|line| line == "queue_update");
    assert!(position("tool_execution_start") < first, "{lines:?}");
}

/// Sets the flag when it is dropped.
struct DropFlag(Arc<AtomicBool>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A session with a tool that never returns, the notification of its start, and a flag for its end.
fn session_with_endless_tool(hooks: impl TestHooks) -> (TestBackend, Arc<Notify>, Arc<AtomicBool>) {
    let begun = Arc::new(Notify::new());
    let ended = Arc::new(AtomicBool::new(false));
    let tool = TestTool::of("endless", {
        let (begun, ended) = (Arc::clone(&begun), Arc::clone(&ended));
        move |_, updates, _| {
            updates.send(ToolOutput::text("working"));
            let (begun, flag) = (Arc::clone(&begun), DropFlag(Arc::clone(&ended)));
            async move {
                begun.notify_one();
                std::future::pending::<()>().await;
                drop(flag);
                Ok(ToolOutput::default())
            }
        }
    });
    let script = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "endless")])]);
    (script.session_with(vec![tool], hooks), begun, ended)
}

#[tokio::test]
async fn tools_end_with_a_lane_that_panics() {
    let (session, begun, ended) =
        session_with_endless_tool(PanickingHooks::at("tool_execution_update"));
    session.prompt("go").await;
    begun.notified().await;
    session.control().wait_for_idle().await;
    assert!(ended.load(Ordering::Relaxed));
}

#[tokio::test]
async fn requests_are_processed_while_a_tool_runs() {
    let (session, begun, _) = session_with_endless_tool(NoHooks);
    session.prompt("go").await;
    begun.notified().await;
    let reply = session.enqueue("later", Delivery::Steer).await;
    assert_eq!(reply, Reply::Queued);
    assert_eq!(session.lines().last().unwrap(), "queue_update");
    let cleared = session.request(Input::ClearQueue).await;
    assert!(matches!(cleared, Reply::Cleared(texts) if texts.steering == ["later"]));
}

#[tokio::test]
async fn a_closed_session_rejects_requests_and_ends_its_lanes() {
    let script = ScriptedModel::new([ScriptedResponse::Stall("half")]);
    let session = script.session(Vec::new());
    session.prompt("go").await;
    script.stalled.notified().await;
    session.control().interrupt(Input::Close);
    session.control().wait_for_lanes().await;
    assert_eq!(session.control().activity(), SessionActivity::default());
    assert_eq!(session.lines().last().unwrap(), "agent_settled");
    let closed = Reply::Rejected(Rejection::Closed);
    assert_eq!(session.prompt("again").await, closed);
    assert_eq!(session.request(Input::Compact).await, closed);
}

#[tokio::test]
async fn the_phase_of_a_request_is_visible_only_while_it_lasts() {
    let script = ScriptedModel::new([ScriptedResponse::Stall("half")]);
    let session = script.session(Vec::new());
    let phase = session.control().request_phase();
    assert_eq!(*phase.borrow(), None);
    session.prompt("go").await;
    script.stalled.notified().await;
    assert!(phase.borrow().is_some());
    session.abort();
    session.control().wait_for_idle().await;
    assert_eq!(*phase.borrow(), None);
}
