//! A session: a conversation, its file, and the operations on it.
//!
//! [`AgentSession`] connects the agent loop with the session file, the settings, the tools and the
//! [`SessionHooks`]. This file owns the components and the state; each operation has its own file
//! below. Anything that spans sessions (startup, replacement, trust) lives elsewhere.

mod bash;
mod compaction;
mod custom_message;
mod expansion;
mod images;
mod loop_hooks;
mod model;
mod navigation;
mod preferences;
mod prompt;
mod publish;
mod queue;
mod replace;
mod retry;
mod run;
mod state;
mod status;
mod summarize;
#[cfg(test)]
mod tests;
mod tools_and_prompt;
mod transcript;
mod turn_end_hooks;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pi_agent::{Agent, AgentOptions, SharedMessage, Subscription};
use pi_ai::{Env, Model, Models, ScopedModel, ThinkingLevel};
use pi_config::SettingsStore;
use pi_context::SystemPromptParts;
use pi_session::{ContextModel, ModelChangeEntry, Session, SessionError, ThinkingLevelChangeEntry};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::error_text::describe_error;
use crate::hooks::SessionHooks;
use crate::toolset::Toolset;

pub use bash::{BashError, BashRequest};
pub use compaction::CompactError;
pub use custom_message::{CustomDelivery, CustomMessageOptions};
pub use expansion::{NoExpansion, PromptExpansion};
use loop_hooks::LoopHooks;
pub use model::{CycleDirection, ModelCycle, Persist, SetModelError};
pub use navigation::{NavigateError, NavigateOptions, NavigateOutcome};
pub use prompt::{InputSource, Prompt, PromptError, PromptOutcome};
use publish::EventPublisher;
pub use publish::{SessionListener, SessionSubscription};
pub use queue::{Delivery, QueuedTexts};
pub use retry::RETRY_CANCELLED;
use state::SessionState;
pub use status::{EntriesSince, ForkMessage, SessionStats, SessionStatus, ToolInfo};
use transcript::Transcript;
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
    pub hooks: Arc<dyn SessionHooks>,
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
    agent: Agent,
    models: Models,
    settings: SettingsStore,
    /// Extensions may change these at run time.
    prompt_inputs: Mutex<PromptInputs>,
    cwd: PathBuf,
    env: Env,
    hooks: Arc<dyn SessionHooks>,
    transcript: Mutex<Transcript>,
    state: Mutex<SessionState>,
    publisher: EventPublisher,
    /// Whether anything is in progress; watched by [`AgentSession::wait_for_idle`].
    busy: watch::Sender<bool>,
    runs: TaskTracker,
    _subscription: Subscription,
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
        let active = parts.tools.default_active();
        let core = Arc::new_cyclic(|core: &Weak<SessionCore>| {
            let link = Arc::new(LoopHooks::new(Weak::clone(core)));
            let placeholder = Arc::new(model::placeholder_model());
            let model = parts.model.clone().unwrap_or(placeholder);
            let settings = parts.settings.settings();
            let agent = Agent::new(AgentOptions {
                thinking_level,
                tools: parts.tools.select(&active),
                hooks: Arc::clone(&link) as _,
                steering_mode: preferences::queue_mode(settings.steering_mode()),
                follow_up_mode: preferences::queue_mode(settings.follow_up_mode()),
                env: parts.env.clone(),
                ..AgentOptions::new(Arc::new(parts.models.clone()), model)
            });
            let subscription = agent.subscribe(link);
            SessionCore {
                agent,
                models: parts.models,
                settings: parts.settings,
                prompt_inputs: Mutex::new(PromptInputs {
                    prompt: parts.prompt,
                    resources: parts.resources,
                }),
                cwd: parts.cwd,
                env: parts.env,
                hooks: parts.hooks,
                transcript: Mutex::new(Transcript::new(session)),
                state: Mutex::new(SessionState::new(
                    parts.model,
                    thinking_level,
                    parts.scoped_models,
                    parts.tools,
                    active,
                )),
                publisher: EventPublisher::default(),
                busy: watch::Sender::new(false),
                runs: TaskTracker::new(),
                _subscription: subscription,
            }
        });
        let session = Self(core);
        session.update_tool_context();
        Ok(session)
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        lock(&self.0.state)
    }

    fn transcript(&self) -> MutexGuard<'_, Transcript> {
        lock(&self.0.transcript)
    }

    /// Loads the conversation into the agent on first use.
    fn load_context(&self) -> Result<(), SessionError> {
        if self.state().context_loaded {
            return Ok(());
        }
        self.refresh_context()
    }

    /// Reloads the conversation from the session.
    pub fn refresh_context(&self) -> Result<(), SessionError> {
        let messages = self.transcript().messages()?;
        self.0.agent.set_messages(messages);
        self.state().context_loaded = true;
        Ok(())
    }

    /// Reloads the conversation; on failure, the agent keeps its current one.
    fn refresh_context_or_report(&self, event: &'static str) {
        if let Err(error) = self.refresh_context() {
            self.report(event, None, &error);
        }
    }

    /// Adds a message that was appended to the session to the agent's transcript.
    fn extend_context(&self, message: SharedMessage) {
        if self.state().context_loaded {
            self.0.agent.append_message(message);
        }
    }

    fn report(&self, event: &'static str, origin: Option<String>, error: &dyn std::error::Error) {
        self.0.hooks.report(crate::hooks::HookFailure {
            event,
            origin,
            message: describe_error(error),
        });
    }

    /// Updates the `busy` flag from the state.
    fn update_busy(&self) {
        self.0.busy.send_if_modified(|busy| {
            // Evaluated while the flag is locked, so two concurrent updates cannot leave a stale
            // value.
            let is_busy = self.state().is_busy();
            let changes = *busy != is_busy;
            *busy = is_busy;
            changes
        });
    }

    /// Waits until nothing is in progress: the listeners of `agent_settled` have returned, and no
    /// compaction or move in the tree is running. Must not be awaited by a listener or a hook.
    pub async fn wait_for_idle(&self) {
        let mut busy = self.0.busy.subscribe();
        if busy.wait_for(|busy| !busy).await.is_err() {
            tracing::debug!("session dropped while waiting for idle");
        }
    }

    /// Cancels everything in progress and waits for it to end; queued messages are kept.
    pub async fn abort(&self) {
        {
            let mut state = self.state();
            state.run.abort_requested = state.run.active;
            state.cancel_all();
        }
        self.0.agent.abort();
        self.wait_for_idle().await;
    }

    /// Cancels everything, including the user's shell commands, waits for it to end and flushes
    /// the session file; later prompts are rejected. A second call does nothing. Must not be awaited by
    /// a listener or a hook.
    pub async fn dispose(&self) {
        {
            let mut state = self.state();
            state.disposed = true;
            state.deferred.clear();
            state.cancel_bash();
        }
        self.abort().await;
        self.0.runs.close();
        self.0.runs.wait().await;
        self.wait_for_bash().await;
        self.0.publisher.clear();
        let transcript = self.transcript();
        if transcript.session().is_saved()
            && let Err(error) = transcript.session().sync()
        {
            tracing::warn!(%error, "cannot sync the end of the session to disk");
        }
    }

    pub fn models(&self) -> &Models {
        &self.0.models
    }

    pub fn settings(&self) -> &SettingsStore {
        &self.0.settings
    }

    pub fn resources(&self) -> Arc<dyn PromptExpansion> {
        Arc::clone(&lock(&self.0.prompt_inputs).resources)
    }

    /// Returns the inputs of the system prompt.
    pub(crate) fn prompt_parts(&self) -> SystemPromptParts {
        lock(&self.0.prompt_inputs).prompt.clone()
    }

    /// Replaces the inputs and resources of future prompts.
    pub(crate) fn set_resources(
        &self,
        prompt: SystemPromptParts,
        resources: Arc<dyn PromptExpansion>,
    ) {
        *lock(&self.0.prompt_inputs) = PromptInputs { prompt, resources };
    }

    /// Hooks: extensions first, then the embedding program.
    pub fn hooks(&self) -> &Arc<dyn SessionHooks> {
        &self.0.hooks
    }

    pub fn cwd(&self) -> &Path {
        &self.0.cwd
    }

    /// Calls `read` with the session locked, so nothing can be appended meanwhile.
    pub fn with_session<R>(&self, read: impl FnOnce(&Session) -> R) -> R {
        read(self.transcript().session())
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
    let is_new = session.context_outline()?.messages == 0;
    let stored = session.path_settings()?;
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that can panic in the middle of an update runs under a lock, so poisoned data is still valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
