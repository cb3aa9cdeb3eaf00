//! `extensionHost`: which engine runs an extension.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtensionEngine {
    /// The built-in engine.
    #[default]
    QuickJs,
    /// The user's Node installation.
    Node,
}

impl ExtensionEngine {
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "quickjs" => Some(Self::QuickJs),
            "node" => Some(Self::Node),
            _ => None,
        }
    }
}

/// The engine for all extensions, or by pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"quickjs\", \"node\", or an object that maps patterns to one of them"
)]
pub enum ExtensionHosts {
    All(ExtensionEngine),
    /// By path pattern; an extension that matches none uses the built-in engine.
    Matching(BTreeMap<String, ExtensionEngine>),
}
