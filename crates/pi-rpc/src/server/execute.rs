//! Executes commands on the session.

use std::error::Error;
use std::path::PathBuf;

use pi_export::{ExportTheme, HtmlOptions, export_html, stored_secrets};
use pi_host::{BashRequest, CycleDirection, InputSource, Persist, Prompt, describe_error};
use pi_protocol::{Command, EntryId, ThinkingLevel};
use pi_session::ForkPosition;
use serde::Serialize;
use serde_json::json;

use super::response_slot::ResponseSlot;
use super::{Server, session_json};
use crate::response::{ForkResponse, ReplaceResponse};

/// How to respond to a command.
pub(super) enum CommandReply {
    Done,
    /// Success with JSON data.
    Data(String),
}

type CommandResult = Result<CommandReply, String>;

impl Server {
    /// Executes a command. An error is returned to the client as is.
    pub(super) async fn execute(&self, command: Command, response: &ResponseSlot) -> CommandResult {
        let session = self.runtime.session();
        match command {
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
                    source: InputSource::Rpc,
                };
                // Respond before the first event of the run.
                let announce = |_| response.succeed(None);
                let accepted = session.prompt_announced(prompt, announce).await;
                accepted.map(|_| CommandReply::Done).map_err(describe)
            }
            Command::Steer { message, images } => {
                let queued = session
                    .queue()
                    .steer(&message, images, InputSource::Rpc)
                    .await;
                done(queued)
            }
            Command::FollowUp { message, images } => {
                let queued = session
                    .queue()
                    .follow_up(&message, images, InputSource::Rpc)
                    .await;
                done(queued)
            }
            Command::Abort => {
                session.abort().await;
                Ok(CommandReply::Done)
            }
            Command::ClearQueue => data(&session.queue().clear().await),
            Command::Answer { request, answer } => {
                done(session.requests().answer(request, answer).await)
            }
            Command::AbortRetry => {
                session.retries().abort();
                Ok(CommandReply::Done)
            }
            Command::Compact {
                custom_instructions,
            } => data(
                &session
                    .compaction()
                    .run(custom_instructions)
                    .await
                    .map_err(describe)?,
            ),
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
                    id: response.id().cloned(),
                    command,
                    exclude_from_context: exclude_from_context.unwrap_or(false),
                };
                data(
                    &session
                        .user_commands()
                        .run(request)
                        .await
                        .map_err(describe)?,
                )
            }
            Command::AbortBash => {
                session.user_commands().abort();
                Ok(CommandReply::Done)
            }
            Command::SetModel { .. }
            | Command::CycleModel
            | Command::GetAvailableModels
            | Command::SetThinkingLevel { .. }
            | Command::CycleThinkingLevel
            | Command::GetAvailableThinkingLevels => self.choose(command).await,
            Command::NewSession { .. }
            | Command::SwitchSession { .. }
            | Command::Fork { .. }
            | Command::Clone => self.replace(command).await,
            Command::ExportHtml { output_path } => self.export(output_path).await,
            Command::SetSessionName { name } => match name.trim() {
                "" => Err("Session name must not be blank".to_owned()),
                name => done(session.history().set_name(name).await),
            },
            Command::GetState
            | Command::GetMessages
            | Command::GetSessionStats
            | Command::GetForkMessages
            | Command::GetEntries { .. }
            | Command::GetTree
            | Command::GetLastAssistantText
            | Command::GetCommands => self.query(command),
        }
    }

    /// Executes the read-only commands.
    fn query(&self, command: Command) -> CommandResult {
        let session = self.runtime.session();
        match command {
            Command::GetState => data(&session.status()),
            Command::GetMessages => {
                let mut data = session.history().messages_json().map_err(describe)?;
                data.insert_str(0, "{\"messages\":");
                data.push('}');
                Ok(CommandReply::Data(data))
            }
            Command::GetSessionStats => data(&session.history().stats().map_err(describe)?),
            Command::GetForkMessages => {
                let messages = session.history().messages_for_forking().map_err(describe)?;
                data(&json!({ "messages": messages }))
            }
            Command::GetEntries { since } => {
                let since = since.as_deref();
                let entries = session
                    .history()
                    .with_session(|tree| session_json::entries(tree, since));
                entries.map(CommandReply::Data).map_err(describe)
            }
            Command::GetTree => {
                let tree = session.history().with_session(session_json::tree);
                tree.map(CommandReply::Data).map_err(describe)
            }
            Command::GetLastAssistantText => {
                // An absent text is an absent field on the wire.
                match session.history().last_assistant_text().map_err(describe)? {
                    Some(text) => data(&json!({ "text": text })),
                    None => data(&json!({})),
                }
            }
            Command::GetCommands => data(&json!({ "commands": self.runtime.commands() })),
            _ => Ok(CommandReply::Done),
        }
    }

    /// Executes the commands for models and thinking levels.
    async fn choose(&self, command: Command) -> CommandResult {
        let session = self.runtime.session();
        match command {
            Command::SetModel { provider, model_id } => {
                let mut available = session.models().available().into_iter();
                let found =
                    available.find(|model| model.provider == provider && model.id == model_id);
                let model =
                    found.ok_or_else(|| format!("Model not available: {provider}/{model_id}"))?;
                let chosen = session
                    .selection()
                    .set_model(model.clone(), Persist::Session)
                    .await;
                chosen.map_err(describe)?;
                data(&model)
            }
            Command::CycleModel => {
                let cycled = session
                    .selection()
                    .cycle_model(CycleDirection::Forward, Persist::Session);
                data(&cycled.await.map_err(describe)?)
            }
            Command::GetAvailableModels => data(&json!({ "models": session.models().available() })),
            Command::SetThinkingLevel { level } => {
                let levels = session.selection().available_thinking_levels();
                let least = levels.first().copied().unwrap_or_default();
                let level = ThinkingLevel::from_name(&level).unwrap_or(least);
                done(
                    session
                        .selection()
                        .set_thinking_level(level, Persist::Session)
                        .await,
                )
            }
            Command::CycleThinkingLevel => {
                let level = session
                    .selection()
                    .cycle_thinking_level(Persist::Session)
                    .await;
                let level = level.map_err(describe)?;
                data(&level.map(|level| json!({ "level": level })))
            }
            Command::GetAvailableThinkingLevels => {
                data(&json!({ "levels": session.selection().available_thinking_levels() }))
            }
            _ => Ok(CommandReply::Done),
        }
    }

    /// Executes the commands that replace the session.
    async fn replace(&self, command: Command) -> CommandResult {
        let runtime = &self.runtime;
        let replaced = match command {
            Command::NewSession { parent_session } => {
                let parent = parent_session.map(PathBuf::from);
                runtime.new_session(parent).await.map_err(describe)?
            }
            Command::SwitchSession { session_path } => {
                let path = PathBuf::from(session_path);
                runtime.switch_session(&path).await.map_err(describe)?
            }
            Command::Clone => runtime.clone_session().await.map_err(describe)?,
            Command::Fork { entry_id } => {
                let forked = runtime
                    .fork(&EntryId::from(entry_id), ForkPosition::Before)
                    .await;
                let forked = forked.map_err(describe)?;
                self.subscribe_to(&runtime.session());
                return data(&ForkResponse {
                    text: forked.selected_text,
                    cancelled: forked.cancelled,
                });
            }
            _ => return Ok(CommandReply::Done),
        };
        // Subscribe before responding, so no event of the new session is missed.
        self.subscribe_to(&runtime.session());
        data(&ReplaceResponse {
            cancelled: replaced.cancelled,
        })
    }

    async fn export(&self, output: Option<String>) -> CommandResult {
        let session = self.runtime.session();
        let credentials = session.models().authenticator().store();
        let workspace = self.runtime.workspace();
        let setting = workspace.settings.settings().theme.clone();
        let options = HtmlOptions {
            output: output.map(PathBuf::from),
            theme: ExportTheme::from_setting(setting.as_deref(), &workspace.resources.themes),
            redaction: stored_secrets(credentials.as_ref()).await,
            ..HtmlOptions::default()
        };
        let path = session
            .history()
            .with_session(|session| export_html(session, &options));
        data(&json!({ "path": path.map_err(describe)? }))
    }
}

fn done<T, E: Error>(outcome: Result<T, E>) -> CommandResult {
    outcome.map(|_| CommandReply::Done).map_err(describe)
}

fn data<T: Serialize + ?Sized>(data: &T) -> CommandResult {
    let text = pi_protocol::json::to_string(data).map_err(describe)?;
    Ok(CommandReply::Data(text))
}

/// Formats an error and its causes on one line.
fn describe(error: impl Error) -> String {
    describe_error(&error)
}
