//! Token buckets: how many requests and tokens a provider accepts per minute.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A bucket holds what a minute yields, as those of providers do.
const MINUTE_MS: u64 = 60_000;

/// How much a worker takes at a time, as a share of the rates.
const LEASE_MS: u64 = 5_000;

/// Rates of a model; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Rates {
    pub input_tokens_per_minute: Option<u64>,
    pub requests_per_minute: Option<u64>,
}

impl Rates {
    pub(super) fn has_zero(&self) -> bool {
        self.input_tokens_per_minute == Some(0) || self.requests_per_minute == Some(0)
    }
}

/// What shares a rate limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BucketId {
    pub account: String,
    /// As `provider/model`.
    pub model: String,
}

impl BucketId {
    /// Returns a name without special characters.
    pub(crate) fn key(&self) -> String {
        let name = format!("{}\n{}", self.account, self.model);
        pi_protocol::hex(&Sha256::digest(name.as_bytes()))
    }
}

/// What a worker does with a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketChange {
    /// Takes what a request with this many tokens needs, and more for the next requests if the bucket has it.
    Lease { rates: Rates, tokens: u64 },
    /// The provider has refused a request: nothing is left for this time.
    Drain(Duration),
}

/// What a worker gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BucketGrant {
    pub tokens: u64,
    pub requests: u64,
    /// How long to wait before the bucket has enough; zero if it was granted.
    pub wait: Duration,
}

/// A bucket, as workers share it. Balances are thousandths, so that a short time adds something, and negative after a
/// request that is larger than the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BucketState {
    v: u64,
    /// When the balances were right, in milliseconds since 1970.
    at: u64,
    /// `None` if the bucket is full.
    tokens: Option<i64>,
    requests: Option<i64>,
    /// Nothing is granted before this time.
    drained_until: u64,
}

impl BucketState {
    /// Applies a change; returns the grant, and whether the bucket has changed.
    pub(crate) fn apply(&mut self, change: &BucketChange, now: u64) -> (BucketGrant, bool) {
        match change {
            BucketChange::Drain(time) => {
                let until = now.saturating_add(milliseconds(*time));
                if until <= self.drained_until {
                    return (BucketGrant::default(), false);
                }
                // It refills from then on, so that not all workers start at once.
                *self = Self {
                    v: 1,
                    at: until,
                    tokens: Some(0),
                    requests: Some(0),
                    drained_until: until,
                };
                (BucketGrant::default(), true)
            }
            BucketChange::Lease { rates, tokens } => self.lease(*rates, *tokens, now),
        }
    }

    /// Returns how long the bucket stays drained.
    pub(crate) fn drained_for(&self, now: u64) -> Duration {
        Duration::from_millis(self.drained_until.saturating_sub(now))
    }

    fn lease(&mut self, rates: Rates, tokens: u64, now: u64) -> (BucketGrant, bool) {
        let wait = self.drained_for(now);
        if !wait.is_zero() {
            let grant = BucketGrant {
                wait,
                ..BucketGrant::default()
            };
            return (grant, false);
        }
        let elapsed = now.saturating_sub(self.at);
        let token_balance = Balance::of(rates.input_tokens_per_minute, self.tokens, elapsed);
        let request_balance = Balance::of(rates.requests_per_minute, self.requests, elapsed);
        let wait = token_balance.wait(tokens).max(request_balance.wait(1));
        if !wait.is_zero() {
            let grant = BucketGrant {
                wait,
                ..BucketGrant::default()
            };
            return (grant, false);
        }
        let (tokens, left_tokens) = token_balance.take(tokens);
        let (requests, left_requests) = request_balance.take(1);
        let is_changed = left_tokens.is_some() || left_requests.is_some();
        *self = Self {
            v: 1,
            at: now,
            tokens: left_tokens,
            requests: left_requests,
            drained_until: self.drained_until,
        };
        let grant = BucketGrant {
            tokens,
            requests,
            wait: Duration::ZERO,
        };
        (grant, is_changed)
    }
}

/// One of the balances of a bucket; `None` if it has no limit.
struct Balance(Option<(u64, i64)>);

impl Balance {
    fn of(rate: Option<u64>, left: Option<i64>, elapsed: u64) -> Self {
        Self(rate.map(|rate| {
            let full = thousandths(rate);
            // Per minute and thousandths: a unit per 60 ms and rate.
            let yielded = rate.saturating_mul(elapsed) / (MINUTE_MS / 1000);
            let yielded = i64::try_from(yielded).unwrap_or(i64::MAX);
            let balance = left.map_or(full, |left| left.saturating_add(yielded).min(full));
            (rate, balance)
        }))
    }

