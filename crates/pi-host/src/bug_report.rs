//! Collects what a bug report contains about a live session.

use pi_config::ConfigScope;
use pi_export::{ExportTheme, ReportedSession};

use crate::session::AgentSession;
use crate::workspace::Workspace;

impl AgentSession {
    /// Returns what a [`BugReport`](pi_export::BugReport) contains about this session and its workspace.
    pub fn reported(&self, workspace: &Workspace) -> ReportedSession {
        let model = self.selection().model();
        let settings = |scope| {
            let settings = workspace.settings.scope(scope);
            serde_json::to_value(&*settings).unwrap_or_default()
        };
        let extensions = workspace.resources.extensions.iter();
        let diagnostics = workspace.diagnostics.iter();
        let theme = workspace.settings.settings().theme.clone();
        ReportedSession {
            cwd: workspace.cwd.clone(),
            message_count: self.history().message_count(),
            authentication: model
                .as_deref()
                .and_then(|model| workspace.models.auth_status(&model.provider)),
            model,
            thinking_level: self.selection().thinking_level(),
            active_tools: self.tools().active_names(),
            system_prompt: self.tools().system_prompt(),
            extensions: extensions.map(|file| file.source_info.clone()).collect(),
            user_settings: settings(ConfigScope::User),
            project_settings: settings(ConfigScope::Project),
            diagnostics: diagnostics.map(|found| found.message.clone()).collect(),
            theme: ExportTheme::from_setting(theme.as_deref(), &workspace.resources.themes),
            env: workspace.env.clone(),
        }
    }
}
