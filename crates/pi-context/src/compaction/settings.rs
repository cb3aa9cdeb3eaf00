//! Compaction settings, including per-model overrides. They are validated when used, not when the
//! settings file is read: an invalid override of one model must not affect sessions with another.

use pi_protocol::json::{JsonObject, value_to_string};
use serde_json::Value;
use thiserror::Error;

/// Tokens reserved for the response.
const DEFAULT_RESERVE_TOKENS: u64 = 16_384;

/// Tokens of recent conversation that a compaction keeps.
const DEFAULT_KEEP_RECENT_TOKENS: u64 = 20_000;

/// `Number.MAX_SAFE_INTEGER` in JavaScript.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether to compact automatically.
    pub enabled: bool,
    /// Tokens of the context window reserved for a response.
    pub reserve_tokens: u64,
    /// Tokens of recent conversation to keep.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: DEFAULT_RESERVE_TOKENS,
            keep_recent_tokens: DEFAULT_KEEP_RECENT_TOKENS,
        }
    }
}

/// An invalid compaction setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CompactionSettingsError {
    #[error("invalid setting {setting}: {value}: expected a token count (an integer of 0 or more)")]
    NotATokenCount { setting: String, value: String },
    #[error(
        "invalid setting {setting}: {value}: expected an object with reserveTokens or keepRecentTokens"
    )]
    NotAnObject { setting: String, value: String },
}

impl CompactionSettings {
    /// Resolves the `compaction` settings for a model, identified as `provider/id`.
    ///
    /// The value for the model takes precedence over the general one, then the default.
    pub fn resolve(
        compaction: Option<&Value>,
        model: Option<&str>,
    ) -> Result<Self, CompactionSettingsError> {
        let general = compaction.and_then(Value::as_object);
        let tokens = |name, default| -> Result<u64, CompactionSettingsError> {
            let general_value = token_count(general, name, "compaction")?;
            let model_value = match model {
                Some(model) => model_token_count(general, name, model)?,
                None => None,
            };
            Ok(model_value.or(general_value).unwrap_or(default))
        };
        let enabled = general.and_then(|general| general.get("enabled"));
        Ok(Self {
            enabled: enabled != Some(&Value::Bool(false)),
            reserve_tokens: tokens("reserveTokens", DEFAULT_RESERVE_TOKENS)?,
            keep_recent_tokens: tokens("keepRecentTokens", DEFAULT_KEEP_RECENT_TOKENS)?,
        })
    }
}

fn model_token_count(
    general: Option<&JsonObject>,
    name: &str,
    model: &str,
) -> Result<Option<u64>, CompactionSettingsError> {
    let overrides = general.and_then(|general| general.get("modelOverrides"));
    let Some(model_settings) = overrides.and_then(|overrides| overrides.get(model)) else {
        return Ok(None);
    };
    let setting = format!("compaction.modelOverrides[\"{model}\"]");
    match model_settings {
        Value::Object(settings) => token_count(Some(settings), name, &setting),
        other => Err(CompactionSettingsError::NotAnObject {
            setting,
            value: value_to_string(other),
        }),
    }
}

fn token_count(
    settings: Option<&JsonObject>,
    name: &str,
    within: &str,
) -> Result<Option<u64>, CompactionSettingsError> {
    let Some(value) = settings.and_then(|settings| settings.get(name)) else {
        return Ok(None);
    };
    match parse_integer(value) {
        Some(tokens) => Ok(Some(tokens)),
        None => Err(CompactionSettingsError::NotATokenCount {
            setting: format!("{within}.{name}"),
            value: value_to_string(value),
        }),
    }
}

/// Parses an integer, which JSON may also write as `2e4` or `20000.0`.
fn parse_integer(value: &Value) -> Option<u64> {
    let number = match value.as_u64() {
        Some(number) => number,
        None => float_to_integer(value.as_f64()?)?,
    };
    (number <= MAX_SAFE_INTEGER).then_some(number)
}

fn float_to_integer(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and saturated values are rejected as too large"
    )]
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn resolve(compaction: &Value) -> Result<CompactionSettings, String> {
        CompactionSettings::resolve(Some(compaction), Some("mock/alpha"))
            .map_err(|error| error.to_string())
    }

    fn settings(enabled: bool, reserve_tokens: u64, keep_recent_tokens: u64) -> CompactionSettings {
        CompactionSettings {
            enabled,
            reserve_tokens,
            keep_recent_tokens,
        }
    }

    #[test]
    fn a_model_override_takes_precedence_over_general_value_and_default() {
        let own = |own: Value| json!({"keepRecentTokens": 60, "modelOverrides": {"mock/alpha": own, "mock/beta": 7}});
        for (compaction, expected) in [
            (json!({}), settings(true, 16_384, 20_000)),
            (json!(null), settings(true, 16_384, 20_000)),
            (json!("odd"), settings(true, 16_384, 20_000)),
            (json!({"enabled": false}), settings(false, 16_384, 20_000)),
            (
                json!({"enabled": null, "reserveTokens": 0}),
                settings(true, 0, 20_000),
            ),
            (json!({"reserveTokens": 1e3}), settings(true, 1000, 20_000)),
            (own(json!({})), settings(true, 16_384, 60)),
            (
                own(json!({"keepRecentTokens": 5})),
                settings(true, 16_384, 5),
            ),
            (
                own(json!({"reserveTokens": 9_007_199_254_740_991_u64})),
                settings(true, 9_007_199_254_740_991, 60),
            ),
        ] {
            assert_eq!(resolve(&compaction), Ok(expected), "{compaction}");
        }
        assert_eq!(
            CompactionSettings::resolve(None, None),
            Ok(CompactionSettings::default())
        );
    }

    #[test]
    fn an_invalid_setting_is_named() {
        for (compaction, setting, value) in [
            (
                json!({"reserveTokens": -1}),
                "compaction.reserveTokens",
                "-1",
            ),
            (
                json!({"reserveTokens": 1.5}),
                "compaction.reserveTokens",
                "1.5",
            ),
            (
                json!({"keepRecentTokens": "60"}),
                "compaction.keepRecentTokens",
                "\"60\"",
            ),
            (
                json!({"keepRecentTokens": null}),
                "compaction.keepRecentTokens",
                "null",
            ),
            (
                json!({"reserveTokens": 9_007_199_254_740_992_u64}),
                "compaction.reserveTokens",
                "9007199254740992",
            ),
            (
                json!({"reserveTokens": 1e300}),
                "compaction.reserveTokens",
                "1e+300",
            ),
            (
                json!({"modelOverrides": {"mock/alpha": 3}}),
                "compaction.modelOverrides[\"mock/alpha\"]",
                "3",
            ),
            (
                json!({"modelOverrides": {"mock/alpha": {"keepRecentTokens": []}}}),
                "compaction.modelOverrides[\"mock/alpha\"].keepRecentTokens",
                "[]",
            ),
        ] {
            let message = resolve(&compaction).unwrap_err();
            assert!(
                message.starts_with(&format!("invalid setting {setting}: {value}: expected ")),
                "{message}"
            );
        }
    }
}
