use pi_tui::Component as _;
use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::dialog::Dialog;
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::prompt::PromptDialog;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};
use crate::dialogs::text_editor::EditorDialog;

fn question(timeout: Option<Duration>) -> QuestionOptions {
    QuestionOptions {
        title: "Really?".to_owned(),
        details: Some("Dig up the south bed?".to_owned()),
        timeout,
        ..QuestionOptions::default()
    }
}

fn beds() -> Vec<String> {
    ["north bed", "south bed", "west bed"]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn a_choice_is_answered_with_its_index() {
    let ui = UiTheme::for_tests();
    let dialog = QuestionDialog::choose(ui.clone(), question(None), &beds(), Instant::now());
    let mut tester = DialogTester::new(&ui, dialog);
    insta::assert_snapshot!(tester.screen());
    tester.press("'j down up enter");
    assert_eq!(
        tester.intents(),
        [Intent::Answer(QuestionAnswer::Chosen(1))]
    );
    assert!(tester.is_done());
}

#[test]
fn only_the_first_line_of_a_question_is_bold() {
    let ui = UiTheme::for_tests();
    let question = QuestionOptions {
        title: "Restore files? 1 file changed since\ndelete a".to_owned(),
        ..question(Some(Duration::from_secs(9)))
    };
    let mut dialog = QuestionDialog::choose(ui, question, &beds(), Instant::now());
    let lines = dialog.render(80);
    let line = |text: &str| lines.iter().find(|line| line.contains(text)).unwrap();
    let title = line("Restore files?");
    assert!(
        title.contains("\x1b[1;") && title.contains("s left)"),
        "{title:?}"
    );
    assert!(!line("delete a").contains("\x1b[1;"), "{lines:?}");
}

#[test]
fn a_menu_that_changes_keeps_its_selection() {
    let ui = UiTheme::for_tests();
    let choose = |titles: &str, choices: &[&str]| {
        let question = QuestionOptions {
            title: titles.to_owned(),
            ..QuestionOptions::default()
        };
        let choices: Vec<_> = choices.iter().map(|choice| (*choice).to_owned()).collect();
        let dialog = QuestionDialog::choose(ui.clone(), question, &choices, Instant::now());
        DialogTester::new(&ui, dialog)
    };
    let mut menu = choose("Servers\n1 ready", &["a · starting", "b · starting"]);
    menu.press("down");
    drop(menu);
    let mut menu = choose("Servers\n2 ready", &["new", "a · ready", "b · ready"]);
    menu.press("enter");
    let chosen = |index| [Intent::Answer(QuestionAnswer::Chosen(index))];
    assert_eq!(menu.intents(), chosen(2));
    drop(menu);
    // An answered question is over.
    let mut menu = choose("Servers", &["a", "b"]);
    menu.press("enter");
    assert_eq!(menu.intents(), chosen(0));
    let mut menu = choose("Servers", &["a", "b"]);
    menu.press("down");
    drop(menu);
    let mut other = choose("Others", &["a", "b"]);
    other.press("enter");
    assert_eq!(other.intents(), chosen(0));
}

#[test]
fn keys_typed_before_a_guarded_question_do_not_answer_it() {
    let ui = UiTheme::for_tests();
    let guarded = QuestionOptions {
        guards_type_ahead: true,
        ..question(None)
    };
    let dialog = QuestionDialog::choose(ui.clone(), guarded, &beds(), Instant::now());
    let mut tester = DialogTester::new(&ui, dialog);
    tester.press("down enter");
    tester.screen();
    tester.press("down enter").type_text("yes\r");
    assert_eq!(tester.intents(), []);
    tester.pass(Duration::from_secs(1)).press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::Answer(QuestionAnswer::Chosen(0))]
    );
}

#[test]
fn leaving_a_choice_dismisses_it() {
    let ui = UiTheme::for_tests();
    let dialog = QuestionDialog::choose(ui.clone(), question(None), &beds(), Instant::now());
    let mut tester = DialogTester::new(&ui, dialog);
    tester.press("escape enter");
    assert_eq!(
        tester.intents(),
        [Intent::Answer(QuestionAnswer::Dismissed)]
    );
}

#[test]
fn a_confirmation_is_yes_only_when_chosen() {
    for (keys, expected) in [("enter", true), ("down enter", false), ("ctrl+c", false)] {
        let ui = UiTheme::for_tests();
        let dialog = QuestionDialog::confirm(ui.clone(), question(None), Instant::now());
        let mut tester = DialogTester::new(&ui, dialog);
        tester.press(keys);
        assert_eq!(
            tester.intents(),
            [Intent::Answer(QuestionAnswer::Confirmed(expected))],
            "{keys}"
        );
    }
}

