//! A session: a conversation, its file, and the operations on it.
//!
//! [`AgentSession`] connects the session machine with the session file, the settings, the tools and the
//! [`Participants`]. This file owns the components; each operation has its own file below. Anything that spans sessions (startup, replacement, trust) lives elsewhere.

mod backend;
mod barrier;
mod bash;
mod compaction;
mod compaction_preview;
mod config_watch;
mod custom_message;
mod dialogs;
mod expansion;
mod follow;
mod handover;
mod history;
mod insight;
mod loadout;
mod model;
mod navigation;
mod outline;
mod pending;
mod preferences;
mod prompt;
mod publish;
mod queue;
mod replace;
mod requests;
mod retry;
mod routing;
mod sampling;
mod snapshot;
mod state;
mod status;
mod summarize;
#[cfg(test)]
mod tests;
mod tools_and_prompt;
mod transcript;
mod turn_end_hooks;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pi_config::SettingsStore;
use pi_context::SystemPromptParts;
use pi_core::{Control, ExecutionMode, Input, Machine, Selection};
use pi_env::Env;
use pi_extensions::HookInterrupt;
use pi_protocol::{
    Model, ModelChangeEntry, ReplacementReason, ScopedModel, SessionEvent, SessionId,
    ThinkingLevel, ThinkingLevelChangeEntry, describe_error,
};
use pi_providers::Models;
use pi_session::{ContextModel, Session, SessionError};
use tokio::sync::{Notify, watch};

use crate::participants::{HookFailure, Participants};
use crate::toolset::Toolset;
use dialogs::DialogRequests;
use publish::EventPublisher;
use state::SessionState;
use transcript::Transcript;
use writer::WriteLock;

pub use barrier::Barrier;
pub use bash::{BashError, BashRequest, UserCommands};
pub use compaction::{CompactError, Compaction};
pub use compaction_preview::{UndoCompactionError, UndoneCompaction};
pub use expansion::{NoExpansion, PromptExpansion};
pub(crate) use follow::Follower;
pub use follow::LiveClients;
pub use handover::Handover;
pub use history::{EntriesSince, ForkMessage, History};
pub use insight::cache_misses;
pub use model::{CycleDirection, ModelCycle, ModelSelection, Persist, SetModelError};
pub use navigation::{NavigateError, NavigateOptions, NavigateOutcome, TreeNavigation};
pub use outline::SessionOutline;
pub(crate) use prompt::AcceptedPrompt;
pub use prompt::PromptError;
pub use publish::{SessionListener, SessionSubscription};
pub use queue::SessionQueue;
pub use requests::PendingRequests;
pub use retry::Retries;
pub(crate) use sampling::sample_for_server;
pub(crate) use snapshot::snapshot_with_message;
pub use status::{SessionStatus, ToolInfo};
pub use tools_and_prompt::ToolsAndPrompt;
pub use turn_end_hooks::BoundaryView;

/// Components of a session.
pub struct SessionParts {
    pub session: Session,
    pub settings: SettingsStore,
    pub models: Models,
    /// `None` until a model is selected.
    pub model: Option<Arc<Model>>,
    /// Reasoning effort for requests.
    pub thinking_level: ThinkingLevel,
    /// The models to cycle through; if empty, all available ones.
    pub scoped_models: Vec<ScopedModel>,
    pub tools: Toolset,
    /// Inputs of the system prompt.
    pub prompt: SystemPromptParts,
    /// Skills and prompt templates.
    pub resources: Arc<dyn PromptExpansion>,
    pub cwd: PathBuf,
    pub env: Env,
    /// Called in order: extensions, then the embedding program.
    pub participants: Participants,
    /// Decides at barriers whether runs proceed; without it, there are none.
    pub barrier: Option<Arc<dyn Barrier>>,
}

/// A session. Handles are cheap to clone and refer to the same session.
#[derive(Clone)]
pub struct AgentSession(Arc<SessionCore>);

/// Inputs of the system prompt, and the resources prompts are expanded with.
struct PromptInputs {
    prompt: SystemPromptParts,
    resources: Arc<dyn PromptExpansion>,
}

/// State shared by all handles.
struct SessionCore {
    control: Control,
    models: Models,
    settings: SettingsStore,
    /// Extensions may change these at run time.
    prompt_inputs: Mutex<PromptInputs>,
    cwd: PathBuf,
    env: Env,
    participants: Participants,
    transcript: Mutex<Transcript>,
    outline: Mutex<SessionOutline>,
    /// Notified when the session file is created.
    saved: Notify,
    /// Held while the transcript is changed.
    writing: WriteLock,
    state: Mutex<SessionState>,
    publisher: EventPublisher,
    dialogs: DialogRequests,
    /// Number of clients of other processes.
    observers: AtomicUsize,
    /// Another process continues the session after this one closes it.
    is_handed_over: AtomicBool,
    /// Another process owns the session file; this one stores nothing more.
    is_fenced: AtomicBool,
    barrier: Option<Arc<dyn Barrier>>,
    /// Number of shell commands of the user in progress.
    bash_count: watch::Sender<usize>,
}

