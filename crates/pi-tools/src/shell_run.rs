//! Runs one command and collects its output: what the shell tools and the user's shell share.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::operations::{ExitCode, ProcessError, ProcessOperations, ShellCommand};
use crate::output_spool::OutputSpool;

/// How often partial output is shown at most.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Pieces of output, up to 64 KiB each, between the command and its collector: enough for both to be
/// busy, and not worth mentioning in memory.
const PIECES_IN_FLIGHT: usize = 8;

/// Puts the line that the settings run before every command in front of one.
pub(crate) fn with_prefix(prefix: Option<&str>, command: &str) -> String {
    match prefix {
        Some(prefix) if !prefix.is_empty() => format!("{prefix}\n{command}"),
        Some(_) | None => command.to_owned(),
    }
}

/// Output along the way.
pub(crate) enum Progress<'a> {
    /// Text that was just added.
    Text(&'a str),
    /// Something was added since the last time, and it is time to show it.
    Due(&'a OutputSpool),
}

/// Runs a command, all of its output in `spool` when it returns.
pub(crate) async fn run(
    processes: &dyn ProcessOperations,
    command: ShellCommand,
    spool: &mut OutputSpool,
    mut progress: impl FnMut(Progress<'_>),
    cancel: CancellationToken,
) -> Result<ExitCode, ProcessError> {
    let (sender, mut pieces) = mpsc::channel(PIECES_IN_FLIGHT);
    let execution = processes.execute(command, sender, cancel);
    tokio::pin!(execution);
    let mut ended = None;
    let mut unshown = false;
    let next_update = tokio::time::sleep(Duration::ZERO);
    tokio::pin!(next_update);
    loop {
        tokio::select! {
            piece = pieces.recv() => {
                let Some(piece) = piece else { break };
                progress(Progress::Text(spool.push(&piece).await));
                unshown = true;
            }
            result = &mut execution, if ended.is_none() => {
                ended = Some(result);
                // Whoever else holds a sender has had its time.
                pieces.close();
            }
            () = &mut next_update, if unshown => {
                progress(Progress::Due(spool));
                unshown = false;
                next_update.as_mut().reset(Instant::now() + UPDATE_INTERVAL);
            }
        }
    }
    // The channel may close before the execution returns.
    let result = match ended {
        Some(result) => result,
        None => execution.await,
    };
    let rest = spool.finish().await;
    unshown |= !rest.is_empty();
    progress(Progress::Text(rest));
    if unshown {
        progress(Progress::Due(spool));
    }
    result
}
