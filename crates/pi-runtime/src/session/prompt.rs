//! Processes a prompt: from user input to the messages a run starts with.
//!
//! Steps: command, input hook, expansion, queue or run; then model and credentials, context check,
//! start hook, images, messages. Everything that can be rejected is rejected before
//! [`AgentSession::prompt`] returns; later outcomes are reported as events.

use std::future::Future;

use pi_ai::{AgentMessage, AuthError, CustomMessage, ImageContent, Model};
use pi_context::CompactionPhase;
use pi_session::SessionError;
use thiserror::Error;

use super::publish::is_publishing;
use super::queue::{Delivery, EnqueueGuard};
use super::run::RunClaim;
use super::state::Deferred;
use super::{AgentSession, images, preferences};
use crate::hooks::{AgentStart, AgentStartChanges, CustomMessageDraft, InputVerdict, UserInput};

/// A message to send to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<ImageContent>,
    /// How to queue the prompt if a run is in progress; with `None` it is rejected.
    pub streaming_behavior: Option<Delivery>,
    /// Whether to run commands and expand skills and templates.
    pub expand: bool,
    pub source: InputSource,
}

impl Prompt {
    /// Creates a text prompt that is expanded, and is rejected if a run is in progress.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
            streaming_behavior: None,
            expand: true,
            source: InputSource::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputSource {
    /// A user at the terminal.
    #[default]
    Interactive,
    /// An RPC client.
    Rpc,
    Extension,
    Cli,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptOutcome {
    /// A run has started.
    Started,
    /// The prompt is queued, or deferred until the session has settled.
    Queued,
    /// A command or a hook handled it.
    Handled,
}

/// Why a prompt was rejected; nothing has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A run is in progress, and the prompt does not specify how to queue it.
    #[error(
        "the agent is busy: send the prompt as steering or as a follow-up, or wait until it is idle"
    )]
    Busy,
    #[error("compaction in progress: wait until it has finished, then send the prompt again")]
    Compacting,
    #[error("no model selected: choose one with /model or --model, or sign in with /login")]
    NoModel,
    #[error(
        "unknown provider \"{provider}\": add it to models.json or load the extension that defines it"
    )]
    UnknownProvider { provider: String },
    #[error("no credentials for {provider}: {remedy}")]
    NoCredential { provider: String, remedy: String },
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// A command was submitted for queuing.
    #[error("/{name} runs immediately and cannot be queued: send it as a prompt")]
    CommandNotQueueable { name: String },
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("this session was closed; use the one that replaced it")]
    Closed,
}

/// Result of the checks before a run.
pub(super) enum Preflight {
    Start(RunClaim, Vec<AgentMessage>),
    Done(PromptOutcome),
}

impl AgentSession {
    /// Sends a prompt. Returns once it is accepted; the run continues in the background.
    pub async fn prompt(&self, prompt: Prompt) -> Result<PromptOutcome, PromptError> {
        self.prompt_announced(prompt, |_| std::future::ready(()))
            .await
    }

    /// Sends a prompt; `announce` runs once it is accepted, before the first event of the run.
    pub async fn prompt_announced<Announcing>(
        &self,
        prompt: Prompt,
        announce: impl FnOnce(PromptOutcome) -> Announcing,
    ) -> Result<PromptOutcome, PromptError>
    where
        Announcing: Future<Output = ()>,
    {
        if self.state().run.settling {
            // A listener of `agent_settled` must not wait for itself; any other caller can wait for
            // settling to end.
            if is_publishing() || prompt.source == InputSource::Extension {
                self.state().deferred.push(Deferred::Prompt(prompt));
                announce(PromptOutcome::Queued).await;
                return Ok(PromptOutcome::Queued);
            }
            self.wait_until_settled().await;
        }
        match self.preflight(prompt).await? {
            Preflight::Start(claim, messages) => {
                announce(PromptOutcome::Started).await;
                self.spawn_run(claim, messages);
                Ok(PromptOutcome::Started)
            }
            Preflight::Done(run) => {
                announce(run).await;
                Ok(run)
            }
        }
    }

    pub(super) async fn preflight(&self, prompt: Prompt) -> Result<Preflight, PromptError> {
        if self.state().disposed {
            return Err(PromptError::Closed);
        }
        if prompt.expand
            && let Some(name) = self.command_of(&prompt.text)
        {
            let arguments = prompt.text.split_once(' ').map_or("", |(_, rest)| rest);
            self.0.hooks.run_command(name, arguments).await;
            return Ok(Preflight::Done(PromptOutcome::Handled));
        }
        if self.state().manual_compaction.is_some() {
            return Err(PromptError::Compacting);
        }
        let input = self.run_input_hook(
            prompt.text,
            prompt.images,
            prompt.source,
            prompt.streaming_behavior,
        );
        let Some((text, images)) = input.await else {
            return Ok(Preflight::Done(PromptOutcome::Handled));
        };
        let text = if prompt.expand {
            self.expand(text)
        } else {
            text
        };
        if let Some(guard) = EnqueueGuard::open_in_run(self) {
            return self
                .queue_prompt(guard, text, images, prompt.streaming_behavior)
                .await;
        }
        self.prepare_run(text, images, prompt.streaming_behavior)
            .await
    }

    async fn queue_prompt(
        &self,
        guard: EnqueueGuard,
        text: String,
        images: Vec<ImageContent>,
        delivery: Option<Delivery>,
    ) -> Result<Preflight, PromptError> {
        let delivery = delivery.ok_or(PromptError::Busy)?;
        self.enqueue(guard, text, images, delivery).await;
        Ok(Preflight::Done(PromptOutcome::Queued))
    }

