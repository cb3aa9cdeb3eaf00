//! The name of a model in lists, where its ID is shown anyway.

use pi_protocol::Model;

use super::plain_text::one_line;

/// Returns the name if it has words that the ID lacks, such as one that the user has set.
pub(super) fn distinct_name(model: &Model) -> Option<String> {
    let name = model.name.trim();
    let id_words = words(&model.id);
    let compact_id = id_words.concat();
    // A single character is too likely to be part of something else.
    let is_covered = |word: &String| {
        id_words.contains(word) || (word.chars().count() > 1 && compact_id.contains(word.as_str()))
    };
    let is_distinct = !words(name).iter().all(is_covered);
    is_distinct.then(|| one_line(name))
}

/// Returns the label of a model without a mark: its ID, and its name if that adds something.
pub(super) fn model_label(model: &Model) -> String {
    let id = one_line(&model.id);
    match distinct_name(model) {
        Some(name) => format!("{id} ({name})"),
        None => id,
    }
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_shown_if_it_adds_words() {
        for (id, name, expected) in [
            ("gpt-5.4", "GPT-5.4", None),
            (
                "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "Claude Sonnet 4.5 (EU)",
                None,
            ),
            ("minimax/minimax-m3", "MiniMax M3", None),
            (
                "minimax/minimax-m3",
                "MiniMax M3 [fast]",
                Some("MiniMax M3 [fast]"),
            ),
            (
                "mistral-small-2603",
                "Mistral Small 4",
                Some("Mistral Small 4"),
            ),
            ("alpha", "", None),
        ] {
            let model: Model = serde_json::from_value(json!({
                "id": id, "name": name, "api": "openai-completions", "provider": "p",
                "baseUrl": "http://127.0.0.1:9", "reasoning": false, "input": ["text"],
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
                "contextWindow": 1, "maxTokens": 1,
            }))
            .unwrap();
            assert_eq!(distinct_name(&model).as_deref(), expected, "{id} {name}");
        }
    }
}
