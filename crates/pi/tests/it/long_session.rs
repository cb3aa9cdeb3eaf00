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

/// Returns the number of the last response on the screen.
fn last_response(screen: &str) -> Option<usize> {
    let (_, after) = screen.rsplit_once("response ")?;
    let number: String = after.chars().take_while(char::is_ascii_digit).collect();
    number.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_start_of_a_long_session_is_shown_and_scrolled_from() {
    let context = TestContext::new([]).await;
    let file = write_session(&context, Shape::OneBranch, 10_000);
    let arguments = ["--model", "mock/alpha", "--session", file.to_str().unwrap()];
    let terminal = Terminal::start(&context, &arguments);
    terminal.wait("response 9999");
    terminal.send("\x1b[1;5H");
    let first = |screen: &str| screen.contains("response 1 ") || screen.contains("response 1\n");
    terminal.wait_until("the first entries", first);
    // Typing, and the pointer that moves over the text.
    terminal.send("\x1b[<35;10;10M\x1b[<35;12;10M");
    terminal.send("typed");
    terminal.wait_until("the prompt", |screen| {
        screen.contains("typed") && first(screen)
    });
    // The entries after them are loaded while scrolling down.
    for entry in (100..=600).step_by(20) {
        let is_shown = |screen: &str| last_response(screen).is_some_and(|last| last >= entry);
        while !is_shown(&terminal.screen()) {
            let before = terminal.screen();
            terminal.send("\x1b[<65;10;10M\x1b[<65;10;10M");
            terminal.wait_until("the next entries", |screen| *screen != before);
        }
    }
    let last = last_response(&terminal.screen());
    assert!(last.is_some_and(|last| last < 700), "{last:?}");
    terminal.kill();
}

/// The CPU time of a process, in milliseconds.
fn cpu_time(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Ticks of ten milliseconds in user and in kernel mode.
    [11, 12]
        .map(|field| fields[field].parse::<u64>().unwrap() * 10)
        .iter()
        .sum()
}

/// Waits until a process has used no CPU time for a moment, and returns what it has used.
async fn settled_cpu_time(process: u32) -> u64 {
    let mut last = cpu_time(process);
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let now = cpu_time(process);
        if now == last {
            return now;
        }
        last = now;
    }
}

/// Prints the CPU time of what a user does in sessions of different length, with a release build:
///
/// ```sh
/// PI_TEST_BINARY=$PWD/target/release/pi cargo test -p pi --test it actions_in_a_long_session -- --ignored --nocapture
/// ```
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints measurements; run it with a release build"]
async fn actions_in_a_long_session() {
    const ACTIONS: [(&str, &str); 14] = [
        ("page up", "\x1b[5~"),
        ("page down", "\x1b[6~"),
        ("to the top", "\x1b[1;5H"),
        ("to the end", "\x1b[1;5F"),
        ("expand all", "\x0f"),
        ("collapse all", "\x0f"),
        ("open the search", "\x1b[102;6u"),
        ("search a word", "prompt"),
        ("next match", "\r"),
        ("close the search", "\x1b"),
        ("open the tree", "/tree\r"),
        ("up in the tree", "\x1b[A"),
        ("search the tree", "prompt 7"),
        ("close the tree", "\x1b\x1b"),
    ];
    let mut columns = Vec::new();
    for entries in [2 * VISIBLE_ENTRIES, 100_000] {
        let context = TestContext::new([]).await;
        let file = write_session(&context, Shape::OneBranch, entries);
        let arguments = ["--model", "mock/alpha", "--session", file.to_str().unwrap()];
        let terminal = Terminal::start(&context, &arguments);
        terminal.wait(&format!("response {}", entries - 1));
        let process = terminal.process_id();
        let mut used = settled_cpu_time(process).await;
        let mut column = vec![used];
        for (_, keys) in ACTIONS {
            terminal.send(keys);
            let now = settled_cpu_time(process).await;
            column.push(now - used);
            used = now;
        }
        for (width, height) in [(80, 24), (140, 50)] {
            terminal.resize(width, height);
            let now = settled_cpu_time(process).await;
            column.push(now - used);
            used = now;
        }
        columns.push(column);
        terminal.kill();
    }
    let names = std::iter::once("open").chain(ACTIONS.map(|(name, _)| name));
    let names = names.chain(["resize to 80x24", "resize to 140x50"]);
    println!("| CPU, ms | {} entries | 100,000 |", 2 * VISIBLE_ENTRIES);
    for (row, name) in names.enumerate() {
        println!("| {name} | {} | {} |", columns[0][row], columns[1][row]);
    }
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
