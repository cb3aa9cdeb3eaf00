//! RPC mode: commands on standard input, answers and events on standard output.

use pi_rpc::{ExtensionLines, ServeOptions, serve};
use pi_runtime::{SessionRuntime, UpdateForm};
use tokio_util::sync::CancellationToken;

use crate::output::Exit;
use crate::signals::Signals;

/// Serves the client until it leaves or a signal comes.
pub(crate) async fn run(
    runtime: SessionRuntime,
    form: UpdateForm,
    extensions: ExtensionLines,
    mut signals: Signals,
) -> Exit {
    runtime.refresh_catalogues();
    let stop = CancellationToken::new();
    let options = ServeOptions {
        updates: form,
        stop: stop.clone(),
        extensions,
    };
    let serving = serve(runtime, tokio::io::stdin(), tokio::io::stdout(), options);
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
