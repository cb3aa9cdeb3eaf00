//! Asks the user whether a project is trusted, before and while the application runs.
//!
//! At the start there is no screen yet: the question has the terminal for itself. Later a session of
//! another project may be opened, and the running application shows the question.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pi_ai::Env;
use pi_config::{AgentDir, SettingsOverrides, TrustChoice};
use pi_runtime::TrustPrompt;
use pi_tui::RunnerError;
use tokio::sync::oneshot;

use crate::app::Mailbox;
use crate::dialog::Dialog;
use crate::dialogs::TrustDialog;
use crate::intent::Intent;
use crate::lone_dialog::Beforehand;

/// Asks about projects, on a screen of its own or on the application's.
#[derive(Clone, Debug)]
pub struct TrustDesk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    beforehand: Beforehand,
    /// The application, once it runs.
    application: Mutex<Option<Mailbox>>,
}

impl TrustDesk {
    /// Makes a desk for the user of this directory and the settings of this run.
    pub fn new(agent_dir: AgentDir, env: Env, run_settings: SettingsOverrides) -> Self {
        Self(Arc::new(Inner {
            beforehand: Beforehand {
                agent_dir,
                env,
                run_settings,
            },
            application: Mutex::new(None),
        }))
    }

    /// Sends further questions to the running application, or to nobody any more.
    pub(crate) fn use_application(&self, mailbox: Option<Mailbox>) {
        *self.application() = mailbox;
    }

    fn application(&self) -> std::sync::MutexGuard<'_, Option<Mailbox>> {
        let application = &self.0.application;
        application.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask_alone(
        &self,
        cwd: &Path,
        choices: Vec<TrustChoice>,
    ) -> Result<Option<TrustChoice>, RunnerError> {
        let ask =
            |look| Box::new(TrustDialog::ask(look, cwd.to_owned(), choices)) as Box<dyn Dialog>;
        let read = |intent| match intent {
            Intent::Trust(choice) => Some(choice),
            _ => None,
        };
        self.0.beforehand.ask(cwd, ask, read).await
    }
}

impl TrustPrompt for TrustDesk {
    fn ask<'a>(
        &'a self,
        cwd: &'a Path,
        choices: Vec<TrustChoice>,
    ) -> BoxFuture<'a, Option<TrustChoice>> {
        Box::pin(async move {
            let application = self.application().clone();
            let Some(mailbox) = application else {
                return self.ask_alone(cwd, choices).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "nobody could be asked about the project");
                    None
                });
            };
            let (sender, answer) = oneshot::channel();
            let cwd: PathBuf = cwd.to_owned();
            mailbox.post(move |app| app.ask_trust(cwd, choices, sender));
            answer.await.ok().flatten()
        })
    }
}