    async fn prepare_run(
        &self,
        text: String,
        images: Vec<ImageContent>,
        delivery: Option<Delivery>,
    ) -> Result<Preflight, PromptError> {
        self.load_context()?;
        self.flush_bash_messages();
        self.flush_custom_messages().await;
        let model = self.state().model.clone().ok_or(PromptError::NoModel)?;
        self.check_auth(&model).await?;
        self.check_context_before_prompt().await;
        let changes = self.run_start_hook(&text, &images).await;
        let (images, notes) = images::fit_prompt_images(images, self.image_limits()).await;
        let text = if notes.is_empty() {
            text
        } else {
            format!("{text}\n\n{}", notes.join("\n"))
        };
        let claim = loop {
            if let Some(claim) = self.claim_run() {
                break claim;
            }
            if self.state().disposed {
                return Err(PromptError::Closed);
            }
            // Another prompt claimed the run first. If that run has already ended, try again.
            if let Some(guard) = EnqueueGuard::open_in_run(self) {
                return self.queue_prompt(guard, text, images, delivery).await;
            }
        };
        self.apply_start_changes(&changes);
        let system = self.system_update()?.map(AgentMessage::from);
        let next_turn = std::mem::take(&mut self.state().next_turn);
        let added = changes.messages.into_iter();
        let messages = system
            .into_iter()
            .chain([self.user_message(&text, images)])
            .chain(next_turn)
            .chain(added.map(|draft| self.custom_message(draft)))
            .collect();
        Ok(Preflight::Start(claim, messages))
    }

    /// Returns the name of the command a text invokes, if it exists.
    pub(super) fn command_of<'text>(&self, text: &'text str) -> Option<&'text str> {
        let line = text.strip_prefix('/')?;
        let name = line.split_once(' ').map_or(line, |(name, _)| name);
        self.0.hooks.has_command(name).then_some(name)
    }

    /// Runs the input hook; `None` if it handled the input.
    pub(super) async fn run_input_hook(
        &self,
        text: String,
        images: Vec<ImageContent>,
        source: InputSource,
        delivery: Option<Delivery>,
    ) -> Option<(String, Vec<ImageContent>)> {
        let input = UserInput {
            text: text.clone(),
            images: images.clone(),
            source,
            delivery: delivery.filter(|_| self.is_streaming()),
        };
        match self.0.hooks.input(input).await {
            InputVerdict::Continue => Some((text, images)),
            InputVerdict::Replace {
                text,
                images: others,
            } => Some((text, others.unwrap_or(images))),
            InputVerdict::Handled => None,
        }
    }

    /// Expands a skill command, then a prompt template. A skill that cannot be read is reported and
    /// the text stays unchanged.
    pub(super) fn expand(&self, text: String) -> String {
        let resources = self.resources();
        let text = match resources.expand_skill(&text) {
            Some(Ok(expanded)) => expanded,
            Some(Err(error)) => {
                self.report("skill_expansion", None, &*error);
                text
            }
            None => text,
        };
        resources.expand_template(&text).unwrap_or(text)
    }

    /// Checks that requests to a model can be authenticated.
    pub(super) async fn check_auth(&self, model: &Model) -> Result<(), PromptError> {
        if self.0.models.is_authenticated(&model.provider) {
            return Ok(());
        }
        let provider = self.0.models.provider(&model.provider);
        let provider = provider.ok_or_else(|| PromptError::UnknownProvider {
            provider: model.provider.clone(),
        })?;
        let Some(auth) = provider.auth() else {
            return Ok(());
        };
        let authenticator = self.0.models.authenticator();
        match authenticator.check(&auth, &self.0.env).await? {
            Some(_) => Ok(()),
            None => Err(PromptError::NoCredential {
                provider: model.provider.clone(),
                remedy: auth.setup_hint(),
            }),
        }
    }

    async fn check_context_before_prompt(&self) {
        let last = self.last_response();
        if let Some((response, id)) = last {
            // The prompt itself continues from here, so there is nothing to resume.
            self.check_context(CompactionPhase::BeforePrompt, &response, Some(&id), &[])
                .await;
        }
    }

    async fn run_start_hook(&self, text: &str, images: &[ImageContent]) -> AgentStartChanges {
        let start = AgentStart {
            prompt: text.to_owned(),
            images: images.to_vec(),
            sections: self.base_sections(),
            tools: self.active_tool_names(),
        };
        self.0.hooks.before_agent_start(start).await
    }

    fn apply_start_changes(&self, changes: &AgentStartChanges) {
        if let Some(tools) = &changes.tools {
            self.set_active_tools(tools);
        }
        let mut state = self.state();
        state.run.sections.clone_from(&changes.sections);
        state.run.forced_prompt.clone_from(&changes.forced_prompt);
    }

    /// Updates the request options from the settings.
    pub(super) fn prepare_requests(&self) {
        let options = preferences::stream_options(&self.0.settings.settings());
        let hooks = self.0.hooks.request_hooks();
        let session_id = self.session_id();
        self.0.agent.update_stream_options(|current| {
            *current = pi_ai::StreamOptions {
                hooks,
                session_id: Some(session_id),
                ..options
            };
        });
    }

    pub(super) fn custom_message(&self, draft: CustomMessageDraft) -> AgentMessage {
        AgentMessage::Custom(CustomMessage {
            custom_type: draft.custom_type,
            content: draft.content,
            display: draft.display,
            details: draft.details,
            timestamp: self.0.env.now_ms(),
            ..CustomMessage::default()
        })
    }
}
