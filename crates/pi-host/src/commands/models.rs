//! Commands for models and thinking levels.

use pi_protocol::{Command, Rejected, RejectionCode, ThinkingLevel};
use serde_json::json;

use super::rejection::RejectionReason;
use super::{AcceptedCommand, CommandResult, data, done};
use crate::session::{AgentSession, CycleDirection, Persist};

pub(super) async fn execute(session: &AgentSession, command: Command) -> CommandResult {
    let selection = session.selection();
    match command {
        Command::SetModel { provider, model_id } => {
            let mut available = session.models().available().into_iter();
            let found = available.find(|model| model.provider == provider && model.id == model_id);
            let model = found.ok_or_else(|| {
                let message = format!("Model not available: {provider}/{model_id}");
                Rejected::new(RejectionCode::NotFound, message)
            })?;
            let chosen = selection.set_model(model.clone(), Persist::Session).await;
            data(chosen.map(|()| model.without_password().into_owned()))
        }
        Command::CycleModel => {
            let cycled = selection.cycle_model(CycleDirection::Forward, Persist::Session);
            data(cycled.await)
        }
        Command::GetAvailableModels => {
            let available = session.models().available();
            let shown: Vec<_> = available
                .iter()
                .map(|model| model.without_password())
                .collect();
            AcceptedCommand::with_data(&json!({ "models": shown }))
        }
        Command::SetThinkingLevel { level } => {
            let levels = selection.available_thinking_levels();
            let least = levels.first().copied().unwrap_or_default();
            let level = ThinkingLevel::from_name(&level).unwrap_or(least);
            done(selection.set_thinking_level(level, Persist::Session).await)
        }
        Command::CycleThinkingLevel => {
            let level = selection.cycle_thinking_level(Persist::Session).await;
            let level = level.map_err(RejectionReason::reject)?;
            AcceptedCommand::with_data(&level.map(|level| json!({ "level": level })))
        }
        Command::GetAvailableThinkingLevels => {
            AcceptedCommand::with_data(&json!({ "levels": selection.available_thinking_levels() }))
        }
        _ => Ok(AcceptedCommand::done()),
    }
}
