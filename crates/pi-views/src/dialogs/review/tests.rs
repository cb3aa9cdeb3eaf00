use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

fn change(diff: &str, is_recent: bool) -> ReviewHunk {
    ReviewHunk {
        hunk: DiffHunk::split(diff).remove(0),
        is_recent,
        is_whole_file: false,
        is_reverted: false,
    }
}

fn files() -> Vec<ReviewFile> {
    let file = |path: &str, hunks: Vec<ReviewHunk>| ReviewFile {
        path: path.to_owned(),
        hunks,
    };
    vec![
        file(
            "src/retry.rs",
            vec![
                change(
                    " 1 fn retry() {\n-2     once();\n+2     thrice();\n 3 }",
                    true,
                ),
                change("+40 // done", false),
            ],
        ),
        file("README.md", vec![change("-7 old\n+7 new", true)]),
    ]
}

#[test]
fn the_changes_of_the_turn_or_of_the_session_are_shown() {
    let ui = UiTheme::for_tests();
    let mut tester = DialogTester::new(&ui, ReviewDialog::open(ui.clone(), files()));
    let screen = tester.screen();
    assert!(
        screen.contains("Changes of the last turn: 2 files +2 −2"),
        "{screen}"
    );
    assert!(screen.contains("▌ src/retry.rs"), "{screen}");
    assert!(!screen.contains("// done"), "{screen}");
    tester.press("'t");
    let screen = tester.screen();
    assert!(
        screen.contains("Changes of the session: 2 files +3 −2"),
        "{screen}"
    );
    assert!(screen.contains("+ 40 // done"), "{screen}");
    tester.press("right");
    assert!(tester.screen().contains("▌ README.md"));
}

#[test]
fn the_keys_that_scroll_are_shown_if_the_diff_is_longer_than_the_screen() {
    let ui = UiTheme::for_tests();
    let hint = "pgup/pgdn page · enter comment · r revert";
    let mut short = DialogTester::new(&ui, ReviewDialog::open(ui.clone(), files()));
    assert!(!short.screen().contains("pgup/pgdn"));
    let mut long = files();
    long[0].hunks[0].hunk = DiffHunk::written(&"line\n".repeat(50)).unwrap();
    let mut tester = DialogTester::new(&ui, ReviewDialog::open(ui.clone(), long));
    let screen = tester.screen();
    assert!(screen.contains(hint), "{screen}");
    assert!(screen.contains("escape close"), "{screen}");
}

#[test]
fn a_comment_quotes_the_hunk() {
    let ui = UiTheme::for_tests();
    let mut tester = DialogTester::new(&ui, ReviewDialog::open(ui.clone(), files()));
    tester.press("down enter");
    let text = "README.md:7\n> -7 old\n> +7 new\n\n".to_owned();
    assert_eq!(tester.intents(), [Intent::InsertPromptText(text)]);
    assert!(tester.is_done());
}

#[test]
fn a_hunk_is_reverted_once() {
    let ui = UiTheme::for_tests();
    let mut tester = DialogTester::new(&ui, ReviewDialog::open(ui.clone(), files()));
    tester.press("'r");
    let (path, hunk) = ("src/retry.rs".to_owned(), files()[0].hunks[0].hunk.clone());
    let (sent_path, sent_hunk) = (path.clone(), hunk.clone());
    assert_eq!(
        tester.intents(),
        [Intent::RevertHunk {
            path: sent_path,
            hunk: sent_hunk
        }]
    );
    tester.on_update(DialogUpdate::Failed(
        "the file has changed since".to_owned(),
    ));
    assert!(tester.screen().contains("the file has changed since"));
    tester.on_update(DialogUpdate::HunkReverted { path, hunk });
    let screen = tester.screen();
    assert!(
        screen.contains("reverted") && !screen.contains("thrice"),
        "{screen}"
    );
    tester.press("'r");
    assert!(tester.intents().is_empty());
}

#[test]
fn any_text_fits_any_terminal() {
    let hostile = ReviewFile {
        path: HOSTILE.to_owned(),
        hunks: vec![change(&format!("+1 {}", HOSTILE.replace('\n', " ")), true); 20],
    };
    fits_every_size(ReviewDialog::open(UiTheme::for_tests(), vec![hostile]));
    fits_every_size(ReviewDialog::open(UiTheme::for_tests(), Vec::new()));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || ReviewDialog::open(ui.clone(), files()));
}
