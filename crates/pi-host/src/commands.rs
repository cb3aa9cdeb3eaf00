//! Executes the commands of clients. RPC and every other front end that is not in this process submit them here.
//!
//! A command is answered with an [`Ack`] as soon as it is executed or, for a prompt, accepted; events report the rest.

mod export;
mod mcp;
mod models;
mod queries;
mod rejection;
mod replacement;
mod screen;
mod tree;

use futures_util::future::BoxFuture;
use pi_core::{InputSource, Prompt, PromptOutcome};
use pi_protocol::json::RawJson;
use pi_protocol::{Ack, Command, Rejected, RejectionCode};
use pi_session::SessionError;
use serde::Serialize;
use serde_json::Value;

use crate::runtime::{SessionRuntime, extension_costs};
use crate::session::{AcceptedPrompt, AgentSession, BashRequest, Handover};
use rejection::RejectionReason;

/// Where a command comes from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandOrigin {
    /// What extensions see as the source of a prompt.
    pub source: InputSource,
    /// The client's ID of the command. The output of a shell command carries it.
    pub request_id: Option<Value>,
}

/// A command that was executed or accepted.
pub struct AcceptedCommand {
    pub ack: Ack,
    pub run: HeldRun,
}

/// Delays the run of an accepted prompt until it is dropped, so that a client can read the reply before the first event.
/// Other commands have nothing to delay.
#[derive(Default)]
pub struct HeldRun {
    _prompt: Option<AcceptedPrompt>,
}

impl AcceptedCommand {
    fn done() -> Self {
        Ack::Done { data: None }.into()
    }

    fn with_text(json: String) -> Self {
        let data = Some(RawJson::from_text(json));
        Ack::Done { data }.into()
    }

    fn with_data<T: Serialize + ?Sized>(data: &T) -> CommandResult {
        let data = Some(RawJson::of(data).map_err(RejectionReason::reject)?);
        Ok(Ack::Done { data }.into())
    }
}

impl From<Ack> for AcceptedCommand {
    fn from(ack: Ack) -> Self {
        Self {
            ack,
            run: HeldRun::default(),
        }
    }
}

type CommandResult = Result<AcceptedCommand, Rejected>;

impl SessionRuntime {
    /// Executes a command on the current session.
    pub async fn submit(&self, command: Command) -> Result<Ack, Rejected> {
        let origin = CommandOrigin::default();
        let accepted = self.submit_from(origin, command).await?;
        Ok(accepted.ack)
    }

    /// Executes a command of a known origin; the run of a prompt waits until the result's [`HeldRun`] is dropped.
    pub fn submit_from(
        &self,
        origin: CommandOrigin,
        command: Command,
    ) -> BoxFuture<'_, Result<AcceptedCommand, Rejected>> {
        // Boxed here, so that this crate alone contains the code, and not every front end.
        Box::pin(async move {
            let executor = CommandExecutor {
                runtime: self,
                session: self.session(),
                origin,
            };
            executor.execute(command).await
        })
    }
}

/// Executes one command on the session that is current when it arrives.
struct CommandExecutor<'runtime> {
    runtime: &'runtime SessionRuntime,
    session: AgentSession,
    origin: CommandOrigin,
}

