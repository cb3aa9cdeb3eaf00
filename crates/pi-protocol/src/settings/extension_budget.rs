//! `extensionBudget`: what an extension may cost.

use serde::{Deserialize, Serialize};

use super::number;

/// Limits of one extension; none is set by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtensionBudget {
    /// Milliseconds for loading.
    #[serde(deserialize_with = "number::truncated")]
    pub start_ms: Option<u64>,
    /// Milliseconds for rendering a component or row once.
    #[serde(deserialize_with = "number::truncated")]
    pub render_ms: Option<u64>,
    /// Milliseconds that one event waits for its handlers.
    #[serde(deserialize_with = "number::truncated")]
    pub handler_ms: Option<u64>,
    /// Approximate share of the heap, in MiB.
    #[serde(deserialize_with = "number::truncated")]
    pub heap_mb: Option<u64>,
    /// Tokens added to each prompt.
    #[serde(deserialize_with = "number::truncated")]
    pub prompt_tokens: Option<u64>,
    pub on_exceeded: Option<BudgetAction>,
}

/// What happens to an extension that exceeds its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetAction {
    /// Reported once.
    #[default]
    Report,
    /// It also receives no more events, until the extensions are reloaded.
    Pause,
}

impl ExtensionBudget {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        let Self {
            start_ms,
            render_ms,
            handler_ms,
            heap_mb,
            prompt_tokens,
            on_exceeded: _,
        } = self;
        [start_ms, render_ms, handler_ms, heap_mb, prompt_tokens]
            .iter()
            .all(|limit| limit.is_none())
    }
}
