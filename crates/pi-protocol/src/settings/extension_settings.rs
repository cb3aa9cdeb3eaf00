//! How extensions run, and what they may cost; which ones are loaded is a resource setting.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::extension_budget::ExtensionBudget;
use super::extension_hosts::ExtensionHosts;
use super::group;

/// The keys of [`Settings`](super::Settings) that start with `extension`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExtensionSettings {
    /// Engine that runs extensions. User settings only.
    #[serde(rename = "extensionHost")]
    pub host: Option<ExtensionHosts>,
    /// What an extension may cost. User settings only.
    #[serde(rename = "extensionBudget", deserialize_with = "group::group")]
    pub budget: ExtensionBudget,
    /// Versions of package changelogs that were shown last, by the JSON text of `source` and `scope`.
    #[serde(
        rename = "extensionChangelogVersions",
        deserialize_with = "group::group"
    )]
    pub changelog_versions: BTreeMap<String, String>,
}