impl CommandExecutor<'_> {
    async fn execute(self, command: Command) -> CommandResult {
        let session = &self.session;
        match command {
            Command::Prompt { .. } | Command::Steer { .. } | Command::FollowUp { .. } => {
                self.send_message(command).await
            }
            Command::Abort => {
                session.abort().await;
                Ok(AcceptedCommand::done())
            }
            Command::Resume { begun } => Handover::of(session)
                .resume_turn(begun)
                .await
                .map(|outcome| prompt_ack(outcome).into())
                .map_err(RejectionReason::reject),
            Command::ClearQueue => AcceptedCommand::with_data(&session.queue().clear().await),
            Command::Answer { request, answer } => {
                done(session.requests().answer(request, answer).await)
            }
            Command::AbortRetry => {
                session.retries().abort();
                Ok(AcceptedCommand::done())
            }
            Command::Compact {
                custom_instructions,
                preview: true,
            } => data(session.compaction().preview(custom_instructions.as_deref())),
            Command::UndoCompaction => data(session.compaction().undo().await),
            Command::GetCacheReport => {
                let misses = session.history().cache_misses();
                data(misses.map(|misses| serde_json::json!({ "misses": misses })))
            }
            Command::GetContextReport => data(session.history().context_report()),
            Command::GetExtensionCosts => {
                let extensions = Box::pin(extension_costs(self.runtime)).await;
                AcceptedCommand::with_data(&serde_json::json!({ "extensions": extensions }))
            }
            Command::Compact {
                custom_instructions,
                preview: false,
            } => data(session.compaction().run(custom_instructions).await),
            Command::SetAutoCompaction { enabled } => {
                done(session.compaction().set_automatic(enabled))
            }
            Command::SetAutoRetry { enabled } => done(session.retries().set_automatic(enabled)),
            Command::SetSteeringMode { mode } => done(session.queue().set_steering_mode(mode)),
            Command::SetFollowUpMode { mode } => done(session.queue().set_follow_up_mode(mode)),
            Command::Bash {
                command,
                exclude_from_context,
            } => {
                let request = BashRequest {
                    id: self.origin.request_id,
                    command,
                    exclude_from_context: exclude_from_context.unwrap_or(false),
                };
                data(session.user_commands().run(request).await)
            }
            Command::AbortBash => {
                session.user_commands().abort();
                Ok(AcceptedCommand::done())
            }
            Command::SetModel { .. }
            | Command::CycleModel
            | Command::GetAvailableModels
            | Command::SetThinkingLevel { .. }
            | Command::CycleThinkingLevel
            | Command::GetAvailableThinkingLevels => models::execute(session, command).await,
            Command::NewSession { .. }
            | Command::SwitchSession { .. }
            | Command::Fork { .. }
            | Command::Clone => replacement::execute(self.runtime, command).await,
            Command::ExportHtml { output_path } => {
                export::execute(self.runtime, session, output_path).await
            }
            Command::SetSessionName { name } => match name.trim() {
                "" => Err(Rejected::new(
                    RejectionCode::Invalid,
                    "Session name must not be blank",
                )),
                name => done(self.set_name(name).await),
            },
            Command::GetState
            | Command::GetMessages
            | Command::GetSessionStats
            | Command::GetForkMessages
            | Command::GetEntries { .. }
            | Command::GetTree
            | Command::GetLastAssistantText
            | Command::GetCommands => queries::execute(self.runtime, session, command),
            Command::GetMcpServers => mcp::list(self.runtime),
            Command::ScreenInput { component, data } => {
                Ok(screen::input(self.runtime, component, data))
            }
            Command::ScreenRender { row, expanded } => {
                Box::pin(screen::render(self.runtime, session, row, expanded)).await
            }
            Command::ScreenSize(size) => Ok(screen::resize(self.runtime, size)),
            Command::Hello(hello) => Ok(mcp::greet(self.runtime, hello.elicitation)),
            Command::ListSessions { .. }
            | Command::SearchSessions { .. }
            | Command::NavigateTree { .. }
            | Command::SetLabel { .. }
            | Command::GetTools
            | Command::SetActiveTools { .. }
            | Command::GetRequests
            | Command::Complete { .. } => {
                Box::pin(tree::execute(self.runtime, session, command)).await
            }
            Command::McpAction { server, action } => mcp::act(self.runtime, &server, action).await,
        }
    }

    /// Names the session; if it is being replaced, the one that replaces it.
    async fn set_name(&self, name: &str) -> Result<(), SessionError> {
        match self.session.history().set_name(name).await {
            Err(SessionError::Closed) => {
                self.runtime.wait_for_replacement().await;
                self.runtime.session().history().set_name(name).await
            }
            set => set,
        }
    }

    async fn send_message(self, command: Command) -> CommandResult {
        let (queue, source) = (self.session.queue(), self.origin.source);
        let outcome = match command {
            Command::Prompt {
                message,
                images,
                streaming_behavior,
            } => {
                let prompt = Prompt {
                    text: message,
                    images,
                    streaming_behavior,
                    expand: true,
                    source,
                };
                let accepted = self
                    .session
                    .accept_prompt(prompt)
                    .await
                    .map_err(RejectionReason::reject)?;
                return Ok(AcceptedCommand {
                    ack: prompt_ack(accepted.outcome),
                    run: HeldRun {
                        _prompt: Some(accepted),
                    },
                });
            }
            Command::Steer { message, images } => queue.steer(&message, images, source).await,
            Command::FollowUp { message, images } => {
                queue.follow_up(&message, images, source).await
            }
            _ => return Ok(AcceptedCommand::done()),
        };
        outcome
            .map(|outcome| prompt_ack(outcome).into())
            .map_err(RejectionReason::reject)
    }
}

pub(crate) fn prompt_ack(outcome: PromptOutcome) -> Ack {
    match outcome {
        PromptOutcome::Started => Ack::Started,
        PromptOutcome::Queued => Ack::Queued,
        PromptOutcome::Handled => Ack::Handled,
    }
}

fn done<T, E: RejectionReason>(outcome: Result<T, E>) -> CommandResult {
    outcome
        .map(|_| AcceptedCommand::done())
        .map_err(RejectionReason::reject)
}

fn data<T: Serialize, E: RejectionReason>(outcome: Result<T, E>) -> CommandResult {
    AcceptedCommand::with_data(&outcome.map_err(RejectionReason::reject)?)
}
