//! The share of a worker in the rate limits of all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::{BucketChange, BucketId, FleetLimits};
use crate::engine::{EngineError, FleetEngine};

/// How long a share may be used.
const LEASE: Duration = Duration::from_secs(5);

/// How long requests wait after a provider has refused one and named no time.
const DEFAULT_WAIT: Duration = Duration::from_secs(5);

/// Longest time that a provider is believed to need.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Part of a wait that is added at random, so that workers do not start together.
const JITTER: f64 = 0.25;

/// Grants requests of one worker. All of its slots share what it has leased.
#[derive(Default)]
pub struct RateLimiter {
    limits: FleetLimits,
    shares: Mutex<HashMap<BucketId, Share>>,
}

/// What is left of a lease.
struct Share {
    tokens: u64,
    requests: u64,
    until: Instant,
}

impl Share {
    /// Takes a request out of the share; returns whether it sufficed.
    fn take(&mut self, tokens: u64) -> bool {
        let suffices = Instant::now() < self.until && self.requests > 0 && self.tokens >= tokens;
        if suffices {
            self.requests -= 1;
            self.tokens -= tokens;
        }
        suffices
    }

    /// Adds another lease: what is left of the first one was taken from the bucket, too.
    fn add(&mut self, leased: Self) {
        if Instant::now() >= self.until {
            *self = leased;
            return;
        }
        self.tokens = self.tokens.saturating_add(leased.tokens);
        self.requests = self.requests.saturating_add(leased.requests);
        self.until = leased.until;
    }
}

impl RateLimiter {
    pub fn new(limits: FleetLimits) -> Self {
        Self {
            limits,
            shares: Mutex::default(),
        }
    }

    fn shares(&self) -> MutexGuard<'_, HashMap<BucketId, Share>> {
        self.shares.lock()
    }

    fn bucket(&self, model: &str) -> BucketId {
        BucketId {
            account: self.limits.account.clone(),
            model: model.to_owned(),
        }
    }

    /// Takes what a request to a model needs. Returns how long to wait before the next try; zero if it may be sent.
    pub(crate) async fn request(
        &self,
        engine: &dyn FleetEngine,
        model: &str,
        tokens: u64,
    ) -> Result<Duration, EngineError> {
        let bucket = self.bucket(model);
        let drained = engine.drained(&bucket);
        if !drained.is_zero() {
            return Ok(with_jitter(drained));
        }
        let has_share = |share: &mut Share| share.take(tokens);
        if self.shares().get_mut(&bucket).is_some_and(has_share) {
            return Ok(Duration::ZERO);
        }
        let rates = self.limits.rates(model);
        let change = BucketChange::Lease { rates, tokens };
        let grant = engine.change_bucket(&bucket, &change).await?;
        if !grant.wait.is_zero() {
            return Ok(with_jitter(grant.wait));
        }
        let leased = Share {
            tokens: grant.tokens.saturating_sub(tokens),
            requests: grant.requests.saturating_sub(1),
            until: Instant::now() + LEASE,
        };
        match self.shares().entry(bucket) {
            Entry::Occupied(mut share) => share.get_mut().add(leased),
            Entry::Vacant(entry) => drop(entry.insert(leased)),
        }
        Ok(Duration::ZERO)
    }

    /// Returns how long a model accepts no requests, as far as this worker knows.
    pub(crate) fn drained(&self, engine: &dyn FleetEngine, model: &str) -> Duration {
        engine.drained(&self.bucket(model))
    }

    /// Stops requests of all workers to a model whose provider has refused one.
    pub(crate) async fn drain(
        &self,
        engine: &dyn FleetEngine,
        model: &str,
        retry_after: Option<Duration>,
    ) -> Result<(), EngineError> {
        let bucket = self.bucket(model);
        self.shares().remove(&bucket);
        let wait = retry_after.unwrap_or(DEFAULT_WAIT).min(LONGEST_WAIT);
        let drain = BucketChange::Drain(wait);
        engine.change_bucket(&bucket, &drain).await.map(drop)
    }
}

fn with_jitter(wait: Duration) -> Duration {
    let mut byte = [0; 1];
    // Without random numbers, the wait is only less spread.
    getrandom::fill(&mut byte).ok();
    let [random] = byte;
    wait + wait.mul_f64(JITTER * f64::from(random) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_adds_to_one_that_has_not_expired() {
        let until = Instant::now() + LEASE;
        let lease = |tokens| Share {
            tokens,
            requests: 2,
            until,
        };
        let mut share = lease(4000);
        share.add(lease(500));
        assert_eq!((share.tokens, share.requests), (4500, 4));
        share.until = Instant::now();
        share.add(lease(300));
        assert_eq!((share.tokens, share.requests), (300, 2));
    }
}
