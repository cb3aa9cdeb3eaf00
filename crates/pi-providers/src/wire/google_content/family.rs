//! Derives API capabilities from a model ID and its generation.

use pi_protocol::Model;

/// Returns the generation of a Gemini model: 2 for `gemini-2.5-pro`, `None` for `gemini-flash-latest`.
fn gemini_generation(model_id: &str) -> Option<u32> {
    let id = model_id.to_ascii_lowercase();
    let version = id.strip_prefix("gemini-")?;
    let version = version.strip_prefix("live-").unwrap_or(version);
    let digits = version.split(|character: char| !character.is_ascii_digit());
    digits.into_iter().next()?.parse().ok()
}

fn is_gemini_3_or_later(model_id: &str) -> bool {
    gemini_generation(model_id).is_some_and(|generation| generation >= 3)
}

/// Whether calls and results must include their ID.
pub(super) fn requires_call_ids(model_id: &str) -> bool {
    model_id.starts_with("claude-")
        || model_id.starts_with("gpt-oss-")
        || is_gemini_3_or_later(model_id)
}

/// Whether a function response may contain images. Older Gemini models need a separate turn for
/// them.
pub(super) fn accepts_images_in_responses(model_id: &str) -> bool {
    gemini_generation(model_id).is_none_or(|generation| generation >= 3)
}

/// Whether the model enforces required parameters in validated calling modes.
pub(super) fn supports_strict_tools(model_id: &str) -> bool {
    is_gemini_3_or_later(model_id)
}

/// Whether the model accepts a thinking level by name instead of a budget in tokens.
///
/// The supported levels are in its catalog record.
pub(super) fn supports_thinking_level(model: &Model) -> bool {
    let id = model.id.to_ascii_lowercase();
    matches!(
        id.as_str(),
        "gemini-flash-latest" | "gemini-flash-lite-latest"
    ) || id.contains("gemma-4")
        || id.contains("gemma4")
        || is_gemini_4_or_later(&id)
        || id
            .match_indices("gemini-3")
            .any(|(index, marker)| is_pro_or_flash(id.get(index + marker.len()..)))
}

fn is_gemini_4_or_later(id: &str) -> bool {
    id.match_indices("gemini-").any(|(index, marker)| {
        let version = id.get(index + marker.len()..).unwrap_or_default();
        let digits = version.split(|character: char| !character.is_ascii_digit());
        let generation: Option<u32> = digits.into_iter().next().and_then(|text| text.parse().ok());
        generation.is_some_and(|generation| generation >= 4)
    })
}

/// Parses the part after `gemini-3`: an optional minor version, then the size.
fn is_pro_or_flash(rest: Option<&str>) -> bool {
    let Some(rest) = rest else { return false };
    let size = match rest.strip_prefix('.') {
        Some(minor) => {
            let size = minor.trim_start_matches(|character: char| character.is_ascii_digit());
            if size.len() == minor.len() {
                return false;
            }
            size
        }
        None => rest,
    };
    size.starts_with("-pro") || size.starts_with("-flash")
}

/// Thinking budgets of one model family, in tokens.
pub(super) struct BudgetTable {
    pub minimal: u64,
    pub low: u64,
    pub medium: u64,
    pub high: u64,
}

/// Returns the thinking budgets of a model family; `None` leaves the budget to the service.
pub(super) fn thinking_budgets(model_id: &str) -> Option<BudgetTable> {
    let (minimal, high) = if model_id.contains("2.5-pro") {
        (128, 32_768)
    } else if model_id.contains("2.5-flash-lite") {
        (512, 24_576)
    } else if model_id.contains("2.5-flash") {
        (128, 24_576)
    } else {
        return None;
    };
    Some(BudgetTable {
        minimal,
        low: 2048,
        medium: 8192,
        high,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::wire::testing::model;

    #[test]
    fn capabilities_are_derived_from_the_id() {
        // ID, call IDs, images in responses, strict tools, thinking by level
        let cases = [
            ("gemini-2.5-pro", false, false, false, false),
            ("gemini-2.5-flash-lite", false, false, false, false),
            ("gemini-live-2.5-flash", false, false, false, false),
            ("gemini-3-pro-preview", true, true, true, true),
            ("gemini-3.1-pro-preview-customtools", true, true, true, true),
            ("Gemini-3.8-Flash", true, true, true, true),
            ("gemini-3.-flash", true, true, true, false),
            ("gemini-live-3-flash", true, true, true, false),
            ("gemini-4-argon", true, true, true, true),
            ("google/gemini-12-pro", false, true, false, true),
            ("google/gemini-3-flash", false, true, false, true),
            ("gemini-flash-latest", false, true, false, true),
            ("gemini-flash-lite-latest", false, true, false, true),
            ("gemini-pro-latest", false, true, false, false),
            ("gemma-4-31b-it", false, true, false, true),
            ("gemma4-e4b", false, true, false, true),
            ("claude-opus-4-6", true, true, false, false),
            ("gpt-oss-120b", true, true, false, false),
            ("deep-research-preview", false, true, false, false),
        ];
        for (id, call_ids, images, strict, level) in cases {
            let model = model("google-generative-ai", json!({"id": id}));
            assert_eq!(
                (
                    requires_call_ids(id),
                    accepts_images_in_responses(id),
                    supports_strict_tools(id),
                    supports_thinking_level(&model)
                ),
                (call_ids, images, strict, level),
                "{id}"
            );
        }
    }
}
