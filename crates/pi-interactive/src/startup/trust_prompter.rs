//! Asks the user whether to trust a project, before and while the application runs.
//!
//! At startup there is no screen yet, so the question is a standalone dialog. Later, opening a session of
//! another project shows the question in the running application.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_host::{AgentDir, SettingsOverrides, TrustPrompt};
use pi_protocol::TrustChoice;
use pi_tui::RunnerError;
use pi_views::dialogs::DialogContents;
use pi_views::dialogs::intent::Intent;
use tokio::sync::oneshot;

use crate::app::tasks::AppHandle;
use crate::controllers::dialogs::DialogMsg;
use crate::startup::standalone_dialog::StartupPrompter;

/// Asks about project trust, in a standalone dialog or in the running application.
#[derive(Clone, Debug)]
pub struct TrustPrompter(Arc<PrompterInner>);

#[derive(Debug)]
struct PrompterInner {
    startup_prompter: StartupPrompter,
    /// Set while the application runs.
    application: Mutex<Option<AppHandle>>,
}

impl TrustPrompter {
    /// Creates a prompter with the settings of this user and run.
    pub fn new(agent_dir: AgentDir, env: Env, run_settings: SettingsOverrides) -> Self {
        Self(Arc::new(PrompterInner {
            startup_prompter: StartupPrompter {
                agent_dir,
                env,
                run_settings,
            },
            application: Mutex::new(None),
        }))
    }

    /// Routes further questions to the running application; `None` detaches it.
    pub(crate) fn attach_application(&self, handle: Option<AppHandle>) {
        *self.application() = handle;
    }

    fn application(&self) -> MutexGuard<'_, Option<AppHandle>> {
        self.0.application.lock()
    }

    async fn ask_standalone(
        &self,
        cwd: &Path,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
    ) -> Result<Option<TrustChoice>, RunnerError> {
        let cwd_shown = cwd.to_owned();
        let ask = |ui| {
            DialogContents::AskTrust {
                cwd: cwd_shown,
                choices,
                changes,
            }
            .open(ui)
        };
        let read = |intent| match intent {
            Intent::Trust(choice) => Some(choice),
            _ => None,
        };
        self.0.startup_prompter.ask(cwd, ask, read).await
    }
}

impl TrustPrompt for TrustPrompter {
    fn prompt<'a>(
        &'a self,
        cwd: &'a Path,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
    ) -> BoxFuture<'a, Option<TrustChoice>> {
        Box::pin(async move {
            let application = self.application().clone();
            let Some(handle) = application else {
                return self
                    .ask_standalone(cwd, choices, changes)
                    .await
                    .unwrap_or_else(|error| {
                        tracing::warn!(%error, "cannot ask about project trust");
                        None
                    });
            };
            let (sender, answer) = oneshot::channel();
            let cwd: PathBuf = cwd.to_owned();
            handle.post(DialogMsg::TrustAsked {
                cwd,
                choices,
                changes,
                answer: sender,
            });
            answer.await.ok().flatten()
        })
    }
}
