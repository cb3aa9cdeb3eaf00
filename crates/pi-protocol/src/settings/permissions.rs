//! The `permissions` setting: rules about tool calls. They are parsed in `pi-permissions`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Rules by effect. A call that several rules match is denied, else asked about, else tried, else allowed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PermissionSettings {
    pub deny: Option<Vec<PermissionRule>>,
    pub ask: Option<Vec<PermissionRule>>,
    /// Commands whose changes are kept only if the user wants it.
    pub r#try: Option<Vec<PermissionRule>>,
    pub allow: Option<Vec<PermissionRule>>,
}

/// A rule, such as `bash(git push *)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PermissionRule {
    Rule(String),
    Checked(CheckedRule),
    /// Kept, so that a session with it is refused: dropping a rule would allow more.
    Invalid(Value),
}

/// A rule with examples, which are checked when it is loaded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckedRule {
    pub rule: String,
    /// Commands or paths that the rule must match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Commands or paths that the rule must not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignores: Vec<String>,
}

impl From<&str> for PermissionRule {
    fn from(rule: &str) -> Self {
        Self::Rule(rule.to_owned())
    }
}
