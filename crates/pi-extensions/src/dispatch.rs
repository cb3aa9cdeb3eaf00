//! Emits events to extensions and signals cancellation to their code.

use std::future::Future;
use std::time::Duration;

use pi_ext::{EngineError, HostRecovery};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ExtensionsInner;
use crate::costs::BudgetOccasion;
use crate::events::{self, EventResult, ExtensionEvent, InputEvent};
use crate::front_end::ExtensionFailure;
use crate::hooks::{AbandonedHook, Hook};
use crate::mcp_servers::{McpServerData, SERVERS_CHANGE};

/// Time that canceled work of an extension has to return a result. Work that ignores its abort signal is
/// abandoned after that, so that an abort takes less than 100 ms.
const CANCEL_GRACE: Duration = Duration::from_millis(50);

/// Time that a host has to respond after it did not process a cancellation.
const CANCEL_RECOVERY: Duration = Duration::from_secs(2);

/// Events whose handlers decide whether something runs. A handler that fails, or that the engine
/// had to stop, blocks it (`js/pi/dispatch.js`).
const FAIL_CLOSED_EVENTS: [&str; 2] = ["tool_call", "user_bash"];

/// Time that the hosts have to process a cancellation before code that keeps one busy is interrupted.
const SIGNAL_GRACE: Duration = Duration::from_millis(25);

impl ExtensionsInner {
    /// Awaits work of an extension and signals cancellation to it. Fails with [`EngineError::Interrupted`]
    /// if the work does not end then; its late result is discarded.
    pub(crate) async fn until_cancelled<Reply>(
        &self,
        running: impl Future<Output = Result<Reply, EngineError>>,
        signal: u64,
        cancel: &CancellationToken,
    ) -> Result<Reply, EngineError> {
        let send_signal = || {
            // A host that is blocked takes longer to process the signal than this work is awaited.
            if let Some(shared) = self
                .bridge
                .shared()
                .ok()
                .and_then(|shared| shared.upgrade())
            {
                self.bridge
                    .begin(async move { shared.cancel_blocked(signal).await });
            }
        };
        until_grace_ends(running, cancel, send_signal).await
    }

    /// Signals cancellation; if a host does not process the signal, stops the code that keeps it busy.
    async fn cancel_blocked(&self, signal: u64) {
        let signaling = self.signal_cancellation(signal);
        if tokio::time::timeout(SIGNAL_GRACE, signaling).await.is_err() {
            self.engine.recover_all(CANCEL_RECOVERY).await;
            self.signal_cancellation(signal).await;
        }
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
        self.hooks.begin(Event::NAME);
        if !self.bridge.has_handler(Event::NAME) {
            return None;
        }
        // Dropped before the dispatch, which only needs the JSON.
        let event = events::to_json(&event());
        let result = match event {
            Ok(event) => {
                let result = self.dispatch(Event::NAME, event, cancel).await;
                self.check_budget(BudgetOccasion::Event).await;
                result
            }
            Err(error) => self.failed(Event::NAME, None, error.to_string()).await,
        };
        Event::Result::from_json(result)
    }

    /// Dispatches an event and returns the combined result. If one extension is stopped or does not
    /// respond, the others still receive the event.
    async fn dispatch(
        &self,
        name: &str,
        event: Value,
        cancel: Option<&CancellationToken>,
    ) -> Value {
        let id = self.bridge.new_signal();
        let mut dispatch = self.engine.hook_dispatch(id, self.agent, event);
        let probe = dispatch.probe();
        let extension = || probe.extension();
        loop {
            let signal = cancel.map(|_| self.bridge.new_signal());
            let hook = Hook {
                name,
                extension: &extension,
                cancel,
                signal,
            };
            let skipped = self.hooks.skipped();
            let mut running = std::pin::pin!(dispatch.run(signal, &skipped));
            let outcome = loop {
                let abandoned = match self.unless_abandoned(&hook, running.as_mut()).await {
                    Ok(outcome) => break outcome,
                    Err(abandoned) => abandoned,
                };
                let recovery = probe.recover(abandoned.recovery()).await;
                if abandoned == AbandonedHook::Aborted && name == InputEvent::NAME {
                    // The input that the user aborted is not sent.
                    return json!({ "action": "handled" });
                }
                match recovery {
                    // Code that kept the host busy was stopped, so the event gets through now.
                    HostRecovery::NotStarted => {}
                    HostRecovery::Responsive => break Err(EngineError::Interrupted),
                    HostRecovery::Blocked => return abandoned_result(name, abandoned),
                }
            };
            let error = match outcome {
                Ok(result) => return result,
                Err(error) => error,
            };
            let can_continue = matches!(
                error,
                EngineError::Runaway(_)
                    | EngineError::Interrupted
                    | EngineError::TimedOut(_)
                    | EngineError::OutOfMemory(_)
            );
            // A hook that was abandoned is reported already.
            let result = match error {
                EngineError::Interrupted => fail_closed(name, &error.to_string()),
                error => self.failed(name, extension(), error.to_string()).await,
            };
            if !result.is_null() || !can_continue {
                return result;
            }
        }
    }

