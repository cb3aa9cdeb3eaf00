//! Commands that export the session.

use pi_export::ExportTheme;
use serde_json::json;

use super::rejection::RejectionReason;
use super::{AcceptedCommand, CommandResult};
use crate::exporter::Exporter;
use crate::runtime::SessionRuntime;
use crate::session::AgentSession;

pub(super) async fn execute(
    runtime: &SessionRuntime,
    session: &AgentSession,
    output: Option<String>,
) -> CommandResult {
    let workspace = runtime.workspace();
    let setting = workspace.settings.settings().theme.clone();
    let theme = ExportTheme::from_setting(setting.as_deref(), &workspace.resources.themes);
    let path = Exporter::new(workspace, session.clone())
        .export_html(output.as_deref(), theme)
        .await;
    AcceptedCommand::with_data(&json!({ "path": path.map_err(RejectionReason::reject)? }))
}
