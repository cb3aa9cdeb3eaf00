//! Cost of a long session: opening, appending, and reading the path to the leaf. The profiler also reports the memory
//! that each of them needs.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark cannot run without its session"
)]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher};
use pi_protocol::{AgentMessage, UserMessage};
use pi_session::{AccessMode, NewSession, OpenSession, Session};
use tempfile::TempDir;

/// 100,000 entries, 104 MB: the size used for performance budgets.
const ENTRIES: usize = 100_000;

/// 1,000,000 entries, 310 MB, compacted near the end.
const MANY_ENTRIES: usize = 1_000_000;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Writes a session of many short messages whose context starts twenty entries before the end.
fn compacted_session(directory: &Path) -> PathBuf {
    let path = directory.join("many.jsonl");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    writeln!(
        file,
        r#"{{"type":"session","version":3,"id":"many","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}}"#
    )
    .unwrap();
    let usage = r#""usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
    let mut parent = "null".to_owned();
    for number in 0..MANY_ENTRIES {
        let body = match number % 2 {
            _ if number == MANY_ENTRIES - 20 => format!(
                r#""type":"compaction","summary":"all of it","firstKeptEntryId":{parent},"tokensBefore":1000"#
            ),
            0 => format!(
                r#""type":"message","message":{{"role":"user","content":"prompt {number}","timestamp":1}}"#
            ),
            _ => format!(
                r#""type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"response {number}"}}],"api":"anthropic-messages","provider":"mock","model":"mock",{usage},"stopReason":"stop","timestamp":1}}"#
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

/// What the first answer of a resumed session needs: the index and the context after the compaction.
#[divan::bench(sample_count = 5)]
fn open_a_million_entries(bencher: Bencher) {
    let directory = TempDir::new().unwrap();
    let path = compacted_session(directory.path());
    bencher.bench(|| {
        let session = open(&path);
        let messages = session.current_branch().projection().unwrap();
        (session, messages)
    });
}

/// Writes a session of turns with a prompt, a tool call, a long result and a response, about 1 kB
/// per entry.
fn long_session(directory: &Path) -> PathBuf {
    let path = directory.join("long.jsonl");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    writeln!(
        file,
        r#"{{"type":"session","version":3,"id":"long","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}}"#
    )
    .unwrap();
    let output = "line of a small file, used by the read tool with its number\\n".repeat(52);
    let usage = r#""usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0},"cacheWrite1h":0}"#;
    let meta = r#""api":"anthropic-messages","provider":"mock","model":"mock""#;
    let mut parent = "null".to_owned();
    for number in 0..ENTRIES {
        let message = match number % 4 {
            0 => format!(
                r#"{{"role":"user","content":[{{"type":"text","text":"Please read small.txt once more (turn {number})."}}],"timestamp":1}}"#
            ),
            1 => format!(
                r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"toolu_{number}","name":"read","arguments":{{"path":"small.txt"}}}}],{meta},{usage},"stopReason":"toolUse","timestamp":1}}"#
            ),
            2 => format!(
                r#"{{"role":"toolResult","toolCallId":"toolu_{number}","toolName":"read","content":[{{"type":"text","text":"{output}"}}],"isError":false,"timestamp":1}}"#
            ),
            _ => format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"Hello."}}],{meta},{usage},"stopReason":"stop","timestamp":1}}"#
            ),
        };
        writeln!(
            file,
            r#"{{"type":"message","id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{message}}}"#
        )
        .unwrap();
        parent = format!("\"{number:08x}\"");
    }
    file.flush().unwrap();
    path
}

fn open(path: &Path) -> Session {
    let options = OpenSession {
        access: AccessMode::Read,
        ..OpenSession::default()
    };
    Session::open(path, options).unwrap()
}

#[divan::bench]
fn index_a_long_session(bencher: Bencher) {
    let directory = TempDir::new().unwrap();
    let path = long_session(directory.path());
    let length = std::fs::metadata(&path).unwrap().len();
    bencher
        .counter(BytesCount::new(length))
        .bench(|| open(&path));
}

#[divan::bench(sample_count = 10)]
fn read_the_last_thousand_entries(bencher: Bencher) {
    let directory = TempDir::new().unwrap();
    let session = open(&long_session(directory.path()));
    let ids = session.current_branch().ids();
    bencher.bench(|| {
        for id in &ids[ids.len() - 1000..] {
            divan::black_box(session.entries().read(id.as_str()).unwrap());
        }
    });
}

#[divan::bench(sample_count = 5)]
fn read_the_full_conversation(bencher: Bencher) {
    let directory = TempDir::new().unwrap();
    let session = open(&long_session(directory.path()));
    bencher.bench(|| session.current_branch().projection().unwrap());
}

#[divan::bench]
fn append_a_record(bencher: Bencher) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("s.jsonl");
    File::create(&path).unwrap();
    let mut session = Session::open(&path, OpenSession::default()).unwrap();
    bencher
        .with_inputs(|| message(1000))
        .bench_local_values(|message| session.append_message(message).unwrap());
}

#[divan::bench]
fn append_in_memory(bencher: Bencher) {
    let mut session = Session::in_memory(Path::new("/project"), NewSession::default()).unwrap();
    bencher
        .with_inputs(|| message(1000))
        .bench_local_values(|message| session.append_message(message).unwrap());
}

fn message(length: usize) -> AgentMessage {
    AgentMessage::from(UserMessage {
        content: "x".repeat(length).into(),
        timestamp: 1,
        ..UserMessage::default()
    })
}
