//! What OpenRouter reports beyond the APIs it speaks: the price it billed for a response.

use pi_protocol::json::JsonObject;
use pi_protocol::{Cost, Model};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Whether requests for the model go to OpenRouter.
pub(super) fn is_openrouter(model: &Model) -> bool {
    model.provider == "openrouter" || model.base_url.contains("openrouter.ai")
}

/// The price in a usage report. Its fields are absent in reports of other services.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct BilledCost {
    cost: Option<f64>,
    /// Whether the user's own key of another provider paid for the response.
    is_byok: Option<bool>,
    cost_details: Option<UpstreamCost>,
}

/// What the other provider billed to the user's own key.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(default)]
struct UpstreamCost {
    #[serde(rename = "upstream_inference_cost")]
    total: Option<f64>,
    #[serde(rename = "upstream_inference_prompt_cost")]
    prompt: Option<f64>,
    #[serde(rename = "upstream_inference_completions_cost")]
    completion: Option<f64>,
}

impl BilledCost {
    /// Reads the price from a usage report; one that is invalid is ignored.
    pub(super) fn from_report(report: &RawValue) -> Option<Self> {
        serde_json::from_str(report.get()).ok()
    }

    /// Reads the price from the fields of a usage report besides the token counts.
    pub(super) fn from_fields(fields: &JsonObject) -> Option<Self> {
        Self::deserialize(fields).ok()
    }

    /// Replaces the total computed from the catalog if the report says who paid and how much.
    pub(super) fn apply(&self, cost: &mut Cost) {
        if let Some(total) = self.total() {
            cost.total = total;
            cost.total_from_provider = Some(true);
        }
    }

    fn total(&self) -> Option<f64> {
        let own = valid_price(self.cost)?;
        if !self.is_byok? {
            return Some(own);
        }
        let details = self.cost_details.as_ref()?;
        let upstream = match details.total {
            Some(cost) => valid_price(Some(cost))?,
            None => valid_price(details.prompt)? + valid_price(details.completion)?,
        };
        Some(own + upstream)
    }
}

fn valid_price(price: Option<f64>) -> Option<f64> {
    price.filter(|price| price.is_finite() && *price >= 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_billed_price_is_the_total_when_the_report_says_who_paid() {
        let cases: [(Value, Option<f64>); 7] = [
            (json!({"cost": 0.5, "is_byok": false}), Some(0.5)),
            (json!({"cost": 0.5}), None),
            (json!({"cost": -1.0, "is_byok": false}), None),
            (json!({"cost": 0.25, "is_byok": true}), None),
            (
                json!({"cost": 0.25, "is_byok": true, "cost_details": {"upstream_inference_cost": 0.125}}),
                Some(0.375),
            ),
            (
                json!({"cost": 0.25, "is_byok": true, "cost_details": {
                    "upstream_inference_cost": null,
                    "upstream_inference_prompt_cost": 0.5,
                    "upstream_inference_completions_cost": 0.25,
                }}),
                Some(1.0),
            ),
            (
                json!({"cost": 0.25, "is_byok": true, "cost_details": {"upstream_inference_cost": -0.125}}),
                None,
            ),
        ];
        for (report, total) in cases {
            let billed: BilledCost = serde_json::from_value(report.clone()).unwrap();
            let mut cost = Cost {
                total: 7.0,
                total_from_provider: Some(false),
                ..Cost::default()
            };
            billed.apply(&mut cost);
            assert_eq!(cost.total, total.unwrap_or(7.0), "{report}");
            assert_eq!(cost.total_from_provider, Some(total.is_some()), "{report}");
        }
    }
}
