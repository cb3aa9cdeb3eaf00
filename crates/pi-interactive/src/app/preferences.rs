//! Applies settings to the screen: theme, keys, hidden content.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::{ConfigDiagnostic, ConfigScope, Settings};
use pi_export::ExportTheme;
use pi_tui::{ColorScheme, Keybindings, ScreenMode};

use super::App;
use crate::image_converter::ImageConversion;
use crate::terminal_setup::{apply_to_screen, read_keys, screen_mode};
use crate::theme_watch::ThemeWatch;
use crate::transcript::NoticeLevel;
use crate::ui_theme::RenderContext;

impl App {
    /// Changes the render context; everything is laid out again.
    pub(crate) fn update_ui(&mut self, change: impl FnOnce(&mut RenderContext)) {
        self.ui.update(change);
        self.screen.runner().tui_mut().invalidate();
    }

    /// Converts images on another thread, then shows them.
    pub(super) fn convert_images(&mut self, images: Vec<ImageConversion>) {
        self.spawn_blocking(
            move || images.into_iter().for_each(ImageConversion::run),
            |app, ()| app.update_ui(|_| {}),
        );
    }

    /// Applies the theme selected by preview, settings or terminal.
    pub(crate) fn apply_theme(&mut self) {
        let chosen = self.themes.choose();
        self.theme_problem = chosen.problem;
        let theme = Arc::new(chosen.theme);
        if *theme != *self.ui.context().theme {
            self.update_ui(|ctx| ctx.theme = theme);
            self.publish_theme_change();
        }
    }

    /// Reports why the configured theme is not in use.
    pub(crate) fn report_theme_problem(&mut self) {
        if let Some(problem) = self.theme_problem.take() {
            self.notify(NoticeLevel::Error, problem);
        }
    }

    /// Stores problems found before there was a screen, to be reported later.
    pub(crate) fn store_problems(
        &mut self,
        theme_problem: Option<String>,
        key_problems: Vec<ConfigDiagnostic>,
    ) {
        self.theme_problem = theme_problem;
        self.key_problems = key_problems;
    }

    /// Takes the problems with the user's keybindings.
    pub(crate) fn take_key_problems(&mut self) -> Vec<ConfigDiagnostic> {
        std::mem::take(&mut self.key_problems)
    }

    /// Returns the current theme for exported pages.
    pub(crate) fn export_theme(&self) -> ExportTheme {
        ExportTheme::from_setting(self.themes.setting(), self.themes.files())
    }

    /// Watches the theme files named in the settings.
    pub(crate) fn watch_theme_files(&mut self) {
        let names: Vec<&str> = self
            .themes
            .setting()
            .unwrap_or_default()
            .split('/')
            .collect();
        let files = self.themes.files().iter();
        let used = files.filter(|file| names.contains(&file.name.as_str()));
        self.theme_watch = ThemeWatch::on(used.map(|file| file.path.as_path()));
    }

    /// Reloads the watched theme files.
    pub(super) fn reread_themes(&mut self) {
        let files: Vec<(String, PathBuf)> = self
            .themes
            .files()
            .iter()
            .map(|file| (file.name.clone(), file.path.clone()))
            .collect();
        let read = move || {
            let texts = files.into_iter().filter_map(|(name, path)| {
                let text = std::fs::read_to_string(path).ok()?;
                Some((name, text))
            });
            texts.collect::<Vec<_>>()
        };
        self.spawn_blocking(read, |app, texts| {
            for (name, text) in texts {
                app.themes.set_content(&name, text);
            }
            app.apply_theme();
            app.report_theme_problem();
        });
    }

    pub(super) fn on_color_scheme(&mut self, scheme: ColorScheme) {
        if self.themes.set_scheme(scheme) {
            self.apply_theme();
        }
    }

    /// Applies the settings, keybindings and themes of the session's directory.
    pub(crate) fn reload_preferences(&mut self) {
        let services = self.runtime.services();
        let settings = services.settings.settings();
        self.themes.load(&settings, &services.resources.themes);
        self.publish_themes();
        self.apply_theme();
        let (keys, problems) = read_keys(&services.agent_dir, &services.env);
        self.use_keys(keys);
        self.key_problems = problems;
        self.apply_settings(&settings);
    }

    fn use_keys(&mut self, keys: Keybindings) {
        let shared = Arc::new(keys.clone());
        self.screen.runner().tui_mut().set_keybindings(keys);
        self.update_ui(|ctx| ctx.keys = shared);
    }

    pub(crate) fn apply_settings(&mut self, settings: &Settings) {
        let env = self.runtime.services().env.clone();
        let cwd = self.session.cwd().to_owned();
        self.update_ui(|ctx| {
            ctx.apply(settings);
            ctx.cwd = cwd;
        });
        let options = self.screen.runner().tui_mut().render_options_mut();
        apply_to_screen(settings, &env, options);
        let padding = usize::from(settings.editor_padding_x());
        let completions = usize::from(settings.autocomplete_max_visible());
        self.screen.with_editor(|area| {
            area.editor().set_padding(padding);
            area.editor().set_max_completions(completions);
        });
        let mode: ScreenMode = screen_mode(settings);
        if self.screen.peek().mode() != mode {
            self.in_scrollback = false;
            self.write_terminal(|app| app.screen.runner().set_mode(mode));
            self.publish_size();
        }
    }

    /// Changes a user setting; if it cannot be saved, it still applies until pi exits.
    pub(crate) fn save_setting(&mut self, change: impl FnOnce(&mut Settings)) {
        let saved = self.session.settings().update(ConfigScope::User, change);
        if let Err(error) = saved {
            self.error(pi_runtime::describe_error(&error));
        }
    }
}
