//! Commands that replace or compact the conversation.

use crate::app::command::AppCommand;
use crate::app::context::AppContext;
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

/// `/compact [instructions]`
pub(super) fn compact(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    let instructions = (!argument.is_empty()).then(|| argument.to_owned());
    vec![AppCommand::Session(SessionCommand::Compact {
        instructions,
    })]
}

/// `/reload`
pub(super) fn reload(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    replace(Replacement::Reload)
}

fn replace(request: Replacement) -> Vec<AppCommand> {
    vec![AppCommand::send(SwitchMsg::Replace(request))]
}
