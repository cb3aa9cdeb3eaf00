//! What a session knows beside its file: what is under way, what waits, what is chosen.

use std::sync::Arc;

use pi_agent::SharedMessage;
use pi_ai::{AgentMessage, BashExecutionMessage, Model, ScopedModel, ThinkingLevel};
use pi_session::{EntryId, PromptSections, Recovery};
use tokio_util::sync::CancellationToken;

use super::prompt::Prompt;
use crate::hooks::ActivityOutcome;
use crate::toolset::Toolset;

/// The state of a session; held only for a moment, never over an await.
pub(super) struct SessionState {
    pub model: Option<Arc<Model>>,
    pub thinking_level: ThinkingLevel,
    pub scoped_models: Vec<ScopedModel>,
    pub tools: Toolset,
    pub active_tools: Vec<String>,
    /// Whether the agent has the conversation.
    pub context_loaded: bool,
    /// The texts of queued messages, for people to see.
    pub steering: Vec<String>,
    pub follow_ups: Vec<String>,
    /// How many messages are on their way into a queue of the run; it does not end before they are in.
    pub enqueuing: usize,
    /// What goes with the next prompt.
    pub next_turn: Vec<AgentMessage>,
    /// What is appended when the turn in progress is over.
    pub pending_custom: Vec<AgentMessage>,
    pub pending_bash: Vec<BashExecutionMessage>,
    pub run: RunState,
    pub manual_compaction: Option<CancellationToken>,
    pub auto_compaction: Option<CancellationToken>,
    pub branch_summary: Option<CancellationToken>,
    /// The pause before another attempt.
    pub retry_pause: Option<CancellationToken>,
    pub bash: Vec<(u64, CancellationToken)>,
    pub next_bash: u64,
    /// What was asked for while the session was settling.
    pub deferred: Vec<Deferred>,
    pub disposed: bool,
}

/// Something to do once the session has settled.
pub(super) enum Deferred {
    Prompt(Prompt),
    Message(AgentMessage),
}

/// What belongs to the run in progress.
pub(super) struct RunState {
    /// From the prompt until settling begins.
    pub active: bool,
    /// `agent_settled` is being told.
    pub settling: bool,
    /// What was deferred until then is being done.
    pub deferring: bool,
    pub abort_requested: bool,
    /// The file did not take a message: nothing more of this run is stored.
    pub storage_failed: bool,
    pub retry_attempt: u32,
    /// The last answer and its entry.
    pub last_response: Option<(SharedMessage, EntryId)>,
    /// The entries of the results of its calls.
    pub last_results: Vec<EntryId>,
    pub recovery: Recovery,
    pub outcome: ActivityOutcome,
    /// Sections a hook wants for this run.
    pub sections: Option<PromptSections>,
    /// A text a hook wants in the place of the system prompt for this run.
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
            recovery: Recovery::Untried,
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

    /// Cancels everything that abort cancels, beside the agent.
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
