//! Limits of sub-agents: how many, how deep, how many at once, and what they may use.
//!
//! The counts belong to a run, which a prompt of the user begins: sub-agents of sub-agents count, and so do those in the
//! background.

use std::sync::Arc;

use parking_lot::Mutex;
use pi_protocol::Usage;
use pi_protocol::settings::TaskSettings;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Sub-agents of a session may have sub-agents, which have none.
pub(crate) const MAX_DEPTH: usize = 2;

/// Sub-agents that one call may start.
pub(crate) const MAX_PER_CALL: usize = 8;

const MAX_PER_RUN: usize = 32;

const MAX_AT_ONCE: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(crate) enum LimitError {
    #[error(
        "at most {MAX_PER_RUN} sub-agents may be started for a prompt of the user; {left} are left"
    )]
    Count { left: usize },
    #[error("the sub-agents of this prompt may cost ${0} together (setting task.maxCost)")]
    Cost(f64),
    #[error("the sub-agents of this prompt may use {0} tokens together (setting task.maxTokens)")]
    Tokens(u64),
}

/// What the sub-agents of a run have used.
#[derive(Debug, Default)]
struct RunUsage {
    started: usize,
    tokens: u64,
    cost: f64,
}

impl RunUsage {
    fn check(&self, settings: &TaskSettings) -> Result<(), LimitError> {
        if let Some(limit) = settings.max_cost.filter(|limit| self.cost >= *limit) {
            return Err(LimitError::Cost(limit));
        }
        match settings.max_tokens.filter(|limit| self.tokens >= *limit) {
            Some(limit) => Err(LimitError::Tokens(limit)),
            None => Ok(()),
        }
    }
}

/// The limits of a session and its sub-agents.
#[derive(Debug)]
pub(crate) struct RunLimits {
    usage: Mutex<RunUsage>,
    slots: Arc<Semaphore>,
}

impl RunLimits {
    pub(crate) fn new() -> Self {
        Self {
            usage: Mutex::default(),
            slots: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        }
    }

    /// Begins to count anew, for a prompt of the user.
    pub(crate) fn begin_run(&self) {
        *self.usage.lock() = RunUsage::default();
    }

    /// Counts sub-agents that are about to start, unless a limit forbids them.
    pub(crate) fn admit(&self, count: usize, settings: &TaskSettings) -> Result<(), LimitError> {
        let mut usage = self.usage.lock();
        usage.check(settings)?;
        let left = MAX_PER_RUN - usage.started;
        if count > left {
            return Err(LimitError::Count { left });
        }
        usage.started += count;
        Ok(())
    }

    /// Counts a response. An error means that the sub-agents must stop.
    pub(crate) fn spend(&self, spent: &Usage, settings: &TaskSettings) -> Result<(), LimitError> {
        let mut usage = self.usage.lock();
        usage.tokens = usage.tokens.saturating_add(spent.context_tokens());
        usage.cost += spent.cost.total;
        usage.check(settings)
    }

    /// Waits until a sub-agent may run; `None` if it is canceled before.
    pub(crate) async fn slot(&self, cancel: &CancellationToken) -> Option<Slot> {
        let acquiring = Arc::clone(&self.slots).acquire_owned();
        let permit = cancel.run_until_cancelled(acquiring).await?.ok()?;
        Some(Slot {
            slots: Arc::clone(&self.slots),
            state: Mutex::new(SlotState {
                permit: Some(permit),
                calls: 0,
            }),
        })
    }
}

/// The right of a sub-agent to run. While it waits for its own sub-agents, they have it: otherwise sub-agents that wait
/// could keep all slots.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Semaphore>,
    state: Mutex<SlotState>,
}

#[derive(Debug)]
struct SlotState {
    permit: Option<OwnedSemaphorePermit>,
    /// Calls that wait for sub-agents.
    calls: usize,
}

impl Slot {
    /// Passes the slot on, until every call has returned.
    pub(crate) fn lend(&self) {
        let mut state = self.state.lock();
        state.calls += 1;
        state.permit = None;
    }

    pub(crate) async fn take_back(&self, cancel: &CancellationToken) {
        let is_last = {
            let mut state = self.state.lock();
            state.calls -= 1;
            state.calls == 0
        };
        if !is_last {
            return;
        }
        let acquiring = Arc::clone(&self.slots).acquire_owned();
        let Some(Ok(permit)) = cancel.run_until_cancelled(acquiring).await else {
            return;
        };
        let mut state = self.state.lock();
        if state.calls == 0 {
            state.permit = Some(permit);
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn usage(tokens: u64, cost: f64) -> Usage {
        let mut usage = Usage {
            total_tokens: tokens,
            ..Usage::default()
        };
        usage.cost.total = cost;
        usage
    }

    #[test]
    fn the_number_of_a_run_is_limited() {
        let limits = RunLimits::new();
        let settings = TaskSettings::default();
        for _ in 0..3 {
            assert_eq!(limits.admit(8, &settings), Ok(()));
        }
        assert_eq!(limits.admit(7, &settings), Ok(()));
        let error = limits.admit(2, &settings);
        assert_eq!(error, Err(LimitError::Count { left: 1 }));
        assert_eq!(limits.admit(1, &settings), Ok(()));
        limits.begin_run();
        assert_eq!(limits.admit(8, &settings), Ok(()));
    }

    #[test]
    fn a_budget_ends_running_sub_agents_and_admits_no_more() {
        let limits = RunLimits::new();
        let by_cost = TaskSettings {
            max_cost: Some(0.5),
            max_tokens: None,
        };
        assert_eq!(limits.spend(&usage(10, 0.2), &by_cost), Ok(()));
        let error = Err(LimitError::Cost(0.5));
        assert_eq!(limits.spend(&usage(10, 0.3), &by_cost), error);
        assert_eq!(limits.admit(1, &by_cost), error);
        let by_tokens = TaskSettings {
            max_cost: None,
            max_tokens: Some(21),
        };
        assert_eq!(limits.admit(1, &by_tokens), Ok(()));
        let error = Err(LimitError::Tokens(21));
        assert_eq!(limits.spend(&usage(1, 0.0), &by_tokens), error);
        limits.begin_run();
        assert_eq!(limits.admit(1, &by_tokens), Ok(()));
    }

    #[tokio::test]
    async fn a_slot_is_free_for_others_while_its_owner_waits() {
        let limits = RunLimits::new();
        let cancel = CancellationToken::new();
        let mut slots = Vec::new();
        for _ in 0..MAX_AT_ONCE {
            slots.push(limits.slot(&cancel).await.unwrap());
        }
        assert_eq!(limits.slots.available_permits(), 0);
        slots[0].lend();
        slots[0].lend();
        assert_eq!(limits.slots.available_permits(), 1);
        slots[0].take_back(&cancel).await;
        assert_eq!(limits.slots.available_permits(), 1);
        slots[0].take_back(&cancel).await;
        assert_eq!(limits.slots.available_permits(), 0);
        drop(slots);
        assert_eq!(limits.slots.available_permits(), MAX_AT_ONCE);
        cancel.cancel();
        let all = limits.slots.acquire_many(4).await.unwrap();
        assert!(limits.slot(&cancel).await.is_none());
        drop(all);
    }
}
