//! Extension UI for non-interactive modes: no dialogs, failures go to stderr, colors of the configured theme.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_env::Env;
use pi_host::{
    ClientScreen, ClientUi, DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode,
    ExtensionNotice, ExtensionUi, ThemeData,
};
use pi_interactive::theme_without_terminal;
use pi_protocol::settings::Settings;
use pi_screen::{MirroredUi, OffScreen, ThemeSource};

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

/// Returns a screen for clients without a terminal, with the colors of the configured theme.
pub(crate) fn client_screen(env: &Env) -> Box<dyn ClientScreen> {
    Box::new(OffScreen::new(theme_source(env)))
}

/// Shows the extensions of a terminal to the clients of its session as well.
pub(crate) fn mirrored_ui(
    terminal: Arc<dyn ExtensionUi>,
    clients: ClientUi,
    env: &Env,
) -> MirroredUi {
    MirroredUi::new(terminal, clients, theme_source(env))
}

fn theme_source(env: &Env) -> ThemeSource {
    let env = env.clone();
    Box::new(move |settings, agent_dir| theme_without_terminal(settings, agent_dir, &env))
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

    fn client_screen(&self) -> Option<&dyn ClientScreen> {
        self.ui.client_screen()
    }

    fn reports_missing_screen(&self) -> bool {
        self.ui.reports_missing_screen()
    }

    fn theme(&self, settings: &Settings, agent_dir: &Path) -> Option<ThemeData> {
        Some(theme_without_terminal(settings, agent_dir, &self.env))
    }
}
