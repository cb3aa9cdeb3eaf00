//! The user's own extensions decide about a project before anything of it is read.
//!
//! Those of the user and of the command line are loaded with the project refused, asked, and dropped:
//! the session loads its extensions anew once it is known which there are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_config::{ConfigDiagnostic, DiagnosticLevel, ProjectAccess};
use serde_json::{Value, json};

use super::Extensions;
use super::bridge::lock;
use super::front_end::{
    DialogAnswer, ExtensionDialog, ExtensionFailure, ExtensionMode, ExtensionNotice,
    ExtensionOptions, ExtensionUi,
};
use super::screen::ExtensionScreen;
use crate::services::{ServiceOptions, Services, TrustVote, TrustVoter};

/// The extensions' say in trust.
pub(crate) struct ExtensionVoter(pub(crate) ExtensionOptions);

impl ExtensionVoter {
    async fn ask(
        &self,
        options: &ServiceOptions,
        cwd: &Path,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Option<TrustVote> {
        let options = ServiceOptions {
            trust: Some(false),
            trust_prompt: None,
            trust_voter: None,
            ..options.clone()
        };
        let services = Services::load(&options, cwd).await;
        let ui = Arc::new(EarlyUi::new(Arc::clone(&self.0.ui)));
        let front_end = ExtensionOptions {
            ui: Arc::clone(&ui) as _,
            flags: Vec::new(),
            ..self.0.clone()
        };
        // What is wrong with an extension is told when the session loads it.
        let mut untold = Vec::new();
        let extensions = Extensions::load(&services, &front_end, &mut untold).await?;
        if !extensions.0.bridge.hears("project_trust") {
            return None;
        }
        let event = json!({ "type": "project_trust", "cwd": cwd });
        let vote = extensions.0.emit(event, None).await;
        diagnostics.append(&mut lock(&ui.said));
        let vote = vote?;
        let access = match vote.get("trusted").and_then(Value::as_str) {
            Some("yes") => ProjectAccess::Trusted,
            Some("no") => ProjectAccess::Denied,
            _ => return None,
        };
        Some(TrustVote {
            access,
            remember: vote.get("remember") == Some(&Value::Bool(true)),
        })
    }
}

impl TrustVoter for ExtensionVoter {
    fn vote<'a>(
        &'a self,
        options: &'a ServiceOptions,
        cwd: &'a Path,
        diagnostics: &'a mut Vec<ConfigDiagnostic>,
    ) -> BoxFuture<'a, Option<TrustVote>> {
        Box::pin(self.ask(options, cwd, diagnostics))
    }
}

/// A front end before its session: a terminal asks and shows, elsewhere what is said is kept for the error output.
struct EarlyUi {
    front_end: Arc<dyn ExtensionUi>,
    said: Mutex<Vec<ConfigDiagnostic>>,
}

impl EarlyUi {
    fn new(front_end: Arc<dyn ExtensionUi>) -> Self {
        Self {
            front_end,
            said: Mutex::default(),
        }
    }

    fn keep(&self, level: DiagnosticLevel, message: String, path: Option<PathBuf>) {
        lock(&self.said).push(ConfigDiagnostic {
            level,
            message,
            path,
        });
    }
}

impl ExtensionUi for EarlyUi {
    fn mode(&self) -> ExtensionMode {
        self.front_end.mode()
    }

    fn tell(&self, notice: ExtensionNotice) -> BoxFuture<'static, ()> {
        match (self.mode(), notice) {
            (ExtensionMode::Terminal, notice) => return self.front_end.tell(notice),
            (
                _,
                ExtensionNotice::Notify {
                    message,
                    notify_type,
                },
            ) => {
                // Only what keeps the program from starting is an error there.
                let level = match notify_type.as_deref() {
                    Some("warning" | "error") => DiagnosticLevel::Warning,
                    _ => DiagnosticLevel::Info,
                };
                self.keep(level, message, None);
            }
            // Nothing else is there to be changed yet.
            _ => {}
        }
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, dialog: ExtensionDialog) -> BoxFuture<'static, DialogAnswer> {
        self.front_end.ask(dialog)
    }

    fn fail(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        let message = format!("{} failed: {}", failure.event, failure.error);
        let path = failure.extension.map(PathBuf::from);
        self.keep(DiagnosticLevel::Warning, message, path);
        Box::pin(std::future::ready(()))
    }

    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        self.front_end.screen()
    }
}
