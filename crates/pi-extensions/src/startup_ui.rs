//! The extension UI before there is a session.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};

use crate::client_screen::ClientScreen;
use crate::front_end::{
    DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode, ExtensionNotice, ExtensionUi,
};
use crate::screen::ExtensionScreen;

/// Extension UI before the session exists: a terminal shows notices and dialogs; other front ends
/// collect notices as diagnostics for standard error.
pub struct StartupUi {
    front_end: Arc<dyn ExtensionUi>,
    diagnostics: Mutex<Vec<ConfigDiagnostic>>,
}

impl StartupUi {
    pub fn new(front_end: Arc<dyn ExtensionUi>) -> Self {
        Self {
            front_end,
            diagnostics: Mutex::default(),
        }
    }

    /// Returns the notices and failures so far.
    pub fn take_diagnostics(&self) -> Vec<ConfigDiagnostic> {
        std::mem::take(&mut self.diagnostics.lock())
    }

    fn buffer(&self, level: DiagnosticLevel, message: String, path: Option<PathBuf>) {
        self.diagnostics.lock().push(ConfigDiagnostic {
            level,
            message,
            path,
        });
    }
}

impl ExtensionUi for StartupUi {
    fn mode(&self) -> ExtensionMode {
        self.front_end.mode()
    }

    fn notify(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        match (self.mode(), notice) {
            (ExtensionMode::Terminal, notice) => return self.front_end.notify(notice),
            (
                _,
                ExtensionNotice::Notify {
                    message,
                    notify_type,
                },
            ) => {
                // Only problems that prevent startup are errors.
                let level = match notify_type.as_deref() {
                    Some("warning" | "error") => DiagnosticLevel::Warning,
                    _ => DiagnosticLevel::Info,
                };
                self.buffer(level, message, None);
            }
            // There is no other UI to change yet.
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }

    fn show_dialog(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogResponse> {
        self.front_end.show_dialog(dialog)
    }

    fn report_failure(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        let message = format!("{} failed: {}", failure.event, failure.error);
        let path = failure.extension.map(PathBuf::from);
        self.buffer(DiagnosticLevel::Warning, message, path);
        Box::pin(std::future::ready(()))
    }

    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        self.front_end.screen()
    }

    /// Clients cannot answer dialogs before there is a session.
    fn extension_mode(&self) -> ExtensionMode {
        self.mode()
    }

    fn client_screen(&self) -> Option<&dyn ClientScreen> {
        self.front_end.client_screen()
    }
}
