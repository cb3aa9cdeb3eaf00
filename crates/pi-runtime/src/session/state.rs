//! State of a session that is not stored in its file: current activities, queues, and selections.

use std::sync::Arc;

use pi_agent::SharedMessage;
use pi_ai::{AgentMessage, BashExecutionMessage, Model, ScopedModel, ThinkingLevel};
use pi_context::{PromptSections, RecoveryState};
use pi_session::EntryId;
use tokio_util::sync::CancellationToken;

use super::prompt::Prompt;
use crate::hooks::ActivityOutcome;
use crate::toolset::Toolset;

/// The state of a session. The lock is held briefly, never across an await.
pub(super) struct SessionState {
    pub model: Option<Arc<Model>>,
    pub thinking_level: ThinkingLevel,
    pub scoped_models: Vec<ScopedModel>,
    pub tools: Toolset,
    pub active_tools: Vec<String>,
    /// Whether the conversation is loaded into the agent.
    pub context_loaded: bool,
    /// Texts of queued messages, for display.
    pub steering: Vec<String>,
    pub follow_ups: Vec<String>,
    /// Number of messages being added to a queue of the run; the run does not end before they are
    /// in.
    pub enqueuing: usize,
    /// Messages to send with the next prompt.
    pub next_turn: Vec<AgentMessage>,
    /// Messages to append when the current turn is over.
    pub pending_custom: Vec<AgentMessage>,
    pub pending_bash: Vec<BashExecutionMessage>,
    pub run: RunState,
    pub manual_compaction: Option<CancellationToken>,
    pub auto_compaction: Option<CancellationToken>,
    pub branch_summary: Option<CancellationToken>,
    /// The delay before the next attempt.
    pub retry_pause: Option<CancellationToken>,
    pub bash: Vec<(u64, CancellationToken)>,
    pub next_bash: u64,
    /// Actions requested while the session was settling.
    pub deferred: Vec<Deferred>,
    pub disposed: bool,
}

/// An action to run once the session has settled.
pub(super) enum Deferred {
    Prompt(Prompt),
    Message(AgentMessage),
}

/// State of the current run.
pub(super) struct RunState {
    /// True from the prompt until settling begins.
    pub active: bool,
    /// `agent_settled` is being published.
    pub settling: bool,
    /// Deferred actions are running.
    pub deferring: bool,
    pub abort_requested: bool,
    /// A message could not be stored; nothing more of this run is stored.
    pub storage_failed: bool,
    pub retry_attempt: u32,
    /// The last response and its entry.
    pub last_response: Option<(SharedMessage, EntryId)>,
    /// The entries of its tool results.
    pub last_results: Vec<EntryId>,
    pub recovery: RecoveryState,
    pub outcome: ActivityOutcome,
    /// Sections set by a hook for this run.
    pub sections: Option<PromptSections>,
    /// Text set by a hook that replaces the system prompt for this run.
    pub forced_prompt: Option<String>,
}

impl Default for RunState {
    fn default() -> Self {
        Self {
            active: false,
            settling: false,
            deferring: false,
            abort_requested: false,
            storage_failed: false,
            retry_attempt: 0,
            last_response: None,
            last_results: Vec::new(),
            recovery: RecoveryState::NotAttempted,
            outcome: ActivityOutcome::default(),
            sections: None,
            forced_prompt: None,
        }
    }
}

impl SessionState {
    pub(super) fn new(
        model: Option<Arc<Model>>,
        thinking_level: ThinkingLevel,
        scoped_models: Vec<ScopedModel>,
        tools: Toolset,
        active_tools: Vec<String>,
    ) -> Self {
        Self {
            model,
            thinking_level,
            scoped_models,
            tools,
            active_tools,
            context_loaded: false,
            steering: Vec::new(),
            follow_ups: Vec::new(),
            enqueuing: 0,
            next_turn: Vec::new(),
            pending_custom: Vec::new(),
            pending_bash: Vec::new(),
            run: RunState::default(),
            manual_compaction: None,
            auto_compaction: None,
            branch_summary: None,
            retry_pause: None,
            bash: Vec::new(),
            next_bash: 0,
            deferred: Vec::new(),
            disposed: false,
        }
    }

    pub(super) fn is_compacting(&self) -> bool {
        self.manual_compaction.is_some()
            || self.auto_compaction.is_some()
            || self.branch_summary.is_some()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.run.active || self.run.settling || self.run.deferring || self.is_compacting()
    }

    /// Cancels everything that `abort` cancels, except the agent.
    pub(super) fn cancel_all(&self) {
        let tokens = [
            &self.retry_pause,
            &self.manual_compaction,
            &self.auto_compaction,
            &self.branch_summary,
        ];
        for token in tokens.into_iter().flatten() {
            token.cancel();
        }
    }

    pub(super) fn cancel_bash(&self) {
        for (_, token) in &self.bash {
            token.cancel();
        }
    }
}
