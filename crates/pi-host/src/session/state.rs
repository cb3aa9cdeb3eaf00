//! State of a session that neither its file nor its machine holds.

use std::sync::Arc;

use pi_context::CompactionPlan;
use pi_context::PromptSections;
use pi_core::LoadoutChanges;
use pi_protocol::{AssistantMessage, Model};
use pi_providers::ResolvedRoute;
use tokio_util::sync::CancellationToken;

use super::config_watch::ConfigWatch;
use crate::toolset::Toolset;

/// The lock is held briefly, never across an await.
pub(super) struct SessionState {
    pub tools: Toolset,
    pub run: RunOverrides,
    /// What active tools change about the declarations of the active tools.
    pub loadout: LoadoutChanges,
    /// The active tools that the changes are for; `None` if the tools have changed since.
    pub loadout_tools: Option<Vec<String>>,
    /// The next automatic compaction.
    pub plan: Option<(Arc<Model>, CompactionPlan)>,
    /// The route of the next request, if the selected model is virtual.
    pub route: Option<ResolvedRoute>,
    /// The response of the request that the next one repeats.
    pub failed: Option<Arc<AssistantMessage>>,
    /// Failures of automatic compaction since the last success.
    pub compaction_failures: Option<CompactionFailures>,
    /// The user's instructions for the compaction in progress.
    pub instructions: Option<String>,
    pub bash: Vec<(u64, CancellationToken)>,
    pub next_bash: u64,
    pub configuration: ConfigWatch,
}

/// Failures of automatic compaction in a row.
#[derive(Debug, Clone)]
pub(super) struct CompactionFailures {
    /// The selected model; if it is virtual, each summary may be written by another one.
    pub model: Arc<Model>,
    pub count: u32,
}

/// What hooks set for the current run only.
#[derive(Default)]
pub(super) struct RunOverrides {
    pub sections: Option<PromptSections>,
    /// Text that replaces the system prompt.
    pub forced_prompt: Option<String>,
}

impl SessionState {
    pub(super) fn new(tools: Toolset) -> Self {
        Self {
            tools,
            run: RunOverrides::default(),
            loadout: LoadoutChanges::default(),
            loadout_tools: None,
            plan: None,
            route: None,
            failed: None,
            compaction_failures: None,
            instructions: None,
            bash: Vec::new(),
            next_bash: 0,
            configuration: ConfigWatch::default(),
        }
    }

    pub(super) fn cancel_bash(&self) {
        for (_, token) in &self.bash {
            token.cancel();
        }
    }
}
