//! What batches and days have cost: counters in millionths of a dollar.

use super::server::Server;
use crate::budget::fits;
use crate::engine::{Charge, EngineError, day};
use crate::limits::unix_ms;

const UNITS: f64 = 1e6;

/// Counts a charge. Returns whether a budget is reached; nothing is reserved then.
pub(super) async fn charge(
    server: &Server,
    batch: &str,
    charge: &Charge,
    per_batch: Option<f64>,
) -> Result<bool, EngineError> {
    let counters = [
        (server.names.cost(batch), per_batch),
        (server.names.day_cost(day(unix_ms())), charge.per_day),
    ];
    let (spent, reserve) = (units(charge.spent), units(charge.reserve));
    let mut is_reached = false;
    for (counter, limit) in &counters {
        let id = format!("{counter}-{}", charge.id);
        let amount = spent.saturating_add(reserve);
        let total = server.count(counter.clone(), amount, &id).await?;
        let before = dollars(total.saturating_sub(reserve));
        is_reached |= limit.is_some_and(|limit| !fits(before, charge.reserve, limit));
    }
    if is_reached && reserve != 0 {
        for (counter, _) in counters {
            let id = format!("{counter}-{}-back", charge.id);
            server.count(counter, reserve.saturating_neg(), &id).await?;
        }
    }
    Ok(is_reached)
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn units(dollars: f64) -> i64 {
    (dollars * UNITS).round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "exact below 9 billion dollars")]
fn dollars(units: i64) -> f64 {
    units as f64 / UNITS
}
