//! `cargo xtask soak`: a day of use in a few minutes, to see whether anything grows that must not.
//!
//! The binary runs in RPC mode against a model on the loopback interface: thousands of turns in many
//! sessions, turns on a very long session, and reloads with an extension. Resident memory, descriptors and
//! threads are sampled on the way; what they should be is in `docs/reliability.md`.

mod model;
mod process;
mod samples;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;
use tempfile::TempDir;

use model::Model;
use process::Pi;
use samples::{Growth, Samples};

/// How many turns a session has before the next one begins.
const TURNS_A_SESSION: usize = 100;

/// How many turns are made on the long session.
const TURNS_ON_LONG: usize = 500;

/// How often something is sampled in each part.
const SAMPLES: usize = 20;

/// The extension that is loaded anew at every reload.
const EXTENSION: &str = include_str!("soak/reload.ts");

/// What to run, and how much of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    binary: PathBuf,
    turns: usize,
    entries: usize,
    reloads: usize,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            binary: PathBuf::from("target/release/pi"),
            turns: 10_000,
            entries: 50_000,
            reloads: 1000,
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
                _ => bail!("`soak` has no option {word}"),
            }
        }
        Ok(options)
    }
}

/// Runs everything and returns the tables; it is an error if something grows.
pub(crate) fn run(options: &Options) -> Result<String> {
    let binary = fs::canonicalize(&options.binary)
        .with_context(|| format!("there is no program at {}", options.binary.display()))?;
    let home = TempDir::new()?;
    let model = Model::start()?;
    prepare(home.path(), model.address())?;
    let soak = Soak {
        binary,
        home: home.path().to_owned(),
    };
    let parts = [
        soak.turns(options.turns)?,
        soak.long_session(options.entries)?,
        soak.reloads(options.reloads)?,
    ];
    let mut text = String::new();
    for part in &parts {
        part.describe(&mut text);
    }
    let growing: Vec<&str> = parts.iter().flat_map(Samples::growing).collect();
    ensure!(growing.is_empty(), "{text}\ngrows: {}", growing.join(", "));
    writeln!(text, "\nnothing grows")?;
    Ok(text)
}

/// Sets up a home with a model, a project and the extension.
fn prepare(home: &Path, address: &str) -> Result<()> {
    let models = json!({"providers": {"soak": {
        "baseUrl": format!("{address}/v1"), "api": "openai-completions", "apiKey": "k",
        "models": [{
            "id": "model", "name": "model", "reasoning": false, "input": ["text"],
            "contextWindow": 1_000_000, "maxTokens": 8192,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }],
    }}});
    for folder in ["agent", "project", "home"] {
        fs::create_dir_all(home.join(folder))?;
    }
    let models = models.to_string();
    File::create(home.join("agent/models.json"))?.write_all(models.as_bytes())?;
    Ok(File::create(home.join("reload.ts"))?.write_all(EXTENSION.as_bytes())?)
}

struct Soak {
    binary: PathBuf,
    home: PathBuf,
}

impl Soak {
    /// Many turns, every fourth with a tool, in sessions that follow each other.
    fn turns(&self, count: usize) -> Result<Samples> {
        let mut pi = Pi::start(&self.binary, &self.home, &[])?;
        let mut samples = Samples::new("turns", Growth::None);
        let sessions = count.div_ceil(TURNS_A_SESSION);
        for session in 0..sessions {
            for turn in 0..TURNS_A_SESSION.min(count - session * TURNS_A_SESSION) {
                pi.turn(turn)?;
            }
            pi.request(&json!({"type": "new_session"}))?;
            if samples::is_due(session + 1, sessions, SAMPLES) {
                samples.add((session + 1) * TURNS_A_SESSION, pi.sample()?);
            }
        }
        pi.stop()?;
        Ok(samples)
    }

    /// Turns on a session that is very long already.
    fn long_session(&self, entries: usize) -> Result<Samples> {
        let file = self.home.join("long.jsonl");
        write_session(&file, &self.home.join("project"), entries)?;
        let file = file.to_string_lossy().into_owned();
        let mut pi = Pi::start(&self.binary, &self.home, &["--session", &file])?;
        let mut samples = Samples::new("turns on a long session", Growth::Entries);
        for turn in 0..TURNS_ON_LONG {
            pi.turn(turn)?;
            if samples::is_due(turn + 1, TURNS_ON_LONG, SAMPLES) {
                samples.add(turn + 1, pi.sample()?);
            }
        }
        pi.stop()?;
        Ok(samples)
    }

    /// Reloads, each of which starts the extension anew.
    fn reloads(&self, count: usize) -> Result<Samples> {
        let extension = self.home.join("reload.ts").to_string_lossy().into_owned();
        let mut pi = Pi::start(&self.binary, &self.home, &["--extension", &extension])?;
        let mut samples = Samples::new("reloads", Growth::None);
        for reload in 0..count {
            pi.request(&json!({"type": "prompt", "message": "/again"}))?;
            pi.request(&json!({"type": "get_state"}))?;
            if samples::is_due(reload + 1, count, SAMPLES) {
                samples.add(reload + 1, pi.sample()?);
            }
        }
        pi.stop()?;
        Ok(samples)
    }
}

/// Writes a session whose last entry is a compaction, so that little of it goes to the model.
fn write_session(path: &Path, cwd: &Path, entries: usize) -> Result<()> {
    const TIME: &str = "2026-01-01T00:00:00.000Z";
    let mut file = BufWriter::new(File::create(path)?);
    let header =
        json!({"type": "session", "version": 3, "id": "long", "timestamp": TIME, "cwd": cwd});
    writeln!(file, "{header}")?;
    let mut parent = None;
    for number in 0..entries {
        let id = format!("{number:08x}");
        let text = format!("message {number} of a conversation that went on for a very long time");
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
        "summary": "what was said", "firstKeptEntryId": "compacted", "tokensBefore": 1});
    writeln!(file, "{last}")?;
    Ok(file.flush()?)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn options_say_how_much() {
        let options = Options::parse(&["--binary", "pi", "--turns", "5"]).unwrap();
        assert_eq!(options.binary, Path::new("pi"));
        assert_eq!(
            (options.turns, options.entries, options.reloads),
            (5, 50_000, 1000)
        );
        for wrong in [&["--turns"][..], &["--turns", "x"], &["--else", "1"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
