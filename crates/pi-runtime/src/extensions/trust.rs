//! Lets the user's extensions decide whether to trust a project before any of its files are read.
//!
//! Extensions from user settings and the command line are loaded with the project untrusted, called,
//! and dropped. The session loads its extensions again once the complete list is known.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_config::{ConfigDiagnostic, DiagnosticLevel, ProjectAccess};
use serde_json::{Value, json};

use super::SessionExtensions;
use super::bridge::lock;
use super::front_end::{
    DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionMode, ExtensionNotice,
    ExtensionOptions, ExtensionUi,
};
use super::screen::ExtensionScreen;
use crate::services::{ServiceOptions, Services, TrustResolution, TrustResolver};

pub(crate) struct ExtensionTrustResolver(pub(crate) ExtensionOptions);

impl ExtensionTrustResolver {
    async fn run_handlers(
        &self,
        options: &ServiceOptions,
        cwd: &Path,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Option<TrustResolution> {
        let options = ServiceOptions {
            trust: Some(false),
            trust_prompt: None,
            trust_resolver: None,
            ..options.clone()
        };
        let services = Services::load(&options, cwd).await;
        let ui = Arc::new(StartupUi::new(Arc::clone(&self.0.ui)));
        let front_end = ExtensionOptions {
            ui: Arc::clone(&ui) as _,
            flags: Vec::new(),
            ..self.0.clone()
        };
        // Problems are reported when the session loads the extension.
        let mut load_diagnostics = Vec::new();
        let extensions =
            SessionExtensions::load(&services, &front_end, &mut load_diagnostics).await?;
        if !extensions.0.bridge.has_handler("project_trust") {
            return None;
        }
        let event = json!({ "type": "project_trust", "cwd": cwd });
        let decision = extensions.0.emit(event, None).await;
        diagnostics.append(&mut lock(&ui.diagnostics));
        let decision = decision?;
        let access = match decision.get("trusted").and_then(Value::as_str) {
            Some("yes") => ProjectAccess::Trusted,
            Some("no") => ProjectAccess::Denied,
            _ => return None,
        };
        Some(TrustResolution {
            access,
            remember: decision.get("remember") == Some(&Value::Bool(true)),
        })
    }
}

impl TrustResolver for ExtensionTrustResolver {
    fn resolve<'a>(
        &'a self,
        options: &'a ServiceOptions,
        cwd: &'a Path,
        diagnostics: &'a mut Vec<ConfigDiagnostic>,
    ) -> BoxFuture<'a, Option<TrustResolution>> {
        Box::pin(self.run_handlers(options, cwd, diagnostics))
    }
}

/// Extension UI before the session exists: a terminal shows notices and dialogs; other front ends
/// collect notices as diagnostics for standard error.
struct StartupUi {
    front_end: Arc<dyn ExtensionUi>,
    diagnostics: Mutex<Vec<ConfigDiagnostic>>,
}

impl StartupUi {
    fn new(front_end: Arc<dyn ExtensionUi>) -> Self {
        Self {
            front_end,
            diagnostics: Mutex::default(),
        }
    }

    fn buffer(&self, level: DiagnosticLevel, message: String, path: Option<PathBuf>) {
        lock(&self.diagnostics).push(ConfigDiagnostic {
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
}
