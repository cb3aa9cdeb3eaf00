//! Detects context overflow: a conversation that exceeds the model's context window.
//!
//! There is no common error code: each service has its own error message, some accept the request
//! and report an impossible size, and some truncate the prompt silently. The messages are a table
//! with a test case for every service.

use crate::message::AssistantMessage;
use crate::model::Model;
use crate::stop_reason::StopReason;
use crate::text_pattern::{any_matches, matches};

/// Messages that mention tokens but mean something else.
const NON_OVERFLOW_ERRORS: [&str; 4] = [
    "^throttling error:",
    "^service unavailable:",
    "rate limit",
    "too many requests",
];

/// Messages for prompts that are too long; see [`crate::text_pattern`] for the syntax.
const OVERFLOW_ERRORS: [&str; 28] = [
    "prompt [is ]too long",
    "prompt exceeds max length",
    "request_too_large",
    "input is too long for requested model",
    "exceeds the context window",
    "exceeds [the ][model's ][models ]maximum context length of # token",
    "exceeds [the ][model's ][models ]maximum context length[ ](#)",
    "context window exceeded",
    "input token count*exceeds the maximum",
    "maximum prompt length is #",
    "reduce the length of the messages",
    "maximum context length is # tokens",
    "exceeds [the ]maximum allowed input length of # token",
    "input (# tokens) is longer than the model[']s context length (# tokens)",
    "exceeds the limit of #",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "too large for model with # maximum context length",
    "prompt has # token[s], but the configured context size is # token",
    "model_context_window_exceeded",
    "range of input length should be",
    "context?length?exceeded",
    "too many tokens",
    "token limit exceeded",
    // HTTP 413 is about the size of the request, whatever the body says.
    "^413>",
    "^* api error (413):",
];

/// Cerebras rejects a long prompt with only a status code.
const CEREBRAS_OVERFLOW_ERRORS: [&str; 2] = [
    "^400[ ][status code][bad request][ ](no body)",
    "^413[ ][status code][payload too large][ ](no body)",
];

/// A prompt that fills this percentage of the window was truncated to fit.
const FULL_WINDOW_PERCENT: u64 = 99;

/// Returns whether a response failed, or is useless, because the context was too large.
///
/// A window of 0 is unknown; then only error messages are checked.
pub fn is_context_overflow(message: &AssistantMessage, context_window: u64) -> bool {
    let prompt = message.usage.input.saturating_add(message.usage.cache_read);
    match message.stop_reason {
        StopReason::Error => message.error_message.as_deref().is_some_and(|text| {
            is_overflow_text(text)
                || (message.provider == "cerebras" && is_bodyless_rejection(text))
        }),
        // z.ai accepts more than fits and reports it.
        StopReason::Stop => context_window > 0 && prompt > context_window,
        // Xiaomi truncates the prompt to the window, which leaves no room for output.
        StopReason::Length => {
            context_window > 0
                && message.usage.output == 0
                && prompt.saturating_mul(100) >= context_window.saturating_mul(FULL_WINDOW_PERCENT)
        }
        StopReason::Pending | StopReason::ToolUse | StopReason::Aborted | StopReason::Deferred => {
            false
        }
    }
}

/// Returns whether an error message means that the prompt is too long.
pub fn is_overflow_text(text: &str) -> bool {
    !any_matches(&NON_OVERFLOW_ERRORS, text) && any_matches(&OVERFLOW_ERRORS, text)
}

fn is_bodyless_rejection(text: &str) -> bool {
    CEREBRAS_OVERFLOW_ERRORS
        .iter()
        .any(|pattern| matches(pattern, text))
}

