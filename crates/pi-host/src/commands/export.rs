//! Commands that export the session.

use std::path::PathBuf;

use pi_export::{ExportTheme, HtmlOptions, export_html, stored_secrets};
use serde_json::json;

use super::rejection::RejectionReason;
use super::{AcceptedCommand, CommandResult};
use crate::runtime::SessionRuntime;
use crate::session::AgentSession;

pub(super) async fn execute(
    runtime: &SessionRuntime,
    session: &AgentSession,
    output: Option<String>,
) -> CommandResult {
    let credentials = session.models().authenticator().store();
    let workspace = runtime.workspace();
    let setting = workspace.settings.settings().theme.clone();
    let options = HtmlOptions {
        output: output.map(PathBuf::from),
        theme: ExportTheme::from_setting(setting.as_deref(), &workspace.resources.themes),
        redaction: stored_secrets(credentials.as_ref()).await,
        ..HtmlOptions::default()
    };
    let path = session
        .history()
        .with_session(|session| export_html(session, &options));
    AcceptedCommand::with_data(&json!({ "path": path.map_err(RejectionReason::reject)? }))
}
