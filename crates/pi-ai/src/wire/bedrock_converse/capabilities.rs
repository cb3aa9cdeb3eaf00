//! What a model on Bedrock can do, as far as its id and name tell.
//!
//! The Converse API is one for all vendors, but thinking and caching are not. An application
//! inference profile hides the model behind an opaque id, so the name counts as well.

use crate::env::Env;
use crate::env_vars::BEDROCK_FORCE_CACHE;
use crate::model::Model;

/// Models whose thinking is adaptive, steered by an effort.
const ADAPTIVE: [&str; 7] = [
    "opus-4-6",
    "opus-4-7",
    "opus-4-8",
    "opus-5",
    "sonnet-4-6",
    "sonnet-5",
    "fable-5",
];

/// Models that know the effort `xhigh`.
const EXTRA_HIGH: [&str; 5] = ["opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "fable-5"];

/// Claude models that take cache points.
const CACHING: [&str; 6] = [
    "fable-5",
    "opus-5",
    "sonnet-5",
    "-4-",
    "claude-3-7-sonnet",
    "claude-3-5-haiku",
];

/// What a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// It is one of Anthropic's, which alone take thinking settings and signatures.
    pub claude: bool,
    /// Its thinking is adaptive.
    pub adaptive_thinking: bool,
    /// It knows the effort `xhigh`.
    pub extra_high_effort: bool,
    /// It takes cache points.
    pub cache_points: bool,
}

impl Capabilities {
    /// Looks at id and name of a model.
    pub(super) fn of(model: &Model, env: &Env) -> Self {
        let (id, name) = (model.id.to_lowercase(), model.name.to_lowercase());
        let spellings = [dashed(&id), dashed(&name), id, name];
        let names_any = |parts: &[&str]| {
            spellings
                .iter()
                .any(|spelling| parts.iter().any(|part| spelling.contains(part)))
        };
        let [_, _, id, name] = &spellings;
        let claude = id.contains("anthropic.claude")
            || id.contains("anthropic/claude")
            || name.contains("claude");
        Self {
            claude,
            adaptive_thinking: names_any(&ADAPTIVE),
            extra_high_effort: names_any(&EXTRA_HIGH),
            cache_points: if names_any(&["claude"]) {
                names_any(&CACHING)
            } else {
                env.var(BEDROCK_FORCE_CACHE).as_deref() == Some("1")
            },
        }
    }
}

/// Spells `Claude Opus 4.6` as ids do, `claude-opus-4-6`.
fn dashed(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    let mut after_gap = false;
    for character in text.chars() {
        let is_gap = character.is_whitespace() || matches!(character, '_' | '.' | ':');
        if !is_gap {
            spelled.push(character);
        } else if !after_gap {
            spelled.push('-');
        }
        after_gap = is_gap;
    }
    spelled
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::wire::testing;

    #[test]
    fn ids_and_names_tell_what_a_model_can() {
        let none = Capabilities {
            claude: false,
            adaptive_thinking: false,
            extra_high_effort: false,
            cache_points: false,
        };
        let claude = Capabilities {
            claude: true,
            ..none
        };
        let cached = Capabilities {
            cache_points: true,
            ..claude
        };
        let adaptive = Capabilities {
            adaptive_thinking: true,
            ..cached
        };
        let newest = Capabilities {
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
            (profile, "My profile", none),
        ];
        for (id, name, expected) in cases {
            let model = testing::model("bedrock-converse-stream", json!({"id": id, "name": name}));
            let env = Env::fixed::<&str, &str>([]);
            assert_eq!(Capabilities::of(&model, &env), expected, "{id} {name}");
        }
    }

    #[test]
    fn cache_points_can_be_forced_on_unknown_models_only() {
        let env = Env::fixed([(BEDROCK_FORCE_CACHE, "1")]);
        let caches = |name: &str| {
            let fields = json!({"id": "profile", "name": name});
            let model = testing::model("bedrock-converse-stream", fields);
            Capabilities::of(&model, &env).cache_points
        };
        assert!(caches("My profile"));
        assert!(!caches("Claude 3 Haiku"));
    }
}
