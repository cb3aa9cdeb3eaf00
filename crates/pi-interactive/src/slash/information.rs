//! Commands that show information.

use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::session::command::SessionCommand;
use crate::transcript::NoticeLevel;

/// `/name [name]`
pub(super) fn name(argument: &str, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    let name = argument
        .split(['\r', '\n'])
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let name = name.trim().to_owned();
    if !name.is_empty() {
        return vec![AppCommand::Session(SessionCommand::SetName(name))];
    }
    let text = match &ctx.session.name {
        Some(name) => format!("Session name: {name}"),
        None => "The session has no name. Set one with /name <name>.".to_owned(),
    };
    vec![AppCommand::notify(NoticeLevel::Info, text)]
}

/// `/session`
pub(super) fn session(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::Session(SessionCommand::DescribeSession {
        version: pi_env::release(),
    })]
}