#[test]
fn the_countdown_answers_at_the_end() {
    let ui = UiTheme::for_tests();
    let start = Instant::now();
    let timeout = Some(Duration::from_secs(2));
    let dialog = QuestionDialog::confirm(ui.clone(), question(timeout), start);
    let mut tester = DialogTester::new(&ui, dialog);
    assert!(tester.screen().contains("Really? (2s left)"));
    let tick = tester.dialog().next_tick().unwrap();
    assert_eq!(tick, start + Duration::from_secs(1));
    tester.dialog().tick(tick);
    assert!(tester.screen().contains("(1s left)"));
    let end = tester.dialog().next_tick().unwrap();
    tester.dialog().tick(end);
    assert_eq!(
        tester.intents(),
        [Intent::Answer(QuestionAnswer::Confirmed(false))]
    );
    assert_eq!(tester.dialog().next_tick(), None);
}

#[test]
fn an_import_is_confirmed() {
    let ui = UiTheme::for_tests();
    let path = PathBuf::from("/home/user/old.jsonl");
    let dialog = QuestionDialog::import(ui.clone(), path.clone(), Instant::now());
    let mut tester = DialogTester::new(&ui, dialog);
    insta::assert_snapshot!(tester.screen());
    tester.press("enter");
    assert_eq!(tester.intents(), [Intent::Import(path)]);
}

#[test]
fn a_line_is_entered() {
    let ui = UiTheme::for_tests();
    let dialog = PromptDialog::open(ui.clone(), question(None), Some("30 cm"), Instant::now());
    let mut tester = DialogTester::new(&ui, dialog);
    insta::assert_snapshot!(tester.screen());
    tester.press("'deep enter");
    assert_eq!(
        tester.intents(),
        [Intent::Answer(QuestionAnswer::Text("deep".to_owned()))]
    );
}

#[test]
fn a_line_prompt_times_out() {
    let ui = UiTheme::for_tests();
    let start = Instant::now();
    let timeout = Some(Duration::from_secs(5));
    let dialog = PromptDialog::open(ui.clone(), question(timeout), None, start);
    let mut tester = DialogTester::new(&ui, dialog);
    tester.dialog().tick(start + Duration::from_secs(9));
    assert_eq!(
        tester.intents(),
        [Intent::Answer(QuestionAnswer::Dismissed)]
    );
}

#[test]
fn a_text_can_be_edited_externally() {
    let ui = UiTheme::for_tests();
    let dialog = EditorDialog::open(ui.clone(), question(None), "prefilled words");
    let mut tester = DialogTester::new(&ui, dialog);
    insta::assert_snapshot!(tester.screen());
    tester.press("ctrl+g");
    assert_eq!(
        tester.intents(),
        [Intent::EditExternally("prefilled words".to_owned())]
    );
    tester.on_update(DialogUpdate::Edited("other\nwords".to_owned()));
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::Answer(QuestionAnswer::Text(
            "other\nwords".to_owned()
        ))]
    );
}

#[test]
fn untrusted_questions_fit_any_terminal_and_are_sanitized() {
    let hostile = QuestionOptions {
        title: HOSTILE.to_owned(),
        details: Some(HOSTILE.to_owned()),
        timeout: Some(Duration::from_secs(3)),
        ..QuestionOptions::default()
    };
    let now = Instant::now();
    let ui = UiTheme::for_tests();
    let choices = vec![HOSTILE.to_owned(); 40];
    fits_every_size(QuestionDialog::choose(
        ui.clone(),
        hostile.clone(),
        &choices,
        now,
    ));
    fits_every_size(PromptDialog::open(
        ui.clone(),
        hostile.clone(),
        Some(HOSTILE),
        now,
    ));
    fits_every_size(EditorDialog::open(ui.clone(), hostile.clone(), HOSTILE));
    let dialog = QuestionDialog::choose(ui.clone(), hostile, &choices, now);
    let mut tester = DialogTester::sized(&ui, dialog, 40, 12);
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    let now = Instant::now();
    survives_random_input(&ui, || {
        QuestionDialog::choose(ui.clone(), question(None), &beds(), now)
    });
    survives_random_input(&ui, || {
        PromptDialog::open(ui.clone(), question(None), None, now)
    });
    survives_random_input(&ui, || {
        EditorDialog::open(ui.clone(), question(None), HOSTILE)
    });
}
