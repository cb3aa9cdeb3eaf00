//! The user's settings as the screen shows them: theme, keys, what is hidden.

use std::path::PathBuf;
use std::sync::Arc;

use pi_config::{ConfigDiagnostic, ConfigScope, Settings};
use pi_runtime::ExportTheme;
use pi_tui::{ColorScheme, Keybindings, ScreenMode};

use super::App;
use crate::look::Appearance;
use crate::picture_desk::Conversion;
use crate::terminal_setup::{apply_to_screen, read_keys, screen_mode};
use crate::theme_watch::ThemeWatch;
use crate::transcript::NoticeLevel;

impl App {
    /// Changes how everything looks; all of it is laid out again.
    pub(crate) fn change_look(&mut self, change: impl FnOnce(&mut Appearance)) {
        self.look.change(change);
        self.screen.runner().tui().invalidate();
    }

    /// Converts pictures beside the loop and shows them.
    pub(super) fn convert_pictures(&mut self, pictures: Vec<Conversion>) {
        self.spawn_blocking(
            move || pictures.into_iter().for_each(Conversion::run),
            |app, ()| app.change_look(|_| {}),
        );
    }

    /// Shows the theme that the settings, a preview or the terminal ask for.
    pub(crate) fn apply_theme(&mut self) {
        let chosen = self.themes.choose();
        self.theme_problem = chosen.problem;
        let theme = Arc::new(chosen.theme);
        if *theme != *self.look.appearance().theme {
            self.change_look(|appearance| appearance.theme = theme);
            self.theme_told();
        }
    }

    /// Says why the theme is not the one of the settings.
    pub(crate) fn tell_theme_problem(&mut self) {
        if let Some(problem) = self.theme_problem.take() {
            self.tell(NoticeLevel::Error, problem);
        }
    }

    /// Keeps what was wrong before there was a screen, to be told on it.
    pub(crate) fn note_problems(
        &mut self,
        theme_problem: Option<String>,
        key_problems: Vec<ConfigDiagnostic>,
    ) {
        self.theme_problem = theme_problem;
        self.key_problems = key_problems;
    }

    /// Returns what is wrong with the user's keys, once.
    pub(crate) fn take_key_problems(&mut self) -> Vec<ConfigDiagnostic> {
        std::mem::take(&mut self.key_problems)
    }

    /// Returns the colors of a page that shows the session as the screen does.
    pub(crate) fn export_theme(&self) -> ExportTheme {
        ExportTheme::of_setting(self.themes.setting(), self.themes.files())
    }

    /// Watches the files of the themes the settings name.
    pub(crate) fn watch_theme_files(&mut self) {
        let wanted: Vec<&str> = self
            .themes
            .setting()
            .unwrap_or_default()
            .split('/')
            .collect();
        let files = self.themes.files().iter();
        let used = files.filter(|file| wanted.contains(&file.name.as_str()));
        self.theme_watch = ThemeWatch::on(used.map(|file| file.path.as_path()));
    }

    /// Reads the files of the themes again.
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
            app.tell_theme_problem();
        });
    }

    pub(super) fn on_color_scheme(&mut self, scheme: ColorScheme) {
        if self.themes.set_scheme(scheme) {
            self.apply_theme();
        }
    }

    /// Takes settings, keys and themes of the session's directory into use.
    pub(crate) fn reload_preferences(&mut self) {
        let services = self.runtime.services();
        let settings = services.settings.settings();
        self.themes.load(&settings, &services.resources.themes);
        self.tell_themes();
        self.apply_theme();
        let (keys, problems) = read_keys(&services.agent_dir, &services.env);
        self.use_keys(keys);
        self.key_problems = problems;
        self.apply_settings(&settings);
    }

    fn use_keys(&mut self, keys: Keybindings) {
        let shared = Arc::new(keys.clone());
        self.screen.runner().tui().set_keybindings(keys);
        self.change_look(|appearance| appearance.keys = shared);
    }

    /// Makes the screen what the settings say.
    pub(crate) fn apply_settings(&mut self, settings: &Settings) {
        let env = self.runtime.services().env.clone();
        let cwd = self.session.cwd().to_owned();
        self.change_look(|appearance| {
            appearance.apply(settings);
            appearance.cwd = cwd;
        });
        let options = self.screen.runner().tui().render_options_mut();
        apply_to_screen(settings, &env, options);
        let padding = usize::from(settings.editor_padding_x());
        let completions = usize::from(settings.autocomplete_max_visible());
        self.screen.with_editor(|area| {
            area.editor().set_padding(padding);
            area.editor().set_max_completions(completions);
        });
        let mode: ScreenMode = screen_mode(settings);
        if self.screen.peek().mode() != mode {
            self.reading = false;
            self.written(|app| app.screen.runner().set_mode(mode));
            self.tell_size();
        }
    }

    /// Changes a setting of the user; if that fails, it still holds until the program ends.
    pub(crate) fn save_setting(&mut self, change: impl FnOnce(&mut Settings)) {
        let saved = self.session.settings().update(ConfigScope::User, change);
        if let Err(error) = saved {
            self.error(pi_runtime::describe_error(&error));
        }
    }
}
