//! How many tokens a request may ask for, and how many of them are for thinking.

use crate::estimate::context_tokens;
use crate::options::ModelRequest;

/// Room kept free in the window, because the size of the prompt is an estimate.
const WINDOW_RESERVE: u64 = 4096;

/// Tokens an answer keeps when thinking shares its ceiling.
const ANSWER_RESERVE: u64 = 1024;

/// The output limit of a request and the part of it reserved for thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThinkingAllowance {
    /// The output limit, thinking included.
    pub max_tokens: u64,
    pub budget: u64,
}

/// Returns the output limit: what was asked for or the model's own, as far as the window allows.
pub(crate) fn output_limit(request: &ModelRequest) -> u64 {
    window_room(request).clamp(wanted(request))
}

/// Returns the output limit and thinking budget for APIs where both share one ceiling.
///
/// The budget is added to what was asked for, so that thinking does not eat the answer; only the
/// model's own limit and the window hold it back.
pub(crate) fn thinking_allowance(request: &ModelRequest) -> ThinkingAllowance {
    let room = window_room(request);
    let budget = request
        .options
        .thinking_budgets
        .for_level(request.options.reasoning);
    let wanted = room.clamp(wanted(request)).saturating_add(budget);
    let max_tokens = room.clamp(wanted.min(request.model.max_tokens));
    ThinkingAllowance {
        max_tokens,
        budget: answer_room(budget, max_tokens),
    }
}

/// Returns the part of a thinking budget that leaves room for an answer under the ceiling.
pub(crate) fn answer_room(budget: u64, ceiling: u64) -> u64 {
    budget.min(ceiling.saturating_sub(ANSWER_RESERVE))
}

fn wanted(request: &ModelRequest) -> u64 {
    request
        .options
        .max_tokens
        .unwrap_or(request.model.max_tokens)
}

/// What the window leaves for an answer.
#[derive(Debug, Clone, Copy)]
enum Room {
    /// So many tokens; at least one, so that the service and not we refuse a full window.
    Tokens(u64),
    /// The size of the window is not known.
    Unknown,
}

impl Room {
    fn clamp(self, tokens: u64) -> u64 {
        match self {
            Self::Tokens(room) => tokens.min(room),
            Self::Unknown => tokens.max(1),
        }
    }
}

fn window_room(request: &ModelRequest) -> Room {
    let window = request.model.context_window;
    if window == 0 {
        return Room::Unknown;
    }
    let used = context_tokens(&request.messages).tokens;
    Room::Tokens(
        window
            .saturating_sub(used)
            .saturating_sub(WINDOW_RESERVE)
            .max(1),
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::model::api;
    use crate::options::StreamOptions;
    use crate::thinking::ThinkingLevel;
    use crate::wire::testing;

    /// A request whose transcript is estimated at 1000 tokens.
    fn request(window: u64, model_limit: u64, asked: Option<u64>) -> ModelRequest {
        let model = testing::model(
            api::ANTHROPIC_MESSAGES,
            json!({"contextWindow": window, "maxTokens": model_limit}),
        );
        let messages = json!([{"role": "user", "content": "x".repeat(4000)}]);
        let options = StreamOptions {
            max_tokens: asked,
            reasoning: ThinkingLevel::Medium,
            ..StreamOptions::default()
        };
        testing::request(model, messages, options)
    }

    #[test]
    fn the_window_bounds_what_is_asked_for() {
        for (window, model_limit, asked, expected) in [
            (200_000, 8000, None, 8000),
            (200_000, 8000, Some(500), 500),
            (200_000, 8000, Some(64_000), 64_000),
            (10_000, 8000, None, 4904),
            (5000, 8000, None, 1),
            (0, 8000, None, 8000),
            (0, 8000, Some(0), 1),
        ] {
            let request = request(window, model_limit, asked);
            assert_eq!(
                output_limit(&request),
                expected,
                "{window} {model_limit} {asked:?}"
            );
        }
    }

    #[test]
    fn thinking_is_added_to_the_answer_within_the_limits() {
        for (window, model_limit, asked, max_tokens, budget) in [
            (200_000, 64_000, Some(4000), 12_192, 8192),
            (200_000, 64_000, None, 64_000, 8192),
            (200_000, 9000, Some(4000), 9000, 7976),
            (200_000, 8192, None, 8192, 7168),
            (10_000, 64_000, None, 4904, 3880),
            (5000, 64_000, None, 1, 0),
        ] {
            assert_eq!(
                thinking_allowance(&request(window, model_limit, asked)),
                ThinkingAllowance { max_tokens, budget },
                "{window} {model_limit} {asked:?}"
            );
        }
    }
}
