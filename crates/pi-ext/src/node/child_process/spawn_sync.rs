//! Runs a child process to completion while JavaScript blocks: `spawnSync` and related functions.
//!
//! As in Node, a child that exceeds its timeout or output limit is killed, without waiting for
//! descendants that hold its output open. So is one whose caller is interrupted.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::{SpawnArguments, StdioKind, command, signals, spawn_error};
use crate::child_guard::{ChildUse, SharedSupervisor};
use crate::child_launcher::SharedLauncher;
use crate::engine::{Heartbeat, NativeReply};
use crate::node::NativeError;
use crate::node::files::OpenFiles;

/// Limit for each output stream, also if `maxBuffer` is larger or infinite: the output is kept in
/// memory, and an extension may run a program that never stops.
const MAX_OUTPUT: usize = 64 * 1024 * 1024;

/// A child wrote more than `maxBuffer` bytes.
struct OutputOverflow;

/// What a child needs from the realm.
pub(super) struct SyncEnvironment<'a> {
    pub(super) files: &'a OpenFiles,
    pub(super) heartbeat: &'a Heartbeat,
    pub(super) supervisor: &'a SharedSupervisor,
    pub(super) launcher: &'a SharedLauncher,
}

/// Runs a child to completion, writing its input and collecting its output.
pub(super) fn run(
    spawn: &SpawnArguments,
    input: Option<Vec<u8>>,
    environment: &SyncEnvironment<'_>,
) -> Result<NativeReply, NativeError> {
    let run_on_own_runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| NativeError::from_io(&error, "spawn", None))?
            .block_on(run_child(spawn, input, environment))
    };
    // The JavaScript thread already has a runtime, which is blocked here.
    std::thread::scope(|scope| scope.spawn(run_on_own_runtime).join()).unwrap_or_else(|_panicked| {
        Err(NativeError::new(
            "the thread that waits for the child panicked",
        ))
    })
}

async fn run_child(
    spawn: &SpawnArguments,
    input: Option<Vec<u8>>,
    environment: &SyncEnvironment<'_>,
) -> Result<NativeReply, NativeError> {
    let group = ChildGroup::of(spawn);
    environment.supervisor.prepare();
    let command = command(spawn, environment.files, environment.launcher)?;
    let mut child = Command::from(group.apply(command))
        .spawn()
        .map_err(|error| spawn_error(&error, spawn))?;
    let pid = child.id();
    // Also with `detached`: the extension waits for the child.
    let _guard = environment.supervisor.supervise(pid, ChildUse::Awaited);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let limit = spawn
        .max_buffer
        .map_or(MAX_OUTPUT, |limit| limit.min(MAX_OUTPUT));
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let completion = async {
        tokio::try_join!(
            collect_output(stdout, limit, &mut output),
            collect_output(stderr, limit, &mut errors)
        )?;
        Ok(child.wait().await)
    };
    let completion = async {
        tokio::select! {
            completed = completion => completed,
            never = write_input(stdin, input) => never,
        }
    };
    let completion = async {
        match spawn.timeout {
            0 => Ok(completion.await),
            timeout => tokio::time::timeout(Duration::from_millis(timeout), completion).await,
        }
    };
    let completed = tokio::select! {
        completed = completion => completed,
        () = environment.heartbeat.interruption() => {
            group.kill(&child);
            kill(&mut child).await.ok();
            return Err(NativeError::new("the extension was interrupted"));
        }
    };
    let timed_out = completed.is_err();
    let overflowed = matches!(completed, Ok(Err(OutputOverflow)));
    let status = match completed {
        Ok(Ok(status)) => status,
        Ok(Err(OutputOverflow)) | Err(_) => kill(&mut child).await,
    };
    let status = status.map_err(|error| NativeError::from_io(&error, "wait", None))?;
    let mut description = signals::describe(status);
    if let Value::Object(fields) = &mut description {
        fields.insert("pid".to_owned(), json!(pid));
        fields.insert("timedOut".to_owned(), json!(timed_out));
        fields.insert("overflowed".to_owned(), json!(overflowed));
    }
    Ok(NativeReply::JsonAndBytes(description, vec![output, errors]))
}

/// Whether the child leads a process group, so that its descendants can be killed with it.
#[derive(Clone, Copy)]
enum ChildGroup {
    Own,
    /// A program that reads from the terminal has to stay in its foreground group.
    Inherited,
}

impl ChildGroup {
    fn of(spawn: &SpawnArguments) -> Self {
        match spawn.streams {
            [StdioKind::Inherit, ..] => Self::Inherited,
            _ => Self::Own,
        }
    }

    #[cfg(unix)]
    fn apply(self, mut command: std::process::Command) -> std::process::Command {
        use std::os::unix::process::CommandExt as _;
        if matches!(self, Self::Own) {
            command.process_group(0);
        }
        command
    }

    #[cfg(not(unix))]
    fn apply(self, command: std::process::Command) -> std::process::Command {
        command
    }

    #[cfg(unix)]
    fn kill(self, child: &Child) {
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        if let (Self::Own, Some(group)) = (self, pid.and_then(rustix::process::Pid::from_raw)) {
            // Fails only if the group is gone.
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        }
    }

    #[cfg(not(unix))]
    fn kill(self, _: &Child) {}
}

/// Writes the child's input, then never completes, so that only the exit ends the `select!`.
async fn write_input<Never>(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) -> Never {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        // A child that does not read its input is not an error.
        drop(stdin.write_all(&input).await);
    }
    std::future::pending().await
}

/// Reads to the end of the stream, or until the output exceeds `limit`.
async fn collect_output(
    stream: Option<impl AsyncRead + Unpin>,
    limit: usize,
    output: &mut Vec<u8>,
) -> Result<(), OutputOverflow> {
    if let Some(stream) = stream {
        let max_bytes = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        // Output read before an error is kept.
        drop(stream.take(max_bytes).read_to_end(output).await);
    }
    if output.len() > limit {
        output.truncate(limit);
        return Err(OutputOverflow);
    }
    Ok(())
}

async fn kill(child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
    // The child may already have exited.
    drop(child.start_kill());
    child.wait().await
}
