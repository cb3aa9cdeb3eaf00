use std::time::Duration;

use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

/// Longer than the pause that an answer needs.
const PAUSE: Duration = Duration::from_secs(1);

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
    tester.pass(PAUSE).press("'k").pass(PAUSE).press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::Trust(choices("/home/user/garden")[3].clone())]
    );
}

#[test]
fn keys_typed_before_or_with_the_question_do_not_answer_it() {
    let mut tester = ask();
    tester.press("up up up up enter");
    tester.screen();
    tester.press("up enter").type_text("trust\r");
    assert_eq!(tester.intents(), []);
    tester.pass(PAUSE).press("enter");
    assert_eq!(tester.intents(), [Intent::Trust(TrustChoice::DenyOnce)]);
}

#[test]
fn a_paste_does_not_answer_the_question() {
    for paste in ["kkkk\r", "\x1b[200~kkkk\r\x1b[201~\r"] {
        let mut tester = ask();
        tester.screen();
        tester.pass(PAUSE).type_text(paste);
        assert_eq!(tester.intents(), [], "{paste:?}");
        assert!(!tester.is_done());
    }
}

#[test]
fn a_click_has_to_follow_a_pause() {
    let mut tester = ask();
    tester.screen();
    tester.click("Trust this directory");
    assert_eq!(tester.intents(), []);
    tester.pass(PAUSE).click("Trust this directory");
    let trusted = choices("/home/user/garden")[0].clone();
    assert_eq!(tester.intents(), [Intent::Trust(trusted)]);
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
