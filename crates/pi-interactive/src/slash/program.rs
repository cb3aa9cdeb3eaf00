//! Commands for the application, export and sharing.

use pi_protocol::settings::ShareDestination;

use crate::ExitReason;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::controllers::dialogs::{DialogMsg, DialogRequest};
use crate::controllers::report::ReportMsg;
use crate::controllers::share::ShareMsg;
use crate::session::command::SessionCommand;

/// Argument that makes `/debug` panic in development builds, to test terminal recovery.
const CRASH: &str = "crash";

/// `/quit`
pub(super) fn quit(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::Quit(ExitReason::Quit)]
}

/// `/detach`
pub(super) fn detach(_argument: &str, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    if ctx.session.file.as_ref().is_none_or(|file| !file.exists()) {
        return vec![AppCommand::error(
            "Nothing to detach: the session has no message yet",
        )];
    }
    let mut commands = Vec::new();
    if !ctx.session.activity.idle {
        commands.push(AppCommand::status("Detaching after the current step…"));
    }
    commands.push(AppCommand::Session(SessionCommand::Pause));
    commands
}

/// `/copy`
pub(super) fn copy(_argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::CopyAnswer]
}

/// `/export [file]`
pub(super) fn export(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::send(ShareMsg::Export(path_argument(argument)))]
}

/// `/import <file>`
pub(super) fn import(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![match path_argument(argument) {
        Some(path) => AppCommand::send(DialogMsg::Open(DialogRequest::Import(path))),
        None => AppCommand::error("Usage: /import <file.jsonl>"),
    }]
}

/// `/share`
pub(super) fn share(_argument: &str, ctx: &AppContext<'_>) -> Vec<AppCommand> {
    if ctx.session.settings.session_share_destination == Some(ShareDestination::Radius) {
        return vec![AppCommand::error(
            "Cannot share to Radius. Set \"sessionShareDestination\" to \"gist\" to share to a secret GitHub gist.",
        )];
    }
    vec![AppCommand::send(ShareMsg::Start)]
}

/// `/bug [what happened]`
pub(super) fn bug(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    vec![AppCommand::send(ReportMsg::Start(argument.to_owned()))]
}

/// `/debug`
pub(super) fn debug(argument: &str, _ctx: &AppContext<'_>) -> Vec<AppCommand> {
    assert!(
        !cfg!(debug_assertions) || argument != CRASH,
        "requested with /debug {CRASH}"
    );
    vec![AppCommand::WriteDebugRecord]
}

/// Returns a bare or quoted path.
fn path_argument(argument: &str) -> Option<String> {
    let argument = argument.trim();
    for quote in ['"', '\''] {
        if let Some(rest) = argument.strip_prefix(quote) {
            return rest.split_once(quote).map(|(path, _)| path.to_owned());
        }
    }
    argument.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_at_a_space_unless_quoted() {
        assert_eq!(path_argument("a.html and more").as_deref(), Some("a.html"));
        assert_eq!(path_argument("\"a b.html\" x").as_deref(), Some("a b.html"));
        assert_eq!(path_argument("'a b'").as_deref(), Some("a b"));
        assert_eq!(path_argument("\"open"), None);
        assert_eq!(path_argument("  "), None);
    }
}
