//! How many tokens a request may ask for, and how many of them are for thinking.

use crate::options::ModelRequest;

/// The output limit of a request and the part of it reserved for thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThinkingAllowance {
    /// The output limit, thinking included.
    pub max_tokens: u64,
    /// Tokens for thinking.
    pub budget: u64,
}

/// Returns the output limit: what was asked for or the model's own, as far as the window allows.
pub(crate) fn output_limit(request: &ModelRequest) -> u64 {
    request
        .options
        .max_tokens
        .unwrap_or(request.model.max_tokens)
}

/// Returns the output limit and thinking budget for APIs where both share one ceiling.
pub(crate) fn thinking_allowance(request: &ModelRequest) -> ThinkingAllowance {
    let budget = request
        .options
        .thinking_budgets
        .for_level(request.options.reasoning);
    ThinkingAllowance {
        max_tokens: output_limit(request),
        budget,
    }
}
