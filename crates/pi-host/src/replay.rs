//! Replays a recorded conversation offline through the real loop.
//!
//! Model responses and tool results come from the record; nothing is sent and no tool runs. The
//! resulting messages are compared with the recorded ones, and the first difference is reported.
//! System messages, user shell commands and extension messages are skipped.

mod recorded;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use pi_config::{AgentDir, ResourceFlags, SettingsStore};
use pi_core::{InputSource, Prompt, RegisteredTool, ToolRegistry};
use pi_env::Env;
use pi_export::{NextPrompt, RecordError, ReplayReport, ReplayScript};
use pi_protocol::settings::Settings;
use pi_protocol::{ImageContent, InputBlock, MessageContent, UserMessage};
use pi_providers::{Models, ModelsOptions, Registration};
use pi_session::SessionError;
use thiserror::Error;

use crate::host::{Host, HostOptions, TrustFlag};
use crate::runtime::{SessionOptions, StartError};
use crate::session::{AgentSession, PromptError};
use crate::session_choice::SessionChoice;
use crate::toolset::{DefaultTools, ToolSelection};
use recorded::{RecordedModel, recorded_tools};

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
    let script = ReplayScript::read(path, env)?;
    if !script.has_prompt() {
        return Err(ReplayError::NoPrompt);
    }
    let tools = recorded_tools(&script);
    let model = Arc::new(RecordedModel::new(script));
    let (host, options) = offline_session(&model, tools, env);
    let runtime = host.start(options).await?;
    let session = runtime.session();
    model.use_session(session.clone());
    let reached = replay_prompts(&session, &model).await;
    let report = reached.and_then(|reached| {
        let entries = session
            .history()
            .with_session(|session| session.current_branch().entries())?;
        Ok(model.script().compare(reached, &entries))
    });
    runtime.shutdown().await;
    report
}

/// Sends every prompt of the record. Returns how many of its messages could be reached.
async fn replay_prompts(
    session: &AgentSession,
    model: &RecordedModel,
) -> Result<usize, ReplayError> {
    loop {
        let next = model.script().next_prompt();
        match next {
            NextPrompt::Send(message) => {
                session.prompt(prompt_of(&message)).await?;
                session.wait_for_idle().await;
            }
            NextPrompt::End { reached } => return Ok(reached),
        }
    }
}

/// Returns a host and a session that use nothing but the record.
fn offline_session(
    model: &Arc<RecordedModel>,
    tools: Vec<RegisteredTool>,
    env: &Env,
) -> (Host, SessionOptions) {
    let models = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        ..ModelsOptions::default()
    });
    let registered = models.register(
        recorded::PROVIDER,
        Registration::Provider(Arc::clone(model) as _),
    );
    if let Err(error) = registered {
        tracing::error!(%error, "cannot register the replay model");
    }
    let mut settings = Settings::default();
    settings.compaction.enabled = Some(false);
    settings.retry.base_delay_ms = Some(0);
    settings.steering_mode = Some(pi_protocol::QueueMode::All);
    // An unpredictable name, since the temporary directory is shared between users.
    let name = format!("pi-replay-{}", uuid::Uuid::new_v4().simple());
    let nowhere = std::env::temp_dir().join(name);
    let host = Host::new(HostOptions {
        trust: Some(TrustFlag::Deny),
        offline: true,
        settings: Some(SettingsStore::in_memory(settings)),
        model_collection: Some(models),
        ..HostOptions::new(AgentDir::at(&nowhere), env.clone())
    });
    let options = SessionOptions {
        session: SessionChoice::InMemory { id: None },
        tools: ToolSelection {
            defaults: DefaultTools::NoBuiltin,
            ..ToolSelection::default()
        },
        tool_sources: vec![Arc::new(ToolRegistry::new(tools))],
        resources: ResourceFlags {
            no_extensions: true,
            no_skills: true,
            no_prompt_templates: true,
            no_themes: true,
            no_context_files: true,
            ..ResourceFlags::default()
        },
        ..SessionOptions::new(nowhere)
    };
    (host, options)
}

/// Returns the prompt that sends a user message again.
fn prompt_of(message: &UserMessage) -> Prompt {
    let (text, images) = message_parts(message);
    Prompt {
        text,
        images,
        streaming_behavior: None,
        expand: false,
        source: InputSource::Cli,
    }
}

fn message_parts(message: &UserMessage) -> (String, Vec<ImageContent>) {
    match &message.content {
        MessageContent::Text(text) => (text.clone(), Vec::new()),
        MessageContent::Blocks(blocks) => {
            let images = blocks.iter().filter_map(|block| match block {
                InputBlock::Image(image) => Some(image.clone()),
                _ => None,
            });
            (
                pi_protocol::join_text(blocks).into_owned(),
                images.collect(),
            )
        }
    }
}
