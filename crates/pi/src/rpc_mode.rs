//! RPC mode: commands on standard input, answers and events on standard output.

use pi_rpc::{ExtensionLines, ServeOptions, serve};
use pi_runtime::{SessionRuntime, UpdateForm};
use tokio_util::sync::CancellationToken;

use crate::output::{Exit, warn};
use crate::signals::Signals;

/// Serves the client until it leaves or a signal comes.
pub(crate) async fn run(
    runtime: SessionRuntime,
    form: UpdateForm,
    extensions: ExtensionLines,
    mut signals: Signals,
) -> Exit {
    runtime.refresh_catalogs();
    let stop = CancellationToken::new();
    let options = ServeOptions {
        updates: form,
        stop: stop.clone(),
        extensions,
    };
    // Answers do not wait for it, the end does: what was looked at is not told again.
    let looking = tell_project_changes(runtime.clone());
    let serving = serve(runtime, tokio::io::stdin(), tokio::io::stdout(), options);
    let serving = async { tokio::join!(looking, serving) };
    let mut serving = std::pin::pin!(serving);
    let signal = tokio::select! {
        _end = &mut serving => return Exit::Success,
        signal = signals.next() => signal,
    };
    stop.cancel();
    tokio::select! {
        _end = serving => {}
        // Whoever asks twice does not want to wait.
        _second = signals.next() => {}
    }
    signal.exit()
}

async fn tell_project_changes(runtime: SessionRuntime) {
    if let Some(changes) = runtime.project_changes().await {
        warn(&changes.message_with_path());
    }
}
