//! Token usage and cost.

use serde::{Deserialize, Serialize};

use crate::json::{JsonObject, lenient_optional_u64, lenient_u64, null_as_default};
use crate::model::{ModelCost, TokenRates};

const TOKENS_PER_PRICE_UNIT: f64 = 1_000_000.0;

/// Anthropic prices a one-hour cache write at twice the base input rate.
const ONE_HOUR_WRITE_FACTOR: f64 = 2.0;

/// Tokens used by a response, and their cost in US dollars.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input tokens neither read from nor written to the cache.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub input: u64,
    /// Output tokens, including reasoning.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub output: u64,
    /// Input tokens read from the prompt cache.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub cache_write: u64,
    /// The part of `cache_write` with one-hour retention.
    #[serde(
        rename = "cacheWrite1h",
        default,
        deserialize_with = "lenient_optional_u64",
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_write_1h: Option<u64>,
    /// The part of `output` spent on thinking, if the provider reports it.
    #[serde(
        default,
        deserialize_with = "lenient_optional_u64",
        skip_serializing_if = "Option::is_none"
    )]
    pub reasoning: Option<u64>,
    /// All input and output tokens.
    #[serde(default, deserialize_with = "lenient_u64")]
    pub total_tokens: u64,
    #[serde(default, deserialize_with = "null_as_default")]
    pub cost: Cost,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

/// Cost in US dollars by token type. JavaScript writes costs that it could not compute as `null`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Cost {
    #[serde(deserialize_with = "null_as_default")]
    pub input: f64,
    #[serde(deserialize_with = "null_as_default")]
    pub output: f64,
    #[serde(deserialize_with = "null_as_default")]
    pub cache_read: f64,
    #[serde(deserialize_with = "null_as_default")]
    pub cache_write: f64,
    #[serde(deserialize_with = "null_as_default")]
    pub total: f64,
    /// Whether `total` is what the provider billed instead of computed from the catalog; absent if
    /// nothing was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_from_provider: Option<bool>,
    /// Unknown fields, preserved on round trip.
    #[serde(flatten)]
    pub extra: JsonObject,
}

impl Usage {
    /// Returns the context size: the reported total, or the sum of the parts if the provider
    /// reports none.
    pub fn context_tokens(&self) -> u64 {
        if self.total_tokens > 0 {
            self.total_tokens
        } else {
            self.prompt_tokens().saturating_add(self.output)
        }
    }

    /// Returns all input tokens: uncached input, cache reads and cache writes.
    pub fn prompt_tokens(&self) -> u64 {
        let cached = self.cache_read.saturating_add(self.cache_write);
        self.input.saturating_add(cached)
    }

    /// Returns the sum of two usages. Its total counts as billed only if both totals are.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let either = |first: Option<u64>, second: Option<u64>| match (first, second) {
            (None, None) => None,
            _ => Some(
                first
                    .unwrap_or_default()
                    .saturating_add(second.unwrap_or_default()),
            ),
        };
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_1h: either(self.cache_write_1h, other.cache_write_1h),
            reasoning: either(self.reasoning, other.reasoning),
            total_tokens: self.total_tokens.saturating_add(other.total_tokens),
            cost: self.cost.plus(&other.cost),
            extra: JsonObject::new(),
        }
    }

    /// Prices the tokens and stores the result in `cost`.
    pub fn apply_cost(&mut self, prices: &ModelCost) {
        self.cost = self.priced(prices);
    }

    fn priced(&self, prices: &ModelCost) -> Cost {
        let rates = prices.rates_for(self.prompt_tokens());
        let long_writes = self.cache_write_1h.unwrap_or(0).min(self.cache_write);
        let short_writes = self.cache_write - long_writes;
        let input = price(self.input, rates.input);
        let output = price(self.output, rates.output);
        let cache_read = price(self.cache_read, rates.cache_read);
        let cache_write = price(short_writes, rates.cache_write)
            + price(long_writes, rates.input * ONE_HOUR_WRITE_FACTOR);
        Cost {
            input,
            output,
            cache_read,
            cache_write,
            total: input + output + cache_read + cache_write,
            total_from_provider: Some(false),
            extra: JsonObject::new(),
        }
    }
}

impl Cost {
    fn plus(&self, other: &Self) -> Self {
        let is_billed = |cost: &Self| cost.total_from_provider == Some(true);
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            total: self.total + other.total,
            total_from_provider: Some(is_billed(self) && is_billed(other)),
            extra: JsonObject::new(),
        }
    }
}

impl ModelCost {
    /// Returns the rates for a prompt of the given size: those of the highest tier it exceeds.
    pub fn rates_for(&self, prompt_tokens: u64) -> &TokenRates {
        self.tiers
            .iter()
            .filter(|tier| prompt_tokens > tier.input_tokens_above)
            .max_by_key(|tier| tier.input_tokens_above)
            .map_or(&self.rates, |tier| &tier.rates)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts stay far below 2^53"
)]
fn price(tokens: u64, dollars_per_million: f64) -> f64 {
    dollars_per_million / TOKENS_PER_PRICE_UNIT * tokens as f64
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::model::CostTier;

    fn rates(input: f64) -> TokenRates {
        TokenRates {
            input,
            output: input * 5.0,
            cache_read: input / 10.0,
            cache_write: input * 1.25,
        }
    }

    #[test]
    fn long_prompt_is_priced_by_the_highest_tier_it_exceeds() {
        let prices = ModelCost {
            rates: rates(1.0),
            tiers: vec![
                CostTier {
                    input_tokens_above: 500_000,
                    rates: rates(4.0),
                },
                CostTier {
                    input_tokens_above: 200_000,
                    rates: rates(2.0),
                },
            ],
        };
        assert_eq!(prices.rates_for(200_000).input, 1.0);
        assert_eq!(prices.rates_for(200_001).input, 2.0);
        assert_eq!(prices.rates_for(500_001).input, 4.0);
    }

    #[test]
    fn a_sum_is_billed_by_the_provider_only_if_every_part_is() {
        let usage = |total_from_provider| Usage {
            cost: Cost {
                total: 0.5,
                total_from_provider,
                ..Cost::default()
            },
            ..Usage::default()
        };
        for (other, is_billed) in [(Some(true), true), (Some(false), false), (None, false)] {
            let sum = usage(Some(true)).plus(&usage(other));
            assert_eq!(sum.cost.total, 1.0);
            assert_eq!(sum.cost.total_from_provider, Some(is_billed), "{other:?}");
        }
    }

    #[test]
    fn one_hour_writes_cost_twice_the_input_rate() {
        let mut usage = Usage {
            cache_write: 1_000_000,
            cache_write_1h: Some(400_000),
            ..Usage::default()
        };
        usage.apply_cost(&ModelCost {
            rates: rates(3.0),
            tiers: Vec::new(),
        });
        assert!((usage.cost.cache_write - (0.6 * 3.75 + 0.4 * 6.0)).abs() < 1e-9);
        assert!((usage.cost.total - usage.cost.cache_write).abs() < 1e-12);
    }
}
