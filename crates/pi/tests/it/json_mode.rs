//! JSON mode: the session header, then one event per line.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, partial_reply, text_reply};

fn event_types(run: &PiOutput) -> Vec<String> {
    let records = run.records();
    let event_type = |record: &Value| record["type"].as_str().unwrap().to_owned();
    records.iter().map(event_type).collect()
}

#[tokio::test]
async fn the_header_precedes_the_events() {
    let context = TestContext::new([text_reply("Hi \u{2028} there")]).await;
    let run = context
        .run(&["--model", "mock/alpha", "--mode", "json", "hello"])
        .await;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let types = event_types(&run);
    assert_eq!(types.first().unwrap(), "session");
    assert_eq!(types.last().unwrap(), "agent_settled");
    let records = run.records();
    let update = records
        .iter()
        .find(|record| record["type"] == "message_update")
        .unwrap();
    let names: Vec<_> = update.as_object().unwrap().keys().collect();
    assert_eq!(names, ["type", "usage", "assistantMessageEvent"]);
    assert!(
        run.stdout.contains("Hi \u{2028} there"),
        "U+2028 is not escaped"
    );
}

#[tokio::test]
async fn full_updates_contain_the_complete_message() {
    let context = TestContext::new([text_reply("Hello")]).await;
    let arguments = [
        "--model",
        "mock/alpha",
        "--mode",
        "json",
        "--full-updates",
        "hello",
    ];
    let run = context.run(&arguments).await;
    let records = run.records();
    let delta = records
        .iter()
        .find(|record| record["assistantMessageEvent"]["type"] == "text_delta")
        .unwrap();
    assert_eq!(delta["message"]["content"][0]["text"], "Hello");
    assert_eq!(
        delta["assistantMessageEvent"]["partial"]["role"],
        "assistant"
    );
}

#[tokio::test]
async fn a_failed_request_is_an_event_and_the_exit_code_is_0() {
    let context = TestContext::new([ScriptedReply::full(400, &[], "{}")]).await;
    let run = context
        .run(&["--model", "mock/alpha", "--mode", "json", "hello"])
        .await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let records = run.records();
    let end = records
        .iter()
        .rfind(|record| record["type"] == "message_end")
        .unwrap();
    assert_eq!(end["message"]["stopReason"], "error");
}

#[tokio::test]
async fn without_a_prompt_only_the_header_is_printed() {
    let context = TestContext::new([]).await;
    let run = context
        .run(&["--model", "mock/alpha", "--mode", "json"])
        .await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(event_types(&run), ["session"]);
}

#[tokio::test]
async fn a_closed_stdout_ends_the_run_without_an_error() {
    let context = TestContext::new([partial_reply("start").gate("g").stall()]).await;
    let arguments = ["--model", "mock/alpha", "--mode", "json", "hello"];
    let mut child = context.command(&arguments).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("text_delta") {
        line.clear();
        assert!(stdout.read_line(&mut line).await.unwrap() > 0);
    }
    drop(stdout);
    // Dropping the server breaks the connection; writing that event finds the pipe closed.
    drop(context);
    let output = tokio::time::timeout(TEST_TIMEOUT, child.wait_with_output()).await;
    let run = PiOutput::new(output.unwrap().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}