/// Returns whether a response was cut off below the model's own output limit, so a shorter context
/// may let it finish.
pub fn is_recoverable_length(message: &AssistantMessage, model: &Model) -> bool {
    message.stop_reason == StopReason::Length && message.usage.output < model.max_tokens
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::usage::Usage;

    fn failed(provider: &str, text: &str) -> AssistantMessage {
        AssistantMessage {
            provider: provider.into(),
            stop_reason: StopReason::Error,
            error_message: Some(text.into()),
            ..AssistantMessage::default()
        }
    }

    #[test]
    fn overflow_errors_of_all_services_are_detected() {
        for (provider, text) in [
            (
                "anthropic",
                "prompt is too long: 250001 tokens > 200000 maximum",
            ),
            (
                "anthropic",
                r#"413 {"error":{"type":"request_too_large","message":"too big"}}"#,
            ),
            (
                "amazon-bedrock",
                "Validation error: Input is too long for requested model.",
            ),
            (
                "openai",
                "400 Your input exceeds the context window of this model.",
            ),
            (
                "litellm",
                "Token count exceeds the model's maximum context length of 131,072 tokens",
            ),
            (
                "compatible",
                "Input length (9) exceeds model's maximum context length (8).",
            ),
            ("compatible", "It exceeds maximum context length(8)"),
            (
                "google",
                "The input token count (1200000) exceeds the maximum number of tokens (1)",
            ),
            (
                "xai",
                "This model's maximum prompt length is 131072 but 537812 were given",
            ),
            (
                "groq",
                "Please reduce the length of the messages or completion",
            ),
            (
                "openrouter",
                "This endpoint's maximum context length is 8192 tokens. You sent more",
            ),
            (
                "openrouter",
                "Input length 9 exceeds the maximum allowed input length of 8 tokens.",
            ),
            (
                "together",
                "The input (9 tokens) is longer than the model's context length (8 tokens).",
            ),
            (
                "github-copilot",
                "prompt token count of 140000 exceeds the limit of 128000",
            ),
            (
                "llama.cpp",
                "the request exceeds the available context size, try increasing it",
            ),
            (
                "lm-studio",
                "The number of tokens to keep is greater than the context length",
            ),
            (
                "minimax",
                "invalid params, context window exceeds limit (2013)",
            ),
            (
                "kimi-coding",
                "Your request exceeded model token limit: 262144 (requested: 300000)",
            ),
            (
                "mistral",
                "Prompt has 9 tokens, too large for model with 8 maximum context length",
            ),
            (
                "ds4",
                "Prompt has 1,234 tokens, but the configured context size is 1,024 tokens",
            ),
            ("zai", r#"{"code":"1261","message":"Prompt too long"}"#),
            (
                "zai",
                "Provider finish_reason: model_context_window_exceeded",
            ),
            (
                "ollama",
                "prompt too long; exceeded max context length by 4 tokens",
            ),
            (
                "qwen-token-plan",
                "Range of input length should be [1, 129024]",
            ),
            (
                "zai",
                r#"{"code":"1261","message":"Prompt exceeds max length"}"#,
            ),
            ("litellm", "Context Window exceeded for given call."),
            (
                "github-copilot",
                r#"413 {"message":"failed to parse request"}"#,
            ),
            (
                "github-copilot",
                "github-copilot API error (413): failed to parse request",
            ),
            ("any", r#"{"code":"context_length_exceeded"}"#),
            ("any", "Context length exceeded"),
            ("any", "Too many tokens in the request"),
            ("any", "token limit exceeded"),
            ("cerebras", "400 status code (no body)"),
            ("cerebras", "413 (no body)"),
            ("cerebras", "400 Bad Request (no body)"),
            ("cerebras", "413 Payload Too Large (no body)"),
        ] {
            assert!(
                is_context_overflow(&failed(provider, text), 0),
                "{provider}: {text}"
            );
        }
    }

    #[test]
    fn other_errors_are_not_overflows() {
        for (provider, text) in [
            (
                "amazon-bedrock",
                "Throttling error: Too many tokens, please wait and try again.",
            ),
            (
                "amazon-bedrock",
                "Service unavailable: too many tokens in flight",
            ),
            ("any", "429 Rate limit reached: too many tokens per minute"),
            ("any", "Too many requests: token limit exceeded"),
            (
                "openai",
                "max_tokens exceeds the maximum context length allowed here",
            ),
            ("openai", "400 status code (no body)"),
            ("cerebras", "500 status code (no body)"),
            ("any", "Invalid API key"),
            ("any", "400 see status 413 of the last request"),
            ("any", "4130 is not a status"),
        ] {
            assert!(
                !is_context_overflow(&failed(provider, text), 0),
                "{provider}: {text}"
            );
        }
        let aborted = AssistantMessage {
            stop_reason: StopReason::Aborted,
            ..failed("any", "prompt is too long")
        };
        assert!(!is_context_overflow(&aborted, 1));
    }

    #[test]
    fn impossible_usage_is_an_overflow() {
        for (stop_reason, input, cache_read, output, window, expected) in [
            (StopReason::Stop, 900, 101, 5, 1000, true),
            (StopReason::Stop, 900, 100, 5, 1000, false),
            (StopReason::Stop, 900, 200, 5, 0, false),
            (StopReason::Length, 900, 90, 0, 1000, true),
            (StopReason::Length, 900, 89, 0, 1000, false),
            (StopReason::Length, 900, 100, 1, 1000, false),
            (StopReason::ToolUse, 2000, 0, 0, 1000, false),
        ] {
            let message = AssistantMessage {
                stop_reason,
                usage: Usage {
                    input,
                    output,
                    cache_read,
                    ..Usage::default()
                },
                ..AssistantMessage::default()
            };
            assert_eq!(
                is_context_overflow(&message, window),
                expected,
                "{message:?} {window}"
            );
        }
    }

    #[test]
    fn length_stop_below_the_limit_is_recoverable() {
        let model: Model = serde_json::from_value(json!({
            "id": "alpha", "name": "Alpha", "api": "openai-completions", "provider": "mock",
            "baseUrl": "http://127.0.0.1:9", "reasoning": false, "input": ["text"],
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
            "contextWindow": 1000, "maxTokens": 100
        }))
        .unwrap();
        for (stop_reason, output, expected) in [
            (StopReason::Length, 99, true),
            (StopReason::Length, 100, false),
            (StopReason::Stop, 10, false),
        ] {
            let message = AssistantMessage {
                stop_reason,
                usage: Usage {
                    output,
                    ..Usage::default()
                },
                ..AssistantMessage::default()
            };
            assert_eq!(
                is_recoverable_length(&message, &model),
                expected,
                "{message:?}"
            );
        }
    }
}
