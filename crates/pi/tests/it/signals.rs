//! Signals: the exit code identifies the signal, and child processes are killed.
#![cfg(unix)]

use std::process::Stdio;

use pi_test_support::is_running;
use pretty_assertions::assert_eq;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, partial_reply, text_reply};

async fn send_signal(pid: Option<u32>, name: &str) {
    let pid = pid.unwrap().to_string();
    let status = tokio::process::Command::new("kill")
        .args(["-s", name, &pid])
        .status();
    assert!(status.await.unwrap().success());
}

#[tokio::test]
async fn signals_during_a_response_set_the_exit_code() {
    for (name, code) in [("TERM", 143), ("HUP", 129), ("INT", 130)] {
        for mode in ["text", "json"] {
            let context = TestContext::new([partial_reply("par").gate("g")]).await;
            let child = context
                .command(&["--model", "mock/alpha", "--mode", mode, "-p", "x"])
                .spawn()
                .unwrap();
            context.server.wait_for_gate("g").await;
            send_signal(child.id(), name).await;
            let output = tokio::time::timeout(TEST_TIMEOUT, child.wait_with_output()).await;
            assert_eq!(
                output.unwrap().unwrap().status.code(),
                Some(code),
                "{name} {mode}"
            );
        }
    }
}

#[tokio::test]
async fn child_processes_are_killed_on_exit() {
    let context = TestContext::new([bash_reply("echo pid=$$.; sleep 600; true")]).await;
    let arguments = ["--model", "mock/alpha", "--mode", "json", "x"];
    let mut child = context.command(&arguments).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let pid = loop {
        line.clear();
        assert!(stdout.read_line(&mut line).await.unwrap() > 0);
        let update = line
            .contains("tool_execution_update")
            .then_some(line.as_str());
        let output = update.and_then(|line| line.split("text\":\"pid=").nth(1));
        if let Some((pid, _)) = output.and_then(|rest| rest.split_once('.')) {
            break pid.to_owned();
        }
    };
    assert!(is_running(&pid));
    send_signal(child.id(), "TERM").await;
    let status = tokio::time::timeout(TEST_TIMEOUT, child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(143));
    assert!(!is_running(&pid), "the shell is still running");
}

#[tokio::test]
async fn a_client_that_does_not_read_cannot_block_exit() {
    let long = "x".repeat(1_000_000);
    let context = TestContext::new([text_reply(&long)]).await;
    let arguments = ["--model", "mock/alpha", "--mode", "rpc"];
    let mut child = context
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
    send_signal(child.id(), "TERM").await;
    let status = tokio::time::timeout(TEST_TIMEOUT, child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(status.code(), Some(143));
}

#[tokio::test]
async fn signals_in_rpc_mode_set_the_exit_code() {
    for (name, code) in [("TERM", 143), ("HUP", 129)] {
        let context = TestContext::new([]).await;
        let arguments = ["--model", "mock/alpha", "--mode", "rpc"];
        let mut child = context
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
        send_signal(child.id(), name).await;
        let status = tokio::time::timeout(TEST_TIMEOUT, child.wait())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{name}");
        drop(stdin);
    }
}

/// Everything the command started holds the gate open, so it ends when the last of them is dead.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn commands_end_when_the_process_is_killed() {
    use std::io::{BufRead as _, Read as _};

    let command = "exec 9>gate; echo ready >&9; (trap '' HUP TERM; sleep 600) & \
                   setsid setsid sleep 600 & sleep 600; true";
    let context = TestContext::new([bash_reply(command)]).await;
    let gate = context.project_dir().join("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.unwrap().success());
    let arguments = ["--model", "mock/alpha", "-p", "x"];
    let mut child = context.command(&arguments).spawn().unwrap();
    let (ready, started) = tokio::sync::oneshot::channel();
    let ended = tokio::task::spawn_blocking(move || {
        let mut gate = std::io::BufReader::new(std::fs::File::open(gate).unwrap());
        let mut line = String::new();
        gate.read_line(&mut line).unwrap();
        ready.send(line).unwrap();
        gate.read_to_string(&mut String::new()).unwrap();
    });
    let line = tokio::time::timeout(TEST_TIMEOUT, started).await;
    assert_eq!(line.unwrap().unwrap(), "ready\n");
    child.kill().await.unwrap();
    let ended = tokio::time::timeout(TEST_TIMEOUT, ended).await;
    ended.expect("a process has survived").unwrap();
}
