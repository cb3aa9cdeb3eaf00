//! Killing the process loses no acknowledged data: every message reported to a client is in the session, and the
//! session can be resumed.
#![cfg(unix)]

use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, text_reply};

/// Number of killed runs per mode.
const RUNS: u64 = 10;

/// Upper bound of the number of lines before a kill; no complete run prints more.
const MAX_LINES: u64 = 60;

/// Deterministic pseudo-random numbers (`SplitMix64`).
fn splitmix64(seed: u64) -> u64 {
    let mut number = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

async fn tool_using_context() -> TestContext {
    let turn = || {
        [
            bash_reply("echo one; echo two"),
            bash_reply("echo x > made.txt"),
            text_reply("done"),
        ]
    };
    TestContext::new((0..4).flat_map(|_| turn())).await
}

/// Runs the binary, kills it after it has printed `lines` lines, and returns its complete output.
async fn run_and_kill_after(context: &TestContext, mode: &str, lines: u64) -> Vec<Value> {
    let mut arguments = vec!["--model", "mock/alpha", "--mode", mode, "--session-id", "s"];
    if mode == "json" {
        arguments.extend(["one", "two"]);
    }
    let mut command = context.command(&arguments);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    if mode == "rpc" {
        let commands = "{\"type\":\"prompt\",\"message\":\"one\"}\n\
                        {\"type\":\"follow_up\",\"message\":\"two\"}\n";
        stdin.write_all(commands.as_bytes()).await.unwrap();
    } else {
        stdin.shutdown().await.unwrap();
        drop(stdin);
    }
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut written = String::new();
    let reading = async {
        for _ in 0..lines {
            let length = written.len();
            stdout.read_line(&mut written).await.unwrap();
            let line = written.get(length..).unwrap_or_default();
            if line.is_empty() || line.contains("agent_settled") && mode == "rpc" {
                break;
            }
        }
        child.start_kill().ok();
        while stdout.read_line(&mut written).await.unwrap() > 0 {}
        child.wait().await.unwrap();
    };
    tokio::time::timeout(TEST_TIMEOUT, reading)
        .await
        .expect("pi timed out");
    let complete = written.rsplit_once('\n').map_or("", |(lines, _)| lines);
    complete
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Opens the session in a new process and returns its messages.
async fn saved_messages(context: &TestContext) -> Vec<Value> {
    let arguments = [
        "--model",
        "mock/alpha",
        "--mode",
        "rpc",
        "--session-id",
        "s",
    ];
    let run = context
        .run_with_input(&arguments, "{\"type\":\"get_entries\"}\n")
        .await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut response = run.records().into_iter().next().unwrap();
    let entries = response["data"]["entries"].take();
    let messages = entries.as_array().unwrap().iter();
    messages
        .filter(|entry| entry["type"] == "message")
        .map(|entry| entry["message"].clone())
        .collect()
}

async fn assert_no_acknowledged_message_is_lost(mode: &str) {
    for run in 0..RUNS {
        let context = tool_using_context().await;
        let lines = splitmix64(run) % MAX_LINES;
        let records = run_and_kill_after(&context, mode, lines).await;
        let acknowledged = records
            .iter()
            .filter(|record| record["type"] == "message_end")
            .map(|record| record["message"].clone());
        let acknowledged: Vec<Value> = acknowledged.collect();
        let saved = saved_messages(&context).await;
        // The last saved message may not have been reported yet.
        assert!(saved.len() >= acknowledged.len(), "after {lines} lines");
        assert_eq!(
            saved.get(..acknowledged.len()).unwrap(),
            acknowledged,
            "after {lines} lines"
        );
        let arguments = [
            "--model",
            "mock/alpha",
            "--session-id",
            "s",
            "-p",
            "continue",
        ];
        let run = context.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), "done\n"),
            "after {lines} lines: {run:?}"
        );
    }
}

#[tokio::test]
async fn json_mode_loses_no_acknowledged_message() {
    assert_no_acknowledged_message_is_lost("json").await;
}

#[tokio::test]
async fn rpc_mode_loses_no_acknowledged_message() {
    assert_no_acknowledged_message_is_lost("rpc").await;
}

#[tokio::test]
async fn an_unanswered_prompt_is_saved() {
    let context = TestContext::new([
        crate::harness::partial_reply("par").gate("g"),
        text_reply("later"),
    ])
    .await;
    let arguments = [
        "--model",
        "mock/alpha",
        "--session-id",
        "s",
        "-p",
        "a long question",
    ];
    let mut child = context.command(&arguments).spawn().unwrap();
    context.server.wait_for_gate("g").await;
    child.kill().await.unwrap();
    let messages = saved_messages(&context).await;
    assert_eq!(
        messages.last().unwrap()["content"][0]["text"],
        "a long question"
    );
    let run = context
        .run(&["--model", "mock/alpha", "-c", "-p", "and?"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "later\n"),
        "{run:?}"
    );
}
