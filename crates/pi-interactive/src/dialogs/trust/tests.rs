use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{HOSTILE, Stage, survives_every_size, withstands_anything};

fn choices(dir: &str) -> Vec<TrustChoice> {
    let dir = PathBuf::from(dir);
    let parent = dir.parent().unwrap().to_owned();
    vec![
        TrustChoice::Trust {
            dir: dir.clone(),
        },
        TrustChoice::TrustParent {
            parent,
            dir: dir.clone(),
        },
        TrustChoice::TrustOnce,
        TrustChoice::Deny { dir },
        TrustChoice::DenyOnce,
    ]
}

fn ask() -> Stage<Window<TrustDialog>> {
    let look = Look::for_tests();
    let folder = "/home/user/garden";
    let dialog = TrustDialog::ask(look.clone(), PathBuf::from(folder), choices(folder));
    Stage::new(&look, dialog)
}

#[test]
fn the_question_says_what_trust_means() {
    let mut stage = ask();
    insta::assert_snapshot!(stage.screen());
    stage.press("'j enter");
    assert_eq!(
        stage.intents(),
        [Intent::Trust(choices("/home/user/garden")[1].clone())]
    );
}

#[test]
fn who_does_not_decide_does_not_trust() {
    for key in ["escape", "ctrl+c"] {
        let mut stage = ask();
        stage.press(key);
        assert_eq!(stage.intents(), [Intent::Trust(TrustChoice::DenyOnce)]);
        assert!(stage.is_done());
    }
}

#[test]
fn a_saved_decision_is_marked_and_leaving_changes_nothing() {
    let look = Look::for_tests();
    let folder = "/home/user/garden";
    let said = vec![
        "Saved: trusted".to_owned(),
        "This session: trusted".to_owned(),
    ];
    let dialog = TrustDialog::change(
        look.clone(),
        PathBuf::from(folder),
        choices(folder),
        said,
        Some(3),
    );
    let mut stage = Stage::new(&look, dialog);
    insta::assert_snapshot!(stage.screen());
    stage.press("escape");
    assert_eq!(stage.intents(), []);
    assert!(stage.is_done());
}

#[test]
fn a_folder_cannot_write_on_the_screen() {
    let look = Look::for_tests();
    let folder = format!("/tmp/{HOSTILE}/x");
    let dialog = || TrustDialog::ask(look.clone(), PathBuf::from(&folder), choices(&folder));
    survives_every_size(dialog());
    insta::assert_snapshot!(Stage::new(&look, dialog()).screen());
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || {
        let folder = "/home/user/garden";
        TrustDialog::ask(look.clone(), PathBuf::from(folder), choices(folder))
    });
}
