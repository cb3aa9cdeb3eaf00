//! A process that is killed takes nothing along: every message a client heard of is in the session, which
//! opens and goes on.
#![cfg(unix)]

use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::process::{LIMIT, World, answer, shell_call};

/// How many runs are killed in each mode.
const RUNS: u64 = 10;

/// No run has more lines than this before its end.
const LINES: u64 = 60;

/// Spreads numbers evenly and always the same (`SplitMix64`).
fn mixed(seed: u64) -> u64 {
    let mut number = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

async fn working_model() -> World {
    let round = || {
        [
            shell_call("echo one; echo two"),
            shell_call("echo x > made.txt"),
            answer("done"),
        ]
    };
    World::new((0..4).flat_map(|_| round())).await
}

/// Runs the binary until it has written a number of lines, kills it, and returns all it wrote.
async fn killed_after(world: &World, mode: &str, lines: u64) -> Vec<Value> {
    let mut arguments = vec!["--model", "mock/alpha", "--mode", mode, "--session-id", "s"];
    if mode == "json" {
        arguments.extend(["one", "two"]);
    }
    let mut command = world.command(&arguments);
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
    tokio::time::timeout(LIMIT, reading)
        .await
        .expect("pi hangs");
    let complete = written.rsplit_once('\n').map_or("", |(lines, _)| lines);
    complete
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the messages of the session's file, as a process that opens it sees them.
async fn kept(world: &World) -> Vec<Value> {
    let arguments = [
        "--model",
        "mock/alpha",
        "--mode",
        "rpc",
        "--session-id",
        "s",
    ];
    let run = world
        .run_with_input(&arguments, "{\"type\":\"get_entries\"}\n")
        .await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let mut answer = run.records().into_iter().next().unwrap();
    let entries = answer["data"]["entries"].take();
    let messages = entries.as_array().unwrap().iter();
    messages
        .filter(|entry| entry["type"] == "message")
        .map(|entry| entry["message"].clone())
        .collect()
}

async fn nothing_acknowledged_is_lost(mode: &str) {
    for run in 0..RUNS {
        let world = working_model().await;
        let lines = mixed(run) % LINES;
        let records = killed_after(&world, mode, lines).await;
        let heard = records
            .iter()
            .filter(|record| record["type"] == "message_end")
            .map(|record| record["message"].clone());
        let heard: Vec<Value> = heard.collect();
        let kept = kept(&world).await;
        // One more may have been written than was told.
        assert!(kept.len() >= heard.len(), "after {lines} lines");
        assert_eq!(
            kept.get(..heard.len()).unwrap(),
            heard,
            "after {lines} lines"
        );
        let arguments = ["--model", "mock/alpha", "--session-id", "s", "-p", "go on"];
        let run = world.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), "done\n"),
            "after {lines} lines: {run:?}"
        );
    }
}

#[tokio::test]
async fn in_json_mode_nothing_acknowledged_is_lost() {
    nothing_acknowledged_is_lost("json").await;
}

#[tokio::test]
async fn in_rpc_mode_nothing_acknowledged_is_lost() {
    nothing_acknowledged_is_lost("rpc").await;
}

#[tokio::test]
async fn a_question_survives_that_was_never_answered() {
    let world = World::new([crate::process::begin("par").gate("g"), answer("later")]).await;
    let arguments = [
        "--model",
        "mock/alpha",
        "--session-id",
        "s",
        "-p",
        "a long question",
    ];
    let mut child = world.command(&arguments).spawn().unwrap();
    world.server.wait_for_gate("g").await;
    child.kill().await.unwrap();
    let asked = kept(&world).await;
    assert_eq!(
        asked.last().unwrap()["content"][0]["text"],
        "a long question"
    );
    let run = world
        .run(&["--model", "mock/alpha", "-c", "-p", "well?"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "later\n"),
        "{run:?}"
    );
}
