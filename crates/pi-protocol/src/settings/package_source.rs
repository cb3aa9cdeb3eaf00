//! An entry of the `packages` setting: a package source, and which of its resources to use.
//!
//! Sources are parsed in the `packages` module.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A package source with an optional filter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a package source or an object with a \"source\""
)]
pub enum PackageSource {
    Unfiltered(String),
    Filtered(PackageFilter),
}

impl PackageSource {
    /// Returns the source as written.
    pub fn source(&self) -> &str {
        match self {
            Self::Unfiltered(source) => source,
            Self::Filtered(filter) => &filter.source,
        }
    }
}

impl From<&str> for PackageSource {
    fn from(source: &str) -> Self {
        Self::Unfiltered(source.to_owned())
    }
}

/// Which resources of a package are used. An absent list means all, an empty list none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PackageFilter {
    pub source: String,
    /// Whether to start with all resources (`true`, the default) or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoload: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub themes: Option<Vec<String>>,
    /// Unknown keys, preserved when the list is written.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
