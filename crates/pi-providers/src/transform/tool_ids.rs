//! Tool-call IDs in the format that each API accepts.
//!
//! IDs move between providers with the history, and every API has its own alphabet and length
//! limit. Each function here is the rule of one target; all are deterministic, so a replayed prefix
//! stays identical and prompt caches hit. [`super::hand_off`] keeps the IDs of one transcript
//! unique if a rule maps two to the same.

use pi_protocol::tool_call_id::{compact_id, short_hash};
use pi_protocol::{AssistantMessage, Model};

const COMMON_LIMIT: usize = 64;
const COMPLETIONS_LIMIT: usize = 40;
const COMPLETIONS_HASH_LENGTH: usize = 8;

/// Providers whose Responses endpoints accept `call|item` IDs of any Responses dialect.
const RESPONSES_PROVIDERS: [&str; 4] = ["openai", "openai-codex", "opencode", "azure"];

/// Anthropic's Messages API: letters, digits, `_` and `-`, at most 64.
pub(crate) fn anthropic(id: &str) -> String {
    truncate(&sanitize(id), COMMON_LIMIT).to_owned()
}

/// Bedrock's Converse API: letters, digits, `_` and `-`, at most 64.
pub fn bedrock(id: &str) -> String {
    anthropic(id)
}

/// Google's APIs: letters, digits, `_` and `-`, at most 64, for models that receive IDs;
/// the others match calls and results by name and position, so their IDs are never sent.
pub(crate) fn google(id: &str, model_takes_ids: bool) -> String {
    if model_takes_ids {
        anthropic(id)
    } else {
        id.to_owned()
    }
}

/// Chat Completions: a `call|item` ID of a Responses API becomes one part of at most 40 characters, with a hash
/// if it would be longer, since calls of one turn may share the call part. Other IDs are unchanged;
/// OpenAI's own endpoint truncates them to 40.
pub(crate) fn completions(id: &str, model: &Model) -> String {
    let Some((call, item)) = id.split_once('|') else {
        let limit = if model.provider == "openai" {
            COMPLETIONS_LIMIT
        } else {
            usize::MAX
        };
        return truncate(id, limit).to_owned();
    };
    let call = sanitize(call);
    let joined = if item.is_empty() {
        call.clone()
    } else {
        format!("{call}_{}", sanitize(item))
    };
    if joined.len() <= COMPLETIONS_LIMIT {
        return joined;
    }
    let hash = short_hash(id);
    let hash = truncate(&hash, COMPLETIONS_HASH_LENGTH);
    let prefix_length = COMPLETIONS_LIMIT - hash.len() - 1;
    format!("{}_{hash}", truncate(&call, prefix_length))
}

/// Mistral: exactly nine letters and digits.
pub(crate) fn mistral(id: &str) -> String {
    compact_id(id)
}

/// The Responses APIs: `call|item`, each at most 64 letters, digits, `_` and `-`, not ending in `_`,
/// the item starting with `fc_`. The item ID of another API is replaced by a hash, because the
/// service checks item IDs against those it issued. IDs without an item stay without one, and
/// providers that are not known to accept item IDs get a single part.
pub(crate) fn responses(id: &str, source: &AssistantMessage, model: &Model) -> String {
    let understands_items = RESPONSES_PROVIDERS.contains(&model.provider.as_str());
    let Some((call, item)) = id.split_once('|').filter(|_| understands_items) else {
        return responses_part(id);
    };
    let item = item.split_once('|').map_or(item, |(item, _)| item);
    let from_other_api = source.provider != model.provider || source.api != model.api;
    let item = if from_other_api {
        format!("fc_{}", short_hash(item))
    } else {
        let part = responses_part(item);
        if part.starts_with("fc_") {
            part
        } else {
            responses_part(&format!("fc_{part}"))
        }
    };
    format!("{}|{item}", responses_part(call))
}

fn responses_part(part: &str) -> String {
    truncate(&sanitize(part), COMMON_LIMIT)
        .trim_end_matches('_')
        .to_owned()
}

/// Replaces everything except letters, digits, `_` and `-`.
fn sanitize(id: &str) -> String {
    id.chars()
        .map(|char| {
            if char.is_ascii_alphanumeric() || char == '_' || char == '-' {
                char
            } else {
                '_'
            }
        })
        .collect()
}

/// Returns at most `limit` bytes of the text, without splitting a character.
fn truncate(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use pi_protocol::api;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::wire::testing::model;

    const LONG_ITEM: &str =
        "call_Zk3v9XyQ2LrTnB7cWmHd8sPa|fc_0a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3e4f5+/=+/=";

    #[test]
    fn ids_of_the_common_alphabet_are_truncated_at_64() {
        assert_eq!(anthropic("toolu_01Ab-c"), "toolu_01Ab-c");
        assert_eq!(anthropic("functions.bash:0"), "functions_bash_0");
        assert_eq!(bedrock("é|😀"), "___");
        assert_eq!(anthropic(LONG_ITEM).len(), 64);
        assert_eq!(google("a|b", false), "a|b");
        assert_eq!(google("a|b", true), "a_b");
    }

    #[test]
    fn completions_join_the_parts_or_hash_them() {
        let other = model(api::OPENAI_COMPLETIONS, json!({}));
        let openai = model(api::OPENAI_COMPLETIONS, json!({"provider": "openai"}));
        assert_eq!(completions("call_1|fc_2", &other), "call_1_fc_2");
        assert_eq!(completions("call_1|", &other), "call_1");
        let hashed = completions(LONG_ITEM, &other);
        assert!(
            hashed.starts_with("call_Zk3v9XyQ2LrTnB7cWmHd8sPa_"),
            "{hashed}"
        );
        assert!(hashed.len() <= 40, "{hashed}");
        assert_eq!(completions(&"x".repeat(50), &other), "x".repeat(50));
        assert_eq!(completions(&"x".repeat(50), &openai), "x".repeat(40));
    }

    #[test]
    fn responses_keep_their_own_items_and_hash_those_of_other_apis() {
        let target = model(api::OPENAI_RESPONSES, json!({"provider": "openai"}));
        let flat = model(api::OPENAI_RESPONSES, json!({"provider": "github-copilot"}));
        let own = AssistantMessage {
            provider: "openai".into(),
            api: api::OPENAI_RESPONSES.into(),
            model: "another".into(),
            ..AssistantMessage::default()
        };
        let other_api = AssistantMessage {
            api: api::OPENAI_CODEX_RESPONSES.into(),
            ..own.clone()
        };
        let hash = short_hash("fc_b");
        for (id, source, model, expected) in [
            ("toolu_1__", &own, &target, "toolu_1"),
            ("call_a|fc_b", &own, &target, "call_a|fc_b"),
            ("call_a|ctc_b", &own, &target, "call_a|fc_ctc_b"),
            ("call_a|fc_b|c", &own, &target, "call_a|fc_b"),
            (
                "call_a|fc_b",
                &other_api,
                &target,
                &format!("call_a|fc_{hash}"),
            ),
            ("call_a|fc_b", &own, &flat, "call_a_fc_b"),
        ] {
            assert_eq!(responses(id, source, model), expected, "{id}");
        }
    }
}
