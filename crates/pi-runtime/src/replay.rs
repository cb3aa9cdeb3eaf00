//! Replays a recorded conversation offline through the real loop.
//!
//! Model responses and tool results come from the record; nothing is sent and no tool runs. The
//! resulting messages are compared with the recorded ones, and the first difference is reported.
//! System messages, user shell commands and extension messages are skipped.

mod comparison;
mod record;
mod script;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use pi_config::{AgentDir, ResourceFlags, Settings, SettingsStore};
use pi_env::Env;
use pi_protocol::{AgentMessage, ImageContent, InputBlock, MessageContent, UserMessage};
use pi_providers::{Models, ModelsOptions, Registration};
use pi_session::SessionError;
use thiserror::Error;

use crate::runtime::{RuntimeOptions, SessionRuntime, StartError};
use crate::session::{AgentSession, PromptError};
use crate::session_choice::SessionChoice;
use crate::toolset::{DefaultTools, ToolSelection};
use pi_core::{InputSource, Prompt};

use comparison::first_difference;
pub use record::RecordError;
use record::RecordedConversation;
use script::{RecordedModel, recorded_tools};

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// Number of recorded messages that were compared.
    pub messages: usize,
    /// Number of model responses among them.
    pub answers: usize,
    /// Number of messages at the end that were not replayed, because no user prompt led to them.
    pub skipped: usize,
    /// The first difference, if any.
    pub difference: Option<ReplayDifference>,
}

/// The first message that differs from the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayDifference {
    /// Number of the message, starting at 1.
    pub position: usize,
    /// The recorded message; `None` if the record ends here.
    pub recorded: Option<String>,
    /// The replayed message; `None` if the replay ended here.
    pub replayed: Option<String>,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("nothing to replay: the record contains no prompt")]
    NoPrompt,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("a recorded prompt was rejected: {0}")]
    PromptRejected(#[from] PromptError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Replays a record: a session file, or the archive of a bug report.
pub async fn replay(path: &Path, env: &Env) -> Result<ReplayReport, ReplayError> {
    let record = RecordedConversation::read(path, env)?;
    if !record
        .messages
        .iter()
        .any(|message| prompt_of(message).is_some())
    {
        return Err(ReplayError::NoPrompt);
    }
    let RecordedConversation {
        messages,
        after_extension,
    } = record;
    let messages: Arc<[AgentMessage]> = messages.into();
    let model = Arc::new(RecordedModel::new(Arc::clone(&messages)));
    let runtime = SessionRuntime::start(options(&model, &messages, env)).await?;
    let session = runtime.session();
    model.use_session(session.clone());
    let outcome = replay_prompts(&session, &model, &messages, &after_extension).await;
    let replayed = outcome.and_then(|played| {
        let entries = session.with_session(pi_session::Session::branch_entries)?;
        Ok((played, comparison::replayed(&entries)))
    });
    runtime.shutdown().await;
    let (played, replayed) = replayed?;
    let compared = messages.get(..played).unwrap_or(&messages);
    Ok(ReplayReport {
        messages: compared.len(),
        answers: compared
            .iter()
            .filter(|message| is_response(message))
            .count(),
        skipped: messages.len() - compared.len(),
        difference: first_difference(compared, &replayed),
    })
}

/// Sends every prompt of the record. Returns how many of its messages could be reached.
async fn replay_prompts(
    session: &AgentSession,
    model: &RecordedModel,
    messages: &[AgentMessage],
    after_extension: &[usize],
) -> Result<usize, ReplayError> {
    loop {
        let position = model.position();
        let Some(message) = messages.get(position) else {
            return Ok(messages.len());
        };
        let Some(prompt) = prompt_of(message) else {
            // Either an extension continued here, or the loop stopped earlier than in the record.
            let is_after_extension = after_extension.contains(&position);
            return Ok(if is_after_extension {
                position
            } else {
                messages.len()
            });
        };
        model.advance();
        session.prompt(prompt).await?;
        session.wait_for_idle().await;
    }
}

fn options(model: &Arc<RecordedModel>, messages: &[AgentMessage], env: &Env) -> RuntimeOptions {
    let models = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        ..ModelsOptions::default()
    });
    let registered = models.register(
        script::PROVIDER,
        Registration::Provider(Arc::clone(model) as _),
    );
    if let Err(error) = registered {
        tracing::error!(%error, "cannot register the replay model");
    }
    let mut settings = Settings::default();
    settings.compaction.enabled = Some(false);
    settings.retry.base_delay_ms = Some(0);
    settings.steering_mode = Some(pi_config::DeliveryMode::All);
    // An unpredictable name, since the temporary directory is shared between users.
    let name = format!("pi-replay-{}", uuid::Uuid::new_v4().simple());
    let nowhere = std::env::temp_dir().join(name);
    RuntimeOptions {
        session: SessionChoice::InMemory { id: None },
        trust: Some(false),
        tools: ToolSelection {
            defaults: DefaultTools::NoBuiltin,
            ..ToolSelection::default()
        },
        custom_tools: recorded_tools(messages),
        resources: ResourceFlags {
            no_extensions: true,
            no_skills: true,
            no_prompt_templates: true,
            no_themes: true,
            no_context_files: true,
            ..ResourceFlags::default()
        },
        offline: true,
        settings: Some(SettingsStore::in_memory(settings)),
        model_collection: Some(models),
        ..RuntimeOptions::new(AgentDir::at(&nowhere), nowhere, env.clone())
    }
}

fn is_response(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::Assistant(_))
}

/// Returns the prompt that sends a user message again.
fn prompt_of(message: &AgentMessage) -> Option<Prompt> {
    let AgentMessage::User(message) = message else {
        return None;
    };
    let (text, images) = message_parts(message);
    Some(Prompt {
        text,
        images,
        streaming_behavior: None,
        expand: false,
        source: InputSource::Cli,
    })
}

fn message_parts(message: &UserMessage) -> (String, Vec<ImageContent>) {
    match &message.content {
        MessageContent::Text(text) => (text.clone(), Vec::new()),
        MessageContent::Blocks(blocks) => {
            let images = blocks.iter().filter_map(|block| match block {
                InputBlock::Image(image) => Some(image.clone()),
                _ => None,
            });
            (pi_protocol::join_text(blocks), images.collect())
        }
    }
}
