//! Commands that show information.

use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::session::command::{SessionCommand, SessionInsight};
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

/// `/cache`
pub(super) fn cache(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    insight(SessionInsight::CacheMisses)
}

/// `/context`
pub(super) fn context(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    insight(SessionInsight::Context)
}

/// `/cost`
pub(super) fn cost(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    insight(SessionInsight::Cost)
}

/// `/extensions`
pub(super) fn extensions(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::Session(SessionCommand::DescribeExtensions)]
}

fn insight(insight: SessionInsight) -> Vec<AppCommand> {
    vec![AppCommand::Session(SessionCommand::ReadInsight(insight))]
}

/// `/session`
pub(super) fn session(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::Session(SessionCommand::DescribeSession {
        version: pi_env::release(),
    })]
}
