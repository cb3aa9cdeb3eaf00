//! Tests of settings and themes.

use pi_protocol::settings::{Settings, TuiMode};
use pi_tui::ColorMode;
use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;

struct AppearanceTester {
    appearance: AppearanceController,
    app: TestContext,
}

impl AppearanceTester {
    /// The screen shows the dark theme, and so do the settings.
    fn new() -> Self {
        let settings = Settings {
            theme: Some("dark".to_owned()),
            ..Settings::default()
        };
        let themes = ThemeSelector::new(ColorMode::TrueColor, ColorScheme::Dark, &settings);
        let mut tester = Self {
            appearance: AppearanceController::new(themes),
            app: TestContext::default(),
        };
        tester.set_theme("dark");
        tester
    }

    fn send(&mut self, message: AppearanceMsg) -> Vec<String> {
        listed(&self.appearance.update(message, &self.app.context()))
    }

    fn set_theme(&mut self, theme: &str) {
        self.app.session.settings = Arc::new(Settings {
            theme: Some(theme.to_owned()),
            ..Settings::default()
        });
    }
}

#[test]
fn a_setting_is_saved_before_it_is_applied() {
    let mut tester = AppearanceTester::new();
    let change = SettingChange::TuiMode(TuiMode::Fullscreen);
    assert_eq!(
        tester.send(AppearanceMsg::Change(change)),
        [
            "change Setting(TuiMode(Fullscreen))",
            "Appearance(Changed(TuiMode(Fullscreen)))"
        ]
    );
}

#[test]
fn a_preview_ends_with_the_theme_of_the_settings() {
    let mut tester = AppearanceTester::new();
    let light = AppearanceMsg::Preview(Some("light".to_owned()));
    assert_eq!(tester.send(light)[0], "UpdateContext(ContextChange)");
    // The dark theme is still in use here, because nothing performed the command.
    assert!(tester.send(AppearanceMsg::Preview(None)).is_empty());
}

#[test]
fn an_unknown_theme_is_reported_once() {
    let mut tester = AppearanceTester::new();
    tester.set_theme("no-such-theme");
    let change = SettingChange::Theme("no-such-theme".to_owned());
    let commands = tester.send(AppearanceMsg::Changed(change));
    let errors = commands.iter().filter(|line| line.starts_with("Error: "));
    assert_eq!(errors.count(), 1, "{commands:?}");
    assert!(tester.send(AppearanceMsg::ReportProblems).is_empty());
}

#[test]
fn the_theme_follows_the_terminal_unless_one_is_set() {
    let mut tester = AppearanceTester::new();
    let colors = || {
        AppearanceMsg::Colors(TerminalColors {
            background: Some((255, 255, 255)),
            ..TerminalColors::default()
        })
    };
    assert!(tester.send(colors()).is_empty(), "the theme is fixed");
    tester.set_theme("light/dark");
    let pair = SettingChange::Theme("light/dark".to_owned());
    let commands = tester.send(AppearanceMsg::Changed(pair));
    assert_eq!(commands[0], "UpdateContext(ContextChange)");
}

#[test]
fn a_theme_that_an_extension_selects_is_saved() {
    let mut tester = AppearanceTester::new();
    let commands = tester.send(AppearanceMsg::UseTheme("light".to_owned()));
    assert_eq!(commands.last().unwrap(), "change Setting(Theme(\"light\"))");
    tester.set_theme("light");
    let commands = tester.send(AppearanceMsg::UseTheme("light".to_owned()));
    assert!(!commands.last().unwrap().starts_with("change"));
}

#[test]
fn skill_commands_change_the_completion() {
    let mut tester = AppearanceTester::new();
    let refresh = "RefreshCompletion".to_owned();
    let changed = AppearanceMsg::Changed;
    let commands = tester.send(changed(SettingChange::SkillCommands(false)));
    assert!(commands.contains(&refresh));
    let commands = tester.send(changed(SettingChange::ShowImages(false)));
    assert!(!commands.contains(&refresh));
}

#[test]
fn problems_found_before_the_first_frame_are_reported_later() {
    let mut tester = AppearanceTester::new();
    tester.send(AppearanceMsg::Problems {
        theme: vec!["bad theme".to_owned()],
        keys: vec![ConfigDiagnostic::warning(
            "bad key",
            std::path::Path::new("keybindings.json"),
        )],
    });
    assert_eq!(
        tester.send(AppearanceMsg::ReportProblems),
        ["Error: bad theme", "Warning: keybindings.json: bad key"]
    );
    assert!(tester.send(AppearanceMsg::ReportProblems).is_empty());
}

#[test]
fn thinking_is_hidden_and_shown_again() {
    let mut tester = AppearanceTester::new();
    let commands = tester.send(AppearanceMsg::ToggleThinking);
    assert_eq!(
        commands[1..],
        [
            "change Setting(HideThinking(true))",
            "Status: Thinking hidden"
        ]
    );
}

#[test]
fn the_first_start_is_recorded() {
    let mut tester = AppearanceTester::new();
    assert_eq!(
        tester.send(AppearanceMsg::FirstStartFinished),
        ["change Setting(ChangelogVersion(\"1.2.3\"))"]
    );
}

#[test]
fn a_theme_file_that_changed_is_applied_and_its_problem_reported() {
    let mut tester = AppearanceTester::new();
    assert_eq!(
        tester.send(AppearanceMsg::ReadThemes),
        ["run read theme files"]
    );
    assert!(
        tester
            .send(AppearanceMsg::ThemesRead(Vec::new()))
            .is_empty(),
        "nothing changed"
    );
    tester.set_theme("no-such-theme");
    let settings = Arc::clone(&tester.app.session.settings);
    tester.appearance.themes.load(&settings, &[]);
    let commands = tester.send(AppearanceMsg::ThemesRead(Vec::new()));
    assert!(
        commands.iter().any(|line| line.starts_with("Error: ")),
        "{commands:?}"
    );
}

#[test]
fn only_other_capabilities_lay_out_the_screen_again() {
    let mut tester = AppearanceTester::new();
    let known = tester.app.ui.context().capabilities;
    let probed = AppearanceMsg::CapabilitiesProbed;
    assert!(tester.send(probed(known)).is_empty());
    let other = TerminalCapabilities {
        hyperlinks: !known.hyperlinks,
        ..known
    };
    assert_eq!(tester.send(probed(other)), ["UpdateContext(ContextChange)"]);
}

#[test]
fn another_directory_brings_its_keys_and_settings() {
    let mut tester = AppearanceTester::new();
    let commands = tester.send(AppearanceMsg::Reload {
        themes: Vec::new(),
        keys: Box::default(),
        key_problems: Vec::new(),
    });
    assert!(commands[0].starts_with("PublishThemes"), "{commands:?}");
    assert!(commands[1].starts_with("SetKeys"), "{commands:?}");
    assert!(commands[2].starts_with("ApplySettings"), "{commands:?}");
}
