use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::frame::DialogFrame;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};
use crate::theme::ui_theme::UiTheme;

fn choices(setting: &str) -> ThemeDialogOptions {
    ThemeDialogOptions {
        names: ["dark", "light", "sepia"].map(str::to_owned).to_vec(),
        setting: setting.to_owned(),
        scheme: ColorScheme::Dark,
    }
}

fn tester(setting: &str) -> DialogTester<DialogFrame<ThemeDialog>> {
    let ui = UiTheme::for_tests();
    DialogTester::new(
        &ui,
        DialogFrame::new(ui.clone(), ThemeDialog::new(choices(setting))),
    )
}

fn preview(theme: &str) -> Intent {
    Intent::PreviewTheme(theme.to_owned())
}

fn save(theme: &str) -> Intent {
    Intent::ChangeSetting(SettingChange::Theme(theme.to_owned()))
}

#[test]
fn the_current_theme_is_selected_and_moving_previews() {
    let mut tester = tester("light");
    insta::assert_snapshot!(tester.screen());
    tester.press("down enter");
    assert_eq!(tester.intents(), [preview("sepia"), save("sepia")]);
    assert!(tester.is_done());
}

#[test]
fn following_the_terminal_uses_two_themes() {
    let mut tester = tester("dark");
    tester.press("up enter");
    assert_eq!(
        tester.intents(),
        [preview("light/dark"), preview("light/dark")]
    );
    insta::assert_snapshot!(tester.screen());
    tester.press("enter down enter");
    assert_eq!(tester.intents(), [preview("sepia"), preview("sepia/dark")]);
    tester.press("down down enter");
    assert_eq!(tester.intents(), [save("sepia/dark")]);
}

#[test]
fn a_pair_can_become_a_single_theme() {
    let mut tester = tester("light/dark");
    assert!(tester.screen().contains("light: light"));
    tester.press("up enter");
    assert!(tester.screen().contains("✓ dark"));
    tester.press("escape");
    assert_eq!(tester.intents(), [preview("dark"), Intent::EndThemePreview]);
}

#[test]
fn leaving_one_theme_returns_to_the_pair() {
    let mut tester = tester("light/dark");
    tester.press("down enter down escape");
    assert_eq!(tester.intents(), [preview("light"), preview("light/dark")]);
    assert!(!tester.is_done());
}

#[test]
fn names_of_themes_fit_any_terminal() {
    let mut choices = choices(HOSTILE);
    choices.names = vec![HOSTILE.to_owned(); 30];
    fits_every_size(DialogFrame::new(
        UiTheme::for_tests(),
        ThemeDialog::new(choices),
    ));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || {
        DialogFrame::new(ui.clone(), ThemeDialog::new(choices("light/dark")))
    });
}
