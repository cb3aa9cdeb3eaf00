//! Settings that change what the screen looks like: themes, keys, hidden content.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use pi_host::ExportTheme;
use pi_protocol::settings::SettingChange;
use pi_protocol::{ConfigDiagnostic, ThemeFile};
use pi_tui::{ColorScheme, Keybindings, SYSTEM_THEME, TerminalCapabilities, TerminalColors};
use pi_views::dialogs::ThemeDialogOptions;
use pi_views::theme::image_converter::ImageConversion;
use pi_views::theme::selector::ThemeSelector;

use super::status::StatusMsg;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::display_command::{ContextChange, DisplayCommand};
use crate::app::tasks::AppTask;
use crate::session::command::SessionChange;
use crate::startup;
use crate::terminal::theme_watch::ThemeWatch;

#[derive(Debug)]
pub(crate) enum AppearanceMsg {
    /// Saves a user setting and applies it.
    Change(SettingChange),
    /// A setting has been saved.
    Changed(SettingChange),
    /// Shows a theme without saving it; `None` shows the one of the settings.
    Preview(Option<String>),
    /// An extension selected a theme.
    UseTheme(String),
    ToggleThinking,
    ColorScheme(ColorScheme),
    /// The terminal reported its colors.
    Colors(TerminalColors),
    /// Theme files changed on disk.
    ReadThemes,
    ThemesRead(Vec<(String, String)>),
    WatchThemes,
    /// Problems found before there was a screen.
    Problems {
        theme: Vec<String>,
        keys: Vec<ConfigDiagnostic>,
    },
    ReportProblems,
    /// The settings, keys and themes of another session's directory.
    Reload {
        themes: Vec<ThemeFile>,
        keys: Box<Keybindings>,
        key_problems: Vec<ConfigDiagnostic>,
    },
    Publish,
    ConvertImages(Vec<ImageConversion>),
    ImagesConverted,
    CapabilitiesProbed(TerminalCapabilities),
    /// The user has completed the setup.
    FirstStartFinished,
}

/// The themes and what is wrong with them.
#[derive(Debug)]
pub(crate) struct AppearanceController {
    themes: ThemeSelector,
    theme_problems: Vec<String>,
    key_problems: Vec<ConfigDiagnostic>,
    watch: Option<ThemeWatch>,
}

impl AppearanceController {
    pub(crate) fn new(themes: ThemeSelector) -> Self {
        Self {
            themes,
            theme_problems: Vec::new(),
            key_problems: Vec::new(),
            watch: None,
        }
    }

