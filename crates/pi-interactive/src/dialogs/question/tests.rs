use pretty_assertions::assert_eq;

use super::*;
use crate::dialog::Dialog;
use crate::dialog::DialogNews;
use crate::dialogs::prompt::PromptDialog;
use crate::dialogs::testing::{HOSTILE, Stage, survives_every_size, withstands_anything};
use crate::dialogs::text_editor::EditorDialog;

fn question(timeout: Option<Duration>) -> Question {
    Question {
        title: "Really?".to_owned(),
        details: Some("Dig up the south bed?".to_owned()),
        timeout,
    }
}

fn beds() -> Vec<String> {
    ["north bed", "south bed", "west bed"]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn a_choice_is_answered_with_its_place() {
    let look = Look::for_tests();
    let dialog = QuestionDialog::choose(look.clone(), question(None), &beds(), Instant::now());
    let mut stage = Stage::new(&look, dialog);
    insta::assert_snapshot!(stage.screen());
    stage.press("'j down up enter");
    assert_eq!(stage.intents(), [Intent::Answer(Answer::Chosen(1))]);
    assert!(stage.is_done());
}

#[test]
fn leaving_a_choice_dismisses_it() {
    let look = Look::for_tests();
    let dialog = QuestionDialog::choose(look.clone(), question(None), &beds(), Instant::now());
    let mut stage = Stage::new(&look, dialog);
    stage.press("escape enter");
    assert_eq!(stage.intents(), [Intent::Answer(Answer::Dismissed)]);
}

#[test]
fn a_confirmation_is_yes_only_when_chosen() {
    for (keys, expected) in [("enter", true), ("down enter", false), ("ctrl+c", false)] {
        let look = Look::for_tests();
        let dialog = QuestionDialog::confirm(look.clone(), question(None), Instant::now());
        let mut stage = Stage::new(&look, dialog);
        stage.press(keys);
        assert_eq!(
            stage.intents(),
            [Intent::Answer(Answer::Confirmed(expected))],
            "{keys}"
        );
    }
}

#[test]
fn the_time_counts_down_and_answers_in_the_end() {
    let look = Look::for_tests();
    let start = Instant::now();
    let timeout = Some(Duration::from_secs(2));
    let dialog = QuestionDialog::confirm(look.clone(), question(timeout), start);
    let mut stage = Stage::new(&look, dialog);
    assert!(stage.screen().contains("Really? (2 s left)"));
    let tick = stage.dialog().next_tick().unwrap();
    assert_eq!(tick, start + Duration::from_secs(1));
    stage.dialog().tick(tick);
    assert!(stage.screen().contains("(1 s left)"));
    let end = stage.dialog().next_tick().unwrap();
    stage.dialog().tick(end);
    assert_eq!(stage.intents(), [Intent::Answer(Answer::Confirmed(false))]);
    assert_eq!(stage.dialog().next_tick(), None);
}

#[test]
fn an_import_asks_first() {
    let look = Look::for_tests();
    let path = PathBuf::from("/home/user/old.jsonl");
    let dialog = QuestionDialog::import(look.clone(), path.clone(), Instant::now());
    let mut stage = Stage::new(&look, dialog);
    insta::assert_snapshot!(stage.screen());
    stage.press("enter");
    assert_eq!(stage.intents(), [Intent::Import(path)]);
}

#[test]
fn a_line_is_asked_for() {
    let look = Look::for_tests();
    let dialog = PromptDialog::open(look.clone(), question(None), Some("30 cm"), Instant::now());
    let mut stage = Stage::new(&look, dialog);
    insta::assert_snapshot!(stage.screen());
    stage.press("'deep enter");
    assert_eq!(
        stage.intents(),
        [Intent::Answer(Answer::Text("deep".to_owned()))]
    );
}

#[test]
fn a_line_is_not_waited_for_for_ever() {
    let look = Look::for_tests();
    let start = Instant::now();
    let timeout = Some(Duration::from_secs(5));
    let dialog = PromptDialog::open(look.clone(), question(timeout), None, start);
    let mut stage = Stage::new(&look, dialog);
    stage.dialog().tick(start + Duration::from_secs(9));
    assert_eq!(stage.intents(), [Intent::Answer(Answer::Dismissed)]);
}

#[test]
fn a_text_is_asked_for_and_can_be_edited_elsewhere() {
    let look = Look::for_tests();
    let dialog = EditorDialog::open(look.clone(), question(None), "prefilled words");
    let mut stage = Stage::new(&look, dialog);
    insta::assert_snapshot!(stage.screen());
    stage.press("ctrl+g");
    assert_eq!(
        stage.intents(),
        [Intent::EditExternally("prefilled words".to_owned())]
    );
    stage.feed(DialogNews::Edited("other\nwords".to_owned()));
    stage.press("enter");
    assert_eq!(
        stage.intents(),
        [Intent::Answer(Answer::Text("other\nwords".to_owned()))]
    );
}

#[test]
fn questions_of_others_fit_any_terminal_and_write_nothing_else() {
    let hostile = Question {
        title: HOSTILE.to_owned(),
        details: Some(HOSTILE.to_owned()),
        timeout: Some(Duration::from_secs(3)),
    };
    let now = Instant::now();
    let look = Look::for_tests();
    let choices = vec![HOSTILE.to_owned(); 40];
    survives_every_size(QuestionDialog::choose(
        look.clone(),
        hostile.clone(),
        &choices,
        now,
    ));
    survives_every_size(PromptDialog::open(
        look.clone(),
        hostile.clone(),
        Some(HOSTILE),
        now,
    ));
    survives_every_size(EditorDialog::open(look.clone(), hostile.clone(), HOSTILE));
    let dialog = QuestionDialog::choose(look.clone(), hostile, &choices, now);
    let mut stage = Stage::sized(&look, dialog, 40, 12);
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn no_key_and_no_click_breaks_them() {
    let look = Look::for_tests();
    let now = Instant::now();
    withstands_anything(&look, || {
        QuestionDialog::choose(look.clone(), question(None), &beds(), now)
    });
    withstands_anything(&look, || {
        PromptDialog::open(look.clone(), question(None), None, now)
    });
    withstands_anything(&look, || {
        EditorDialog::open(look.clone(), question(None), HOSTILE)
    });
}
