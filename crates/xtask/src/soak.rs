//! `cargo xtask soak`: a day of use in a few minutes, to detect leaks.
//!
//! The binary runs against a model on the loopback interface: in RPC mode, thousands of turns in many sessions, turns
//! on a very long session, and reloads with an extension; then as a server with 50 sessions and clients that come and
//! go. Resident memory, file descriptors and threads are sampled on the way; `docs/reliability.md` lists the expected values.

mod process;
mod samples;
#[cfg(unix)]
mod server;
mod usage;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use tempfile::TempDir;

use crate::fake_model::{FakeModel, FakeReply};
use process::RpcProcess;
use samples::{Growth, Samples};

const TURNS_PER_SESSION: usize = 100;

const LONG_SESSION_TURNS: usize = 500;

const SAMPLES_PER_PHASE: usize = 20;

/// Large enough that no phase compacts its session.
const CONTEXT_WINDOW: u64 = 1_000_000;

/// Loaded again at every reload.
const EXTENSION: &str = include_str!("soak/reload.ts");

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SoakOptions {
    binary: PathBuf,
    turns: usize,
    entries: usize,
    reloads: usize,
    client_steps: usize,
}

impl SoakOptions {
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            binary: PathBuf::from("target/release/pi"),
            turns: 10_000,
            entries: 50_000,
            reloads: 1000,
            client_steps: 10_000,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words
                .next()
                .with_context(|| format!("{word} needs a value"))?;
            let count = || value.parse().with_context(|| format!("{word} {value}"));
            match *word {
                "--binary" => options.binary = PathBuf::from(value),
                "--turns" => options.turns = count()?,
                "--entries" => options.entries = count()?,
                "--reloads" => options.reloads = count()?,
                "--client-steps" => options.client_steps = count()?,
                _ => bail!("`soak` has no option {word}"),
            }
        }
        Ok(options)
    }
}

/// Runs all phases and returns the sample tables. Fails if memory, descriptors or threads grow.
pub(crate) fn run(options: &SoakOptions) -> Result<String> {
    let binary = fs::canonicalize(&options.binary)
        .with_context(|| format!("cannot find {}", options.binary.display()))?;
    let home = TempDir::new()?;
    let model = FakeModel::start(reply)?;
    prepare(home.path(), &model)?;
    let soak = Soak {
        binary,
        home: home.path().to_owned(),
    };
    let phases = [
        soak.turns(options.turns)?,
        soak.long_session(options.entries)?,
        soak.reloads(options.reloads)?,
        soak.clients(options.client_steps)?,
    ];
    let mut text = String::new();
    for phase in &phases {
        phase.describe(&mut text);
    }
    let growing: Vec<&str> = phases.iter().flat_map(Samples::growing).collect();
    ensure!(
        growing.is_empty(),
        "{text}\ngrowing: {}",
        growing.join(", ")
    );
    writeln!(text, "\nnothing grows")?;
    Ok(text)
}

fn prepare(home: &Path, model: &FakeModel) -> Result<()> {
    for directory in ["agent", "project", "home"] {
        fs::create_dir_all(home.join(directory))?;
    }
    let models = model.models_json("soak", "model", CONTEXT_WINDOW);
    File::create(home.join("agent/models.json"))?.write_all(models.as_bytes())?;
    Ok(File::create(home.join("reload.ts"))?.write_all(EXTENSION.as_bytes())?)
}

/// Replies with text, or with a call of `ls` when the prompt asks for a tool.
fn reply(messages: &[serde_json::Value]) -> FakeReply {
    let last = messages.last();
    let wants_tool =
        last.is_some_and(|last| last["role"] == "user" && last.to_string().contains("tool"));
    FakeReply {
        text: "A short reply, like many others in a day.".into(),
        tool_call: wants_tool.then(|| ("ls".into(), json!({"path": "."}))),
        ..FakeReply::default()
    }
}

struct Soak {
    binary: PathBuf,
    home: PathBuf,
}

