//! One live session: a conversation, its file, and everything that happens to it.
//!
//! [`AgentSession`] joins the agent loop with the session file, the settings, the tools and whoever
//! takes part through [`SessionHooks`]. This file owns its parts and its state; each verb has a file of
//! its own below. What is bound to more than one session (start-up, replacement, trust) is not here.

mod loop_hooks;
mod bash;
mod turn_end_hooks;
mod compaction;
mod custom_message;
mod expansion;
mod replace;
mod images;
mod state;
mod tools_and_prompt;
mod model;
mod navigation;
mod preferences;
mod prompt;
mod publish;
mod queue;
mod retry;
mod run;
mod status;
mod summarize;
#[cfg(test)]
mod tests;
mod transcript;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pi_agent::{Agent, AgentOptions, SharedMessage, Subscription};
use pi_ai::{Env, Model, Models, ScopedModel, ThinkingLevel};
use pi_config::SettingsStore;
use pi_session::{ContextModel, ModelChangeEntry, Session, SessionError, ThinkingLevelChangeEntry};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::error_text::describe_error;
use crate::hooks::SessionHooks;
use crate::system_prompt::SystemPromptParts;
use crate::toolset::Toolset;

use loop_hooks::LoopHooks;
pub use bash::{BashError, BashRequest};
pub use turn_end_hooks::BoundaryView;
pub use compaction::CompactError;
pub use custom_message::{CustomDelivery, CustomMessageOptions};
pub use expansion::{NoExpansion, PromptExpansion};
use state::SessionState;
pub use model::{CycleDirection, ModelCycle, Persist, SetModelError};
pub use navigation::{NavigateError, NavigateOptions, NavigateOutcome};
pub use prompt::{InputSource, Prompt, PromptError, PromptOutcome};
use publish::EventPublisher;
pub use publish::{SessionListener, SessionSubscription};
pub use queue::{Delivery, QueuedTexts};
pub use retry::RETRY_CANCELLED;
pub use status::{EntriesSince, ForkMessage, SessionStatus, SessionStats, ToolInfo};
use transcript::Transcript;

/// What a session is made of.
pub struct SessionParts {
    /// The conversation and its file.
    pub session: Session,
    pub settings: SettingsStore,
    /// The models and their credentials.
    pub models: Models,
    /// The model to ask; none until one is chosen.
    pub model: Option<Arc<Model>>,
    /// How much it shall think.
    pub thinking_level: ThinkingLevel,
    /// The models to cycle through; all that are available where there are none.
    pub scoped_models: Vec<ScopedModel>,
    /// What the model may call.
    pub tools: Toolset,
    /// What the system prompt is made of.
    pub prompt: SystemPromptParts,
    /// Skills and prompt templates.
    pub resources: Arc<dyn PromptExpansion>,
    /// The directory the session works in.
    pub cwd: PathBuf,
    pub env: Env,
    pub hooks: Arc<dyn SessionHooks>,
}

/// A live session. Handles are cheap to clone and are all the same session.
#[derive(Clone)]
pub struct AgentSession(Arc<SessionCore>);

/// What prompts are made of and expanded with.
struct PromptInputs {
    prompt: SystemPromptParts,
    resources: Arc<dyn PromptExpansion>,
}

/// What all handles share.
struct SessionCore {
    agent: Agent,
    models: Models,
    settings: SettingsStore,
    /// What prompts are made of and expanded with; extensions may bring more of it.
    prompt_inputs: Mutex<PromptInputs>,
    cwd: PathBuf,
    env: Env,
    hooks: Arc<dyn SessionHooks>,
    transcript: Mutex<Transcript>,
    state: Mutex<SessionState>,
    broadcast: EventPublisher,
    /// Whether anything is under way; [`AgentSession::wait_for_idle`] watches it.
    busy: watch::Sender<bool>,
    runs: TaskTracker,
    _subscription: Subscription,
}

impl AgentSession {
    /// Takes the parts into use. A new session's file begins with its model and thinking level.
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
                broadcast: EventPublisher::default(),
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

    /// Gives the agent the conversation, once somebody needs it.
    fn load_context(&self) -> Result<(), SessionError> {
        if self.state().context_loaded {
            return Ok(());
        }
        self.refresh_context()
    }

