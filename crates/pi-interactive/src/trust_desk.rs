//! Asks the user whether a project is trusted, before and while the application runs.
//!
//! At the start there is no screen yet: the question has the terminal for itself. Later a session of
//! another project may be opened, and the running application shows the question.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pi_ai::Env;
use pi_config::{AgentDir, ProjectAccess, SettingsStore, TrustChoice};
use pi_runtime::TrustPrompt;
use pi_tui::{FocusTarget, Leave, Runner, RunnerError, RunnerEvent, RunnerOptions, Tui};
use tokio::sync::oneshot;

use crate::app::Mailbox;
use crate::dialog::Dialog as _;
use crate::dialogs::TrustDialog;
use crate::intent::Intent;
use crate::look::Look;
use crate::screen::DialogFrame;
use crate::terminal_setup;
use crate::theme_choice::ThemeChoice;

/// Asks about projects, on a screen of its own or on the application's.
#[derive(Clone, Debug)]
pub struct TrustDesk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    agent_dir: AgentDir,
    env: Env,
    /// The application, once it runs.
    application: Mutex<Option<Mailbox>>,
}

impl TrustDesk {
    /// Makes a desk for the user of this directory.
    pub fn new(agent_dir: AgentDir, env: Env) -> Self {
        Self(Arc::new(Inner {
            agent_dir,
            env,
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
        let Inner { agent_dir, env, .. } = &*self.0;
        // Nothing of the project counts yet, its settings least of all.
        let settings = SettingsStore::open(agent_dir, cwd, ProjectAccess::Unasked).settings();
        let capabilities = terminal_setup::capabilities(&settings, env);
        let mode = terminal_setup::color_mode(capabilities, env);
        let themes = ThemeChoice::new(mode, terminal_setup::color_scheme(env), &settings);
        let (keys, _) = terminal_setup::read_keys(agent_dir, env);
        let look = Look::new(terminal_setup::appearance(
            &settings,
            themes.choose().theme,
            keys.clone(),
            capabilities,
            cwd.to_owned(),
            env.home_dir(),
        ));
        let mut tui = Tui::new(terminal_setup::tui_options(&settings, env, keys));
        let mut dialog = TrustDialog::ask(look, cwd.to_owned(), choices);
        dialog.set_rows(terminal_setup::rows(env));
        let id = tui.dock_mut().push(DialogFrame(Box::new(dialog)));
        tui.set_focus(Some(FocusTarget::Dock(id)));
        let mut runner = Runner::start(
            tui,
            RunnerOptions {
                capabilities,
                ..RunnerOptions::default()
            },
        )?;
        let answer = loop {
            if runner.next().await? == RunnerEvent::Terminated {
                break None;
            }
            let dialog = runner.tui().dock_mut().get_mut(id);
            let frame = dialog.and_then(|dialog| {
                (dialog as &mut dyn std::any::Any).downcast_mut::<DialogFrame>()
            });
            let Some(DialogFrame(dialog)) = frame else {
                break None;
            };
            let answered = dialog
                .take_intents()
                .into_iter()
                .find_map(|intent| match intent {
                    Intent::Trust(choice) => Some(choice),
                    _ => None,
                });
            if answered.is_some() || dialog.is_done() {
                break answered;
            }
        };
        // The question leaves no trace on the screen of the application.
        runner.tui().dock_mut().clear();
        runner.stop(Leave::AsItWas)?;
        Ok(answer)
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