impl Soak {
    /// Many turns in consecutive sessions; every fourth turn calls a tool.
    fn turns(&self, count: usize) -> Result<Samples> {
        let mut pi = RpcProcess::start(&self.binary, &self.home, &[])?;
        let mut samples = Samples::new("turns", Growth::None);
        let sessions = count.div_ceil(TURNS_PER_SESSION);
        for session in 0..sessions {
            for turn in 0..TURNS_PER_SESSION.min(count - session * TURNS_PER_SESSION) {
                pi.turn(turn)?;
            }
            pi.request(&json!({"type": "new_session"}))?;
            if samples::is_due(session + 1, sessions, SAMPLES_PER_PHASE) {
                samples.add((session + 1) * TURNS_PER_SESSION, pi.sample()?);
            }
        }
        pi.stop()?;
        Ok(samples)
    }

    /// Turns on a very long session.
    fn long_session(&self, entries: usize) -> Result<Samples> {
        let file = self.home.join("long.jsonl");
        write_session(&file, &self.home.join("project"), entries)?;
        let file = file.to_string_lossy().into_owned();
        let mut pi = RpcProcess::start(&self.binary, &self.home, &["--session", &file])?;
        let mut samples = Samples::new("turns on a long session", Growth::Entries);
        for turn in 0..LONG_SESSION_TURNS {
            pi.turn(turn)?;
            if samples::is_due(turn + 1, LONG_SESSION_TURNS, SAMPLES_PER_PHASE) {
                samples.add(turn + 1, pi.sample()?);
            }
        }
        pi.stop()?;
        Ok(samples)
    }

    /// Reloads, each of which restarts the extension.
    fn reloads(&self, count: usize) -> Result<Samples> {
        let extension = self.home.join("reload.ts").to_string_lossy().into_owned();
        let mut pi = RpcProcess::start(&self.binary, &self.home, &["--extension", &extension])?;
        let mut samples = Samples::new("reloads", Growth::None);
        for reload in 0..count {
            pi.request(&json!({"type": "prompt", "message": "/again"}))?;
            pi.request(&json!({"type": "get_state"}))?;
            if samples::is_due(reload + 1, count, SAMPLES_PER_PHASE) {
                samples.add(reload + 1, pi.sample()?);
            }
        }
        pi.stop()?;
        Ok(samples)
    }

    /// A server whose clients connect, prompt, read, and disconnect without notice.
    #[cfg(unix)]
    fn clients(&self, count: usize) -> Result<Samples> {
        let mut server = server::Server::start(&self.binary, &self.home)?;
        let mut samples = Samples::new("steps of clients", Growth::None);
        for step in 1..=count {
            server.step()?;
            if samples::is_due(step, count, SAMPLES_PER_PHASE) {
                samples.add(step, server.sample()?);
            }
        }
        server.stop()?;
        Ok(samples)
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "as on Unix")]
    fn clients(&self, _count: usize) -> Result<Samples> {
        bail!("the soak test needs Linux")
    }
}

/// Writes a session that ends with a compaction, so that requests stay small.
fn write_session(path: &Path, cwd: &Path, entries: usize) -> Result<()> {
    const TIME: &str = "2026-01-01T00:00:00.000Z";
    let mut file = BufWriter::new(File::create(path)?);
    let header =
        json!({"type": "session", "version": 3, "id": "long", "timestamp": TIME, "cwd": cwd});
    writeln!(file, "{header}")?;
    let mut parent = None;
    for number in 0..entries {
        let id = format!("{number:08x}");
        let text = format!("message {number} of a very long conversation");
        let message = if number % 2 == 0 {
            json!({"role": "user", "content": text, "timestamp": 1})
        } else {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}], "api": "openai-completions",
                "provider": "soak", "model": "model", "stopReason": "stop", "timestamp": 1})
        };
        let entry = json!({"type": "message", "id": id, "parentId": parent, "timestamp": TIME, "message": message});
        writeln!(file, "{entry}")?;
        parent = Some(id);
    }
    let last = json!({"type": "compaction", "id": "compacted", "parentId": parent, "timestamp": TIME,
        "summary": "summary of the conversation", "firstKeptEntryId": "compacted", "tokensBefore": 1});
    writeln!(file, "{last}")?;
    Ok(file.flush()?)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn options_set_the_amounts() {
        let options = SoakOptions::parse(&["--binary", "pi", "--turns", "5"]).unwrap();
        assert_eq!(options.binary, Path::new("pi"));
        assert_eq!(
            (options.turns, options.entries, options.reloads),
            (5, 50_000, 1000)
        );
        for wrong in [&["--turns"][..], &["--turns", "x"], &["--else", "1"]] {
            assert!(SoakOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
