//! JSON mode: the header, then every event, one record a line.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::process::{Finished, LIMIT, World, answer, begin};

fn kinds(run: &Finished) -> Vec<String> {
    let records = run.records();
    let kind = |record: &Value| record["type"].as_str().unwrap().to_owned();
    records.iter().map(kind).collect()
}

#[tokio::test]
async fn header_then_events() {
    let world = World::new([answer("Hi \u{2028} there")]).await;
    let run = world
        .run(&["--model", "mock/alpha", "--mode", "json", "hello"])
        .await;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let kinds = kinds(&run);
    assert_eq!(kinds.first().unwrap(), "session");
    assert_eq!(kinds.last().unwrap(), "agent_settled");
    let records = run.records();
    let update = records
        .iter()
        .find(|record| record["type"] == "message_update")
        .unwrap();
    let names: Vec<_> = update.as_object().unwrap().keys().collect();
    assert_eq!(names, ["type", "usage", "assistantMessageEvent"]);
    assert!(
        run.stdout.contains("Hi \u{2028} there"),
        "text is not escaped"
    );
}

#[tokio::test]
async fn older_clients_get_the_whole_message_with_each_update() {
    let world = World::new([answer("Hello")]).await;
    let arguments = [
        "--model",
        "mock/alpha",
        "--mode",
        "json",
        "--full-updates",
        "hello",
    ];
    let run = world.run(&arguments).await;
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
async fn a_failed_request_is_an_event_and_no_failure_of_the_program() {
    let world = World::new([ScriptedReply::full(400, &[], "{}")]).await;
    let run = world
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
async fn without_a_prompt_there_is_only_the_header() {
    let world = World::new([]).await;
    let run = world
        .run(&["--model", "mock/alpha", "--mode", "json"])
        .await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(kinds(&run), ["session"]);
}

#[tokio::test]
async fn a_reader_that_goes_away_ends_the_run_without_complaint() {
    let world = World::new([begin("start").gate("g").stall()]).await;
    let arguments = ["--model", "mock/alpha", "--mode", "json", "hello"];
    let mut child = world.command(&arguments).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("text_delta") {
        line.clear();
        assert!(stdout.read_line(&mut line).await.unwrap() > 0);
    }
    drop(stdout);
    // The connection breaks, and the event of that finds the pipe closed.
    drop(world);
    let output = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
    let run = Finished::new(output.unwrap().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}
