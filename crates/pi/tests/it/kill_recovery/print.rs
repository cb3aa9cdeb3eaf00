//! Print mode reports only the last response. What it has sent to the model, or printed, is in the session.

use std::process::Stdio;

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;

use super::{kill_runs, saved_messages, splitmix64};
use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, partial_reply, text_reply};

/// Requests of a complete run.
const REQUESTS: u64 = 6;

/// A run of two prompts, which stops before the reply to a request, or during it.
fn replies(stop_at: u64, during: bool) -> Vec<ScriptedReply> {
    let reply = |number: u64| match number {
        _ if number == stop_at && during => partial_reply("partial").gate("stop"),
        _ if number == stop_at => ScriptedReply::new().gate("stop"),
        2 | 5 => text_reply("done"),
        _ => bash_reply(&format!("echo output {number}")),
    };
    (0..REQUESTS).map(reply).collect()
}

/// The role and text of a message, which a request and a session represent differently.
fn outline(message: &Value) -> (String, String) {
    let role = match message["role"].as_str().unwrap() {
        "toolResult" => "tool",
        role => role,
    };
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        _ => String::new(),
    };
    (role.to_owned(), text.trim().to_owned())
}

fn conversation(messages: &[Value]) -> Vec<(String, String)> {
    let messages = messages.iter().map(outline);
    let messages = messages.filter(|(role, _)| ["user", "assistant", "tool"].contains(&&**role));
    messages.collect()
}

#[tokio::test]
async fn print_mode_loses_nothing_it_sent() {
    for run in 0..kill_runs(10) {
        let stop_at = splitmix64(run) % REQUESTS;
        let during = splitmix64(run ^ 0xff).is_multiple_of(2);
        let context = TestContext::new(replies(stop_at, during)).await;
        let arguments = [
            "--model",
            "mock/alpha",
            "--session-id",
            "s",
            "-p",
            "one",
            "two",
        ];
        let mut child = context.command(&arguments).spawn().unwrap();
        let reached = context.server.wait_for_gate("stop");
        tokio::time::timeout(TEST_TIMEOUT, reached).await.unwrap();
        child.kill().await.unwrap();
        let request = context.server.requests().pop().unwrap().json();
        let sent = conversation(request["messages"].as_array().unwrap());
        let saved = conversation(&saved_messages(&context).await);
        assert_eq!(saved, sent, "killed at request {stop_at}");
    }
}

#[tokio::test]
async fn print_mode_loses_nothing_it_printed() {
    for run in 0..kill_runs(10) {
        let context = TestContext::new(replies(REQUESTS, false)).await;
        let arguments = [
            "--model",
            "mock/alpha",
            "--session-id",
            "s",
            "-p",
            "one",
            "two",
        ];
        let mut child = context
            .command(&arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut first = [0];
        let reading = stdout.read_exact(&mut first);
        tokio::time::timeout(TEST_TIMEOUT, reading)
            .await
            .unwrap()
            .unwrap();
        child.kill().await.unwrap();
        let saved = conversation(&saved_messages(&context).await);
        let roles: Vec<&str> = saved.iter().map(|(role, _)| role.as_str()).collect();
        let turn = [
            "user",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "assistant",
        ];
        assert_eq!(roles, [turn, turn].concat(), "run {run}");
        assert_eq!(saved.last().unwrap().1, "done");
    }
}
