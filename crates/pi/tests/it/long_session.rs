//! The cost of a very long session follows the part of it that is visible: the last messages in the terminal, the context
//! after the last compaction in a request.
//!
//! The full size is measured on a release build:
//!
//! ```sh
//! PI_TEST_BINARY=$PWD/target/release/pi cargo test -p pi --test it a_million_entries -- --ignored --nocapture
//! ```

#![expect(
    clippy::print_stdout,
    reason = "the numbers of the full size are for people"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use pi_test_support::ScriptedReply;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::harness::{TEST_TIMEOUT, TestContext, finish_reply, partial_reply};
use crate::terminal::Terminal;

const MIB: u64 = 1024;

/// What precedes the visible part of the conversation: more of it, a compaction, or an abandoned branch.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    OneBranch,
    Compacted,
    Branches,
}

/// The entries that are visible: in a context after a compaction, or on the current branch.
const VISIBLE_ENTRIES: usize = 20;

/// Writes a session file of many short messages.
fn write_session(context: &TestContext, shape: Shape, entries: usize) -> PathBuf {
    let path = context.home.path().join("long.jsonl");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let header = json!({"type": "session", "version": 3, "id": "long", "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": context.project_dir()});
    writeln!(file, "{header}").unwrap();
    let usage = r#""usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
    let padding = "x".repeat(100);
    let mut parent = "null".to_owned();
    for number in 0..entries {
        let is_boundary = number + VISIBLE_ENTRIES == entries;
        if is_boundary && shape == Shape::Branches {
            "null".clone_into(&mut parent);
        }
        let body = match number % 2 {
            _ if is_boundary && shape == Shape::Compacted => format!(
                r#""type":"compaction","summary":"all of it","firstKeptEntryId":{parent},"tokensBefore":1000"#
            ),
            0 => format!(
                r#""type":"message","message":{{"role":"user","content":"prompt {number} {padding}","timestamp":1}}"#
            ),
            _ => format!(
                r#""type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"response {number}"}}],"api":"openai-completions","provider":"mock","model":"alpha",{usage},"stopReason":"stop","timestamp":1}}"#
            ),
        };
        writeln!(
            file,
            r#"{{"id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z",{body}}}"#
        )
        .unwrap();
        parent = format!("\"{number:08x}\"");
    }
    file.flush().unwrap();
    path
}

/// A reply that waits for the test after its first text.
fn gated_reply() -> ScriptedReply {
    finish_reply(partial_reply("The answer.").gate("g"), "stop")
}

/// Returns the most memory that a process has used, in KiB.
fn peak_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|peak| peak.split_whitespace().next());
    peak.unwrap().parse().unwrap()
}

/// The peak memory in each mode, in KiB.
#[derive(Debug)]
struct Peaks {
    print: u64,
    rpc: u64,
    terminal: u64,
}

impl Peaks {
    async fn measure(shape: Shape, entries: usize) -> Self {
        let peaks = Self {
            print: print_mode(shape, entries).await,
            rpc: rpc_mode(shape, entries).await,
            terminal: terminal(shape, entries).await,
        };
        println!("{shape:?}, {entries} entries: {peaks:?} KiB");
        peaks
    }

    fn most(&self) -> u64 {
        self.print.max(self.rpc).max(self.terminal)
    }
}

/// Asks for an answer and returns the peak memory when it arrives.
async fn print_mode(shape: Shape, entries: usize) -> u64 {
    let context = TestContext::new([gated_reply()]).await;
    let file = write_session(&context, shape, entries);
    let arguments = [
        "--model",
        "mock/alpha",
        "--session",
        file.to_str().unwrap(),
        "-p",
        "next",
    ];
    let start = Instant::now();
    let child = context.command(&arguments).spawn().unwrap();
    let reached = context.server.wait_for_gate("g");
    tokio::time::timeout(TEST_TIMEOUT, reached).await.unwrap();
    println!("print mode: answer after {:?}", start.elapsed());
    let peak = peak_memory(child.id().unwrap());
    context.server.open_gate("g");
    let output = child.wait_with_output().await.unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "The answer.\n");
    peak
}

/// Asks for the state and for the statistics.
async fn rpc_mode(shape: Shape, entries: usize) -> u64 {
    let context = TestContext::new([]).await;
    let file = write_session(&context, shape, entries);
    let arguments = [
        "--model",
        "mock/alpha",
        "--mode",
        "rpc",
        "--session",
        file.to_str().unwrap(),
    ];
    let mut command = context.command(&arguments);
    let start = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (command, expected) in [
        ("get_state", "messageCount"),
        ("get_session_stats", "totalMessages"),
    ] {
        stdin
            .write_all(format!("{{\"type\":\"{command}\"}}\n").as_bytes())
            .await
            .unwrap();
        let line = tokio::time::timeout(TEST_TIMEOUT, lines.next_line()).await;
        let line: Value = serde_json::from_str(&line.unwrap().unwrap().unwrap()).unwrap();
        assert!(line["data"][expected].is_u64(), "{line}");
        println!("{command} after {:?}", start.elapsed());
    }
    let peak = peak_memory(child.id().unwrap());
    child.kill().await.unwrap();
    peak
}

/// Shows the last message.
async fn terminal(shape: Shape, entries: usize) -> u64 {
    let context = TestContext::new([]).await;
    let file = write_session(&context, shape, entries);
    let start = Instant::now();
    let arguments = ["--model", "mock/alpha", "--session", file.to_str().unwrap()];
    let terminal = Terminal::start(&context, &arguments);
    terminal.wait(&format!("response {}", entries - 1));
    println!("terminal after {:?}", start.elapsed());
    let peak = peak_memory(terminal.process_id());
    terminal.quit();
    peak
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_follows_the_visible_part() {
    let base = Peaks::measure(Shape::Compacted, 2 * VISIBLE_ENTRIES).await;
    for shape in [Shape::Compacted, Shape::Branches] {
        let long = Peaks::measure(shape, 100_000).await;
        let added = long.most().saturating_sub(base.most());
        // Less than 100 bytes for each entry that is not visible; parsing them takes 1,000 and more.
        assert!(added < 50 * MIB, "{added} KiB");
    }
    // A branch without a compaction is shown without reading all of it.
    let shown = rpc_mode(Shape::OneBranch, 100_000).await;
    let shown = shown.max(terminal(Shape::OneBranch, 100_000).await);
    let added = shown.saturating_sub(base.most());
    assert!(added < 50 * MIB, "{added} KiB");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes files of 340 MB; run it with a release build"]
async fn a_million_entries() {
    for shape in [Shape::Compacted, Shape::Branches] {
        let peaks = Peaks::measure(shape, 1_000_000).await;
        assert!(peaks.most() < 200 * MIB, "{peaks:?}");
    }
    let peak = rpc_mode(Shape::OneBranch, 1_000_000).await;
    let peak = peak.max(terminal(Shape::OneBranch, 1_000_000).await);
    println!("one branch, without a request: {peak} KiB");
    assert!(peak < 200 * MIB, "{peak} KiB");
    println!(
        "one branch, with a request: {} KiB",
        print_mode(Shape::OneBranch, 1_000_000).await
    );
}
