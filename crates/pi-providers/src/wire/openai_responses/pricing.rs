//! Token counts of a response, and the effect of the service tier on its cost.
//!
//! The token price is the model's; a tier only multiplies it.

use pi_protocol::{Cost, Model, Usage};

use super::events::ResponseUsage;

/// The only model whose priority tier costs more than twice the standard price.
const MODEL_WITH_HIGHER_PRIORITY_PRICE: &str = "gpt-5.5";

/// How the tier of a request changes its cost.
#[derive(Debug, Clone, Default)]
pub(crate) struct TierPricing {
    requested: Option<String>,
    priority_factor: Option<f64>,
    rule: TierRule,
}

/// Which tier applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TierRule {
    /// The tier of the response, else the requested one.
    #[default]
    AsReported,
    /// Like `AsReported`, but a response tier of `default` means the requested one: Codex reports
    /// it for every tier.
    RequestedIfDefault,
}

impl TierPricing {
    pub(crate) fn new(model: &Model, requested: Option<&str>, rule: TierRule) -> Self {
        let expensive = model.id == MODEL_WITH_HIGHER_PRIORITY_PRICE;
        Self {
            requested: requested.map(str::to_owned),
            priority_factor: Some(if expensive { 2.5 } else { 2.0 }),
            rule,
        }
    }

    /// Returns the price multiplier; 1.0 without tier pricing.
    pub(super) fn factor(&self, reported_tier: Option<&str>) -> f64 {
        let Some(priority_factor) = self.priority_factor else {
            return 1.0;
        };
        let requested = self.requested.as_deref();
        let tier = match (reported_tier, requested) {
            (Some("default"), Some(requested @ ("flex" | "priority" | "fast")))
                if self.rule == TierRule::RequestedIfDefault =>
            {
                Some(requested)
            }
            (reported_tier, requested) => reported_tier.or(requested),
        };
        match tier {
            Some("flex") => 0.5,
            Some("priority" | "fast") => priority_factor,
            Some(_) | None => 1.0,
        }
    }
}

/// Converts token counts. The service includes cached tokens in the input; we do not.
pub(super) fn usage(reported: &ResponseUsage) -> Usage {
    let details = reported.input_tokens_details.as_ref();
    let cache_read = details
        .and_then(|details| details.cached_tokens)
        .unwrap_or(0);
    let cache_write = details
        .and_then(|details| details.cache_write_tokens)
        .unwrap_or(0);
    let reasoning = reported
        .output_tokens_details
        .as_ref()
        .and_then(|details| details.reasoning_tokens);
    Usage {
        input: reported
            .input_tokens
            .unwrap_or(0)
            .saturating_sub(cache_read)
            .saturating_sub(cache_write),
        output: reported.output_tokens.unwrap_or(0),
        cache_read,
        cache_write,
        reasoning: Some(reasoning.unwrap_or(0)),
        total_tokens: reported.total_tokens.unwrap_or(0),
        ..Usage::default()
    }
}

pub(super) fn scale(cost: &mut Cost, factor: f64) {
    if factor == 1.0 {
        return;
    }
    cost.input *= factor;
    cost.output *= factor;
    cost.cache_read *= factor;
    cost.cache_write *= factor;
    cost.total = cost.input + cost.output + cost.cache_read + cost.cache_write;
}

#[cfg(test)]
mod tests {
    use pi_protocol::api;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::wire::testing::model;

    #[test]
    fn the_tier_sets_the_factor() {
        use TierRule::{AsReported, RequestedIfDefault};
        let cases = [
            ("alpha", None, None, AsReported, 1.0),
            ("alpha", None, Some("flex"), AsReported, 0.5),
            ("alpha", Some("priority"), None, AsReported, 2.0),
            ("gpt-5.5", Some("priority"), None, AsReported, 2.5),
            ("alpha", Some("fast"), None, AsReported, 2.0),
            ("alpha", Some("priority"), Some("default"), AsReported, 1.0),
            (
                "alpha",
                Some("priority"),
                Some("default"),
                RequestedIfDefault,
                2.0,
            ),
            (
                "alpha",
                Some("flex"),
                Some("priority"),
                RequestedIfDefault,
                2.0,
            ),
            (
                "alpha",
                Some("auto"),
                Some("default"),
                RequestedIfDefault,
                1.0,
            ),
        ];
        for (id, requested, reported_tier, rule, factor) in cases {
            let model = model(api::OPENAI_RESPONSES, json!({"id": id}));
            let pricing = TierPricing::new(&model, requested, rule);
            assert_eq!(
                pricing.factor(reported_tier),
                factor,
                "{id} {requested:?} {reported_tier:?}"
            );
        }
        assert_eq!(TierPricing::default().factor(Some("flex")), 1.0);
    }
}