    /// Waits until a watched theme file changes.
    pub(crate) async fn theme_files_changed(&mut self) {
        match &mut self.watch {
            Some(watch) => watch.changed().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn theme_choices(&self) -> ThemeDialogOptions {
        ThemeDialogOptions {
            names: self.themes.names(),
            setting: self.themes.setting().unwrap_or(SYSTEM_THEME).to_owned(),
            scheme: self.themes.scheme(),
        }
    }

    /// Returns the current theme for exported pages.
    pub(crate) fn export_theme(&self) -> ExportTheme {
        ExportTheme::from_setting(self.themes.setting(), self.themes.files())
    }

    pub(crate) fn update(
        &mut self,
        message: AppearanceMsg,
        ctx: &AppContext<'_>,
    ) -> Vec<AppCommand> {
        match message {
            AppearanceMsg::Change(change) => vec![
                AppCommand::Change(SessionChange::Setting(change.clone())),
                AppCommand::send(AppearanceMsg::Changed(change)),
            ],
            AppearanceMsg::Changed(change) => self.changed(&change, ctx),
            AppearanceMsg::Preview(theme) => {
                self.themes.set_preview(theme);
                self.apply_theme(ctx)
            }
            AppearanceMsg::UseTheme(name) => self.use_theme(name, ctx),
            AppearanceMsg::ToggleThinking => toggle_thinking(ctx),
            AppearanceMsg::ColorScheme(scheme) => {
                self.themes.set_scheme(scheme);
                self.apply_theme(ctx)
            }
            AppearanceMsg::Colors(colors) => {
                self.themes.set_colors(colors);
                self.apply_theme(ctx)
            }
            AppearanceMsg::ReadThemes => vec![self.read_themes()],
            AppearanceMsg::ThemesRead(texts) => {
                for (name, text) in texts {
                    self.themes.set_content(&name, text);
                }
                let mut commands = self.apply_theme(ctx);
                commands.extend(self.report_theme_problems());
                commands
            }
            AppearanceMsg::WatchThemes => {
                self.watch_themes();
                Vec::new()
            }
            AppearanceMsg::Problems { theme, keys } => {
                self.theme_problems = theme;
                self.key_problems = keys;
                Vec::new()
            }
            AppearanceMsg::ReportProblems => {
                let mut commands = self.report_theme_problems();
                let problems = std::mem::take(&mut self.key_problems);
                commands.extend(problems.iter().map(startup::diagnostic));
                commands
            }
            AppearanceMsg::Reload {
                themes,
                keys,
                key_problems,
            } => {
                self.themes.load(&ctx.session.settings, &themes);
                let mut commands = vec![self.publish(false)];
                commands.extend(self.apply_theme(ctx));
                self.theme_problems.extend(self.themes.problems());
                self.key_problems = key_problems;
                commands.push(AppCommand::Display(DisplayCommand::SetKeys(keys)));
                commands.push(apply_settings(ctx));
                commands
            }
            AppearanceMsg::Publish => vec![self.publish(false)],
            AppearanceMsg::ConvertImages(images) => {
                vec![AppCommand::Run(AppTask::blocking(
                    "convert images",
                    move || {
                        images.into_iter().for_each(ImageConversion::run);
                        AppearanceMsg::ImagesConverted
                    },
                ))]
            }
            AppearanceMsg::ImagesConverted => vec![update_context(ContextChange::new(|_| {}))],
            AppearanceMsg::CapabilitiesProbed(capabilities) => {
                if capabilities == ctx.ui.context().capabilities {
                    return Vec::new();
                }
                vec![update_context(ContextChange::new(move |context| {
                    context.capabilities = capabilities;
                }))]
            }
            AppearanceMsg::FirstStartFinished => {
                let change = SettingChange::ChangelogVersion(ctx.version.to_owned());
                vec![AppCommand::Change(SessionChange::Setting(change))]
            }
        }
    }

    fn changed(&mut self, change: &SettingChange, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        self.themes.set_preview(None);
        self.themes.set_setting(ctx.session.settings.theme.clone());
        let mut commands = self.apply_theme(ctx);
        commands.extend(self.report_theme_problems());
        commands.push(apply_settings(ctx));
        if matches!(change, SettingChange::SkillCommands(_)) {
            commands.push(AppCommand::RefreshCompletion);
        }
        if matches!(change, SettingChange::Theme(_)) {
            self.watch_themes();
        }
        commands.push(AppCommand::send(StatusMsg::Refresh));
        commands
    }

    /// Applies the theme selected by preview, settings or terminal.
    fn apply_theme(&mut self, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        let chosen = self.themes.choose();
        self.theme_problems = chosen.problem.into_iter().collect();
        if chosen.theme == *ctx.ui.context().theme {
            return Vec::new();
        }
        let theme = Arc::new(chosen.theme);
        vec![
            update_context(ContextChange::new(move |context| context.theme = theme)),
            self.publish(true),
        ]
    }

    fn use_theme(&mut self, name: String, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        self.themes.set_setting(Some(name.clone()));
        let mut commands = self.apply_theme(ctx);
        commands.push(update_context(ContextChange::new(|_| {})));
        commands.push(self.publish(true));
        if ctx.session.settings.theme.as_ref() != Some(&name) {
            let change = SettingChange::Theme(name);
            commands.push(AppCommand::Change(SessionChange::Setting(change)));
        }
        commands
    }

    /// Publishes the themes to extensions; `has_changed` notifies them that another one is in use.
    fn publish(&self, has_changed: bool) -> AppCommand {
        AppCommand::Display(DisplayCommand::PublishThemes {
            themes: Box::new(self.themes.clone()),
            has_changed,
        })
    }

    /// Reports why the configured theme is not in use, and other invalid themes after they were loaded.
    fn report_theme_problems(&mut self) -> Vec<AppCommand> {
        let problems = std::mem::take(&mut self.theme_problems).into_iter();
        problems.map(AppCommand::error).collect()
    }

    /// Watches the theme files named in the settings.
    fn watch_themes(&mut self) {
        let names = self.themes.setting().unwrap_or_default();
        let names: Vec<&str> = names.split('/').collect();
        let files = self.themes.files().iter();
        let used = files.filter(|file| names.contains(&file.name.as_str()));
        self.watch = ThemeWatch::on(used.map(|file| file.path.as_path()));
    }

    fn read_themes(&self) -> AppCommand {
        let files = self.themes.files().iter();
        let files: Vec<(String, PathBuf)> = files
            .map(|file| (file.name.clone(), file.path.clone()))
            .collect();
        AppCommand::Run(AppTask::blocking("read theme files", move || {
            let texts = files.into_iter().filter_map(|(name, path)| {
                let text = std::fs::read_to_string(path).ok()?;
                Some((name, text))
            });
            AppearanceMsg::ThemesRead(texts.collect())
        }))
    }
}

fn toggle_thinking(ctx: &AppContext<'_>) -> Vec<AppCommand> {
    let hide = !ctx.ui.context().hide_thinking;
    vec![
        update_context(ContextChange::new(move |context| {
            context.hide_thinking = hide;
        })),
        AppCommand::Change(SessionChange::Setting(SettingChange::HideThinking(hide))),
        AppCommand::status(if hide {
            "Thinking hidden"
        } else {
            "Thinking shown"
        }),
    ]
}

fn apply_settings(ctx: &AppContext<'_>) -> AppCommand {
    AppCommand::Display(DisplayCommand::ApplySettings {
        settings: Arc::clone(&ctx.session.settings),
        cwd: ctx.session.cwd.clone(),
    })
}

fn update_context(change: ContextChange) -> AppCommand {
    AppCommand::Display(DisplayCommand::UpdateContext(change))
}
