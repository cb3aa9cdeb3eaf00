//! A pool of connections that stay open between the requests of a session.
//!
//! A connection serves one request at a time: a request leases it, and a concurrent request opens
//! its own connection. Between requests a task owns the connection, answers the service's pings,
//! and drops it when the service closes it or it is idle for too long.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::continuation::ContinuationCache;
use super::socket::MessageSocket;

/// How long an idle connection is kept.
const IDLE_LIMIT: Duration = Duration::from_mins(5);

/// Maximum age of a connection; the service closes them after an hour.
const AGE_LIMIT: Duration = Duration::from_mins(55);

/// Pool key: connections are never shared between sessions, accounts or URLs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SocketKey {
    pub session_id: String,
    pub account_id: String,
    pub url: String,
}

/// An open connection with the state that the service keeps for it.
#[derive(Debug)]
pub(super) struct Connection<S> {
    pub socket: S,
    pub continuation: ContinuationCache,
    opened: Instant,
}

impl<S> Connection<S> {
    pub(super) fn new(socket: S) -> Self {
        Self {
            socket,
            continuation: ContinuationCache::default(),
            opened: Instant::now(),
        }
    }
}

/// All pooled connections; dropping the pool closes them.
#[derive(Debug)]
pub(super) struct SocketPool<S>(Arc<PoolInner<S>>);

#[derive(Debug)]
struct PoolInner<S> {
    slots: Mutex<HashMap<SocketKey, PoolSlot<S>>>,
    /// Connections that are being closed in the background.
    closing: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
enum PoolSlot<S> {
    /// In use by a request.
    Leased,
    /// Owned by a background task.
    Idle {
        recall: CancellationToken,
        idle_task: AbortOnDropHandle<Option<Connection<S>>>,
    },
}

impl<S> Default for SocketPool<S> {
    fn default() -> Self {
        Self(Arc::new(PoolInner {
            slots: Mutex::default(),
            closing: Mutex::default(),
        }))
    }
}

impl<S: MessageSocket> SocketPool<S> {
    /// Leases the slot of a key, with its pooled connection if that is still usable.
    /// Without a key there is no slot, and the connection is closed after use.
    pub(super) async fn lease(&self, key: Option<SocketKey>) -> (Lease<S>, Option<Connection<S>>) {
        let mut lease = Lease {
            pool: Arc::clone(&self.0),
            key,
        };
        let Some(previous) = lease.occupy() else {
            return (lease, None);
        };
        let PoolSlot::Idle { recall, idle_task } = previous else {
            // Another request holds the slot.
            lease.key = None;
            return (lease, None);
        };
        recall.cancel();
        let Ok(Some(connection)) = idle_task.await else {
            return (lease, None);
        };
        if connection.opened.elapsed() >= AGE_LIMIT {
            self.0.close(connection.socket);
            return (lease, None);
        }
        (lease, Some(connection))
    }
}

impl<S: MessageSocket> PoolInner<S> {
    fn close(&self, socket: S) {
        let mut closing = self.closing.lock();
        while closing.try_join_next().is_some() {}
        closing.spawn(socket.close());
    }
}

/// The right to use the connection of a key; dropping it releases the slot.
#[derive(Debug)]
pub(super) struct Lease<S: MessageSocket> {
    pool: Arc<PoolInner<S>>,
    /// The slot held by this lease, if any.
    key: Option<SocketKey>,
}

impl<S: MessageSocket> Lease<S> {
    /// Marks the slot as leased and returns its previous state.
    fn occupy(&self) -> Option<PoolSlot<S>> {
        let key = self.key.clone()?;
        self.pool.slots.lock().insert(key, PoolSlot::Leased)
    }

    /// Ends the lease and keeps the connection for the next request.
    pub(super) fn release(mut self, connection: Connection<S>) {
        let Some(key) = self.key.take() else {
            self.pool.close(connection.socket);
            return;
        };
        let recall = CancellationToken::new();
        let idle_task = AbortOnDropHandle::new(tokio::spawn(hold_idle_connection(
            connection,
            recall.clone(),
        )));
        let mut slots = self.pool.slots.lock();
        slots.retain(|_, slot| match slot {
            PoolSlot::Leased => true,
            PoolSlot::Idle { idle_task, .. } => !idle_task.is_finished(),
        });
        slots.insert(key, PoolSlot::Idle { recall, idle_task });
    }
}

impl<S: MessageSocket> Drop for Lease<S> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.pool.slots.lock().remove(&key);
        }
    }
}

/// Owns a connection until it is recalled, and returns it; or closes it when it is no longer usable.
async fn hold_idle_connection<S: MessageSocket>(
    mut connection: Connection<S>,
    recall: CancellationToken,
) -> Option<Connection<S>> {
    tokio::select! {
        biased;
        () = recall.cancelled() => return Some(connection),
        () = tokio::time::sleep(IDLE_LIMIT) => {}
        // Between requests the service sends nothing but a close.
        _message = connection.socket.receive(None) => {}
    }
    connection.socket.close().await;
    None
}

#[cfg(test)]
mod tests;
