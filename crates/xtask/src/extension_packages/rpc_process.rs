//! A program in RPC mode as a child process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::Value;

/// Longer than any exit takes, unless an extension keeps the program running.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What arrived, or why nothing did.
pub(super) enum Received {
    Line(Value),
    Silence,
    /// The program closed its stdout.
    End,
}

pub(super) struct RpcProcess {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl RpcProcess {
    /// Starts the program in its own process group, so that everything it starts can be ended with it.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let output = child.stdout.take().context("the child has no stdout")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Ok(Self {
            child,
            input,
            lines,
        })
    }

    /// Sends a command. A closed pipe is noticed when reading.
    pub(super) fn send(&mut self, command: &Value) {
        if let Some(input) = &mut self.input
            && writeln!(input, "{command}")
                .and_then(|()| input.flush())
                .is_err()
        {
            self.input = None;
        }
    }

    /// Returns the next line of JSON; other lines are skipped.
    pub(super) fn receive(&self, timeout: Duration) -> Received {
        let limit = Instant::now() + timeout;
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Ok(value) = serde_json::from_str(&line) {
                        return Received::Line(value);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Received::Silence,
                Err(RecvTimeoutError::Disconnected) => return Received::End,
            }
        }
    }

    /// Closes stdin and waits for the exit; kills what is left of the process group.
    pub(super) fn stop(mut self) -> Option<i32> {
        drop(self.input.take());
        let limit = Instant::now() + EXIT_TIMEOUT;
        let mut code = None;
        while Instant::now() < limit {
            if let Ok(Some(status)) = self.child.try_wait() {
                code = status.code();
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let group = format!("-{}", self.child.id());
        let killed = Command::new("kill")
            .args(["-KILL", "--", &group])
            .stderr(Stdio::null())
            .status();
        if killed.is_err() {
            self.child.kill().ok();
        }
        self.child.wait().ok();
        code
    }
}