    /// Returns how long it takes until the balance suffices. A request that is larger than the bucket needs a full one.
    fn wait(&self, amount: u64) -> Duration {
        let Some((rate, balance)) = self.0 else {
            return Duration::ZERO;
        };
        let missing = thousandths(amount.min(rate)).saturating_sub(balance);
        let missing = u64::try_from(missing).unwrap_or_default();
        let wait = missing.saturating_mul(MINUTE_MS / 1000);
        Duration::from_millis(wait.div_ceil(rate.max(1)))
    }

    /// Takes an amount and a share for later; returns what was taken and what is left.
    fn take(&self, amount: u64) -> (u64, Option<i64>) {
        let Some((rate, balance)) = self.0 else {
            return (u64::MAX, None);
        };
        let available = u64::try_from(balance / 1000).unwrap_or_default();
        let share = rate.saturating_mul(LEASE_MS) / MINUTE_MS;
        let taken = share.min(available).max(amount);
        (taken, Some(balance.saturating_sub(thousandths(taken))))
    }
}

fn thousandths(amount: u64) -> i64 {
    i64::try_from(amount.saturating_mul(1000)).unwrap_or(i64::MAX)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the time of this machine in milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, milliseconds)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const RATES: Rates = Rates {
        input_tokens_per_minute: Some(12_000),
        requests_per_minute: Some(60),
    };

    fn lease(state: &mut BucketState, tokens: u64, now: u64) -> BucketGrant {
        let change = BucketChange::Lease {
            rates: RATES,
            tokens,
        };
        state.apply(&change, now).0
    }

    fn granted(tokens: u64, requests: u64) -> BucketGrant {
        BucketGrant {
            tokens,
            requests,
            wait: Duration::ZERO,
        }
    }

    fn waits(seconds: u64) -> BucketGrant {
        BucketGrant {
            wait: Duration::from_secs(seconds),
            ..BucketGrant::default()
        }
    }

    #[test]
    fn a_lease_takes_five_seconds_of_the_rates() {
        let mut state = BucketState::default();
        // A full bucket has a minute.
        for _ in 0..12 {
            assert_eq!(lease(&mut state, 100, 1000), granted(1000, 5));
        }
        assert_eq!(lease(&mut state, 200, 1000), waits(1));
        assert_eq!(lease(&mut state, 200, 2000), granted(200, 1));
        // It does not hold more than a minute.
        assert_eq!(lease(&mut state, 12_000, 1_000_000), granted(12_000, 5));
        assert_eq!(lease(&mut state, 1, 1_000_000).requests, 0);
    }

    #[test]
    fn a_request_larger_than_the_bucket_waits_for_a_full_one() {
        let mut state = BucketState::default();
        assert_eq!(lease(&mut state, 24_000, 0), granted(24_000, 5));
        // The debt is paid first.
        assert_eq!(lease(&mut state, 24_000, 60_000), waits(60));
        assert_eq!(lease(&mut state, 24_000, 120_000), granted(24_000, 5));
    }

    #[test]
    fn a_drained_bucket_grants_nothing_and_refills_afterwards() {
        let mut state = BucketState::default();
        lease(&mut state, 1, 1000);
        let drain = |seconds| BucketChange::Drain(Duration::from_secs(seconds));
        assert!(state.apply(&drain(10), 1000).1);
        assert!(!state.apply(&drain(5), 1000).1, "the longer one holds");
        assert_eq!(lease(&mut state, 1, 4000), waits(7));
        assert_eq!(lease(&mut state, 1, 11_000), waits(1));
        assert_eq!(lease(&mut state, 1, 12_000), granted(200, 1));
        let unlimited = BucketChange::Lease {
            rates: Rates::default(),
            tokens: 1,
        };
        assert!(state.apply(&drain(2), 12_000).1);
        assert_eq!(state.apply(&unlimited, 13_000), (waits(1), false));
        let (grant, is_changed) = state.apply(&unlimited, 14_000);
        assert_eq!((grant, is_changed), (granted(u64::MAX, u64::MAX), false));
    }

    #[test]
    fn a_bucket_is_stored_as_json() {
        let mut state = BucketState::default();
        lease(&mut state, 100, 1000);
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<BucketState>(&text).unwrap(), state);
    }
}
