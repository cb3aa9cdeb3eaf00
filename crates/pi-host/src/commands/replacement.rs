//! Commands that replace the session.

use std::path::PathBuf;

use pi_protocol::{Command, EntryId};
use pi_session::ForkPosition;
use serde::Serialize;

use super::rejection::RejectionReason;
use super::{AcceptedCommand, CommandResult};
use crate::runtime::SessionRuntime;

/// The data of the reply.
#[derive(Serialize)]
struct Replacement {
    /// The text of the message before which the session was forked.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Whether an extension canceled it.
    cancelled: bool,
}

pub(super) async fn execute(runtime: &SessionRuntime, command: Command) -> CommandResult {
    let replaced = match command {
        Command::NewSession { parent_session } => {
            let parent = parent_session.map(PathBuf::from);
            runtime.new_session(parent).await
        }
        Command::SwitchSession { session_path } => {
            let path = PathBuf::from(session_path);
            runtime.switch_session(&path).await
        }
        Command::Clone => runtime.clone_session().await,
        Command::Fork { entry_id } => {
            let entry = EntryId::from(entry_id);
            runtime.fork(&entry, ForkPosition::Before).await
        }
        _ => return Ok(AcceptedCommand::done()),
    };
    let replaced = replaced.map_err(RejectionReason::reject)?;
    AcceptedCommand::with_data(&Replacement {
        text: replaced.selected_text,
        cancelled: replaced.cancelled,
    })
}
