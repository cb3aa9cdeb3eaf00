//! Child processes when pi exits normally. As with the TypeScript pi, what an ended command or an extension left in the
//! background continues, such as a development server; a command that still runs is killed.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use pi_test_support::is_running;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, text_reply};
use crate::terminal::Terminal;

/// Leaves two processes behind, one of which keeps the pipe of the output, and writes their IDs to a file.
const LEAVE_BEHIND: &str = "sleep 600 & echo $! > kept; \
                            setsid sleep 600 > /dev/null 2>&1 & echo $! > closed; sleep 0.1";

/// Leaves processes behind when a session starts.
const EXTENSION: &str = r#"
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
export default function (pi) {
  pi.on("session_start", () => {
    for (const [name, detached] of [["kept", false], ["closed", true]]) {
      const child = spawn("/bin/sh", ["-c", "exec sleep 600"], { stdio: "ignore", detached });
      child.unref();
      writeFileSync(name, `${child.pid}\n`);
    }
  });
}
"#;

/// Waits for a file with the ID of a process.
fn process_in(file: &Path) -> Pid {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(id) = text.strip_suffix('\n') {
            return Pid::from_raw(id.parse().unwrap()).unwrap();
        }
        let is_late = start.elapsed() > TEST_TIMEOUT;
        assert!(!is_late, "{} was not written", file.display());
        std::thread::yield_now();
    }
}

fn assert_left_behind(context: &TestContext, mode: &str) {
    for name in ["kept", "closed"] {
        let process = process_in(&context.project_dir().join(name));
        assert!(is_running(&process.to_string()), "{mode}: {name} has ended");
        kill_process(process, Signal::KILL).unwrap();
    }
}

/// Runs RPC mode with one command, waits for a record of the given type, and closes the input.
async fn run_rpc(context: &TestContext, arguments: &[&str], command: Value, until: &str) {
    let mut all = vec!["--model", "mock/alpha", "--mode", "rpc"];
    all.extend(arguments);
    let mut child = context.command(&all).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
    stdin
        .write_all(format!("{command}\n").as_bytes())
        .await
        .unwrap();
    loop {
        let line = tokio::time::timeout(TEST_TIMEOUT, stdout.next_line()).await;
        let record: Value = serde_json::from_str(&line.unwrap().unwrap().unwrap()).unwrap();
        if record["type"] == until {
            break;
        }
    }
    // A command reports its start before it writes anything.
    process_in(&context.project_dir().join("kept"));
    drop(stdin);
    let exit = tokio::time::timeout(TEST_TIMEOUT, child.wait()).await;
    assert_eq!(exit.unwrap().unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_left_in_the_background_continues() {
    let context = TestContext::new([bash_reply(LEAVE_BEHIND), text_reply("done")]).await;
    let run = context.run(&["--model", "mock/alpha", "-p", "go"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "done\n"));
    assert_left_behind(&context, "print");

    let context = TestContext::new([bash_reply(LEAVE_BEHIND), text_reply("done")]).await;
    let prompt = json!({"type": "prompt", "message": "go"});
    run_rpc(&context, &[], prompt, "agent_settled").await;
    assert_left_behind(&context, "RPC");

    let context = TestContext::new([]).await;
    let terminal = Terminal::start(&context, &["--model", "mock/alpha"]);
    terminal.wait("alpha");
    terminal.submit(&format!("!{LEAVE_BEHIND}; exit 4"));
    // The command has ended, not only its output: one that still runs is killed.
    terminal.wait("(exit 4)");
    terminal.quit();
    assert_left_behind(&context, "terminal");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_extension_left_in_the_background_continues() {
    let context = TestContext::new([text_reply("done")]).await;
    let extension = context.home.write("children.ts", EXTENSION);
    let extension = ["-e", extension.to_str().unwrap()];
    let mut arguments = vec!["--model", "mock/alpha", "-p", "go"];
    arguments.extend(extension);
    let run = context.run(&arguments).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "done\n"));
    assert_left_behind(&context, "print");

    let state = json!({"type": "get_state"});
    run_rpc(&context, &extension, state, "response").await;
    assert_left_behind(&context, "RPC");

    // The terminal belongs to a shell, as usual: its processes are hung up when the process it belongs to ends.
    let script = format!(
        "\"$PI\" --model mock/alpha -e '{}'; echo status-$?; read line",
        extension[1]
    );
    let terminal = Terminal::start_shell(&context, &script);
    terminal.wait("alpha");
    process_in(&context.project_dir().join("closed"));
    terminal.send("\x04");
    terminal.wait("status-0");
    assert_left_behind(&context, "terminal");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_still_runs_ends_with_the_process() {
    let command = "echo $$ > kept; echo started; exec sleep 600";
    let context = TestContext::new([]).await;
    let bash = json!({"type": "bash", "command": command});
    run_rpc(&context, &[], bash, "bash_execution_update").await;
    assert_ended(&context, "RPC");

    let context = TestContext::new([bash_reply(command)]).await;
    let prompt = json!({"type": "prompt", "message": "go"});
    run_rpc(&context, &[], prompt, "tool_execution_update").await;
    assert_ended(&context, "a tool in RPC mode");

    let context = TestContext::new([]).await;
    let terminal = Terminal::start(&context, &["--model", "mock/alpha"]);
    terminal.wait("alpha");
    terminal.submit(&format!("!{command}"));
    process_in(&context.project_dir().join("kept"));
    terminal.quit();
    assert_ended(&context, "terminal");
}

/// The process that kills commands may outlive pi for a moment.
fn assert_ended(context: &TestContext, mode: &str) {
    let process = process_in(&context.project_dir().join("kept"));
    let start = Instant::now();
    while is_running(&process.to_string()) {
        let is_late = start.elapsed() > TEST_TIMEOUT;
        assert!(!is_late, "{mode}: the command still runs");
        std::thread::yield_now();
    }
}
