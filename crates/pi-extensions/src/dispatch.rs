//! Emits events to extensions and signals cancellation to their code.

use std::future::Future;
use std::time::Duration;

use pi_ext::EngineError;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ExtensionsInner;
use crate::events::{self, EventResult, ExtensionEvent};
use crate::front_end::ExtensionFailure;

/// Time an extension has to finish canceled work; a promise that never settles would block the
/// session forever.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Events whose handlers decide whether something runs. A handler that fails, or that the engine
/// had to stop, blocks it (`js/pi/dispatch.js`).
const FAIL_CLOSED_EVENTS: [&str; 2] = ["tool_call", "user_bash"];

impl ExtensionsInner {
    /// Awaits work of an extension and signals cancellation to it.
    pub(crate) async fn until_cancelled<Reply>(
        &self,
        running: impl Future<Output = Result<Reply, EngineError>>,
        signal: u64,
        cancel: &CancellationToken,
    ) -> Result<Reply, EngineError> {
        let mut running = std::pin::pin!(running);
        tokio::select! {
            biased;
            outcome = &mut running => return outcome,
            () = cancel.cancelled() => {}
        }
        self.signal_cancellation(signal).await;
        let late = |_elapsed| EngineError::TimedOut(CANCEL_TIMEOUT);
        tokio::time::timeout(CANCEL_TIMEOUT, running)
            .await
            .map_err(late)?
    }

    /// Aborts the `AbortSignal` that an extension received for its work.
    pub(crate) async fn signal_cancellation(&self, signal: u64) {
        if let Err(error) = self.engine.abort(signal).await {
            tracing::debug!(%error, "cannot signal cancellation to extension");
        }
    }

    /// Emits an event, if it has handlers, and returns the combined result. `event` is only built
    /// for handlers.
    pub(crate) async fn emit<Event: ExtensionEvent>(
        &self,
        cancel: Option<&CancellationToken>,
        event: impl FnOnce() -> Event,
    ) -> Option<Event::Result> {
        if !self.bridge.has_handler(Event::NAME) {
            return None;
        }
        // Dropped before the dispatch, which only needs the JSON.
        let event = events::to_json(&event());
        let result = match event {
            Ok(event) => self.dispatch(Event::NAME, event, cancel).await,
            Err(error) => self.failed(Event::NAME, error.to_string()).await,
        };
        Event::Result::from_json(result)
    }

    /// Dispatches an event and returns the combined result. If the engine stops one extension, the
    /// others still receive the event.
    async fn dispatch(
        &self,
        name: &str,
        event: Value,
        cancel: Option<&CancellationToken>,
    ) -> Value {
        let dispatch = self.bridge.new_signal();
        let mut event = Some(event);
        loop {
            let signal = cancel.map(|_| self.bridge.new_signal());
            let running = self.engine.emit(dispatch, event.take(), signal);
            let outcome = match (cancel, signal) {
                (Some(cancel), Some(signal)) => self.until_cancelled(running, signal, cancel).await,
                _ => running.await,
            };
            let error = match outcome {
                Ok(result) => return result,
                Err(error) => error,
            };
            let can_continue = matches!(
                error,
                EngineError::Runaway(_) | EngineError::TimedOut(_) | EngineError::OutOfMemory(_)
            );
            let result = self.failed(name, error.to_string()).await;
            if !result.is_null() || !can_continue {
                return result;
            }
        }
    }

    /// Reports that an event could not be dispatched; returns its result.
    async fn failed(&self, name: &str, error: String) -> Value {
        self.report(name, error.clone()).await;
        if FAIL_CLOSED_EVENTS.contains(&name) {
            return json!({ "failure": error });
        }
        Value::Null
    }

    /// Reports a failure of an event's handlers.
    pub(crate) async fn report(&self, event: &str, error: String) {
        let failure = ExtensionFailure {
            extension: None,
            event: event.to_owned(),
            error,
            stack: None,
        };
        self.bridge.ui.report_failure(failure).await;
    }
}
