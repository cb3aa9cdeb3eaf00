//! RPC mode: commands on stdin, responses and events on stdout.

use pi_host::SessionRuntime;
use pi_rpc::{LineWriter, ServeOptions, ServeOutcome, serve};

use crate::output::{Exit, warn};
use crate::own_stdio;
use crate::signals::Signals;

/// Exit code of a process whose session belongs to another one.
const FENCED: u8 = 75;

/// Serves the client until it disconnects or a signal arrives.
pub(crate) async fn run(
    runtime: SessionRuntime,
    options: ServeOptions,
    mut signals: Signals,
) -> Exit {
    runtime.refresh_catalogs();
    let stop = options.stop.clone();
    // Responses do not wait for this, the exit does: reported changes are recorded as seen.
    let looking = report_project_changes(runtime.clone());
    let output = LineWriter::start(own_stdio::async_stdout());
    let serving = serve(runtime, own_stdio::async_stdin(), output, options);
    let serving = async { tokio::join!(looking, serving) };
    let mut serving = std::pin::pin!(serving);
    let signal = tokio::select! {
        ((), outcome) = &mut serving => {
            return match outcome {
                ServeOutcome::Fenced => Exit::Code(FENCED),
                _ => Exit::Success,
            };
        }
        signal = signals.next() => signal,
    };
    stop.cancel();
    tokio::select! {
        _end = serving => {}
        // A second signal exits immediately.
        _second = signals.next() => {}
    }
    signal.exit()
}

async fn report_project_changes(runtime: SessionRuntime) {
    if let Some(changes) = runtime.project_changes().await {
        warn(&changes.message_with_path());
    }
}
