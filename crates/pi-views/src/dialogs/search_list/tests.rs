use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

fn options(entries: &[(&str, &str)]) -> SearchListOptions {
    let entry = |(label, note): &(&str, &str)| SearchEntry {
        label: (*label).to_owned(),
        note: (*note).to_owned(),
        intent: Intent::SetPromptText((*label).to_owned()),
    };
    SearchListOptions {
        title: "Prompt history",
        verb: "edit",
        empty: "No earlier prompts.",
        notes: NoteColumn::RightEdge,
        entries: entries.iter().map(entry).collect(),
    }
}

#[test]
fn words_narrow_the_list_and_keep_its_order() {
    let ui = UiTheme::for_tests();
    let entries = [
        ("fix the retry test", "~/a"),
        ("add a retry\nwith backoff", "~/b"),
        ("write the docs", "~/a"),
    ];
    let mut tester = DialogTester::new(&ui, SearchListDialog::open(ui.clone(), options(&entries)));
    tester.type_text("retry");
    let screen = tester.screen();
    assert!(screen.contains("→ fix the retry test"), "{screen}");
    assert!(screen.contains("  add a retry with backoff"), "{screen}");
    assert!(!screen.contains("docs"), "{screen}");
    tester.press("down enter");
    let expected = Intent::SetPromptText("add a retry\nwith backoff".to_owned());
    assert_eq!(tester.intents(), [expected]);
}

#[test]
fn letters_in_order_match_if_no_words_do() {
    let entries = options(&[("/model", "Select a model"), ("/quit", "Quit pi")]).entries;
    assert_eq!(matching(&entries, "qt"), [1]);
    assert_eq!(matching(&entries, ""), [0, 1]);
    assert_eq!(matching(&entries, "zzz"), [0; 0]);
}

#[test]
fn any_text_fits_any_terminal() {
    let many = [(HOSTILE, HOSTILE); 40];
    fits_every_size(SearchListDialog::open(UiTheme::for_tests(), options(&many)));
    fits_every_size(SearchListDialog::open(UiTheme::for_tests(), options(&[])));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || {
        SearchListDialog::open(ui.clone(), options(&[(HOSTILE, "")]))
    });
}

#[test]
fn notes_are_next_to_names_and_at_the_edge_of_prompts() {
    let ui = UiTheme::for_tests();
    let entries = [
        ("/new", "Start a new session"),
        ("/settings", "Open settings"),
    ];
    let mut names = options(&entries);
    names.notes = NoteColumn::AfterLabels;
    let screen = DialogTester::new(&ui, SearchListDialog::open(ui.clone(), names)).screen();
    assert!(
        screen.contains("/new       Start a new session"),
        "{screen}"
    );
    assert!(screen.contains("/settings  Open settings"), "{screen}");

    let prompts = options(&entries);
    let screen = DialogTester::new(&ui, SearchListDialog::open(ui.clone(), prompts)).screen();
    assert!(
        !screen.contains("/new       Start a new session"),
        "{screen}"
    );

    // A long label moves only its own note.
    let long = "x".repeat(MAX_LABEL_COLUMN + 1);
    let entry = |label: &str| SearchEntry {
        label: label.to_owned(),
        note: "note".to_owned(),
        intent: Intent::SetPromptText(String::new()),
    };
    let entries = [entry("short"), entry(&long)];
    let column = label_column(&entries);
    assert_eq!(column, 5);
    assert_eq!(
        columns(&entries[1], Some(column), 80),
        (long, "  note".to_owned())
    );
    let entry = SearchEntry {
        note: "a note that is longer than the row".to_owned(),
        ..entry("a")
    };
    let note = |room| columns(&entry, Some(column), room).1;
    assert_eq!(note(30), "      a note that is longer …");
    assert_eq!(note(20), "");
}
