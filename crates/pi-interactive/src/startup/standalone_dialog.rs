//! Shows a single dialog before the application runs, or without it.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use pi_env::Env;
use pi_host::{AgentDir, SettingsOverrides, settings_before_trust};
use pi_protocol::settings::Settings;
use pi_tui::{
    ExitBehavior, FocusTarget, ProgramStatusSupport, Runner, RunnerError, RunnerEvent,
    RunnerOptions, Tui,
};
use pi_views::dialogs::dialog::Dialog;
use pi_views::dialogs::intent::Intent;
use pi_views::theme::selector::ThemeSelector;
use pi_views::theme::ui_theme::UiTheme;

use crate::screen::DialogSlot;
use crate::terminal::setup;

/// Shows dialogs before any project settings are loaded.
#[derive(Clone, Debug)]
pub(crate) struct StartupPrompter {
    pub(crate) agent_dir: AgentDir,
    pub(crate) env: Env,
    /// Settings given on the command line.
    pub(crate) run_settings: SettingsOverrides,
}

impl StartupPrompter {
    /// Shows a dialog until `read` accepts an intent as the answer, or until the user leaves it.
    pub(crate) async fn ask<T>(
        &self,
        cwd: &Path,
        make: impl FnOnce(UiTheme) -> Box<dyn Dialog>,
        read: impl Fn(Intent) -> Option<T>,
    ) -> Result<Option<T>, RunnerError> {
        // No project settings: the project is not trusted yet.
        let settings = settings_before_trust(&self.agent_dir, cwd, &self.run_settings);
        let options = StandaloneOptions {
            agent_dir: &self.agent_dir,
            env: &self.env,
            cwd,
            settings: &settings,
        };
        show(&options, make, read).await
    }
}

/// Theme and keybinding sources for a standalone dialog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandaloneOptions<'a> {
    pub(crate) agent_dir: &'a AgentDir,
    pub(crate) env: &'a Env,
    pub(crate) cwd: &'a Path,
    pub(crate) settings: &'a Settings,
}

/// Shows a dialog until `read` accepts an intent as the answer, or until it is done. Leaves no trace on the
/// screen.
pub(crate) async fn show<T>(
    options: &StandaloneOptions<'_>,
    make: impl FnOnce(UiTheme) -> Box<dyn Dialog>,
    read: impl Fn(Intent) -> Option<T>,
) -> Result<Option<T>, RunnerError> {
    let StandaloneOptions {
        agent_dir,
        env,
        cwd,
        settings,
    } = *options;
    let capabilities = setup::capabilities(settings, env);
    let mode = setup::color_mode(capabilities, env);
    let mut themes = ThemeSelector::new(mode, setup::color_scheme(env), settings);
    let (keys, _) = setup::read_keys(agent_dir, env);
    let ui = UiTheme::new(setup::render_context(
        settings,
        themes.choose().theme,
        keys.clone(),
        capabilities,
        cwd.to_owned(),
        env.home_dir(),
    ));
    let mut tui = Tui::new(setup::tui_options(settings, env, keys));
    let mut dialog = make(ui.clone());
    dialog.set_rows(setup::rows(env));
    let id = tui.dock_mut().push(DialogSlot::new(dialog));
    tui.scene_mut().set_focus(Some(FocusTarget::Dock(id)));
    let mut runner = Runner::start(
        tui,
        RunnerOptions {
            capabilities,
            color_wait: setup::color_wait(&themes),
            program_status: ProgramStatusSupport::Never,
            ..RunnerOptions::default()
        },
    )?;
    let answer = loop {
        match runner.next().await? {
            RunnerEvent::Terminated => break None,
            RunnerEvent::Colors(colors) => {
                themes.set_colors(colors);
                let theme = Arc::new(themes.choose().theme);
                ui.update(|context| context.theme = theme);
            }
            RunnerEvent::Input { .. }
            | RunnerEvent::OpenUrl(_)
            | RunnerEvent::ColorScheme(_)
            | RunnerEvent::Resized => {}
        }
        let dialog = runner.tui_mut().dock_mut().get_mut(id);
        let frame = dialog.and_then(|dialog| (dialog as &mut dyn Any).downcast_mut::<DialogSlot>());
        let Some(DialogSlot { dialog, .. }) = frame else {
            break None;
        };
        let answered = dialog.take_intents().into_iter().find_map(&read);
        if answered.is_some() || dialog.is_done() {
            break answered;
        }
    };
    runner.tui_mut().dock_mut().clear();
    runner.stop(ExitBehavior::RestoreScreen)?;
    Ok(answer)
}
