//! Clients that attach to runs in progress.

use std::process::Stdio;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::fixture::{Fixture, describe};
use crate::machines::{fleet, submit, wait, worker};

struct Client {
    process: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn attach(fixture: &Fixture, words: &[&str]) -> Self {
        let mut command = fixture.fleet(&[&["attach"], words].concat());
        let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            lines: BufReader::new(process.stdout.take().unwrap()).lines(),
            process,
        }
    }

    async fn enter(&mut self, line: &str) {
        self.input
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    /// Returns the first line that fits.
    async fn find(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            let line: Value = serde_json::from_str(&line).unwrap();
            if fits(&line) {
                return line;
            }
        }
        panic!("the client has ended")
    }

    async fn request(&mut self, mut command: Value) -> Value {
        let id = command["type"].clone();
        command["id"] = id.clone();
        self.enter(&command.to_string()).await;
        self.find(|line| line["type"] == "response" && line["id"] == id)
            .await
    }
}

/// Waits until the model has a request that it holds.
async fn wait_for_request(fixture: &Fixture) {
    while fixture.model.requests("hold-a") == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Steers a run from a second terminal, and follows it to its end.
async fn follow(fixture: &Fixture) {
    wait_for_request(fixture).await;
    let mut client = Client::attach(fixture, &["b/hold-a", "--json"]);
    let state = client.request(json!({"type": "get_state"})).await;
    assert_eq!(state["data"]["sessionId"], "hold-a", "{state}");
    assert_eq!(state["data"]["isStreaming"], true, "{state}");
    // Another session would not be in the log.
    let refused = client.request(json!({"type": "new_session"})).await;
    assert_eq!(refused["success"], false, "{refused}");
    let steered = client
        .request(json!({"type": "steer", "message": "and hurry"}))
        .await;
    assert_eq!(steered["success"], true, "{steered}");
    client.enter("not json").await;
    client.find(|line| line["success"] == false).await;
    fixture.model.open_gate();
    client
        .find(|line| line["type"] == "tool_execution_start")
        .await;
    client.find(|line| line["type"] == "agent_settled").await;
    assert!(client.process.wait().await.unwrap().success());
}

async fn check_steered(fixture: &Fixture) {
    let results = fixture.results().await;
    assert_eq!(results["hold-a"]["status"], "done");
    let session = results["hold-a"]["session"].as_str().unwrap();
    let session = fixture.home.read(&format!("out/{session}"));
    assert!(session.contains("and hurry"));
}

#[tokio::test]
async fn a_run_on_this_machine_is_steered() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let tasks = fixture.tasks(&["hold-a".to_owned()], &json!({}));
    let run = fixture.run(&tasks, &[]).spawn().unwrap();
    follow(&fixture).await;
    let output = run.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    check_steered(&fixture).await;
    // A finished run has no worker.
    let output = fixture
        .fleet(&["attach", "b/hold-a"])
        .output()
        .await
        .unwrap();
    assert!(
        describe(&output).contains("hold-a: done"),
        "{}",
        describe(&output)
    );
}

#[tokio::test]
async fn a_run_is_aborted_by_hand() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let tasks = fixture.tasks(&["hold-a".to_owned()], &json!({}));
    let run = fixture.run(&tasks, &[]).spawn().unwrap();
    wait_for_request(&fixture).await;
    let mut client = Client::attach(&fixture, &["b/hold-a"]);
    client.enter("/state").await;
    let line = client.lines.next_line().await.unwrap().unwrap();
    assert!(line.starts_with("alpha, thinking"), "{line}");
    client.enter("/abort").await;
    let mut text = String::new();
    while let Some(line) = client.lines.next_line().await.unwrap() {
        text.push_str(&line);
        text.push('\n');
    }
    assert!(text.contains("The agent has settled."), "{text}");
    assert!(client.process.wait().await.unwrap().success());
    let output = run.wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    assert_eq!(fixture.results().await["hold-a"]["status"], "failed");
}

#[tokio::test]
async fn events_are_on_the_wire_only_while_a_client_watches() {
    let Some((fixture, server)) = fleet().await else {
        return;
    };
    let observer = async_nats::connect(server.url()).await.unwrap();
    let mut events = observer.subscribe("pi.main.live.>").await.unwrap();
    observer.flush().await.unwrap();
    submit(&fixture, &["plain".to_owned()], &json!({}), &[]).await;
    let _worker = worker(&fixture, "one", &["--slots", "1"]);
    wait(&fixture, 1).await;
    let early = tokio::time::timeout(Duration::from_millis(100), events.next()).await;
    assert!(early.is_err(), "{early:?}");
    submit(&fixture, &["hold-a".to_owned()], &json!({}), &[]).await;
    follow(&fixture).await;
    wait(&fixture, 2).await;
    assert!(events.next().await.unwrap().subject.ends_with(".b.hold-a"));
    check_steered(&fixture).await;
}
