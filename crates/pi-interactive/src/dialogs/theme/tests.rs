use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{
    HOSTILE, Stage as Terminal, survives_every_size, withstands_anything,
};
use crate::dialogs::window::Window;
use crate::look::Look;

fn choices(setting: &str) -> ThemeChoices {
    ThemeChoices {
        names: ["dark", "light", "sepia"].map(str::to_owned).to_vec(),
        setting: setting.to_owned(),
        scheme: ColorScheme::Dark,
    }
}

fn stage(setting: &str) -> Terminal<Window<ThemeDialog>> {
    let look = Look::for_tests();
    Terminal::new(
        &look,
        Window::new(look.clone(), ThemeDialog::new(choices(setting))),
    )
}

fn preview(theme: &str) -> Intent {
    Intent::PreviewTheme(theme.to_owned())
}

fn keep(theme: &str) -> Intent {
    Intent::ChangeSetting(SettingChange::Theme(theme.to_owned()))
}

#[test]
fn the_theme_in_use_is_selected_and_moving_shows_others() {
    let mut stage = stage("light");
    insta::assert_snapshot!(stage.screen());
    stage.press("down enter");
    assert_eq!(stage.intents(), [preview("sepia"), keep("sepia")]);
    assert!(stage.is_done());
}

#[test]
fn following_the_terminal_takes_two_themes() {
    let mut stage = stage("dark");
    stage.press("up enter");
    assert_eq!(
        stage.intents(),
        [preview("light/dark"), preview("light/dark")]
    );
    insta::assert_snapshot!(stage.screen());
    stage.press("enter down enter");
    assert_eq!(stage.intents(), [preview("sepia"), preview("sepia/dark")]);
    stage.press("down down enter");
    assert_eq!(stage.intents(), [keep("sepia/dark")]);
}

#[test]
fn a_pair_opens_as_a_pair_and_can_become_one() {
    let mut stage = stage("light/dark");
    assert!(stage.screen().contains("light: light"));
    stage.press("up enter");
    assert!(stage.screen().contains("✓ dark"));
    stage.press("escape");
    assert_eq!(stage.intents(), [preview("dark"), Intent::EndThemePreview]);
}

#[test]
fn leaving_one_of_the_two_goes_back_to_both() {
    let mut stage = stage("light/dark");
    stage.press("down enter down escape");
    assert_eq!(stage.intents(), [preview("light"), preview("light/dark")]);
    assert!(!stage.is_done());
}

#[test]
fn names_of_themes_fit_any_terminal() {
    let mut choices = choices(HOSTILE);
    choices.names = vec![HOSTILE.to_owned(); 30];
    survives_every_size(Window::new(Look::for_tests(), ThemeDialog::new(choices)));
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || {
        Window::new(look.clone(), ThemeDialog::new(choices("light/dark")))
    });
}
