//! Tool calls: order, partial results, failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pi_core::ToolError;
use pi_protocol::ToolOutput;
use pretty_assertions::assert_eq;
use tokio::sync::{Barrier, Notify};

use crate::script::{ScriptedModel, ScriptedResponse, TestTool};

#[tokio::test]
async fn parallel_calls_really_run_at_the_same_time() {
    let meeting = Arc::new(Barrier::new(2));
    let tool = TestTool::of("meet", move |_, _, _| {
        let meeting = Arc::clone(&meeting);
        async move {
            meeting.wait().await;
            Ok(ToolOutput::text("met"))
        }
    });
    let session = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "meet"), ("2", "meet")])])
        .session(vec![tool]);
    session.run("go").await;
    assert_eq!(session.texts()[3..5], ["result 1: met", "result 2: met"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_calls_start_in_the_order_of_the_response() {
    const IDS: [&str; 8] = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let started = Arc::new(AtomicUsize::new(0));
    let tool = TestTool::of("counts", move |_, _, _| {
        let started = Arc::clone(&started);
        async move {
            let place = started.fetch_add(1, Ordering::SeqCst) % IDS.len();
            tokio::task::yield_now().await;
            Ok(ToolOutput::text((place + 1).to_string()))
        }
    });
    let calls = || ScriptedResponse::Calls(IDS.map(|id| (id, "counts")).into());
    let session = ScriptedModel::new(std::iter::repeat_with(calls).take(50)).session(vec![tool]);
    session.run("go").await;
    let results = session.texts().into_iter();
    let results: Vec<_> = results.filter(|text| text.starts_with("result")).collect();
    assert_eq!(results.len(), 50 * IDS.len());
    for batch in results.chunks(IDS.len()) {
        assert_eq!(batch, IDS.map(|id| format!("result {id}: {id}")));
    }
}

#[tokio::test]
async fn ends_are_emitted_in_completion_order_and_results_in_call_order() {
    let gate = Arc::new(Notify::new());
    let slow = TestTool::of("slow", {
        let gate = Arc::clone(&gate);
        move |_, _, _| {
            let gate = Arc::clone(&gate);
            async move {
                gate.notified().await;
                Ok(ToolOutput::text("slow"))
            }
        }
    });
    let fast = TestTool::of("fast", move |_, _, _| {
        let gate = Arc::clone(&gate);
        async move {
            gate.notify_one();
            Ok(ToolOutput::text("fast"))
        }
    });
    let session = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "slow"), ("2", "fast")])])
        .session(vec![slow, fast]);
    session.run("go").await;
    assert_eq!(
        session.lines_of("tool_"),
        [
            "tool_execution_start 1",
            "tool_execution_start 2",
            "tool_execution_end 2",
            "tool_execution_end 1"
        ]
    );
    assert_eq!(session.texts()[3..5], ["result 1: slow", "result 2: fast"]);
}

#[tokio::test]
async fn partial_results_are_emitted_only_before_the_end() {
    let tool = TestTool::of("shows", |_, updates, _| async move {
        for number in 0..3 {
            updates.send(ToolOutput::text(number.to_string()));
        }
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            updates.send(ToolOutput::text("too late"));
        });
        Ok(ToolOutput::text("end"))
    });
    let session =
        ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "shows")])]).session(vec![tool]);
    session.run("go").await;
    assert_eq!(
        session.lines_of("tool_"),
        [
            "tool_execution_start 1",
            "tool_execution_update 1",
            "tool_execution_update 1",
            "tool_execution_update 1",
            "tool_execution_end 1"
        ]
    );
}

#[tokio::test]
async fn every_kind_of_failure_is_a_result_for_the_model() {
    let fails = TestTool::of("fails", |_, _, _| async {
        Err(ToolError::new("no such file"))
    });
    let crashes = TestTool::of("crashes", |_, _, _| async { panic!("a defect") });
    let calls = vec![("1", "fails"), ("2", "crashes"), ("3", "missing")];
    let session =
        ScriptedModel::new([ScriptedResponse::Calls(calls)]).session(vec![fails, crashes]);
    session.run("go").await;
    assert_eq!(
        session.texts()[3..],
        [
            "failure 1: no such file",
            "failure 2: The tool crashed. This is a bug in the tool.",
            "failure 3: Tool missing not found",
            "assistant Stop: done"
        ]
    );
}

#[tokio::test]
async fn a_call_with_truncated_arguments_is_reported_and_not_run() {
    let responses = [
        r#"{"text": "rm -rf /home/us"#,
        r#"{"text": "a "quoted" word"}"#,
        r#"["text"]"#,
    ];
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let tool = TestTool::of("runs", move |_, _, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok(ToolOutput::text("ran")) }
    });
    let script = responses.map(|arguments| ScriptedResponse::Written("runs", arguments));
    let session = ScriptedModel::new(script).session(vec![tool]);
    session.run("go").await;
    let failures = session.texts();
    let failures = failures.iter().filter(|line| {
        line.starts_with("failure 1: This call was not run: ")
            && line.ends_with("Repeat the call with complete arguments.")
    });
    assert_eq!(failures.count(), responses.len());
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}
