//! The thinking settings of a request, by the vendor of its model.

use pi_protocol::ThinkingLevel;
use pi_providers::{ModelRequest, token_limits};
use serde_json::{Value, json};

use super::capabilities::{BedrockCapabilities, OpenAiEffort};
use super::endpoint::is_gov_cloud;

const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";
/// Drops thinking that no longer matches its prefix.
const THINKING_BINDING: &str = "thinking-binding-controls-2026-08-01";

/// Thinking configuration of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConverseThinking<'request> {
    /// The model does not support thinking, or it is off.
    Omitted,
    /// With a token budget.
    Budget,
    /// Adaptive, controlled by an effort.
    Adaptive {
        effort: &'request str,
        /// Thinking that no longer matches its prefix is dropped instead of failing the request.
        drops_stale: bool,
    },
    /// The effort of an OpenAI model.
    OpenAi(OpenAiEffort, &'request str),
}

impl<'request> ConverseThinking<'request> {
    pub(super) fn for_request(
        request: &'request ModelRequest,
        capabilities: BedrockCapabilities,
    ) -> Self {
        let level = request.options.reasoning;
        if level == ThinkingLevel::Off || !request.model.reasoning {
            return Self::Omitted;
        }
        let mapped = request.model.mapped_thinking_level(level).flatten();
        if let Some(field) = capabilities.openai {
            let mapped = mapped.filter(|_| field == OpenAiEffort::Reasoning);
            return Self::OpenAi(field, mapped.unwrap_or(openai_effort(field, level)));
        }
        if !capabilities.claude {
            return Self::Omitted;
        }
        if !capabilities.adaptive_thinking {
            return Self::Budget;
        }
        let effort = match level {
            ThinkingLevel::Xhigh if capabilities.extra_high_effort => "xhigh",
            level => mapped.unwrap_or(match level {
                ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
                ThinkingLevel::Medium => "medium",
                ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => "high",
            }),
        };
        Self::Adaptive {
            effort,
            drops_stale: capabilities.extra_high_effort,
        }
    }

    /// Claude rejects a temperature combined with thinking.
    pub(super) fn accepts_temperature(self) -> bool {
        matches!(self, Self::Omitted | Self::OpenAi(..))
    }

    pub(super) fn max_tokens(self, request: &ModelRequest) -> u64 {
        match self {
            Self::Budget => token_limits::thinking_allowance(request).max_tokens,
            Self::Omitted | Self::Adaptive { .. } | Self::OpenAi(..) => {
                token_limits::output_limit(request)
            }
        }
    }

    pub(super) fn fields(self, request: &ModelRequest, region: &str) -> Option<Value> {
        let option = |name: &str| request.options.provider_option(name);
        // The government regions reject newer fields.
        let is_gov_cloud = is_gov_cloud(&request.model, region);
        let mut thinking = match self {
            Self::Omitted => return None,
            Self::OpenAi(OpenAiEffort::Reasoning, effort) => {
                return Some(json!({"reasoning": {"effort": effort}}));
            }
            Self::OpenAi(OpenAiEffort::ReasoningEffort, effort) => {
                return Some(json!({"reasoning_effort": effort}));
            }
            Self::Budget => json!({"type": "enabled",
                "budget_tokens": token_limits::thinking_allowance(request).budget}),
            Self::Adaptive { .. } => json!({"type": "adaptive"}),
        };
        if !is_gov_cloud {
            let display = option("thinkingDisplay").and_then(Value::as_str);
            thinking["display"] = display.unwrap_or("summarized").into();
        }
        let interleaved = option("interleavedThinking").and_then(Value::as_bool);
        let (effort, beta) = match self {
            Self::Adaptive {
                effort,
                drops_stale,
            } => {
                let binds = drops_stale && !is_gov_cloud;
                if binds {
                    thinking["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
                }
                (Some(effort), binds.then_some(THINKING_BINDING))
            }
            _ => (
                None,
                interleaved.unwrap_or(true).then_some(INTERLEAVED_THINKING),
            ),
        };
        let mut fields = json!({ "thinking": thinking });
        if let Some(effort) = effort {
            fields["output_config"] = json!({ "effort": effort });
        }
        if let Some(beta) = beta {
            fields["anthropic_beta"] = json!([beta]);
        }
        Some(fields)
    }
}

/// Returns the effort of an OpenAI model that does not map the level.
fn openai_effort(field: OpenAiEffort, level: ThinkingLevel) -> &'static str {
    match (field, level) {
        (_, ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low) => "low",
        (_, ThinkingLevel::Medium) => "medium",
        (OpenAiEffort::Reasoning, ThinkingLevel::Xhigh) => "xhigh",
        (OpenAiEffort::Reasoning, ThinkingLevel::Max) => "max",
        (_, ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max) => "high",
    }
}
