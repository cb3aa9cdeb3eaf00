//! Models of a llama.cpp router.

use serde::{Deserialize, Serialize};

/// A model of a router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LlamaModel {
    pub id: String,
    pub state: LlamaState,
    /// Context window in tokens, if the server reports it.
    pub context: Option<u64>,
    /// Exit code of a failed load.
    pub exit_code: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LlamaState {
    Loaded,
    /// Wakes up when a request arrives.
    Sleeping,
    /// Not in memory.
    Unloaded,
    /// The last load failed.
    Failed,
    Loading,
    Downloading,
    /// A state unknown to this version.
    Other(String),
}

/// Progress of a load or download.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LlamaProgress {
    pub message: String,
    /// Completed fraction from 0 to 1, if the server reports it.
    pub fraction: Option<f64>,
}

impl LlamaProgress {
    /// Returns progress whose extent is unknown.
    pub fn new(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            fraction: None,
        }
    }
}

impl LlamaState {
    pub fn is_in_memory(&self) -> bool {
        matches!(self, Self::Loaded | Self::Sleeping)
    }

    /// Returns the display text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Loaded => "loaded",
            Self::Sleeping => "sleeping",
            Self::Unloaded => "not loaded",
            Self::Failed => "failed to load",
            Self::Loading => "loading",
            Self::Downloading => "downloading",
            Self::Other(value) => value,
        }
    }
}
