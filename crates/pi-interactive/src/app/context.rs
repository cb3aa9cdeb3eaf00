//! What controllers may read while they handle a message.

use std::sync::Arc;
use std::time::Instant;

use pi_protocol::Model;
use pi_tui::ScreenMode;
use pi_views::theme::ui_theme::UiTheme;

#[cfg(test)]
use crate::session::snapshot::SessionActivity;
use crate::session::snapshot::SessionSnapshot;

/// State outside of a controller, read-only and up to date for one message.
pub(crate) struct AppContext<'a> {
    pub(crate) session: &'a SessionSnapshot,
    /// The text of the prompt, with large pastes as markers.
    pub(crate) prompt: &'a str,
    pub(crate) ui: &'a UiTheme,
    pub(crate) screen_mode: ScreenMode,
    pub(crate) has_dialog: bool,
    /// The version of pi.
    pub(crate) version: &'a str,
    pub(crate) now: Instant,
    /// Lists the models with credentials.
    pub(crate) available_models: &'a dyn Fn() -> Vec<Arc<Model>>,
    /// Lists the names of the commands of extensions, skills and templates.
    pub(crate) commands: &'a dyn Fn() -> Vec<String>,
}

/// Owns the state of an [`AppContext`], for tests.
#[cfg(test)]
pub(crate) struct TestContext {
    pub(crate) session: SessionSnapshot,
    pub(crate) prompt: String,
    pub(crate) ui: UiTheme,
    pub(crate) now: Instant,
}

#[cfg(test)]
impl Default for TestContext {
    fn default() -> Self {
        let activity = SessionActivity {
            idle: true,
            ..SessionActivity::default()
        };
        Self {
            session: SessionSnapshot {
                activity,
                ..SessionSnapshot::default()
            },
            prompt: String::new(),
            ui: UiTheme::for_tests(),
            now: Instant::now(),
        }
    }
}

#[cfg(test)]
impl TestContext {
    pub(crate) fn context(&self) -> AppContext<'_> {
        AppContext {
            session: &self.session,
            prompt: &self.prompt,
            ui: &self.ui,
            screen_mode: ScreenMode::Main,
            has_dialog: false,
            version: "1.2.3",
            now: self.now,
            available_models: &Vec::new,
            commands: &Vec::new,
        }
    }
}
