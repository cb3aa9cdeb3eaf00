//! JSON mode: the session's header, then every event, one record a line.
//!
//! A failed answer is an event like others; only what keeps a prompt from being said ends with an
//! error.

use std::io;
use std::sync::Arc;

use pi_rpc::{JsonEventWriter, LineSink, LineWriter};
use pi_runtime::{SessionRuntime, UpdateFormat};

use crate::conversation::converse;
use crate::output::{Exit, Failure, not_written};
use crate::prompt_input::Prompts;

/// Says the prompts and writes what happens. A reader that goes away ends the run without
/// complaint.
pub(crate) async fn run(runtime: &SessionRuntime, prompts: Prompts, form: UpdateFormat) -> Exit {
    let writer = LineWriter::start(tokio::io::stdout());
    let sink = writer.sink();
    let events = Arc::new(JsonEventWriter::new(sink.clone(), form));
    let outcome = tokio::select! {
        outcome = write_events(runtime, prompts, &sink, &events) => outcome,
        () = sink.closed() => Ok(()),
    };
    events.mute();
    runtime.shutdown().await;
    let outcome = match sink.flush().await {
        Ok(()) => outcome,
        Err(_closed) => outcome.and(written(writer.closed_by().await)),
    };
    match outcome {
        Ok(()) => Exit::Success,
        Err(failure) => failure.report(),
    }
}

/// Returns whether output that ended early is a failure: a disk that is full is one, a reader that had
/// enough is not.
fn written(closed_by: Option<io::Error>) -> Result<(), Failure> {
    match closed_by {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(not_written(&error)),
        _ => Ok(()),
    }
}

async fn write_events(
    runtime: &SessionRuntime,
    prompts: Prompts,
    sink: &LineSink,
    events: &Arc<JsonEventWriter>,
) -> Result<(), Failure> {
    let session = runtime.session();
    let header = session.with_session(|session| pi_ai::json::to_string(session.header()))?;
    if sink.send(header).await.is_err() {
        return Ok(());
    }
    let mut subscription = session.subscribe(Arc::clone(events) as _);
    converse(runtime, prompts, |session| {
        subscription = session.subscribe(Arc::clone(events) as _);
    })
    .await
}
