//! Output and thinking token limits of a request.

use pi_protocol::estimate::context_tokens;

use crate::options::ModelRequest;

/// Space kept free in the context window, because the prompt size is an estimate.
const WINDOW_RESERVE: u64 = 4096;

/// Output tokens reserved for the response if thinking counts toward the output limit.
const RESPONSE_RESERVE: u64 = 1024;

/// Output limit of a request and the part of it reserved for thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingAllowance {
    /// Output limit, including thinking.
    pub max_tokens: u64,
    pub budget: u64,
}

/// Returns the output limit: the requested one or the model's, capped by the context window.
pub fn output_limit(request: &ModelRequest) -> u64 {
    available_output(request).clamp(requested_tokens(request))
}

/// Returns the output limit and thinking budget for APIs where both share one limit.
///
/// The budget is added to the requested output, so thinking does not reduce the response; only the
/// model's limit and the context window cap the sum.
pub fn thinking_allowance(request: &ModelRequest) -> ThinkingAllowance {
    let available = available_output(request);
    let budget = request
        .options
        .thinking_budgets
        .for_level(request.options.reasoning);
    let requested_tokens = available
        .clamp(requested_tokens(request))
        .saturating_add(budget);
    let max_tokens = available.clamp(requested_tokens.min(request.model.max_tokens));
    ThinkingAllowance {
        max_tokens,
        budget: cap_thinking_budget(budget, max_tokens),
    }
}

/// Caps a thinking budget so that it leaves room for the response.
pub(crate) fn cap_thinking_budget(budget: u64, ceiling: u64) -> u64 {
    budget.min(ceiling.saturating_sub(RESPONSE_RESERVE))
}

fn requested_tokens(request: &ModelRequest) -> u64 {
    request
        .options
        .max_tokens
        .unwrap_or(request.model.max_tokens)
}

/// Space left in the context window for output.
#[derive(Debug, Clone, Copy)]
enum AvailableOutput {
    /// At least 1, so that a full window is rejected by the service rather than by us.
    Tokens(u64),
    /// The window size is unknown.
    Unknown,
}

impl AvailableOutput {
    fn clamp(self, tokens: u64) -> u64 {
        match self {
            Self::Tokens(available) => tokens.min(available),
            Self::Unknown => tokens.max(1),
        }
    }
}

fn available_output(request: &ModelRequest) -> AvailableOutput {
    let window = request.model.context_window;
    if window == 0 {
        return AvailableOutput::Unknown;
    }
    let used = context_tokens(&request.messages).tokens;
    AvailableOutput::Tokens(
        window
            .saturating_sub(used)
            .saturating_sub(WINDOW_RESERVE)
            .max(1),
    )
}

#[cfg(test)]
mod tests {
    use pi_protocol::{ThinkingLevel, api};
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::options::StreamOptions;
    use crate::wire::testing;

    /// A request with an estimated transcript size of 1000 tokens.
    fn request(window: u64, model_limit: u64, requested: Option<u64>) -> ModelRequest {
        let model = testing::model(
            api::ANTHROPIC_MESSAGES,
            json!({"contextWindow": window, "maxTokens": model_limit}),
        );
        let messages = json!([{"role": "user", "content": "x".repeat(3500)}]);
        let options = StreamOptions {
            max_tokens: requested,
            reasoning: ThinkingLevel::Medium,
            ..StreamOptions::default()
        };
        testing::request(model, messages, options)
    }

    #[test]
    fn context_window_caps_the_requested_output() {
        for (window, model_limit, requested, expected) in [
            (200_000, 8000, None, 8000),
            (200_000, 8000, Some(500), 500),
            (200_000, 8000, Some(64_000), 64_000),
            (10_000, 8000, None, 4904),
            (5000, 8000, None, 1),
            (0, 8000, None, 8000),
            (0, 8000, Some(0), 1),
        ] {
            let request = request(window, model_limit, requested);
            assert_eq!(
                output_limit(&request),
                expected,
                "{window} {model_limit} {requested:?}"
            );
        }
    }

    #[test]
    fn thinking_is_added_to_the_output_within_the_limits() {
        for (window, model_limit, requested, max_tokens, budget) in [
            (200_000, 64_000, Some(4000), 12_192, 8192),
            (200_000, 64_000, None, 64_000, 8192),
            (200_000, 9000, Some(4000), 9000, 7976),
            (200_000, 8192, None, 8192, 7168),
            (10_000, 64_000, None, 4904, 3880),
            (5000, 64_000, None, 1, 0),
        ] {
            assert_eq!(
                thinking_allowance(&request(window, model_limit, requested)),
                ThinkingAllowance { max_tokens, budget },
                "{window} {model_limit} {requested:?}"
            );
        }
    }
}
