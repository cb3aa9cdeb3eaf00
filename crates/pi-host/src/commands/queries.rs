//! Commands that read the session.

use pi_export::{session_entries_json, session_tree_json};
use pi_protocol::Command;
use serde_json::json;

use super::rejection::RejectionReason;
use super::{AcceptedCommand, CommandResult, data};
use crate::runtime::SessionRuntime;
use crate::session::AgentSession;

pub(super) fn execute(
    runtime: &SessionRuntime,
    session: &AgentSession,
    command: Command,
) -> CommandResult {
    let history = session.history();
    match command {
        Command::GetState => AcceptedCommand::with_data(&session.status()),
        Command::GetMessages => {
            let mut json = history.messages_json().map_err(RejectionReason::reject)?;
            json.insert_str(0, "{\"messages\":");
            json.push('}');
            Ok(AcceptedCommand::with_text(json))
        }
        Command::GetSessionStats => data(history.stats()),
        Command::GetForkMessages => {
            let messages = history
                .messages_for_forking()
                .map_err(RejectionReason::reject)?;
            AcceptedCommand::with_data(&json!({ "messages": messages }))
        }
        Command::GetEntries { since } => {
            let since = since.as_deref();
            let entries = history.with_session(|tree| session_entries_json(tree, since));
            entries
                .map(AcceptedCommand::with_text)
                .map_err(RejectionReason::reject)
        }
        Command::GetTree => {
            let tree = history.with_session(session_tree_json);
            tree.map(AcceptedCommand::with_text)
                .map_err(RejectionReason::reject)
        }
        Command::GetLastAssistantText => {
            // An absent text is an absent field on the wire.
            match history
                .last_assistant_text()
                .map_err(RejectionReason::reject)?
            {
                Some(text) => AcceptedCommand::with_data(&json!({ "text": text })),
                None => AcceptedCommand::with_data(&json!({})),
            }
        }
        Command::GetCommands => {
            AcceptedCommand::with_data(&json!({ "commands": runtime.commands() }))
        }
        _ => Ok(AcceptedCommand::done()),
    }
}