impl AgentSession {
    /// Creates a session from its components. The file of a new session starts with its model and
    /// thinking level.
    pub fn new(parts: SessionParts) -> Result<Self, SessionError> {
        let mut session = parts.session;
        let thinking_level = parts.model.as_ref().map_or(parts.thinking_level, |model| {
            model.clamp_thinking_level(parts.thinking_level)
        });
        record_choices(&mut session, parts.model.as_deref(), thinking_level)?;
        session.pending().keep_drafts()?;
        let active = parts.tools.default_active();
        let (settings, env) = (parts.settings.clone(), parts.env.clone());
        let mut machine = Machine::new(Selection {
            model: parts.model,
            routed: None,
            thinking_level,
            scoped_models: parts.scoped_models,
            sequential_tools: parts.tools.sequential(&active),
            active_tools: active,
            execution_mode: ExecutionMode::default(),
            is_supervised: parts.barrier.is_some(),
        });
        pending::restore_queue(&mut machine, session.pending().take_restored());
        let control = Control::new(machine, move |machine| {
            let settings = settings.settings();
            machine.configure(env.now_ms(), settings.retry_policy());
            machine
                .queue_mut()
                .set_modes(settings.steering_mode(), settings.follow_up_mode());
        });
        let publisher = EventPublisher::new(session.id(), parts.env.clone());
        let session = Self(Arc::new(SessionCore {
            control,
            models: parts.models,
            settings: parts.settings,
            prompt_inputs: Mutex::new(PromptInputs {
                prompt: parts.prompt,
                resources: parts.resources,
            }),
            cwd: parts.cwd,
            env: parts.env,
            participants: parts.participants,
            outline: Mutex::new(SessionOutline::of(&session)),
            saved: Notify::new(),
            transcript: Mutex::new(Transcript::new(session)),
            writing: WriteLock::new(),
            state: Mutex::new(SessionState::new(parts.tools)),
            publisher,
            dialogs: DialogRequests::default(),
            observers: AtomicUsize::new(0),
            is_handed_over: AtomicBool::new(false),
            is_fenced: AtomicBool::new(false),
            barrier: parts.barrier,
            bash_count: watch::Sender::new(0),
        }));
        session.tools().restore_resumed_tools()?;
        session.tools().update_tool_context();
        Ok(session)
    }

    /// Waits until nothing is in progress: the listeners of `agent_settled` have returned, and no
    /// compaction or move in the tree is running. Must not be awaited by a listener or a hook.
    pub async fn wait_for_idle(&self) {
        self.0.control.wait_for_idle().await;
    }

    /// Cancels everything in progress and waits for it to end; queued messages are kept.
    pub async fn abort(&self) {
        self.0.interrupt(Input::Abort);
        self.wait_for_idle().await;
    }

    /// Cancels everything, including the user's shell commands, waits for it to end and flushes
    /// the session file; later prompts are rejected. A second call does nothing. Must not be awaited by
    /// a listener or a hook.
    pub async fn dispose(&self) {
        self.close(None).await;
    }

    /// Like [`AgentSession::dispose`], for a session that another one replaces.
    pub(crate) async fn dispose_replaced(&self, next: SessionId, reason: ReplacementReason) {
        let replaced = SessionEvent::SessionReplaced {
            session: next,
            reason,
        };
        self.close(Some(replaced)).await;
    }

    async fn close(&self, last_event: Option<SessionEvent>) {
        self.0.interrupt(Input::Close);
        self.0.state().cancel_bash();
        self.wait_for_idle().await;
        self.0.control.wait_for_lanes().await;
        self.user_commands().wait().await;
        self.0.close_dialogs();
        if let Some(event) = last_event {
            self.0.log_change(event);
        }
        self.0.publisher.close();
        let synced = self.writer().write(|transcript| {
            let session = transcript.session();
            if session.is_saved() {
                session.sync()?;
            }
            if !self.0.is_handed_over.load(Ordering::Relaxed) {
                transcript.close();
            }
            Ok(())
        });
        if let Err(error) = synced {
            tracing::warn!(%error, "cannot sync the end of the session to disk");
        }
    }

    pub fn models(&self) -> &Models {
        &self.0.models
    }

    pub fn settings(&self) -> &SettingsStore {
        &self.0.settings
    }

    pub(crate) fn participants(&self) -> &Participants {
        &self.0.participants
    }

    pub fn cwd(&self) -> &Path {
        &self.0.cwd
    }
}

impl SessionCore {
    /// Feeds a request of the user that only cancels, and abandons the hooks in progress: a hook that
    /// does not respond must not delay it.
    fn interrupt(&self, input: Input) {
        self.control.interrupt(input);
        self.participants.interrupt_hooks(HookInterrupt::Abort);
    }

    /// Locks the machine for a query or a change of the selection.
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.control.machine()
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock()
    }

    fn transcript(&self) -> MutexGuard<'_, Transcript> {
        self.transcript.lock()
    }

    fn report(&self, event: &'static str, origin: Option<String>, error: &dyn std::error::Error) {
        self.participants.report(HookFailure {
            event,
            origin,
            message: describe_error(error),
        });
    }
}

impl std::fmt::Debug for AgentSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AgentSession")
            .field("id", &self.session_id())
            .finish_non_exhaustive()
    }
}

/// Stores the initial model and thinking level of a new session, or the level of a session whose
/// file has none. Values that are already stored, as after a reload, are not written again.
fn record_choices(
    session: &mut Session,
    model: Option<&Model>,
    thinking_level: ThinkingLevel,
) -> Result<(), SessionError> {
    if session.open_report().read_only {
        return Ok(());
    }
    let is_new = session.current_branch().context_outline()?.messages == 0;
    let stored = session.current_branch().settings()?;
    let is_stored = |model: &Model| {
        let same = |stored: &ContextModel| {
            stored.provider == model.provider && stored.model_id == model.id
        };
        stored.model.as_ref().is_some_and(same)
    };
    if is_new && let Some(model) = model.filter(|model| !is_stored(model)) {
        session.append(ModelChangeEntry {
            provider: model.provider.clone(),
            model_id: model.id.clone(),
        })?;
    }
    let is_level_stored =
        stored.has_thinking_level && (!is_new || stored.thinking_level == thinking_level.as_str());
    if !is_level_stored {
        session.append(ThinkingLevelChangeEntry {
            thinking_level: thinking_level.as_str().to_owned(),
        })?;
    }
    Ok(())
}
