//! The budget of a batch: what its runs may cost together.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

/// Smaller differences are rounding errors.
const TOLERANCE: f64 = 1e-9;

/// Costs in US dollars, by run. Each request reserves what it is expected to cost, so that requests in flight are counted.
#[derive(Debug, Default)]
pub struct Budget {
    limit: Option<f64>,
    state: Mutex<BudgetState>,
}

#[derive(Debug, Default)]
struct BudgetState {
    runs: HashMap<String, RunCost>,
    /// Cost of the last request of any run.
    last_request: f64,
}

#[derive(Debug, Default)]
struct RunCost {
    spent: f64,
    reserved: f64,
}

impl Budget {
    pub fn new(limit: Option<f64>) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.state.lock()
    }

    /// Sets what a run has cost so far; its reservation ends.
    pub fn set(&self, run: &str, cost: f64) {
        let cost = RunCost {
            spent: cost,
            reserved: 0.0,
        };
        self.state().runs.insert(run.to_owned(), cost);
    }

    /// Sets what a run has cost so far, and reserves what its next request is expected to cost. Returns whether both are
    /// within the limit; nothing is reserved otherwise.
    pub(crate) fn reserve(&self, run: &str, cost: f64, expected: f64) -> bool {
        self.set(run, cost);
        let Some(limit) = self.limit else {
            return true;
        };
        let mut state = self.state();
        let total: f64 = state
            .runs
            .values()
            .map(|run| run.spent + run.reserved)
            .sum();
        let fits = fits(total, expected, limit);
        if let Some(run) = state.runs.get_mut(run).filter(|_| fits) {
            run.reserved = expected;
        }
        fits
    }

    /// Remembers what a request has cost.
    pub(crate) fn observe_request(&self, cost: f64) {
        self.state().last_request = cost.max(0.0);
    }

    /// Returns what a request is expected to cost, as far as this worker knows.
    pub(crate) fn expected_request(&self) -> f64 {
        self.state().last_request
    }

    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns what was spent.
    pub fn total(&self) -> f64 {
        self.state().runs.values().map(|run| run.spent).sum()
    }

    pub fn is_reached(&self) -> bool {
        self.limit.is_some_and(|limit| self.total() >= limit)
    }
}

/// Whether another request is within a limit, after what is spent or reserved.
pub(crate) fn fits(total: f64, expected: f64, limit: f64) -> bool {
    total + TOLERANCE < limit && total + expected <= limit + TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cost_of_each_run_counts() {
        let budget = Budget::new(Some(1.0));
        budget.set("a", 0.4);
        budget.set("a", 0.5);
        budget.set("b", 0.4);
        assert!(!budget.is_reached());
        budget.set("b", 0.5);
        assert!(budget.is_reached());
        assert!(!Budget::new(None).is_reached());
    }

    #[test]
    fn requests_in_flight_are_counted() {
        let budget = Budget::new(Some(1.0));
        assert!(budget.reserve("a", 0.6, 0.2));
        assert!(!budget.reserve("b", 0.0, 0.3), "0.2 of `a` are reserved");
        assert!(budget.reserve("b", 0.0, 0.2));
        assert!(!budget.reserve("c", 0.0, 0.0), "the limit is reached");
        // `a` was cheaper than expected.
        assert!(budget.reserve("a", 0.7, 0.1));
        assert!(Budget::new(None).reserve("a", 1e9, 1e9));
    }
}
