//! Token counts of a response, and what its service tier does to the price.
//!
//! The price of a token is the model's; a tier only multiplies it.

use super::events::ResponseUsage;
use crate::model::Model;
use crate::usage::{Cost, Usage};

/// The one model whose priority tier costs more than twice the ordinary price.
const MODEL_WITH_DEARER_PRIORITY: &str = "gpt-5.5";

/// How the tier that served a request changes its price.
#[derive(Debug, Clone, Default)]
pub(crate) struct TierPricing {
    requested: Option<String>,
    priority_factor: Option<f64>,
    rule: TierRule,
}

/// Which tier counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TierRule {
    /// The one the response names, else the one that was asked for.
    #[default]
    AsAnswered,
    /// The one that was asked for, too, when the response calls its tier `default`: Codex does so
    /// whatever the tier.
    AsAskedWhenDefault,
}

impl TierPricing {
    /// Prices a request to a model that asks for a tier.
    pub(crate) fn new(model: &Model, requested: Option<&str>, rule: TierRule) -> Self {
        let dear = model.id == MODEL_WITH_DEARER_PRIORITY;
        Self {
            requested: requested.map(str::to_owned),
            priority_factor: Some(if dear { 2.5 } else { 2.0 }),
            rule,
        }
    }

    /// Returns what the price is multiplied with; without prices of tiers, that is one.
    pub(super) fn factor(&self, answered: Option<&str>) -> f64 {
        let Some(priority_factor) = self.priority_factor else {
            return 1.0;
        };
        let requested = self.requested.as_deref();
        let tier = match (answered, requested) {
            (Some("default"), Some(asked @ ("flex" | "priority")))
                if self.rule == TierRule::AsAskedWhenDefault =>
            {
                Some(asked)
            }
            (answered, requested) => answered.or(requested),
        };
        match tier {
            Some("flex") => 0.5,
            Some("priority") => priority_factor,
            Some(_) | None => 1.0,
        }
    }
}

/// Reads token counts. The service counts cached tokens as input; we do not.
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

/// Multiplies a price.
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
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::model::api;
    use crate::wire::testing::model;

    #[test]
    fn the_tier_sets_the_factor() {
        use TierRule::{AsAnswered, AsAskedWhenDefault};
        let cases = [
            ("alpha", None, None, AsAnswered, 1.0),
            ("alpha", None, Some("flex"), AsAnswered, 0.5),
            ("alpha", Some("priority"), None, AsAnswered, 2.0),
            ("gpt-5.5", Some("priority"), None, AsAnswered, 2.5),
            ("alpha", Some("priority"), Some("default"), AsAnswered, 1.0),
            (
                "alpha",
                Some("priority"),
                Some("default"),
                AsAskedWhenDefault,
                2.0,
            ),
            (
                "alpha",
                Some("flex"),
                Some("priority"),
                AsAskedWhenDefault,
                2.0,
            ),
            (
                "alpha",
                Some("auto"),
                Some("default"),
                AsAskedWhenDefault,
                1.0,
            ),
        ];
        for (id, asked, answered, rule, factor) in cases {
            let model = model(api::OPENAI_RESPONSES, json!({"id": id}));
            let pricing = TierPricing::new(&model, asked, rule);
            assert_eq!(
                pricing.factor(answered),
                factor,
                "{id} {asked:?} {answered:?}"
            );
        }
        assert_eq!(TierPricing::default().factor(Some("flex")), 1.0);
    }
}
