use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{HOSTILE, Stage, survives_every_size, withstands_anything};

fn stage(ready: &[&str]) -> Stage<Window<FirstStartDialog>> {
    let look = Look::for_tests();
    let ready = ready.iter().map(|name| (*name).to_owned()).collect();
    let dialog = FirstStartDialog::open(look.clone(), ColorScheme::Dark, ready);
    Stage::new(&look, dialog)
}

fn theme(name: &str) -> Intent {
    Intent::ChangeSetting(SettingChange::Theme(name.to_owned()))
}

#[test]
fn a_theme_is_seen_and_kept_then_the_sign_in_offered() {
    let mut stage = stage(&[]);
    insta::assert_snapshot!(stage.screen());
    stage.press("down enter");
    assert_eq!(
        stage.intents(),
        [Intent::PreviewTheme("dark".to_owned()), theme("dark")]
    );
    insta::assert_snapshot!(stage.screen());
    stage.press("enter");
    assert_eq!(
        stage.intents(),
        [Intent::FinishFirstStart, Intent::OpenLogin]
    );
    assert!(stage.is_done());
}

#[test]
fn who_can_begin_at_once_is_not_pressed_to_sign_in() {
    let mut stage = stage(&["Anthropic"]);
    stage.press("enter");
    assert!(stage.screen().contains("begin at once with Anthropic"));
    stage.press("enter");
    assert_eq!(
        stage.intents(),
        [theme("light/dark"), Intent::FinishFirstStart]
    );
}

#[test]
fn it_can_be_skipped_at_any_time() {
    let mut early = stage(&[]);
    early.press("escape");
    assert_eq!(
        early.intents(),
        [Intent::EndThemePreview, Intent::FinishFirstStart]
    );
    let mut late = stage(&[]);
    late.press("enter escape");
    assert_eq!(
        late.intents(),
        [theme("light/dark"), Intent::FinishFirstStart]
    );
}

#[test]
fn it_fits_any_terminal() {
    let ready = vec![HOSTILE.to_owned(); 9];
    survives_every_size(FirstStartDialog::open(
        Look::for_tests(),
        ColorScheme::Light,
        ready,
    ));
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || {
        FirstStartDialog::open(look.clone(), ColorScheme::Light, Vec::new())
    });
}
