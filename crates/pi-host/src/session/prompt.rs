//! Processes a prompt: from user input to the messages a run starts with.
//!
//! Steps: command, input hook, expansion, queue or run; then model and credentials, context check,
//! start hook, images, messages. Everything that can be rejected is rejected before
//! [`AgentSession::prompt`] returns; later outcomes are reported as events.

use pi_auth::AuthError;
use pi_core::{
    Input, InputSource, LaneReply, PreparedRun, Prompt, PromptInput, PromptOutcome, Rejection,
    Reply, RunTrigger,
};
use pi_protocol::{ActivityKind, AgentMessage, CustomMessage, Delivery, ImageContent, Model};
use pi_session::SessionError;
use thiserror::Error;

use super::AgentSession;
use crate::participants::{
    AgentStart, AgentStartChanges, CustomMessageDraft, InputVerdict, UserInput,
};

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
    #[error("the prompt was canceled before it was sent")]
    Canceled,
    #[error("the prompt was not sent because of an internal error: send it again")]
    Crashed,
    #[error("this session was closed; use the one that replaced it")]
    Closed,
}

impl AgentSession {
    /// Sends a prompt. Returns once it is accepted; the run continues in the background.
    pub async fn prompt(&self, prompt: Prompt) -> Result<PromptOutcome, PromptError> {
        Ok(self.accept_prompt(prompt).await?.outcome)
    }

    /// Sends a prompt whose run waits until the result is dropped.
    pub(crate) async fn accept_prompt(
        &self,
        prompt: Prompt,
    ) -> Result<AcceptedPrompt, PromptError> {
        if self.0.control.activity().kind == ActivityKind::Settling {
            // A listener of `agent_settled` must not wait for itself; any other caller can wait for
            // settling to end.
            if self.intake().is_in_hook(prompt.source) {
                return submit_prompt(self, Input::DeferPrompt(prompt)).await;
            }
            self.0.control.wait_until_settled().await;
        }
        match self.intake().resolve(prompt).await? {
            Some(input) => submit_prompt(self, Input::Prompt(input)).await,
            None => Ok(AcceptedPrompt {
                outcome: PromptOutcome::Handled,
                _reply: None,
            }),
        }
    }
}

async fn submit_prompt(
    session: &AgentSession,
    input: Input,
) -> Result<AcceptedPrompt, PromptError> {
    let mut reply = pi_core::submit(session, input).reply().await;
    Ok(AcceptedPrompt {
        outcome: prompt_result(&mut reply)?,
        _reply: Some(reply),
    })
}

/// A prompt that was accepted. Its run starts when this is dropped, so that a client can be answered before the first
/// event.
pub(crate) struct AcceptedPrompt {
    pub(crate) outcome: PromptOutcome,
    _reply: Option<LaneReply<AgentSession>>,
}

/// The steps from user input to the messages a run starts with.
#[derive(Clone, Copy)]
pub(super) struct PromptIntake<'session> {
    session: &'session AgentSession,
}

impl AgentSession {
    pub(super) fn intake(&self) -> PromptIntake<'_> {
        PromptIntake { session: self }
    }
}

