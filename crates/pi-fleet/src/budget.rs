//! The budget of a batch: what its runs may cost together.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Costs in US dollars, by run. Checked before every request, so that at most one request per slot exceeds the limit.
#[derive(Debug, Default)]
pub struct Budget {
    limit: Option<f64>,
    costs: Mutex<HashMap<String, f64>>,
}

impl Budget {
    pub fn new(limit: Option<f64>) -> Self {
        Self {
            limit,
            costs: Mutex::default(),
        }
    }

    fn costs(&self) -> MutexGuard<'_, HashMap<String, f64>> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets what a run has cost so far.
    pub fn set(&self, run: &str, cost: f64) {
        self.costs().insert(run.to_owned(), cost);
    }

    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    pub fn total(&self) -> f64 {
        self.costs().values().sum()
    }

    pub fn is_reached(&self) -> bool {
        self.limit.is_some_and(|limit| self.total() >= limit)
    }
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
}
