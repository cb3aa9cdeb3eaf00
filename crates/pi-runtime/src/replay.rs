//! A recorded conversation, run again offline through the real loop.
//!
//! The model's answers and the tools' results come from the record; nothing is sent and no tool runs. What
//! the loop makes of them is compared with what it made of them before, and the first difference is told.
//! Instructions, the user's own commands and messages of extensions are passed over.

mod comparison;
mod record;
mod script;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use pi_ai::{
    AgentMessage, Content, Env, ImageContent, InputBlock, Models, ModelsOptions, Registration,
    UserMessage,
};
use pi_config::{AgentDir, ResourceFlags, Settings, SettingsStore};
use pi_session::SessionError;
use thiserror::Error;

use crate::runtime::{RuntimeOptions, SessionRuntime, StartError};
use crate::session::{AgentSession, InputSource, Prompt, PromptError};
use crate::session_choice::SessionChoice;
use crate::toolset::{DefaultTools, ToolSelection};

use comparison::first_difference;
use record::Record;
pub use record::RecordError;
use script::{RecordedModel, recorded_tools};

/// What came of running a record again.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayReport {
    /// How many messages of the record were compared.
    pub messages: usize,
    /// How many of them are the model's answers.
    pub answers: usize,
    /// How many messages at the end were not replayed, because no prompt of the user led to them.
    pub skipped: usize,
    /// Where the loop did something else.
    pub difference: Option<ReplayDifference>,
}

/// Where the loop did something else than the record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayDifference {
    /// The number of the message, the first being 1.
    pub position: usize,
    /// What the record says; none where it ends.
    pub recorded: Option<String>,
    /// What the loop did; none where it ended.
    pub replayed: Option<String>,
}

/// Why a record was not run again.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is nothing in it.
    #[error("the record holds no prompt to run again")]
    Nothing,
    /// No session can be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The session took no prompt.
    #[error("the session refused a prompt of the record: {0}")]
    Refused(#[from] PromptError),
    /// The session cannot be read back.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Runs a record again: a session file, or the archive of a report about a problem.
pub async fn replay(path: &Path, env: &Env) -> Result<ReplayReport, ReplayError> {
    let record = Record::read(path, env)?;
    if !record
        .messages
        .iter()
        .any(|message| prompt_of(message).is_some())
    {
        return Err(ReplayError::Nothing);
    }
    let Record { messages, foreign } = record;
    let messages: Arc<[AgentMessage]> = messages.into();
    let model = Arc::new(RecordedModel::new(Arc::clone(&messages)));
    let runtime = SessionRuntime::start(options(&model, &messages, env)).await?;
    let session = runtime.session();
    model.use_session(session.clone());
    let outcome = play(&session, &model, &messages, &foreign).await;
    let replayed = outcome.and_then(|played| {
        let entries = session.with_session(pi_session::Session::branch_entries)?;
        Ok((played, comparison::replayed(&entries)))
    });
    runtime.shutdown().await;
    let (played, replayed) = replayed?;
    let compared = messages.get(..played).unwrap_or(&messages);
    Ok(ReplayReport {
        messages: compared.len(),
        answers: compared.iter().filter(|message| is_answer(message)).count(),
        skipped: messages.len() - compared.len(),
        difference: first_difference(compared, &replayed),
    })
}

/// Says every prompt of the record. Returns how many of its messages could be reached.
async fn play(
    session: &AgentSession,
    model: &RecordedModel,
    messages: &[AgentMessage],
    foreign: &[usize],
) -> Result<usize, ReplayError> {
    loop {
        let position = model.position();
        let Some(message) = messages.get(position) else {
            return Ok(messages.len());
        };
        let Some(prompt) = prompt_of(message) else {
            // Either an extension went on here, or the loop stopped where it did not before.
            let is_foreign = foreign.contains(&position);
            return Ok(if is_foreign { position } else { messages.len() });
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
        tracing::error!(%error, "the model of the record is not known");
    }
    let mut settings = Settings::default();
    settings.compaction.enabled = Some(false);
    settings.retry.base_delay_ms = Some(0);
    settings.steering_mode = Some(pi_config::DeliveryMode::All);
    // A name nobody could know beforehand: the folder for temporary files is everybody's.
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

fn is_answer(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::Assistant(_))
}

/// Returns what the user said, as it is said again.
fn prompt_of(message: &AgentMessage) -> Option<Prompt> {
    let AgentMessage::User(message) = message else {
        return None;
    };
    let (text, images) = said(message);
    Some(Prompt {
        text,
        images,
        streaming_behavior: None,
        expand: false,
        source: InputSource::Cli,
    })
}

fn said(message: &UserMessage) -> (String, Vec<ImageContent>) {
    match &message.content {
        Content::Text(text) => (text.clone(), Vec::new()),
        Content::Blocks(blocks) => {
            let images = blocks.iter().filter_map(|block| match block {
                InputBlock::Image(image) => Some(image.clone()),
                _ => None,
            });
            (pi_ai::join_text(blocks), images.collect())
        }
    }
}
