//! Rate limits that all workers share: one message per bucket, changed by compare-and-set. A worker changes it once per
//! lease, not once per request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_nats::Subscriber;
use async_nats::jetstream::message::PublishMessage;
use futures_util::StreamExt as _;
use parking_lot::{Mutex, MutexGuard};

use super::Fleet;
use super::server::{Server, parse, server_error};
use crate::engine::EngineError;
use crate::limits::{BucketChange, BucketGrant, BucketId, BucketState, unix_ms};

/// How often a change is tried while other workers change the same bucket.
const ATTEMPTS: u32 = 20;

/// The buckets that providers have drained, as far as this process knows.
#[derive(Default)]
pub(super) struct Drains {
    states: Mutex<HashMap<String, BucketState>>,
    is_subscribed: AtomicBool,
}

impl Drains {
    fn states(&self) -> MutexGuard<'_, HashMap<String, BucketState>> {
        self.states.lock()
    }

    pub(super) fn of(&self, bucket: &BucketId) -> Duration {
        let states = self.states();
        let state = states.get(&bucket.key());
        state.map_or(Duration::ZERO, |state| state.drained_for(unix_ms()))
    }

    fn set(&self, key: &str, state: BucketState) {
        self.states().insert(key.to_owned(), state);
    }
}

/// Applies a change to a bucket.
pub(super) async fn change(
    fleet: &Arc<Fleet>,
    bucket: &BucketId,
    change: &BucketChange,
) -> Result<BucketGrant, EngineError> {
    const ACTION: &str = "change a rate limit";
    subscribe(fleet).await?;
    let server = &fleet.server;
    let key = bucket.key();
    let (stream, subject) = (server.names.limits_stream(), server.names.limit(&key));
    let mut attempt = 0;
    loop {
        let stored = server.last(&stream, &subject).await?;
        let sequence = stored.as_ref().map_or(0, |stored| stored.sequence);
        let state = stored.map(|stored| parse(&key, &stored.payload));
        let mut state: BucketState = state.transpose()?.unwrap_or_default();
        let (grant, is_changed) = state.apply(change, unix_ms());
        fleet.drains.set(&key, state);
        if !is_changed {
            return Ok(grant);
        }
        let payload = serde_json::to_vec(&state).map_err(|error| server_error(ACTION, &error))?;
        let payload = bytes::Bytes::from(payload);
        let message = PublishMessage::build()
            .payload(payload.clone())
            .expected_last_subject_sequence(sequence);
        match server.publish(subject.clone(), message).await {
            Ok(_sequence) => {
                if matches!(change, BucketChange::Drain(_)) {
                    publish(server, &key, payload).await;
                }
                return Ok(grant);
            }
            Err(error) if error.is_transient() && attempt < ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Notifies all workers. One that misses it finds the state of the bucket with its next lease.
async fn publish(server: &Server, key: &str, state: bytes::Bytes) {
    let subject = server.names.drained(key);
    server.client.publish(subject, state).await.ok();
}

/// Follows drained buckets from the first use of a limit on.
async fn subscribe(fleet: &Arc<Fleet>) -> Result<(), EngineError> {
    if fleet.drains.is_subscribed.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let server = &fleet.server;
    let following = server.client.subscribe(server.names.drained("*")).await;
    let subscriber = following.map_err(|error| server_error("follow the rate limits", &error))?;
    tokio::spawn(follow(Arc::downgrade(fleet), subscriber));
    Ok(())
}

async fn follow(fleet: Weak<Fleet>, mut subscriber: Subscriber) {
    while let Some(message) = subscriber.next().await {
        let Some(fleet) = fleet.upgrade() else {
            return;
        };
        let key = message.subject.rsplit('.').next();
        let state = serde_json::from_slice(&message.payload);
        if let (Some(key), Ok(state)) = (key, state) {
            fleet.drains.set(key, state);
        }
    }
}
