//! Signals: the exit code tells which it was, children die, the session stays readable.
#![cfg(unix)]

use std::process::Stdio;

use pretty_assertions::assert_eq;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::process::{LIMIT, World, answer, begin, shell_call};

async fn signal(process: Option<u32>, name: &str) {
    let process = process.unwrap().to_string();
    let status = tokio::process::Command::new("kill")
        .args(["-s", name, &process])
        .status();
    assert!(status.await.unwrap().success());
}

async fn is_alive(process: &str) -> bool {
    let status = tokio::process::Command::new("kill")
        .args(["-0", process])
        .stderr(Stdio::null())
        .status();
    status.await.unwrap().success()
}

#[tokio::test]
async fn a_signal_ends_a_stream_with_its_own_code() {
    for (name, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        for mode in ["text", "json"] {
            let world = World::new([begin("par").gate("g")]).await;
            let child = world
                .command(&["--model", "mock/alpha", "--mode", mode, "-p", "x"])
                .spawn()
                .unwrap();
            world.server.wait_for_gate("g").await;
            signal(child.id(), name).await;
            let output = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
            assert_eq!(
                output.unwrap().unwrap().status.code(),
                Some(code),
                "{name} {mode}"
            );
        }
    }
}

#[tokio::test]
async fn children_die_with_the_program() {
    let world = World::new([shell_call("echo pid=$$.; sleep 600; true")]).await;
    let arguments = ["--model", "mock/alpha", "--mode", "json", "x"];
    let mut child = world.command(&arguments).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let pid = loop {
        line.clear();
        assert!(stdout.read_line(&mut line).await.unwrap() > 0);
        let shown = line
            .contains("tool_execution_update")
            .then_some(line.as_str());
        let after = shown.and_then(|line| line.split("text\":\"pid=").nth(1));
        if let Some((pid, _)) = after.and_then(|rest| rest.split_once('.')) {
            break pid.to_owned();
        }
    };
    assert!(is_alive(&pid).await);
    signal(child.id(), "TERM").await;
    let status = tokio::time::timeout(LIMIT, child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(143));
    assert!(!is_alive(&pid).await, "the shell outlived the program");
}

#[tokio::test]
async fn a_client_that_does_not_read_cannot_keep_the_program() {
    let long = "x".repeat(1_000_000);
    let world = World::new([answer(&long)]).await;
    let arguments = ["--model", "mock/alpha", "--mode", "rpc"];
    let mut child = world
        .command(&arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(b"{\"type\":\"prompt\",\"message\":\"x\"}\n")
        .await
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("message_update") {
        line.clear();
        assert!(stdout.read_line(&mut line).await.unwrap() > 0);
    }
    signal(child.id(), "TERM").await;
    let status = tokio::time::timeout(LIMIT, child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(143));
}

#[tokio::test]
async fn rpc_ends_with_the_signal_s_code_too() {
    for (name, code) in [("TERM", 143), ("HUP", 129)] {
        let world = World::new([]).await;
        let arguments = ["--model", "mock/alpha", "--mode", "rpc"];
        let mut child = world
            .command(&arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin
            .write_all(b"{\"type\":\"get_state\"}\n")
            .await
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).await.unwrap();
        signal(child.id(), name).await;
        let status = tokio::time::timeout(LIMIT, child.wait())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{name}");
        drop(stdin);
    }
}
