//! A dialog that has the terminal for itself: before the application runs, or without it.

use std::any::Any;
use std::path::Path;

use pi_ai::Env;
use pi_config::{AgentDir, ProjectAccess, SettingsOverrides, Settings, SettingsStore};
use pi_tui::{FocusTarget, Leave, Runner, RunnerError, RunnerEvent, RunnerOptions, Tui};

use crate::dialog::Dialog;
use crate::intent::Intent;
use crate::look::Look;
use crate::screen::DialogFrame;
use crate::terminal_setup;
use crate::theme_choice::ThemeChoice;

/// What is known of the user before anything of a project counts.
#[derive(Clone, Debug)]
pub(crate) struct Beforehand {
    pub(crate) agent_dir: AgentDir,
    pub(crate) env: Env,
    /// What the command line says of the screen.
    pub(crate) run_settings: SettingsOverrides,
}

impl Beforehand {
    /// Shows a dialog until one of its intents is an answer, or until the user leaves it.
    pub(crate) async fn ask<Given>(
        &self,
        cwd: &Path,
        make: impl FnOnce(Look) -> Box<dyn Dialog>,
        read: impl Fn(Intent) -> Option<Given>,
    ) -> Result<Option<Given>, RunnerError> {
        // Nothing of the project counts yet, its settings least of all.
        let settings = SettingsStore::open(&self.agent_dir, cwd, ProjectAccess::Undecided);
        settings.set_overrides(&self.run_settings);
        let surroundings = Surroundings {
            agent_dir: &self.agent_dir,
            env: &self.env,
            cwd,
            settings: &settings.settings(),
        };
        show(&surroundings, make, read).await
    }
}

/// What decides how a dialog looks and which keys it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'program> {
    pub(crate) agent_dir: &'program AgentDir,
    pub(crate) env: &'program Env,
    pub(crate) cwd: &'program Path,
    pub(crate) settings: &'program Settings,
}

/// Shows a dialog until one of its intents is an answer, or until it is done. It leaves no trace on the screen.
pub(crate) async fn show<Given>(
    surroundings: &Surroundings<'_>,
    make: impl FnOnce(Look) -> Box<dyn Dialog>,
    read: impl Fn(Intent) -> Option<Given>,
) -> Result<Option<Given>, RunnerError> {
    let Surroundings {
        agent_dir,
        env,
        cwd,
        settings,
    } = *surroundings;
    let capabilities = terminal_setup::capabilities(settings, env);
    let mode = terminal_setup::color_mode(capabilities, env);
    let themes = ThemeChoice::new(mode, terminal_setup::color_scheme(env), settings);
    let (keys, _) = terminal_setup::read_keys(agent_dir, env);
    let look = Look::new(terminal_setup::appearance(
        settings,
        themes.choose().theme,
        keys.clone(),
        capabilities,
        cwd.to_owned(),
        env.home_dir(),
    ));
    let mut tui = Tui::new(terminal_setup::tui_options(settings, env, keys));
    let mut dialog = make(look);
    dialog.set_rows(terminal_setup::rows(env));
    let id = tui.dock_mut().push(DialogFrame(dialog));
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
        let frame =
            dialog.and_then(|dialog| (dialog as &mut dyn Any).downcast_mut::<DialogFrame>());
        let Some(DialogFrame(dialog)) = frame else {
            break None;
        };
        let answered = dialog.take_intents().into_iter().find_map(&read);
        if answered.is_some() || dialog.is_done() {
            break answered;
        }
    };
    runner.tui().dock_mut().clear();
    runner.stop(Leave::AsItWas)?;
    Ok(answer)
}
