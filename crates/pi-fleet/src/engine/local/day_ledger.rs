//! What all batches of this machine have cost today, in a file that their processes share.

use std::io;
use std::path::Path;

use pi_fs::NewFileMode;
use serde::{Deserialize, Serialize};

use crate::budget::fits;
use crate::engine::{Charge, day};
use crate::limits::unix_ms;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct DayLedger {
    /// Days since 1970.
    day: u64,
    /// What was spent or is reserved, in US dollars.
    dollars: f64,
}

/// Counts a charge. Returns whether the budget of the day is reached; nothing is reserved then.
pub(super) fn charge(path: &Path, charge: &Charge) -> io::Result<bool> {
    let lock = pi_fs::private::open_or_create(&path.with_extension("lock"))?;
    lock.lock()?;
    let today = day(unix_ms());
    let mut ledger = read(path)?;
    if ledger.day != today {
        ledger = DayLedger {
            day: today,
            dollars: 0.0,
        };
    }
    let spent = (ledger.dollars + charge.spent).max(0.0);
    let is_reached = charge
        .per_day
        .is_some_and(|limit| !fits(spent, charge.reserve, limit));
    let reserved = if is_reached { 0.0 } else { charge.reserve };
    if (spent + reserved - ledger.dollars).abs() > 0.0 {
        ledger.dollars = spent + reserved;
        let text = serde_json::to_vec(&ledger)?;
        pi_fs::atomic_file::write(path, &text, NewFileMode::Private)?;
    }
    Ok(is_reached)
}

fn read(path: &Path) -> io::Result<DayLedger> {
    match std::fs::read(path) {
        // A file that cannot be read must not stop all batches.
        Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(DayLedger::default()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_budget_for_all_processes() {
        let charges = [
            (0.5, 0.25, false),
            // 0.25 are reserved.
            (0.0, 0.5, true),
            (0.0, 0.25, false),
            // The first request was cheaper than expected, and the second one was not sent.
            (-0.125, 0.0, false),
            (-0.25, 0.375, false),
            (0.0, 0.0, true),
        ];
        // Again if the day ends meanwhile.
        let reached = loop {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("day.json");
            let today = day(unix_ms());
            let reached = charges.map(|(spent, reserve, _)| is_reached(&path, spent, reserve));
            if day(unix_ms()) == today {
                break reached;
            }
        };
        assert_eq!(reached, charges.map(|(_, _, expected)| expected));
    }

    #[test]
    fn the_cost_of_another_day_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("day.json");
        std::fs::write(&path, r#"{"day":1,"dollars":9.0}"#).unwrap();
        assert!(!is_reached(&path, 0.0, 0.0));
    }

    fn is_reached(path: &Path, spent: f64, reserve: f64) -> bool {
        let cost = Charge {
            spent,
            reserve,
            per_day: Some(1.0),
            ..Charge::default()
        };
        charge(path, &cost).unwrap()
    }
}
