//! What workers may use together: rate limits of providers, and money per day.

mod bucket;
mod rate_limiter;

use std::collections::BTreeMap;

use pi_protocol::matches_name_pattern;
use serde::Deserialize;

pub use bucket::{BucketChange, BucketGrant, BucketId, Rates};
pub(crate) use bucket::{BucketState, unix_ms};
pub use rate_limiter::RateLimiter;

/// Part of the settings of fleets.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FleetLimits {
    /// Distinguishes workers with separate provider accounts; workers with the same name share their rate limits.
    pub account: String,
    /// Rate limits by `provider/model`; `*` matches any text.
    pub buckets: BTreeMap<String, Rates>,
    pub budget: BudgetLimits,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetLimits {
    /// In US dollars, for all batches of a day (UTC).
    pub per_day: Option<f64>,
}

impl FleetLimits {
    /// Rejects limits that no run can meet.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let is_amount = |dollars: f64| dollars.is_finite() && dollars >= 0.0;
        if self.budget.per_day.is_some_and(|limit| !is_amount(limit)) {
            return Err("fleet.budget.perDay is not an amount in dollars");
        }
        if self.buckets.values().any(Rates::has_zero) {
            return Err("a rate in fleet.buckets is 0, which no request can pass");
        }
        Ok(())
    }

    /// Returns what is limited, in one line.
    pub(crate) fn describe(&self) -> String {
        let rates = self.buckets.keys().map(String::as_str);
        let day = self
            .budget
            .per_day
            .map(|limit| format!("${limit:.2} per day"));
        let limits: Vec<&str> = rates.chain(day.as_deref()).collect();
        limits.join(", ")
    }

    /// Returns the rates of a model: those of the longest matching pattern.
    pub(crate) fn rates(&self, model: &str) -> Rates {
        let matching = self.buckets.iter();
        let matching = matching.filter(|(pattern, _)| matches_name_pattern(pattern, model));
        let longest = matching.max_by_key(|(pattern, _)| pattern.len());
        longest.map(|(_, rates)| *rates).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parsed(text: &str) -> FleetLimits {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_longest_pattern_has_the_rates_of_a_model() {
        let limits = parsed(
            r#"{"budget":{"perDay":500},"buckets":{
            "anthropic/*":{"inputTokensPerMinute":4000000,"requestsPerMinute":4000},
            "anthropic/claude-opus*":{"requestsPerMinute":50}}}"#,
        );
        assert_eq!(limits.check(), Ok(()));
        assert_eq!(limits.budget.per_day, Some(500.0));
        let requests = |model: &str| limits.rates(model).requests_per_minute;
        assert_eq!(requests("anthropic/claude-opus-5"), Some(50));
        assert_eq!(requests("anthropic/claude-haiku-5"), Some(4000));
        assert_eq!(limits.rates("openai/gpt"), Rates::default());
    }

    #[test]
    fn limits_that_stop_everything_are_errors() {
        for limits in [
            r#"{"budget":{"perDay":-1}}"#,
            r#"{"buckets":{"a/*":{"requestsPerMinute":0}}}"#,
        ] {
            assert!(parsed(limits).check().is_err(), "{limits}");
        }
        let negative = r#"{"buckets":{"a/*":{"requestsPerMinute":-1}}}"#;
        assert!(serde_json::from_str::<FleetLimits>(negative).is_err());
    }
}
