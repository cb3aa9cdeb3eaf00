//! Killing the process loses no acknowledged data: every message reported to a client is in the session, and the
//! session can be resumed.
#![cfg(unix)]

mod print;
mod terminal;

use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, text_reply};

/// Upper bound of the number of lines before a kill; no complete run prints more.
const MAX_LINES: u64 = 60;

/// Number of killed processes of a test; `PI_KILL_RUNS` sets another one for all tests.
fn kill_runs(default: u64) -> u64 {
    let runs = std::env::var("PI_KILL_RUNS").ok();
    runs.and_then(|runs| runs.parse().ok()).unwrap_or(default)
}

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
    let entries = saved_entries(context).await.into_iter();
    let messages = entries.filter(|entry| entry["type"] == "message");
    messages.map(|mut entry| entry["message"].take()).collect()
}

/// Opens the session in a new process and returns its entries.
async fn saved_entries(context: &TestContext) -> Vec<Value> {
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
    serde_json::from_value(entries).unwrap()
}

async fn assert_no_acknowledged_message_is_lost(mode: &str) {
    for run in 0..kill_runs(10) {
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

/// A client of RPC mode that reads the response to each command before it sends the next one.
struct RpcProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
    sent: usize,
}

impl RpcProcess {
    fn start(context: &TestContext, arguments: &[&str]) -> Self {
        let fixed = ["--model", "mock/alpha", "--mode", "rpc"];
        let mut command = context.command(&[&fixed, arguments].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
            sent: 0,
        }
    }

    /// Sends a command without waiting for its response; returns its ID.
    async fn send(&mut self, mut command: Value) -> String {
        self.sent += 1;
        let id = self.sent.to_string();
        command["id"] = json!(id);
        let line = format!("{command}\n");
        self.stdin.write_all(line.as_bytes()).await.unwrap();
        id
    }

    /// Returns the response to a command.
    async fn response(&mut self, id: &str) -> Value {
        let reading = async {
            loop {
                let line = self.stdout.next_line().await.unwrap().expect("pi exited");
                let record: Value = serde_json::from_str(&line).unwrap();
                if record["type"] == "response" && record["id"] == id {
                    return record;
                }
            }
        };
        let response = tokio::time::timeout(TEST_TIMEOUT, reading).await;
        response.expect("pi timed out")
    }

    /// Sends a command and returns the data of its response, which must be a success.
    async fn request(&mut self, command: Value) -> Value {
        let id = self.send(command).await;
        let mut response = self.response(&id).await;
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// What a client was promised.
#[derive(Debug, Default, PartialEq)]
struct Promised {
    name: Option<String>,
    thinking_level: Option<String>,
    commands: Vec<String>,
    queued: Vec<String>,
}

impl Promised {
    /// Sends the next command of a session and records what its response promises.
    async fn next(&mut self, rpc: &mut RpcProcess, step: u64, is_running: bool) {
        match step % if is_running { 5 } else { 4 } {
            0 => {
                let name = format!("name {step}");
                let command = json!({"type": "set_session_name", "name": name});
                rpc.request(command).await;
                self.name = Some(name);
            }
            1 => {
                let level = ["low", "medium", "high"][usize::try_from(step % 3).unwrap()];
                let command = json!({"type": "set_thinking_level", "level": level});
                rpc.request(command).await;
                self.thinking_level = Some(level.to_owned());
            }
            2 | 3 => {
                let text = format!("echo {step} {}", self.commands.len());
                let command = json!({"type": "bash", "command": text});
                rpc.request(command).await;
                self.commands.push(text);
            }
            _ => {
                let text = format!("then {step} {}", self.queued.len());
                let command = json!({"type": "follow_up", "message": text});
                rpc.request(command).await;
                self.queued.push(text);
            }
        }
    }

    /// Reads what a new process finds.
    async fn find(rpc: &mut RpcProcess, expected: &Self) -> Self {
        let state = rpc.request(json!({"type": "get_state"})).await;
        let mut entries = rpc.request(json!({"type": "get_entries"})).await;
        let entries = entries["entries"].take();
        let entries = entries.as_array().unwrap().iter();
        let messages = entries.map(|entry| &entry["message"]);
        let commands = messages.filter(|message| message["role"] == "bashExecution");
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let commands = commands.filter_map(|message| text(&message["command"]));
        let commands = commands.collect();
        let queue = rpc.request(json!({"type": "clear_queue"})).await;
        let queued = queue["followUp"].as_array().unwrap().iter();
        Self {
            name: text(&state["sessionName"]),
            // Without a change, a session has the level of the settings.
            thinking_level: expected
                .thinking_level
                .as_ref()
                .and_then(|_| text(&state["thinkingLevel"])),
            commands,
            queued: queued.filter_map(text).collect(),
        }
    }
}

#[tokio::test]
async fn rpc_mode_loses_nothing_it_acknowledged() {
    for run in 0..kill_runs(30) {
        let gated = crate::harness::partial_reply("par").gate("g");
        let context = TestContext::new([gated]).await;
        let mut rpc = RpcProcess::start(&context, &["--session-id", "s"]);
        let mut promised = Promised::default();
        let (before, during) = (splitmix64(run) % 5, splitmix64(run ^ 0xff) % 6);
        for step in 0..before {
            promised
                .next(&mut rpc, splitmix64(run * 100 + step), false)
                .await;
        }
        if run % 3 != 0 {
            rpc.request(json!({"type": "prompt", "message": "go"}))
                .await;
            context.server.wait_for_gate("g").await;
            for step in 0..during {
                promised
                    .next(&mut rpc, splitmix64(run * 100 + 50 + step), true)
                    .await;
            }
        }
        rpc.kill().await;
        let continued: &[&str] = match run % 2 {
            0 => &["--session-id", "s"],
            _ => &["--continue"],
        };
        let mut rpc = RpcProcess::start(&context, continued);
        let found = Promised::find(&mut rpc, &promised).await;
        assert_eq!(found, promised, "run {run}");
        rpc.kill().await;
    }
}

#[tokio::test]
async fn a_name_set_while_the_session_is_cloned_is_kept() {
    for run in 0..5 {
        let context = TestContext::new([text_reply("hello")]).await;
        let arguments = ["--model", "mock/alpha", "--session-id", "s", "-p", "hi"];
        let first = context.run(&arguments).await;
        assert_eq!(first.code, Some(0), "{first:?}");
        let mut rpc = RpcProcess::start(&context, &["--session-id", "s"]);
        let clone = rpc.send(json!({"type": "clone"})).await;
        let name = rpc
            .send(json!({"type": "set_session_name", "name": "kept"}))
            .await;
        // Either response may come first.
        let mut responses = 0;
        while responses < 2 {
            let line = rpc.stdout.next_line().await.unwrap().expect("pi exited");
            let record: Value = serde_json::from_str(&line).unwrap();
            if record["id"] == *clone || record["id"] == *name {
                assert_eq!(record["success"], true, "{record}");
                responses += 1;
            }
        }
        let state = rpc.request(json!({"type": "get_state"})).await;
        assert_eq!(state["sessionName"], "kept", "run {run}: {state}");
        rpc.kill().await;
        let mut rpc = RpcProcess::start(&context, &["--continue"]);
        let state = rpc.request(json!({"type": "get_state"})).await;
        assert_eq!(state["sessionName"], "kept", "run {run}: {state}");
        rpc.kill().await;
    }
}

#[tokio::test]
async fn a_session_without_a_message_is_kept_only_after_a_kill() {
    let context = TestContext::new([]).await;
    let named = "{\"type\":\"set_session_name\",\"name\":\"draft\"}\n";
    let closed = context
        .run_with_input(&["--mode", "rpc", "--session-id", "s"], named)
        .await;
    assert_eq!(closed.code, Some(0), "{closed:?}");
    let mut rpc = RpcProcess::start(&context, &["--session-id", "s"]);
    let state = rpc.request(json!({"type": "get_state"})).await;
    assert_eq!(state["sessionName"], Value::Null);
    rpc.request(json!({"type": "set_session_name", "name": "draft"}))
        .await;
    rpc.request(json!({"type": "set_thinking_level", "level": "low"}))
        .await;
    // A running process keeps its draft.
    let mut other = RpcProcess::start(&context, &["--continue"]);
    let state = other.request(json!({"type": "get_state"})).await;
    assert_eq!(state["sessionName"], Value::Null);
    other.kill().await;
    rpc.kill().await;
    let mut rpc = RpcProcess::start(&context, &["--continue"]);
    let state = rpc.request(json!({"type": "get_state"})).await;
    assert_eq!(state["sessionName"], "draft");
    assert_eq!(state["thinkingLevel"], "low");
    assert_eq!(state["sessionId"], "s");
    rpc.kill().await;
}
