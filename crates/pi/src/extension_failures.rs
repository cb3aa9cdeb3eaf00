//! Extension UI for non-interactive modes: no dialogs, failures go to stderr, colors of the configured theme.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_env::Env;
use pi_host::{
    DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode, ExtensionNotice, ExtensionUi,
    ThemeData,
};
use pi_interactive::theme_without_terminal;
use pi_protocol::settings::Settings;

use crate::output::{notice, warn};

pub(crate) struct PrintedFailures(pub(crate) ExtensionMode);

impl ExtensionUi for PrintedFailures {
    fn mode(&self) -> ExtensionMode {
        self.0
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        let ExtensionFailure { event, error, .. } = &failure;
        warn(&match &failure.extension {
            Some(extension) => format!("{extension} failed in {event}: {error}"),
            // The session reports its own problems this way, too.
            None => format!("{event}: {error}"),
        });
        Box::pin(std::future::ready(()))
    }
}

/// Adds the colors of the configured theme to a front end without a terminal.
pub(crate) struct ThemedUi {
    pub(crate) ui: Arc<dyn ExtensionUi>,
    pub(crate) env: Env,
}

impl ExtensionUi for ThemedUi {
    fn mode(&self) -> ExtensionMode {
        self.ui.mode()
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        self.ui.notify(notice)
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        self.ui.show_dialog(dialog)
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        self.ui.report_failure(failure)
    }

    fn request_shutdown(&self) {
        self.ui.request_shutdown();
    }

    fn editor_text(&self) -> String {
        self.ui.editor_text()
    }

    fn console(&self, text: &str) {
        notice(text.strip_suffix('\n').unwrap_or(text));
    }

    fn theme(&self, settings: &Settings, agent_dir: &Path) -> Option<ThemeData> {
        Some(theme_without_terminal(settings, agent_dir, &self.env))
    }
}
