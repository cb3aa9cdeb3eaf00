//! The program under test in RPC mode, and what the kernel says about it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::samples::Sample;

/// How long one answer may take.
const LIMIT: Duration = Duration::from_mins(1);

/// How often and how far apart a program is looked at for one sample.
const LOOKS: usize = 5;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// A running program.
pub(super) struct Pi {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Value>,
    requests: usize,
}

impl Pi {
    pub(super) fn start(binary: &Path, home: &Path, arguments: &[&str]) -> Result<Self> {
        let mut child = Command::new(binary)
            .args(["--mode", "rpc", "--model", "soak/model"])
            .args(arguments)
            .current_dir(home.join("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.join("home"))
            .env("PI_CODING_AGENT_DIR", home.join("agent"))
            .env("PI_OFFLINE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("standard input is a pipe")?;
        let output = child.stdout.take().context("standard output is a pipe")?;
        let (sender, lines) = mpsc::sync_channel(1024);
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Ok(line) = serde_json::from_str(&line)
                    && sender.send(line).is_err()
                {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            input,
            lines,
            requests: 0,
        })
    }

    /// Sends a command and waits until it is answered.
    pub(super) fn request(&mut self, command: &Value) -> Result<()> {
        self.requests += 1;
        let id = self.requests.to_string();
        let mut command = command.clone();
        if let Some(fields) = command.as_object_mut() {
            fields.insert("id".to_owned(), json!(id));
        }
        writeln!(self.input, "{command}")?;
        self.input.flush()?;
        let answer = self.wait_for(|line| {
            line.get("type").and_then(Value::as_str) == Some("response")
                && line.get("id").and_then(Value::as_str) == Some(&id)
        })?;
        let succeeded = answer.get("success").and_then(Value::as_bool) == Some(true);
        ensure!(succeeded, "{command} was answered with {answer}");
        Ok(())
    }

    /// Makes a turn; every fourth uses a tool.
    pub(super) fn turn(&mut self, number: usize) -> Result<()> {
        let message = if number % 4 == 3 {
            "use a tool"
        } else {
            "go on"
        };
        self.request(&json!({"type": "prompt", "message": message}))?;
        let is_settled =
            |line: &Value| line.get("type").and_then(Value::as_str) == Some("agent_settled");
        self.wait_for(is_settled)?;
        Ok(())
    }

    fn wait_for(&self, is_wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let line = line.context("the program says nothing more")?;
            if is_wanted(&line) {
                return Ok(line);
            }
        }
    }

    /// Asks the kernel what the program holds once it is at rest: what it set aside ends a moment later.
    pub(super) fn sample(&self) -> Result<Sample> {
        let mut least = self.look()?;
        for _ in 1..LOOKS {
            thread::sleep(BETWEEN_LOOKS);
            let now = self.look()?;
            least = Sample {
                kibibytes: least.kibibytes.min(now.kibibytes),
                threads: least.threads.min(now.threads),
                descriptors: least.descriptors.min(now.descriptors),
            };
        }
        Ok(least)
    }

    fn look(&self) -> Result<Sample> {
        let folder = Path::new("/proc").join(self.child.id().to_string());
        let status = fs::read_to_string(folder.join("status"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            number.with_context(|| format!("the kernel does not say {name}"))
        };
        Ok(Sample {
            kibibytes: field("VmRSS:")?,
            threads: field("Threads:")?,
            descriptors: fs::read_dir(folder.join("fd"))?.count(),
        })
    }

    /// Closes its input and waits for its end.
    pub(super) fn stop(self) -> Result<()> {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        let status = child.wait()?;
        ensure!(status.success(), "the program ended with {status}");
        Ok(())
    }
}
