//! The program under test in RPC mode.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::samples::Sample;
use super::usage;

/// Limit for one response.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);

/// Returns a command that starts the program in a home directory of the test, with the model of the test.
pub(super) fn command(binary: &Path, home: &Path) -> Command {
    let mut command = Command::new(binary);
    command
        .current_dir(home.join("project"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.join("home"))
        .env("PI_CODING_AGENT_DIR", home.join("agent"))
        .env("PI_OFFLINE", "1");
    command
}

pub(super) struct RpcProcess {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Value>,
    requests: usize,
}

impl RpcProcess {
    pub(super) fn start(binary: &Path, home: &Path, arguments: &[&str]) -> Result<Self> {
        let mut child = command(binary, home)
            .args(["--mode", "rpc", "--model", "soak/model"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().context("stdin is not a pipe")?;
        let output = child.stdout.take().context("stdout is not a pipe")?;
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

    /// Sends a command and waits for its response.
    pub(super) fn request(&mut self, command: &Value) -> Result<()> {
        self.requests += 1;
        let id = self.requests.to_string();
        let mut command = command.clone();
        if let Some(fields) = command.as_object_mut() {
            fields.insert("id".to_owned(), json!(id));
        }
        writeln!(self.input, "{command}")?;
        self.input.flush()?;
        let response = self.wait_for(|line| {
            line.get("type").and_then(Value::as_str) == Some("response")
                && line.get("id").and_then(Value::as_str) == Some(&id)
        })?;
        let succeeded = response.get("success").and_then(Value::as_bool) == Some(true);
        ensure!(succeeded, "{command} failed: {response}");
        Ok(())
    }

    /// Runs one turn; every fourth uses a tool.
    pub(super) fn turn(&mut self, number: usize) -> Result<()> {
        let message = if number % 4 == 3 {
            "use a tool"
        } else {
            "continue"
        };
        self.request(&json!({"type": "prompt", "message": message}))?;
        let is_settled =
            |line: &Value| line.get("type").and_then(Value::as_str) == Some("agent_settled");
        self.wait_for(is_settled)?;
        Ok(())
    }

    fn wait_for(&self, matches: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let line = self.lines.recv_timeout(RESPONSE_TIMEOUT);
            let line = line.context("timed out waiting for output")?;
            if matches(&line) {
                return Ok(line);
            }
        }
    }

    pub(super) fn sample(&self) -> Result<Sample> {
        usage::sample(self.child.id())
    }

    /// Closes its stdin and waits until it exits.
    pub(super) fn stop(self) -> Result<()> {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        let status = child.wait()?;
        ensure!(status.success(), "the program exited with {status}");
        Ok(())
    }
}
