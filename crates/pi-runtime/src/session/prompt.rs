//! The way of a prompt: from what somebody typed to the messages a run begins with.
//!
//! Command, input hook, expansion, queue or run; then model and credentials, room in the context, the
//! hook that sees a run start, images, messages. Everything that can be refused is refused before
//! [`AgentSession::prompt`] returns; what happens later is told in events.

use std::future::Future;

use pi_ai::{AgentMessage, AuthError, CustomMessage, ImageContent, Model};
use pi_session::{CheckPoint, SessionError};
use thiserror::Error;

use super::state::Deferred;
use super::publish::is_publishing;
use super::queue::{Delivery, EnqueueGuard};
use super::run::RunClaim;
use super::{AgentSession, images, preferences};
use crate::hooks::{AgentStart, AgentStartChanges, CustomMessageDraft, InputVerdict, UserInput};

/// Something to say to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub text: String,
    pub images: Vec<ImageContent>,
    /// How it is queued when a run is under way; none refuses it then.
    pub streaming_behavior: Option<Delivery>,
    /// Whether commands are run and skills and templates expanded.
    pub expand: bool,
    /// Where it comes from.
    pub source: InputSource,
}

impl Prompt {
    /// Creates a prompt of a text, expanded, refused while a run is under way.
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

/// Where input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputSource {
    /// A person at the terminal.
    #[default]
    Interactive,
    /// A client of the line protocol.
    Rpc,
    Extension,
    Cli,
}

/// What became of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptOutcome {
    /// A run has begun.
    Started,
    /// It waits for its turn, or for the session to settle.
    Queued,
    /// A command or a hook dealt with it.
    Handled,
}

/// Why a prompt was refused; nothing has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A run is under way and the prompt does not say how to queue it.
    #[error(
        "the agent is already working: send it as steering or as a follow-up, or wait until it is idle"
    )]
    Busy,
    /// The session is being compacted.
    #[error("the session is being compacted: wait until that is done, then send the prompt again")]
    Compacting,
    /// No model is chosen.
    #[error("no model is selected: choose one with /model or --model, or sign in with /login")]
    NoModel,
    /// The model's provider is not known.
    #[error(
        "the provider \"{provider}\" is not known: add it to models.json or load the extension that brings it"
    )]
    UnknownProvider { provider: String },
    /// There is no credential for the model's provider.
    #[error("no credential for {provider}: {remedy}")]
    NoCredential { provider: String, remedy: String },
    /// The credential cannot be read.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// A command was to be queued.
    #[error(
        "the command /{name} runs at once and cannot be queued: send it as a prompt, also while the agent works"
    )]
    CommandNotQueueable { name: String },
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session is over.
    #[error("this session has been closed: use the one that took its place")]
    Closed,
}

/// What the checks before a run came to.
pub(super) enum Preflight {
    Start(RunClaim, Vec<AgentMessage>),
    Done(PromptOutcome),
}

impl AgentSession {
    /// Sends a prompt. Returns once it is accepted; the run goes on by itself.
    pub async fn prompt(&self, prompt: Prompt) -> Result<PromptOutcome, PromptError> {
        self.prompt_announced(prompt, |_| std::future::ready(()))
            .await
    }

    /// Sends a prompt and has its acceptance announced before the first event of the run.
    pub async fn prompt_announced<Announcing>(
        &self,
        prompt: Prompt,
        announce: impl FnOnce(PromptOutcome) -> Announcing,
    ) -> Result<PromptOutcome, PromptError>
    where
        Announcing: Future<Output = ()>,
    {
        if self.state().run.settling {
            // Who is being told waits for nobody; who is not can wait for the telling to end.
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
            // Another prompt was quicker; should its run be over by now, the claim is free again.
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

    /// Returns the name of the command that a text calls, if there is such a command.
    pub(super) fn command_of<'text>(&self, text: &'text str) -> Option<&'text str> {
        let line = text.strip_prefix('/')?;
        let name = line.split_once(' ').map_or(line, |(name, _)| name);
        self.0.hooks.has_command(name).then_some(name)
    }

    /// Shows the input to the hook; none where it dealt with it.
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
    /// the text left as it is.
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

    /// Checks that requests to a model can authenticate.
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
                remedy: auth.remedy(),
            }),
        }
    }

    async fn check_context_before_prompt(&self) {
        let last = self.last_response();
        if let Some((response, id)) = last {
            // The prompt itself goes on from here, so there is nothing to resume.
            self.check_context(CheckPoint::BeforePrompt, &response, Some(&id), &[])
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

    /// Brings what requests are made with up to date with the settings.
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