    /// Emits the change of MCP servers that an extension has made to the extensions on the other host.
    pub(crate) async fn emit_servers_change(&self, extension: &str, servers: &[McpServerData]) {
        let event = json!({ "type": SERVERS_CHANGE, "servers": servers });
        let emitting = self.engine.emit_to_other_host(extension, event);
        if let Err(error) = emitting.await {
            self.report(SERVERS_CHANGE, error.to_string()).await;
        }
    }

    /// Reports that an event could not be dispatched; returns its result.
    async fn failed(&self, name: &str, extension: Option<String>, error: String) -> Value {
        let result = fail_closed(name, &error);
        let failure = ExtensionFailure {
            extension,
            event: name.to_owned(),
            error,
            stack: None,
        };
        self.bridge.report(failure).await;
        result
    }

    /// Reports a failure of an event's handlers.
    pub(crate) async fn report(&self, event: &str, error: String) {
        let failure = ExtensionFailure {
            extension: None,
            event: event.to_owned(),
            error,
            stack: None,
        };
        self.bridge.report(failure).await;
    }
}

/// Returns the result of an event that failed.
fn fail_closed(name: &str, error: &str) -> Value {
    if FAIL_CLOSED_EVENTS.contains(&name) {
        return json!({ "failure": error });
    }
    Value::Null
}

/// Returns the result of an event whose extension host does not respond.
fn abandoned_result(name: &str, abandoned: AbandonedHook) -> Value {
    match abandoned {
        AbandonedHook::Aborted => fail_closed(name, "aborted"),
        AbandonedHook::Late => fail_closed(name, "the extensions are not responding"),
    }
}

/// Awaits work. Once it is canceled, `send_signal` is called, and the work is awaited for [`CANCEL_GRACE`] only.
async fn until_grace_ends<Reply>(
    running: impl Future<Output = Result<Reply, EngineError>>,
    cancel: &CancellationToken,
    send_signal: impl FnOnce(),
) -> Result<Reply, EngineError> {
    let mut running = std::pin::pin!(running);
    tokio::select! {
        biased;
        outcome = &mut running => return outcome,
        () = cancel.cancelled() => {}
    }
    send_signal();
    let outcome = tokio::time::timeout(CANCEL_GRACE, running).await;
    outcome.unwrap_or(Err(EngineError::Interrupted))
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use pretty_assertions::assert_eq;
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn canceled_work_that_ignores_its_signal_is_abandoned_after_the_grace_period() {
        let cancel = CancellationToken::new();
        let canceling = async {
            sleep(Duration::from_hours(1)).await;
            cancel.cancel();
            Instant::now()
        };
        let mut is_signaled = false;
        let endless = pending::<Result<(), EngineError>>();
        let running = async {
            let outcome = until_grace_ends(endless, &cancel, || is_signaled = true).await;
            (outcome, Instant::now())
        };
        let ((outcome, abandoned), canceled) = tokio::join!(running, canceling);
        assert_eq!(outcome, Err(EngineError::Interrupted));
        assert_eq!(abandoned - canceled, CANCEL_GRACE);
        assert!(is_signaled);
    }

    #[tokio::test(start_paused = true)]
    async fn canceled_work_may_return_a_result_within_the_grace_period() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let work = async {
            sleep(CANCEL_GRACE / 2).await;
            Ok("partial")
        };
        assert_eq!(until_grace_ends(work, &cancel, || {}).await, Ok("partial"));
        let ended = until_grace_ends(ready(Ok("done")), &cancel, || unreachable!());
        assert_eq!(ended.await, Ok("done"));
    }
}
