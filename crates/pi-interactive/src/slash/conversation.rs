//! Commands that replace or compact the conversation.

use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::controllers::dialogs::{DialogMsg, DialogRequest};
use crate::controllers::switching::SwitchMsg;
use crate::session::command::{Replacement, SessionCommand};

/// `/new`
pub(super) fn new(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    replace(Replacement::New)
}

/// `/clone`
pub(super) fn clone(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    replace(Replacement::Clone)
}

/// `/compact [--preview] [instructions]`, `/compact undo`
pub(super) fn compact(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    let instructions = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    if argument == "undo" {
        return vec![AppCommand::Session(SessionCommand::UndoCompaction)];
    }
    let preview = argument.strip_prefix("--preview");
    if let Some(rest) = preview.filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
        let instructions = instructions(rest.trim());
        return vec![AppCommand::Session(SessionCommand::PreviewCompaction {
            instructions,
        })];
    }
    let instructions = instructions(argument);
    vec![AppCommand::Session(SessionCommand::Compact {
        instructions,
    })]
}

/// `/search [words]`
pub(super) fn search(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    let search = Some(argument.trim().to_owned());
    vec![AppCommand::send(DialogMsg::Open(DialogRequest::Resume {
        search,
    }))]
}

/// `/reload`
pub(super) fn reload(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    replace(Replacement::Reload)
}

fn replace(request: Replacement) -> Vec<AppCommand> {
    vec![AppCommand::send(SwitchMsg::Replace(request))]
}
