//! Connections kept open between the requests of a session.
//!
//! A connection serves one request at a time: a request leases it, and one that comes while it is
//! leased gets a connection of its own. Between requests a task holds the connection, answers the
//! service's pings, and lets go of it when the service closes it or nobody wants it for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::continuation::ContinuationCache;
use super::socket::MessageSocket;

/// How long an unused connection is kept.
const IDLE_LIMIT: Duration = Duration::from_mins(5);

/// How old a connection may get; the service closes them after an hour.
const AGE_LIMIT: Duration = Duration::from_mins(55);

/// Whose connection it is: no two sessions, accounts or addresses share one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SocketKey {
    pub session_id: String,
    pub account_id: String,
    pub url: String,
}

/// An open connection and what the service knows on it.
#[derive(Debug)]
pub(super) struct Connection<S> {
    pub socket: S,
    /// What the service knows of the conversation.
    pub continuation: ContinuationCache,
    opened: Instant,
}

impl<S> Connection<S> {
    /// Wraps a socket that has just been opened.
    pub(super) fn new(socket: S) -> Self {
        Self {
            socket,
            continuation: ContinuationCache::default(),
            opened: Instant::now(),
        }
    }
}

/// All kept connections; dropping the pool closes them.
#[derive(Debug)]
pub(super) struct SocketPool<S>(Arc<Shared<S>>);

#[derive(Debug)]
struct Shared<S> {
    places: Mutex<HashMap<SocketKey, Place<S>>>,
    /// Connections that say goodbye; nobody should have to wait for that.
    closing: Mutex<JoinSet<()>>,
}

#[derive(Debug)]
enum Place<S> {
    /// A request uses the connection.
    Leased,
    /// A task holds it.
    Parked {
        recall: CancellationToken,
        holder: AbortOnDropHandle<Option<Connection<S>>>,
    },
}

impl<S> Default for SocketPool<S> {
    fn default() -> Self {
        Self(Arc::new(Shared {
            places: Mutex::default(),
            closing: Mutex::default(),
        }))
    }
}

impl<S: MessageSocket> SocketPool<S> {
    /// Leases the place of a key, with the connection that is kept there if it is still good.
    /// Without a key there is no place, and the connection is closed after use.
    pub(super) async fn lease(&self, key: Option<SocketKey>) -> (Lease<S>, Option<Connection<S>>) {
        let mut lease = Lease {
            pool: Arc::clone(&self.0),
            key,
        };
        let Some(previous) = lease.enter() else {
            return (lease, None);
        };
        let Place::Parked { recall, holder } = previous else {
            // Somebody else has the place.
            lease.key = None;
            return (lease, None);
        };
        recall.cancel();
        let Ok(Some(connection)) = holder.await else {
            return (lease, None);
        };
        if connection.opened.elapsed() >= AGE_LIMIT {
            self.0.close(connection.socket);
            return (lease, None);
        }
        (lease, Some(connection))
    }
}

impl<S: MessageSocket> Shared<S> {
    fn close(&self, socket: S) {
        let mut closing = lock(&self.closing);
        while closing.try_join_next().is_some() {}
        closing.spawn(socket.close());
    }
}

/// The right to use the connection of a key; dropping it gives the place up.
#[derive(Debug)]
pub(super) struct Lease<S: MessageSocket> {
    pool: Arc<Shared<S>>,
    /// The place that is ours, if any.
    key: Option<SocketKey>,
}

impl<S: MessageSocket> Lease<S> {
    /// Marks the place as leased and returns what was there.
    fn enter(&self) -> Option<Place<S>> {
        let key = self.key.clone()?;
        lock(&self.pool.places).insert(key, Place::Leased)
    }

    /// Ends the lease and keeps the connection for the next request.
    pub(super) fn give_back(mut self, connection: Connection<S>) {
        let Some(key) = self.key.take() else {
            self.pool.close(connection.socket);
            return;
        };
        let recall = CancellationToken::new();
        let holder = AbortOnDropHandle::new(tokio::spawn(hold(connection, recall.clone())));
        let mut places = lock(&self.pool.places);
        places.retain(|_, place| match place {
            Place::Leased => true,
            Place::Parked { holder, .. } => !holder.is_finished(),
        });
        places.insert(key, Place::Parked { recall, holder });
    }
}

impl<S: MessageSocket> Drop for Lease<S> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            lock(&self.pool.places).remove(&key);
        }
    }
}

/// Holds a connection until it is recalled, and returns it, or until it is of no more use.
async fn hold<S: MessageSocket>(
    mut connection: Connection<S>,
    recall: CancellationToken,
) -> Option<Connection<S>> {
    tokio::select! {
        biased;
        () = recall.cancelled() => return Some(connection),
        () = tokio::time::sleep(IDLE_LIMIT) => {}
        // Between requests the service has nothing to say but goodbye.
        _unasked = connection.socket.receive(None) => {}
    }
    connection.socket.close().await;
    None
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