    /// Reads the conversation anew from the session.
    pub fn refresh_context(&self) -> Result<(), SessionError> {
        let messages = self.transcript().messages()?;
        self.0.agent.set_messages(messages);
        self.state().context_loaded = true;
        Ok(())
    }

    /// Reads the conversation anew; where that fails, the agent keeps what it has.
    fn refresh_context_or_report(&self, event: &'static str) {
        if let Err(error) = self.refresh_context() {
            self.report(event, None, &error);
        }
    }

    /// Adds to the conversation what was appended to the session.
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

    /// Brings [`AgentSession::wait_for_idle`] up to date with the state.
    fn settle_busy(&self) {
        self.0.busy.send_if_modified(|busy| {
            // Looked at within, so that two who settle at once cannot leave an old answer behind.
            let is_busy = self.state().is_busy();
            let changes = *busy != is_busy;
            *busy = is_busy;
            changes
        });
    }

    /// Waits until nothing is under way: the listeners of `agent_settled` have heard it, and no
    /// compaction or move in the tree is left. Not to be awaited by a listener or a hook.
    pub async fn wait_for_idle(&self) {
        let mut busy = self.0.busy.subscribe();
        if busy.wait_for(|busy| !busy).await.is_err() {
            tracing::debug!("the session is gone while waited for");
        }
    }

    /// Cancels whatever is under way and waits until it is over; queued messages stay.
    pub async fn abort(&self) {
        {
            let mut state = self.state();
            state.run.abort_requested = state.run.active;
            state.cancel_all();
        }
        self.0.agent.abort();
        self.wait_for_idle().await;
    }

    /// Cancels everything, commands of the user included, waits for their ends and writes what is
    /// left; later prompts are refused. A second call does nothing. Not to be awaited by a listener
    /// or a hook.
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
        self.0.broadcast.clear();
        let transcript = self.transcript();
        if transcript.session().is_saved()
            && let Err(error) = transcript.session().sync()
        {
            tracing::warn!(%error, "the disk may not have the end of the session yet");
        }
    }

    /// Returns the models and their credentials.
    pub fn models(&self) -> &Models {
        &self.0.models
    }

    /// Returns the settings.
    pub fn settings(&self) -> &SettingsStore {
        &self.0.settings
    }

    /// Returns the skills and prompt templates.
    pub fn resources(&self) -> Arc<dyn PromptExpansion> {
        Arc::clone(&lock(&self.0.prompt_inputs).resources)
    }

    /// Returns what the system prompt is made of.
    pub(crate) fn prompt_parts(&self) -> SystemPromptParts {
        lock(&self.0.prompt_inputs).prompt.clone()
    }

    /// Lets prompts be made of and expanded with something else from here on.
    pub(crate) fn set_resources(
        &self,
        prompt: SystemPromptParts,
        resources: Arc<dyn PromptExpansion>,
    ) {
        *lock(&self.0.prompt_inputs) = PromptInputs { prompt, resources };
    }

    /// Returns whoever takes part.
    pub fn hooks(&self) -> &Arc<dyn SessionHooks> {
        &self.0.hooks
    }

    /// Returns the directory the session works in.
    pub fn cwd(&self) -> &Path {
        &self.0.cwd
    }

    /// Looks at the session; nobody else can append meanwhile.
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

/// Stores what a session starts with: model and thinking level of a new one, the level of one whose
/// file does not say. What it says already, as after a reload, is not said again.
fn record_choices(
    session: &mut Session,
    model: Option<&Model>,
    thinking_level: ThinkingLevel,
) -> Result<(), SessionError> {
    let is_new = session.context_outline()?.messages == 0;
    let said = session.path_settings()?;
    let is_said = |model: &Model| {
        let same =
            |said: &ContextModel| said.provider == model.provider && said.model_id == model.id;
        said.model.as_ref().is_some_and(same)
    };
    if is_new && let Some(model) = model.filter(|model| !is_said(model)) {
        session.append(ModelChangeEntry {
            provider: model.provider.clone(),
            model_id: model.id.clone(),
        })?;
    }
    let is_level_said =
        said.has_thinking_level && (!is_new || said.thinking_level == thinking_level.as_str());
    if !is_level_said {
        session.append(ThinkingLevelChangeEntry {
            thinking_level: thinking_level.as_str().to_owned(),
        })?;
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No lock is held over anything that can panic half-way through a change.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
