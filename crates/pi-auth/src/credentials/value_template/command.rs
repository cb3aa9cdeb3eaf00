//! Runs the command of a value template, with limits on time and output.
//!
//! Standard error is discarded: a password manager may print the secret, or prompt for one, there.
//! We wait for the shell to exit rather than for the pipe to close, because a key agent started by
//! the command may keep the pipe open for hours.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use secrecy::SecretString;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

use crate::credentials::error::ValueTemplateError;

const TIME_LIMIT: Duration = Duration::from_secs(10);
const OUTPUT_LIMIT: usize = 1024 * 1024;
/// How long to keep reading output after the shell has exited.
const DRAIN_LIMIT: Duration = Duration::from_millis(100);

/// Returns the command's output, trimmed.
pub(super) async fn run(script: &str) -> Result<SecretString, ValueTemplateError> {
    run_within(script, TIME_LIMIT).await
}

pub(super) async fn run_within(
    script: &str,
    limit: Duration,
) -> Result<SecretString, ValueTemplateError> {
    let deadline = Instant::now() + limit;
    let mut child = shell(script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("failed to start: {error}")))?;
    let Some(mut stdout) = child.stdout.take() else {
        return Err(failed("has no output"));
    };
    let group = ProcessGroup::of(&child);
    let mut output = Vec::new();
    let finished = timeout_at(deadline, collect(&mut child, &mut stdout, &mut output)).await;
    // Returning early drops the group, which kills everything the command started.
    let status = match finished {
        Ok(Ok(Some(status))) => status,
        Ok(Ok(None)) => return Err(failed("printed too much output")),
        Ok(Err(error)) => return Err(failed(format!("output could not be read: {error}"))),
        Err(_elapsed) => {
            let seconds = limit.as_secs_f32();
            return Err(failed(format!("did not finish within {seconds} s")));
        }
    };
    group.forget();
    if !status.success() {
        return Err(failed(format!("failed ({status})")));
    }
    let text = String::from_utf8(output).map_err(|_not_text| failed("printed invalid UTF-8"))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(failed("printed nothing"));
    }
    Ok(text.into())
}

/// Reads output until the shell exits, then what is left in the pipe; `None` if there is too much.
async fn collect(
    child: &mut Child,
    stdout: &mut ChildStdout,
    output: &mut Vec<u8>,
) -> io::Result<Option<ExitStatus>> {
    let mut open = true;
    let status = loop {
        tokio::select! {
            count = stdout.read_buf(output), if open => open = count? > 0,
            status = child.wait() => break status?,
        }
        if output.len() > OUTPUT_LIMIT {
            return Ok(None);
        }
    };
    while open && output.len() <= OUTPUT_LIMIT {
        match timeout(DRAIN_LIMIT, stdout.read_buf(output)).await {
            Ok(count) => open = count? > 0,
            Err(_elapsed) => open = false,
        }
    }
    Ok((output.len() <= OUTPUT_LIMIT).then_some(status))
}

fn failed(problem: impl Into<String>) -> ValueTemplateError {
    ValueTemplateError::Command {
        problem: problem.into(),
    }
}

#[cfg(unix)]
fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).process_group(0);
    command
}

#[cfg(not(unix))]
fn shell(script: &str) -> Command {
    let mut command = Command::new("cmd");
    command.args(["/d", "/s", "/c"]).arg(script);
    command
}

/// The shell and all its child processes; killed when dropped.
struct ProcessGroup(Option<u32>);

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        Self(child.id())
    }

    /// Detaches the group, so background processes of a successful command keep running.
    fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self
            .0
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw)
            && let Err(error) =
                rustix::process::kill_process_group(group, rustix::process::Signal::KILL)
        {
            tracing::debug!(%error, "the command's process group has already exited");
        }
    }
}
