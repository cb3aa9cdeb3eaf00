//! An entry of `packages`: where a package comes from and what of it is used.
//!
//! What a source means, and how it is installed, is the packages' matter.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a package comes from and what of it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a package source or an object with a \"source\""
)]
pub enum PackageSource {
    /// All of a package.
    Unfiltered(String),
    /// Some of a package.
    Filtered(PackageFilter),
}

impl PackageSource {
    /// Returns the source as it is written.
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

/// Which resources of a package are used. A list that is absent means all, an empty one none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PackageFilter {
    /// Where the package comes from.
    pub source: String,
    /// Whether to begin with all resources (`true`, the default) or with none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoload: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// Patterns of prompt templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub themes: Option<Vec<String>>,
    /// Keys of other versions, kept when the list is written.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
