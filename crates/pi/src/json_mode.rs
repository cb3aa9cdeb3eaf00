//! JSON mode: the session header, then every event, one record per line.
//!
//! A failed answer is an event like any other; only a prompt that cannot be sent is an error.

use std::io;
use std::sync::Arc;

use pi_host::SessionRuntime;
use pi_protocol::UpdateFormat;
use pi_rpc::{JsonEventWriter, LineSink, LineWriter};

use crate::conversation::converse;
use crate::output::{Exit, Failure, stdout_failure};
use crate::own_stdio;
use crate::prompt_input::Prompts;

/// Sends the prompts and writes the events. A closed stdout ends the run without an error.
pub(crate) async fn run(runtime: &SessionRuntime, prompts: Prompts, form: UpdateFormat) -> Exit {
    let writer = LineWriter::start(own_stdio::async_stdout());
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
        Err(_closed) => outcome.and(write_result(writer.closed_by().await)),
    };
    match outcome {
        Ok(()) => Exit::Success,
        Err(failure) => failure.report(),
    }
}

/// Converts a write error: a full disk is a failure, a closed pipe is not.
fn write_result(closed_by: Option<io::Error>) -> Result<(), Failure> {
    match closed_by {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(stdout_failure(&error)),
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
    let header = session
        .history()
        .with_session(|session| pi_protocol::json::to_string(session.header()))?;
    if sink.send(header).await.is_err() {
        return Ok(());
    }
    let mut subscription = session.subscribe(Arc::clone(events) as _);
    converse(runtime, prompts, |session| {
        subscription = session.subscribe(Arc::clone(events) as _);
    })
    .await
}
