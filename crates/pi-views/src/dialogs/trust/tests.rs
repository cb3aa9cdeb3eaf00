use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

fn choices(dir: &str) -> Vec<TrustChoice> {
    let dir = PathBuf::from(dir);
    let parent = dir.parent().unwrap().to_owned();
    vec![
        TrustChoice::Trust { dir: dir.clone() },
        TrustChoice::TrustParent {
            parent,
            dir: dir.clone(),
        },
        TrustChoice::TrustOnce,
        TrustChoice::Deny { dir },
        TrustChoice::DenyOnce,
    ]
}

fn ask() -> DialogTester<DialogFrame<TrustDialog>> {
    let ui = UiTheme::for_tests();
    let folder = "/home/user/garden";
    let dialog = TrustDialog::ask(
        ui.clone(),
        PathBuf::from(folder),
        choices(folder),
        Vec::new(),
    );
    DialogTester::new(&ui, dialog)
}

#[test]
fn the_question_explains_trust() {
    let mut tester = ask();
    insta::assert_snapshot!(tester.screen());
    tester.press("'j enter");
    assert_eq!(
        tester.intents(),
        [Intent::Trust(choices("/home/user/garden")[1].clone())]
    );
}

#[test]
fn closing_does_not_trust() {
    for key in ["escape", "ctrl+c"] {
        let mut tester = ask();
        tester.press(key);
        assert_eq!(tester.intents(), [Intent::Trust(TrustChoice::DenyOnce)]);
        assert!(tester.is_done());
    }
}

#[test]
fn a_saved_decision_is_marked_and_leaving_changes_nothing() {
    let ui = UiTheme::for_tests();
    let folder = "/home/user/garden";
    let state = vec![
        "Saved: trusted".to_owned(),
        "This session: trusted".to_owned(),
    ];
    let dialog = TrustDialog::change(
        ui.clone(),
        PathBuf::from(folder),
        choices(folder),
        state,
        Some(3),
    );
    let mut tester = DialogTester::new(&ui, dialog);
    insta::assert_snapshot!(tester.screen());
    tester.press("escape");
    assert_eq!(tester.intents(), []);
    assert!(tester.is_done());
}

#[test]
fn directory_names_are_sanitized() {
    let ui = UiTheme::for_tests();
    let folder = format!("/tmp/{HOSTILE}/x");
    let dialog = || {
        TrustDialog::ask(
            ui.clone(),
            PathBuf::from(&folder),
            choices(&folder),
            Vec::new(),
        )
    };
    fits_every_size(dialog());
    insta::assert_snapshot!(DialogTester::new(&ui, dialog()).screen());
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || {
        let folder = "/home/user/garden";
        TrustDialog::ask(
            ui.clone(),
            PathBuf::from(folder),
            choices(folder),
            Vec::new(),
        )
    });
}
