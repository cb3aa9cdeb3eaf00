//! Capabilities of a model on Bedrock, derived from its ID and name.
//!
//! The Converse API is the same for all vendors, but thinking and caching are not. An application
//! inference profile hides the model behind an opaque ID, so the name is checked as well.

use pi_env::Env;
use pi_env::env_vars::BEDROCK_FORCE_CACHE;
use pi_protocol::Model;

/// Models with adaptive thinking, controlled by an effort.
const ADAPTIVE: [&str; 8] = [
    "opus-4-6",
    "opus-4-7",
    "opus-4-8",
    "opus-5",
    "sonnet-4-6",
    "sonnet-5",
    "haiku-5",
    "fable-5",
];

/// Models that support the effort `xhigh` and drop thinking that no longer matches its prefix.
const EXTRA_HIGH: [&str; 6] = [
    "opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "haiku-5", "fable-5",
];

/// Claude models that support cache points.
const CACHING: [&str; 7] = [
    "fable-5",
    "opus-5",
    "sonnet-5",
    "haiku-5",
    "-4-",
    "claude-3-7-sonnet",
    "claude-3-5-haiku",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BedrockCapabilities {
    /// An Anthropic model; only these accept thinking settings and signatures.
    pub claude: bool,
    pub adaptive_thinking: bool,
    /// Supports the effort `xhigh` and the binding of thinking to its prefix.
    pub extra_high_effort: bool,
    pub cache_points: bool,
    pub openai: Option<OpenAiEffort>,
}

/// How an OpenAI model receives its effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenAiEffort {
    /// GPT: `reasoning.effort`.
    Reasoning,
    /// gpt-oss: `reasoning_effort`, up to `high`.
    ReasoningEffort,
}

impl BedrockCapabilities {
    pub(super) fn for_model(model: &Model, env: &Env) -> Self {
        let (id, name) = (model.id.to_lowercase(), model.name.to_lowercase());
        let variants = [normalize(&id), normalize(&name), id, name];
        let matches_any = |parts: &[&str]| {
            variants
                .iter()
                .any(|variant| parts.iter().any(|part| variant.contains(part)))
        };
        let [_, _, id, name] = &variants;
        let claude = id.contains("anthropic.claude")
            || id.contains("anthropic/claude")
            || name.contains("claude");
        let openai = if claude {
            None
        } else if matches_any(&["gpt-oss"]) {
            Some(OpenAiEffort::ReasoningEffort)
        } else {
            matches_any(&["gpt-"]).then_some(OpenAiEffort::Reasoning)
        };
        Self {
            claude,
            openai,
            adaptive_thinking: matches_any(&ADAPTIVE),
            extra_high_effort: matches_any(&EXTRA_HIGH),
            cache_points: if matches_any(&["claude"]) {
                matches_any(&CACHING)
            } else {
                env.var(BEDROCK_FORCE_CACHE).as_deref() == Some("1")
            },
        }
    }
}

/// Normalizes a name such as `Claude Opus 4.6` to the form of IDs, `claude-opus-4-6`.
fn normalize(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    let mut after_separator = false;
    for character in text.chars() {
        let is_separator = character.is_whitespace() || matches!(character, '_' | '.' | ':');
        if !is_separator {
            normalized.push(character);
        } else if !after_separator {
            normalized.push('-');
        }
        after_separator = is_separator;
    }
    normalized
}

#[cfg(test)]
mod tests {
    use pi_providers::wire::testing;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn capabilities_are_derived_from_id_and_name() {
        let none = BedrockCapabilities {
            claude: false,
            adaptive_thinking: false,
            extra_high_effort: false,
            cache_points: false,
            openai: None,
        };
        let openai = |effort| BedrockCapabilities {
            openai: Some(effort),
            ..none
        };
        let claude = BedrockCapabilities {
            claude: true,
            ..none
        };
        let cached = BedrockCapabilities {
            cache_points: true,
            ..claude
        };
        let adaptive = BedrockCapabilities {
            adaptive_thinking: true,
            ..cached
        };
        let newest = BedrockCapabilities {
            extra_high_effort: true,
            ..adaptive
        };
        let profile = "arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc";
        let cases = [
            ("amazon.nova-pro-v1:0", "Nova Pro", none),
            (
                "anthropic.claude-3-haiku-20240307-v1:0",
                "Claude 3 Haiku",
                claude,
            ),
            ("us.anthropic.claude-3-7-sonnet-v1:0", "", cached),
            ("us.anthropic.claude-sonnet-4-5-v1:0", "", cached),
            ("us.anthropic.claude-opus-4-6-v1", "", adaptive),
            ("global.anthropic.claude-opus-4-8", "", newest),
            (profile, "Claude 3.5 Haiku", cached),
            (profile, "Team Claude Opus 4.7", newest),
            ("us.anthropic.claude-haiku-5-5", "", newest),
            (
                "openai.gpt-6.1-sol",
                "GPT-6.1 Sol",
                openai(OpenAiEffort::Reasoning),
            ),
            (
                "openai.gpt-oss-120b-1:0",
                "",
                openai(OpenAiEffort::ReasoningEffort),
            ),
            (profile, "My profile", none),
        ];
        for (id, name, expected) in cases {
            let model = testing::model("bedrock-converse-stream", json!({"id": id, "name": name}));
            let env = Env::fixed::<&str, &str>([]);
            assert_eq!(
                BedrockCapabilities::for_model(&model, &env),
                expected,
                "{id} {name}"
            );
        }
    }

    #[test]
    fn cache_points_can_be_forced_on_unknown_models_only() {
        let env = Env::fixed([(BEDROCK_FORCE_CACHE, "1")]);
        let caches = |name: &str| {
            let fields = json!({"id": "profile", "name": name});
            let model = testing::model("bedrock-converse-stream", fields);
            BedrockCapabilities::for_model(&model, &env).cache_points
        };
        assert!(caches("My profile"));
        assert!(!caches("Claude 3 Haiku"));
    }
}
