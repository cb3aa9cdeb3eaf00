//! Barriers over the line protocol: the client supervises the runs of the session.
//!
//! A run sends a `barrier` line and waits for the `barrier_response` with the same ID. A client that disconnects has
//! fenced the session: whatever it has recorded is what the next process continues.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_host::{
    Barrier, ContextHook, LineSink, Participants, RequestHooks, ResponseHead, rate_limit_of,
};
use pi_protocol::{BarrierLine, BarrierResponse, BarrierStop, Model, SupervisedPoint};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

const RESPONSE: &str = "barrier_response";

/// The barriers of a session whose client supervises it; cheap to clone.
#[derive(Clone, Default)]
pub struct RpcBarrier(Arc<RpcBarrierInner>);

#[derive(Default)]
struct RpcBarrierInner {
    sink: OnceLock<LineSink>,
    waiting: Mutex<HashMap<String, oneshot::Sender<BarrierResponse>>>,
    last_id: AtomicU64,
    is_closed: AtomicBool,
    fenced: CancellationToken,
}

impl std::fmt::Debug for RpcBarrier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("RpcBarrier")
    }
}

impl RpcBarrier {
    /// Attaches the client.
    pub(crate) fn attach(&self, sink: LineSink) {
        // Attached once; a second client would have its own runtime.
        self.0.sink.set(sink).ok();
    }

    /// Returns what reports rate limits of providers to the client.
    pub fn participants(&self) -> Participants {
        let reporter = Arc::new(RateLimitReporter(self.clone()));
        Participants::builder().context(reporter).build()
    }

    /// Handles a response to a barrier. Returns whether the line was one.
    pub(crate) fn receive(&self, line: &str) -> bool {
        // Other lines are not parsed twice.
        if !line.contains(RESPONSE) {
            return false;
        }
        let Ok(response) = serde_json::from_str::<BarrierResponse>(line) else {
            return false;
        };
        // A late response has no effect.
        if let Some(waiting) = self.waiting().remove(&response.id) {
            waiting.send(response).ok();
        }
        true
    }

    /// Waits until the client has fenced the session.
    pub(crate) async fn fenced(&self) {
        self.0.fenced.cancelled().await;
    }

    /// Stops every run that waits, or that reaches a barrier later: the client has disconnected.
    pub(crate) fn close(&self) {
        self.0.is_closed.store(true, Ordering::Relaxed);
        self.waiting().clear();
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<BarrierResponse>>> {
        self.0.waiting.lock()
    }

    async fn pass(&self, point: SupervisedPoint, length: u64) -> Result<(), BarrierStop> {
        let number = self.0.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let barrier = BarrierLine {
            id: format!("b{number}"),
            length,
            point,
        };
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(barrier.id.clone(), sender);
        if self.0.is_closed.load(Ordering::Relaxed) {
            return Err(BarrierStop::Fenced);
        }
        // Without a supervisor that answers, the run must not continue.
        let Ok(line) = pi_protocol::json::to_string(&barrier) else {
            return Err(BarrierStop::Fenced);
        };
        let sink = self.0.sink.get().ok_or(BarrierStop::Fenced)?;
        if sink.send(line).await.is_err() {
            return Err(BarrierStop::Fenced);
        }
        let Ok(response) = receiver.await else {
            return Err(BarrierStop::Fenced);
        };
        if response.ok {
            return Ok(());
        }
        let stop = response.reason.unwrap_or_default();
        if stop == BarrierStop::Fenced {
            self.0.fenced.cancel();
        }
        Err(stop)
    }
}

impl Barrier for RpcBarrier {
    fn wait(&self, point: SupervisedPoint, length: u64) -> BoxFuture<'_, Result<(), BarrierStop>> {
        Box::pin(self.pass(point, length))
    }
}

/// Reports rate limits of the requests of a session to its client.
#[derive(Debug, Clone)]
struct RateLimitReporter(RpcBarrier);

impl ContextHook for RateLimitReporter {
    fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        Some(Arc::new(self.clone()))
    }
}

impl RequestHooks for RateLimitReporter {
    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let line = rate_limit_of(response, model)
                .and_then(|limit| pi_protocol::json::to_string(&limit).ok());
            if let (Some(sink), Some(line)) = (self.0.0.sink.get(), line) {
                // A client that has disconnected is noticed at the next barrier.
                sink.send(line).await.ok();
            }
        })
    }
}
