//! A run that this process holds: it answers for the run and keeps the queue from delivering it to others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::Subscriber;
use async_nats::jetstream::message::{AckKind, Acker};
use futures_util::StreamExt as _;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::names::RunAddress;
use super::server::{Server, parse, server_error};
use crate::engine::{EngineError, RunControl};

/// Heartbeats per lease.
const HEARTBEATS: u32 = 3;

/// How long to wait until a message has left the process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Held {
    server: Arc<Server>,
    run: RunAddress,
    acker: Acker,
    /// Ends the heartbeats.
    ended: CancellationToken,
    /// Whether the queue knows what becomes of the run.
    is_settled: AtomicBool,
    /// Whether there may be messages that were not read.
    has_new_messages: AtomicBool,
    messages: Mutex<Vec<RunControl>>,
}

impl Held {
    pub(super) fn new(server: Arc<Server>, run: RunAddress, acker: Acker) -> Arc<Self> {
        Arc::new(Self {
            server,
            run,
            acker,
            ended: CancellationToken::new(),
            is_settled: AtomicBool::new(false),
            has_new_messages: AtomicBool::new(true),
            messages: Mutex::default(),
        })
    }

    /// Answers for the run from now on, and sends heartbeats.
    pub(super) async fn start(self: &Arc<Self>, lease: Duration) -> Result<(), EngineError> {
        let client = &self.server.client;
        let failed = |error: &dyn std::error::Error| server_error("hold a run", error);
        let owner = client.subscribe(self.server.names.owner(&self.run)).await;
        let owner = owner.map_err(|error| failed(&error))?;
        let messages = client
            .subscribe(self.server.names.messages(&self.run))
            .await;
        let messages = messages.map_err(|error| failed(&error))?;
        client.flush().await.map_err(|error| failed(&error))?;
        // Messages before the subscription.
        self.has_new_messages.store(true, Ordering::Relaxed);
        let held = Arc::clone(self);
        let serving = async move { held.serve(owner, messages, lease / HEARTBEATS).await };
        tokio::spawn(serving);
        Ok(())
    }

    async fn serve(&self, mut owner: Subscriber, mut messages: Subscriber, heartbeat: Duration) {
        let mut heartbeat = tokio::time::interval(heartbeat);
        loop {
            tokio::select! {
                () = self.ended.cancelled() => return,
                Some(query) = owner.next() => {
                    if let Some(reply) = query.reply {
                        self.server.client.publish(reply, bytes::Bytes::new()).await.ok();
                    }
                }
                Some(_message) = messages.next() => {
                    self.has_new_messages.store(true, Ordering::Relaxed);
                }
                _tick = heartbeat.tick() => {
                    self.acker.ack_with(AckKind::Progress).await.ok();
                    // A message may have been lost while the connection was.
                    self.has_new_messages.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns all messages to the run.
    pub(super) async fn messages(&self) -> Result<Vec<RunControl>, EngineError> {
        if self.has_new_messages.swap(false, Ordering::Relaxed) {
            match self.read_messages().await {
                Ok(messages) => *self.stored_messages() = messages,
                Err(error) => {
                    self.has_new_messages.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(self.stored_messages().clone())
    }

    fn stored_messages(&self) -> MutexGuard<'_, Vec<RunControl>> {
        self.messages.lock()
    }

    async fn read_messages(&self) -> Result<Vec<RunControl>, EngineError> {
        let names = &self.server.names;
        let (stream, subject) = (names.messages_stream(), names.messages(&self.run));
        let stored = self.server.read_all(&stream, &subject).await?;
        // Any client may send messages, also of a newer version. `overview` reports those that cannot be read.
        let messages = stored.iter().zip(1..).filter_map(|(stored, number)| {
            let message = parse(&self.run.task, &stored.payload).ok()?;
            Some(RunControl { number, message })
        });
        Ok(messages.collect())
    }

    /// Returns the run to the queue. If that fails, the queue delivers it when the lease has ended.
    pub(super) async fn release(&self, after: Duration) {
        self.settle();
        let after = (!after.is_zero()).then_some(after);
        self.acker.ack_with(AckKind::Nak(after)).await.ok();
        // The process may exit next.
        let flushing = self.server.client.flush();
        tokio::time::timeout(FLUSH_TIMEOUT, flushing).await.ok();
    }

    /// Removes the run from the queue. If that fails, the next worker that gets it finds its end in the log.
    pub(super) async fn finish(&self) {
        self.settle();
        self.acker.double_ack().await.ok();
    }

    /// Leaves the message in the queue to the worker that owns the run: a refusal would have it delivered again.
    pub(super) fn abandon(&self) {
        self.settle();
    }

    fn settle(&self) {
        self.is_settled.store(true, Ordering::Relaxed);
        self.ended.cancel();
    }
}

/// Returns the run to the queue when it is dropped, unless its worker has released, finished or abandoned it.
pub(super) struct LeaseGuard<F: Fn()> {
    held: Arc<Held>,
    forget: F,
}

impl<F: Fn()> LeaseGuard<F> {
    pub(super) fn new(held: Arc<Held>, forget: F) -> Self {
        Self { held, forget }
    }
}

impl<F: Fn()> Drop for LeaseGuard<F> {
    fn drop(&mut self) {
        (self.forget)();
        self.held.ended.cancel();
        if self.held.is_settled.load(Ordering::Relaxed) {
            return;
        }
        // Without a runtime, the process is about to end, and the lease with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let held = Arc::clone(&self.held);
            runtime.spawn(async move { held.release(Duration::ZERO).await });
        }
    }
}
