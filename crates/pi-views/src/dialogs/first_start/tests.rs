use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

fn tester(ready: &[&str]) -> DialogTester<DialogFrame<FirstStartDialog>> {
    let ui = UiTheme::for_tests();
    let ready = ready.iter().map(|name| (*name).to_owned()).collect();
    let dialog = FirstStartDialog::open(ui.clone(), ready);
    DialogTester::new(&ui, dialog)
}

fn theme(name: &str) -> Intent {
    Intent::ChangeSetting(SettingChange::Theme(name.to_owned()))
}

#[test]
fn a_theme_is_previewed_and_saved_then_sign_in_offered() {
    let mut tester = tester(&[]);
    insta::assert_snapshot!(tester.screen());
    tester.press("down enter");
    assert_eq!(
        tester.intents(),
        [Intent::PreviewTheme("dark".to_owned()), theme("dark")]
    );
    insta::assert_snapshot!(tester.screen());
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::FinishFirstStart, Intent::OpenLogin]
    );
    assert!(tester.is_done());
}

#[test]
fn sign_in_is_optional_with_a_configured_provider() {
    let mut tester = tester(&["Anthropic"]);
    tester.press("enter");
    assert!(tester.screen().contains("Ready to use: Anthropic"));
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [theme("system"), Intent::FinishFirstStart]
    );
}

#[test]
fn can_be_skipped_at_any_step() {
    let mut early = tester(&[]);
    early.press("escape");
    assert_eq!(
        early.intents(),
        [Intent::EndThemePreview, Intent::FinishFirstStart]
    );
    let mut late = tester(&[]);
    late.press("enter escape");
    assert_eq!(late.intents(), [theme("system"), Intent::FinishFirstStart]);
}

#[test]
fn fits_any_terminal() {
    let ready = vec![HOSTILE.to_owned(); 9];
    fits_every_size(FirstStartDialog::open(UiTheme::for_tests(), ready));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || FirstStartDialog::open(ui.clone(), Vec::new()));
}