impl PromptIntake<'_> {
    /// Runs the command in a prompt, or its input hooks and expansion; `None` if that completed it.
    pub(super) async fn resolve(self, prompt: Prompt) -> Result<Option<PromptInput>, PromptError> {
        if self.session.0.machine().is_closed() {
            return Err(PromptError::Closed);
        }
        if prompt.expand
            && let Some(name) = self.command_of(&prompt.text)
        {
            let arguments = prompt.text.split_once(' ').map_or("", |(_, rest)| rest);
            self.session
                .0
                .participants
                .run_command(name, arguments)
                .await;
            return Ok(None);
        }
        if self.session.0.control.activity().kind == ActivityKind::Compacting {
            return Err(PromptError::Compacting);
        }
        let (source, delivery) = (prompt.source, prompt.streaming_behavior);
        let input = self.run_input_hook(prompt.text, prompt.images, source, delivery);
        let Some((text, images)) = input.await else {
            return Ok(None);
        };
        let text = if prompt.expand {
            self.expand(text)
        } else {
            text
        };
        Ok(Some(PromptInput {
            message: self.session.queue().user_message(&text, images.clone()),
            text,
            images,
            delivery,
            source,
            is_in_hook: self.is_in_hook(source),
        }))
    }

    /// Returns whether settling may wait for the caller.
    fn is_in_hook(self, source: InputSource) -> bool {
        self.session.0.is_publishing() || source == InputSource::Extension
    }

    /// Checks that the selected model can be used.
    pub(super) async fn check_model(self) -> Result<(), PromptError> {
        let model = self
            .session
            .selection()
            .model()
            .ok_or(PromptError::NoModel)?;
        self.check_auth(&model).await
    }

    /// Runs the start hooks and builds the first messages of a run.
    pub(super) async fn prepare_messages(self, trigger: RunTrigger) -> PreparedRun {
        let changes = self.run_start_hook(&trigger).await;
        let prompt = match trigger {
            RunTrigger::Prompt { text, images } => self.fitted_prompt(text, images).await,
            RunTrigger::Message(message) => message,
        };
        self.apply_start_changes(&changes);
        self.session.tools().prepare_loadout().await;
        if let Err(error) = self.session.selection().record() {
            self.session.0.report("model_change", None, &error);
        }
        let added = changes.messages.into_iter();
        PreparedRun {
            prompt,
            added: added.map(|draft| self.custom_message(draft)).collect(),
        }
    }

    /// Builds the message of a prompt, with its images resized for the model.
    async fn fitted_prompt(self, text: String, images: Vec<ImageContent>) -> AgentMessage {
        let (images, notes) =
            pi_tools::fit_prompt_images(images, self.session.tools().image_limits()).await;
        let text = if notes.is_empty() {
            text
        } else {
            format!("{text}\n\n{}", notes.join("\n"))
        };
        self.session.queue().user_message(&text, images)
    }

    /// Returns the name of the command a text invokes, if it exists.
    pub(super) fn command_of(self, text: &str) -> Option<&str> {
        let line = text.strip_prefix('/')?;
        let name = line.split_once(' ').map_or(line, |(name, _)| name);
        self.session
            .0
            .participants
            .has_command(name)
            .then_some(name)
    }

    /// Runs the input hook; `None` if it handled the input.
    pub(super) async fn run_input_hook(
        self,
        text: String,
        images: Vec<ImageContent>,
        source: InputSource,
        delivery: Option<Delivery>,
    ) -> Option<(String, Vec<ImageContent>)> {
        let input = UserInput {
            text: text.clone(),
            images: images.clone(),
            source,
            delivery: delivery.filter(|_| self.session.is_streaming()),
        };
        match self.session.0.participants.input(input).await {
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
    pub(super) fn expand(self, text: String) -> String {
        let resources = self.session.tools().resources();
        let text = match resources.expand_skill(&text) {
            Some(Ok(expanded)) => expanded,
            Some(Err(error)) => {
                self.session.0.report("skill_expansion", None, &*error);
                text
            }
            None => text,
        };
        resources.expand_template(&text).unwrap_or(text)
    }

    /// Checks that requests to a model can be authenticated.
    pub(super) async fn check_auth(self, model: &Model) -> Result<(), PromptError> {
        if self.session.0.models.is_authenticated(&model.provider) {
            return Ok(());
        }
        let provider = self.session.0.models.provider(&model.provider);
        let provider = provider.ok_or_else(|| PromptError::UnknownProvider {
            provider: model.provider.clone(),
        })?;
        let Some(auth) = provider.auth() else {
            return Ok(());
        };
        let authenticator = self.session.0.models.authenticator();
        match authenticator.check(&auth, &self.session.0.env).await? {
            Some(_) => Ok(()),
            None => Err(PromptError::NoCredential {
                provider: model.provider.clone(),
                remedy: auth.setup_hint(),
            }),
        }
    }

    async fn run_start_hook(self, trigger: &RunTrigger) -> AgentStartChanges {
        let (prompt, images, message) = match trigger {
            RunTrigger::Prompt { text, images } => (text.clone(), images.clone(), None),
            RunTrigger::Message(message) => (String::new(), Vec::new(), Some(message.clone())),
        };
        let start = AgentStart {
            prompt,
            images,
            message,
            sections: self.session.tools().base_sections(),
            tools: self.session.tools().active_names(),
        };
        self.session.0.participants.before_agent_start(start).await
    }

    fn apply_start_changes(self, changes: &AgentStartChanges) {
        if let Some(tools) = &changes.tools {
            self.session.tools().set_active(tools);
        }
        let mut state = self.session.0.state();
        state.run.sections.clone_from(&changes.sections);
        state.run.forced_prompt.clone_from(&changes.forced_prompt);
    }

    pub(super) fn custom_message(self, draft: CustomMessageDraft) -> AgentMessage {
        AgentMessage::Custom(CustomMessage {
            custom_type: draft.custom_type,
            content: draft.content,
            display: draft.display,
            details: draft.details,
            timestamp: self.session.0.env.now_ms(),
            ..CustomMessage::default()
        })
    }
}

/// Converts the reply to a prompt or message.
pub(super) fn prompt_result(
    reply: &mut LaneReply<AgentSession>,
) -> Result<PromptOutcome, PromptError> {
    if let Some(error) = reply.error.take() {
        return Err(error);
    }
    match &reply.reply {
        Reply::Started => Ok(PromptOutcome::Started),
        Reply::Queued => Ok(PromptOutcome::Queued),
        Reply::Done | Reply::Cleared(_) | Reply::AnswerRejected(_) => Ok(PromptOutcome::Handled),
        Reply::Rejected(rejection) => Err(rejection_error(*rejection)),
    }
}

pub(super) fn rejection_error(rejection: Rejection) -> PromptError {
    match rejection {
        Rejection::Closed => PromptError::Closed,
        Rejection::Busy => PromptError::Busy,
        Rejection::Compacting => PromptError::Compacting,
        Rejection::Canceled | Rejection::CheckFailed => PromptError::Canceled,
        Rejection::Crashed => PromptError::Crashed,
    }
}
