//! Collects what a bug report contains about a live session.

use pi_export::{ExportTheme, ReportedSession};
use pi_protocol::ConfigScope;

use crate::session::AgentSession;
use crate::workspace::Workspace;

impl Workspace {
    /// Returns what a [`BugReport`](pi_export::BugReport) contains about this workspace and a session in it.
    pub fn report(&self, session: &AgentSession) -> ReportedSession {
        let model = session.selection().model();
        let settings = |scope| {
            let settings = self.settings.scope(scope);
            serde_json::to_value(&*settings).unwrap_or_default()
        };
        let extensions = self.resources.extensions.iter();
        let diagnostics = self.diagnostics.iter();
        let theme = self.settings.settings().theme.clone();
        ReportedSession {
            cwd: self.cwd.clone(),
            message_count: session.history().message_count(),
            authentication: model
                .as_deref()
                .and_then(|model| self.models.auth_status(&model.provider)),
            model,
            thinking_level: session.selection().thinking_level(),
            active_tools: session.tools().active_names(),
            system_prompt: session.tools().system_prompt(),
            extensions: extensions.map(|file| file.source_info.clone()).collect(),
            user_settings: settings(ConfigScope::User),
            project_settings: settings(ConfigScope::Project),
            diagnostics: diagnostics.map(|found| found.message.clone()).collect(),
            theme: ExportTheme::from_setting(theme.as_deref(), &self.resources.themes),
            env: self.env.clone(),
        }
    }
}
