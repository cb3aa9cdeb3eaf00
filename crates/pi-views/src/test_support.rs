//! Data for tests.

use std::sync::Arc;

use pi_protocol::{Modality, Model, ModelCost, TokenRates};

/// A model with prices that supports thinking and images.
pub fn model(provider: &str, id: &str) -> Arc<Model> {
    let mut name = id.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Arc::new(Model {
        id: id.to_owned(),
        name,
        api: "openai-completions".to_owned(),
        provider: provider.to_owned(),
        base_url: String::new(),
        reasoning: true,
        thinking_level_map: None,
        input: vec![Modality::Text, Modality::Image],
        input_limits: None,
        cost: ModelCost {
            rates: TokenRates {
                input: 3.0,
                output: 15.0,
                ..TokenRates::default()
            },
            tiers: Vec::new(),
        },
        prompt_cache: None,
        context_window: 200_000,
        max_tokens: 32_000,
        sampling_params: None,
        sampling_params_by_thinking_level: None,
        headers: None,
        compat: None,
        kind: None,
        extra: serde_json::Map::new(),
    })
}
