//! Runs a command and collects its output. Shared by the shell tools and the user shell.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use pi_core::{ExitCode, ProcessError, ProcessOperations, ShellCommand};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::output_spool::OutputSpool;

/// Minimum interval between updates with partial output.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Capacity of the channel between command and collector, in chunks of up to 64 KiB.
const CHANNEL_CAPACITY: usize = 8;

/// Prepends the command prefix from the settings.
pub(crate) fn with_prefix(prefix: Option<&str>, command: &str) -> String {
    match prefix {
        Some(prefix) if !prefix.is_empty() => format!("{prefix}\n{command}"),
        Some(_) | None => command.to_owned(),
    }
}

/// Output progress of a running command.
pub(crate) enum OutputProgress<'a> {
    /// Text that was just added.
    Text(&'a str),
    /// There is new output, and an update is due.
    UpdateDue(&'a OutputSpool),
}

/// Runs a command; all of its output is in `spool` when this returns.
pub(crate) async fn run(
    processes: &dyn ProcessOperations,
    command: ShellCommand,
    spool: &mut OutputSpool,
    progress: impl FnMut(OutputProgress<'_>),
    cancel: CancellationToken,
) -> Result<ExitCode, ProcessError> {
    let (sender, chunks) = mpsc::channel(CHANNEL_CAPACITY);
    let execution = processes.execute(command, sender, cancel);
    collect(execution, chunks, spool, progress).await
}

/// Runs a command that has input, like [`run`].
pub(crate) async fn run_with_input(
    processes: &dyn ProcessOperations,
    command: ShellCommand,
    input: mpsc::Receiver<Bytes>,
    spool: &mut OutputSpool,
    progress: impl FnMut(OutputProgress<'_>),
    cancel: CancellationToken,
) -> Result<ExitCode, ProcessError> {
    let (sender, chunks) = mpsc::channel(CHANNEL_CAPACITY);
    let execution = processes.execute_with_input(command, input, sender, cancel);
    collect(execution, chunks, spool, progress).await
}

async fn collect(
    mut execution: BoxFuture<'_, Result<ExitCode, ProcessError>>,
    mut chunks: mpsc::Receiver<Bytes>,
    spool: &mut OutputSpool,
    mut progress: impl FnMut(OutputProgress<'_>),
) -> Result<ExitCode, ProcessError> {
    let mut outcome = None;
    let mut pending = false;
    let next_update = tokio::time::sleep(Duration::ZERO);
    tokio::pin!(next_update);
    loop {
        tokio::select! {
            chunk = chunks.recv() => {
                let Some(chunk) = chunk else { break };
                progress(OutputProgress::Text(spool.push(&chunk).await));
                pending = true;
            }
            result = &mut execution, if outcome.is_none() => {
                outcome = Some(result);
                // Remaining senders are no longer relevant.
                chunks.close();
            }
            () = &mut next_update, if pending => {
                progress(OutputProgress::UpdateDue(spool));
                pending = false;
                next_update.as_mut().reset(Instant::now() + UPDATE_INTERVAL);
            }
        }
    }
    // The channel may close before the execution returns.
    let result = match outcome {
        Some(result) => result,
        None => execution.await,
    };
    let rest = spool.finish().await;
    pending |= !rest.is_empty();
    progress(OutputProgress::Text(rest));
    if pending {
        progress(OutputProgress::UpdateDue(spool));
    }
    result
}
