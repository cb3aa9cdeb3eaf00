use pi_protocol::{
    IndexingProgress, SearchRole, SessionSearchHit, SessionSearchResults, SnippetPart,
};
use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

const NOW: i64 = 1_790_000_000_000;
const DAY: i64 = 86_400_000;

fn session(id: &str, first: &str, name: Option<&str>, days: i64) -> Arc<SessionInfo> {
    Arc::new(SessionInfo {
        path: PathBuf::from(format!("/home/user/.pi/agent/sessions/{id}.jsonl")),
        id: id.to_owned(),
        cwd: "/home/user/garden".to_owned(),
        name: name.map(str::to_owned),
        parent_session: None,
        created_ms: None,
        modified_ms: NOW - days * DAY,
        message_count: 12,
        first_message: Some(first.to_owned()),
        text: first.to_owned(),
    })
}

fn sessions() -> Vec<Arc<SessionInfo>> {
    vec![
        session(
            "s1",
            "about violets 日本語のとても長いタイトル and more",
            None,
            1,
        ),
        session("s2", "about autumn", Some("Autumn bed"), 20),
        session("s3", "about zinnias", None, 400),
    ]
}

fn found(scope: SessionScope, sessions: Vec<Arc<SessionInfo>>) -> DialogUpdate {
    DialogUpdate::Sessions {
        scope,
        loaded: sessions.len(),
        total: sessions.len(),
        sessions: Some(sessions),
        finished: true,
    }
}

fn tester() -> DialogTester<DialogFrame<ResumeDialog>> {
    let ui = UiTheme::for_tests();
    let current = Some(sessions()[0].path.clone());
    let mut tester = DialogTester::new(&ui, ResumeDialog::open(ui.clone(), current, NOW, None));
    assert_eq!(
        tester.intents(),
        [Intent::ListSessions(SessionScope::Project)]
    );
    tester.on_update(found(SessionScope::Project, sessions()));
    tester
}

#[test]
fn sessions_are_listed_with_their_age() {
    insta::assert_snapshot!(tester().screen());
}

#[test]
fn a_session_is_opened() {
    let mut tester = tester();
    tester.press("down enter");
    assert_eq!(
        tester.intents(),
        [Intent::Resume(sessions()[1].path.clone())]
    );
    assert!(tester.is_done());
}

fn hit(entry: &str, snippet: &[(&str, bool)]) -> SessionSearchHit {
    SessionSearchHit {
        path: "/sessions/s2.jsonl".into(),
        session_id: "s2".to_owned(),
        cwd: "/home/user/garden".to_owned(),
        title: Some("about autumn and much more".to_owned()),
        entry_id: entry.to_owned(),
        role: SearchRole::User,
        timestamp_ms: Some(NOW),
        snippet: snippet
            .iter()
            .map(|(text, is_match)| SnippetPart {
                text: (*text).to_owned(),
                is_match: *is_match,
            })
            .collect(),
    }
}

fn hits(query: &str, entries: &[&str]) -> DialogUpdate {
    let hits: Vec<_> = entries
        .iter()
        .map(|entry| {
            hit(
                entry,
                &[("where the ", false), ("roses", true), (" grow", false)],
            )
        })
        .collect();
    DialogUpdate::SessionHits {
        query: query.to_owned(),
        result: Ok(SessionSearchResults {
            total: hits.len(),
            hits,
            indexing: None,
        }),
    }
}

fn search(query: &str, scope: SessionScope) -> Intent {
    Intent::SearchSessions {
        query: query.to_owned(),
        scope,
        is_repeated: false,
    }
}

#[test]
fn the_text_of_sessions_is_searched_and_a_hit_opened() {
    let mut tester = tester();
    tester.press("ctrl+f").type_text("ro");
    // One search at a time; what was typed meanwhile follows.
    assert_eq!(tester.intents(), [search("r", SessionScope::Project)]);
    tester.on_update(hits("r", &["e9"]));
    assert_eq!(tester.intents(), [search("ro", SessionScope::Project)]);
    tester.on_update(hits("ro", &["e1", "e2"]));
    assert_eq!(tester.intents(), []);
    insta::assert_snapshot!(tester.screen());
    tester.press("tab");
    assert_eq!(
        tester.intents(),
        [
            Intent::ListSessions(SessionScope::All),
            search("ro", SessionScope::All)
        ]
    );
    tester.on_update(hits("ro", &["e1", "e2"]));
    tester.press("down enter");
    let path = PathBuf::from("/sessions/s2.jsonl");
    let entry = "e2".into();
    assert_eq!(tester.intents(), [Intent::ResumeAt { path, entry }]);
    assert!(tester.is_done());
}

#[test]
fn a_search_is_repeated_while_sessions_are_indexed() {
    let mut tester = tester();
    let results = |query: &str, entries: &[&str], done: Option<u64>| {
        let mut update = hits(query, entries);
        if let DialogUpdate::SessionHits { result, .. } = &mut update {
            let indexing = done.map(|done| IndexingProgress { done, total: 4 });
            result.as_mut().unwrap().indexing = indexing;
        }
        update
    };
    let repeated = |query: &str| Intent::SearchSessions {
        query: query.to_owned(),
        scope: SessionScope::Project,
        is_repeated: true,
    };
    tester.press("ctrl+f").type_text("r");
    assert_eq!(tester.intents(), [search("r", SessionScope::Project)]);
    tester.on_update(results("r", &["e1", "e2"], Some(1)));
    assert_eq!(tester.intents(), [repeated("r")]);
    let screen = tester.screen();
    assert!(screen.contains("indexing 25% · 2 matches"), "{screen}");
    // A new query does not wait for the repeated one, which is then not repeated again.
    tester.press("down").type_text("o");
    assert_eq!(tester.intents(), [search("ro", SessionScope::Project)]);
    tester.on_update(results("r", &["e1"], Some(2)));
    assert_eq!(tester.intents(), []);
    tester.on_update(results("ro", &["e1", "e2"], Some(2)));
    assert_eq!(tester.intents(), [repeated("ro")]);
    // The selected hit stays selected.
    tester.press("down");
    tester.on_update(results("ro", &["e0", "e1", "e2"], None));
    assert_eq!(tester.intents(), []);
    assert!(!tester.screen().contains("indexing"));
    tester.press("enter");
    let path = PathBuf::from("/sessions/s2.jsonl");
    let entry = "e2".into();
    assert_eq!(tester.intents(), [Intent::ResumeAt { path, entry }]);
}

#[test]
fn the_first_match_of_a_long_snippet_is_visible() {
    let mut tester = tester();
    tester.press("ctrl+f").type_text("r");
    let long = hit(
        "e1",
        &[
            (&"before ".repeat(20), false),
            ("roses", true),
            (" after", false),
        ],
    );
    tester.on_update(DialogUpdate::SessionHits {
        query: "r".to_owned(),
        result: Ok(SessionSearchResults {
            hits: vec![long],
            total: 1,
            indexing: None,
        }),
    });
    let screen = tester.screen();
    assert!(screen.contains("before roses after"), "{screen}");
    assert!(screen.contains("1 match") && !screen.contains("1 matches"));
}

#[test]
fn titles_of_hits_use_the_width_of_the_terminal() {
    let title = "about autumn and much more than fits in a narrow terminal";
    let mut found = hit("e1", &[("where the ", false), ("roses", true)]);
    found.title = Some(title.to_owned());
    let ui = UiTheme::for_tests();
    for (width, expected) in [(80, "about autumn and much…  where"), (200, title)] {
        let dialog = ResumeDialog::open(ui.clone(), None, NOW, Some("ro".to_owned()));
        let mut tester = DialogTester::sized(&ui, dialog, width, 24);
        tester.on_update(DialogUpdate::SessionHits {
            query: "ro".to_owned(),
            result: Ok(SessionSearchResults {
                hits: vec![found.clone()],
                total: 1,
                indexing: None,
            }),
        });
        let screen = tester.screen();
        assert!(screen.contains(expected), "{screen}");
    }
}

#[test]
fn a_failed_search_and_a_cleared_query_are_shown() {
    let ui = UiTheme::for_tests();
    let dialog = ResumeDialog::open(ui.clone(), None, NOW, Some("ro".to_owned()));
    let mut tester = DialogTester::new(&ui, dialog);
    assert_eq!(
        tester.intents(),
        [
            Intent::ListSessions(SessionScope::All),
            search("ro", SessionScope::All)
        ]
    );
    tester.on_update(DialogUpdate::SessionHits {
        query: "ro".to_owned(),
        result: Err("search is turned off".to_owned()),
    });
    assert!(tester.screen().contains("search is turned off"));
    tester.press("enter");
    assert!(!tester.is_done());
    tester.press("ctrl+u");
    assert!(tester.screen().contains("Type to search"));
    tester.press("ctrl+f");
    assert!(tester.screen().contains("All sessions"));
}

#[test]
fn words_phrases_and_patterns_find_sessions() {
    for (query, finds) in [
        ("'zinn", true),
        ("\"about zin\"", true),
        ("\"about zin ni\"", false),
        ("re:zin+ias$", false),
        ("re:ZIN+IAS", true),
    ] {
        let mut tester = tester();
        tester.type_text(query.trim_start_matches('\''));
        let screen = tester.screen();
        assert_eq!(
            screen.contains("→ about zinnias"),
            finds,
            "{query}: {screen}"
        );
    }
}

#[test]
fn invalid_patterns_are_reported() {
    let mut tester = tester();
    tester.type_text("re:(");
    let screen = tester.screen();
    assert!(screen.contains("Invalid pattern: "), "{screen}");
    assert!(screen.contains("No matching sessions."), "{screen}");
}

#[test]
fn the_order_cycles_and_names_can_be_filtered() {
    let mut tester = tester();
    tester.press("ctrl+s");
    assert!(tester.screen().contains("Sort: recent"));
    tester.press("ctrl+s");
    assert!(tester.screen().contains("Sort: relevance"));
    tester.press("ctrl+s ctrl+n");
    let screen = tester.screen();
    assert!(screen.contains("Sort: threads · named only"), "{screen}");
    assert!(!screen.contains("zinnias"), "{screen}");
    tester.press("ctrl+n ctrl+p");
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn all_sessions_are_listed_once() {
    let mut tester = tester();
    tester.press("tab");
    assert_eq!(tester.intents(), [Intent::ListSessions(SessionScope::All)]);
    tester.on_update(DialogUpdate::Sessions {
        scope: SessionScope::All,
        sessions: None,
        loaded: 3,
        total: 90,
        finished: false,
    });
    assert!(tester.screen().contains("loading 3/90"));
    tester.on_update(found(SessionScope::All, sessions()));
    assert!(tester.screen().contains("~/garden"));
    tester.press("tab tab");
    assert_eq!(tester.intents(), []);
}

#[test]
fn a_late_report_is_ignored() {
    let mut tester = tester();
    let before = tester.screen();
    tester.on_update(DialogUpdate::Sessions {
        scope: SessionScope::Project,
        sessions: Some(Vec::new()),
        loaded: 1,
        total: 3,
        finished: false,
    });
    assert_eq!(tester.screen(), before);
    assert!(!before.contains("looking…"));
}

#[test]
fn the_selection_stays_on_its_session_while_others_arrive() {
    let mut tester = tester();
    tester.press("down");
    let mut more = sessions();
    more.insert(0, session("s0", "the newest", None, 0));
    tester.on_update(found(SessionScope::Project, more));
    assert!(tester.screen().contains("→ Autumn bed"));
}

#[test]
fn the_first_stays_selected_until_the_user_moves() {
    let mut tester = tester();
    let mut more = sessions();
    more.insert(0, session("s0", "the newest", None, 0));
    tester.on_update(found(SessionScope::Project, more));
    assert!(tester.screen().contains("→ the newest"));
}

#[test]
fn deleting_is_confirmed_and_waits_for_the_file() {
    let mut tester = tester();
    tester.press("down down ctrl+d");
    insta::assert_snapshot!(tester.screen());
    tester.press("x escape");
    assert_eq!(tester.intents(), []);
    tester.press("ctrl+d enter");
    let path = sessions()[2].path.clone();
    assert_eq!(tester.intents(), [Intent::DeleteSession(path.clone())]);
    assert!(tester.screen().contains("zinnias"));
    tester.on_update(DialogUpdate::SessionDeleted(path));
    let screen = tester.screen();
    assert!(!screen.contains("zinnias"), "{screen}");
    assert!(screen.contains("Session deleted."), "{screen}");
}

#[test]
fn the_current_session_cannot_be_deleted() {
    let mut tester = tester();
    tester.press("ctrl+d enter");
    let intents = tester.intents();
    assert_eq!(intents, [Intent::Resume(sessions()[0].path.clone())]);
}

#[test]
fn ctrl_backspace_deletes_words_while_searching() {
    let mut tester = tester();
    tester.press("'zinn ctrl+backspace");
    assert!(!tester.screen().contains("permanently?"));
}

#[test]
fn renaming_shows_the_new_name_at_once() {
    let mut tester = tester();
    tester.press("down ctrl+r ctrl+u");
    tester.type_text("Winter\x1b[31m bed");
    insta::assert_snapshot!(tester.screen());
    tester.press("enter");
    let path = sessions()[1].path.clone();
    let intents = tester.intents();
    assert!(
        matches!(&intents[..], [Intent::RenameSession { path: renamed, name: Some(name) }]
            if *renamed == path && name.starts_with("Winter")),
        "{intents:?}"
    );
    assert!(tester.screen().contains("→ Winter"));
}

#[test]
fn renaming_reloads_the_visible_scope() {
    let mut tester = tester();
    tester.press("tab");
    tester.on_update(found(SessionScope::All, sessions()));
    tester.intents();
    tester.on_update(DialogUpdate::SessionRenamed);
    assert_eq!(tester.intents(), [Intent::ListSessions(SessionScope::All)]);
}

#[test]
fn a_canceled_listing_restarts() {
    let ui = UiTheme::for_tests();
    let mut tester = DialogTester::new(&ui, ResumeDialog::open(ui.clone(), None, NOW, None));
    tester.intents();
    tester.press("tab");
    assert_eq!(tester.intents(), [Intent::ListSessions(SessionScope::All)]);
    tester.press("tab");
    assert_eq!(
        tester.intents(),
        [Intent::ListSessions(SessionScope::Project)]
    );
    tester.on_update(found(SessionScope::Project, sessions()));
    tester.press("tab tab");
    assert_eq!(tester.intents(), [Intent::ListSessions(SessionScope::All)]);
    // The listing of all sessions is in progress, and reloading the name cancels it.
    tester.on_update(DialogUpdate::SessionRenamed);
    assert_eq!(
        tester.intents(),
        [Intent::ListSessions(SessionScope::Project)]
    );
    tester.press("tab");
    assert_eq!(tester.intents(), [Intent::ListSessions(SessionScope::All)]);
}

#[test]
fn failures_are_reported_and_the_list_reloaded() {
    let mut tester = tester();
    tester.on_update(DialogUpdate::Failed("the disk is full".to_owned()));
    assert!(tester.screen().contains("the disk is full"));
    assert_eq!(
        tester.intents(),
        [Intent::ListSessions(SessionScope::Project)]
    );
}

#[test]
fn a_click_opens_a_session() {
    let mut tester = tester();
    tester.click("Autumn");
    assert_eq!(
        tester.intents(),
        [Intent::Resume(sessions()[1].path.clone())]
    );
}

#[test]
fn session_names_are_sanitized() {
    let ui = UiTheme::for_tests();
    let mut hostile = SessionInfo::clone(&session("s9", HOSTILE, Some(HOSTILE), 3));
    hostile.cwd = format!("/tmp/{HOSTILE}");
    hostile.path = PathBuf::from(format!("/tmp/{HOSTILE}.jsonl"));
    let mut dialog = ResumeDialog::open(ui.clone(), None, NOW, None);
    crate::dialogs::dialog::Dialog::on_update(
        &mut dialog,
        found(SessionScope::Project, vec![Arc::new(hostile)]),
    );
    let mut tester = DialogTester::new(&ui, dialog);
    tester.press("ctrl+p");
    insta::assert_snapshot!(tester.screen());
    tester.press("ctrl+d");
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn fits_any_terminal() {
    let mut dialog = ResumeDialog::open(UiTheme::for_tests(), None, NOW, None);
    crate::dialogs::dialog::Dialog::on_update(
        &mut dialog,
        found(SessionScope::Project, sessions()),
    );
    fits_every_size(dialog);
    fits_every_size(ResumeDialog::open(UiTheme::for_tests(), None, NOW, None));
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || {
        let mut dialog = ResumeDialog::open(ui.clone(), None, NOW, None);
        crate::dialogs::dialog::Dialog::take_intents(&mut dialog);
        crate::dialogs::dialog::Dialog::on_update(
            &mut dialog,
            found(SessionScope::Project, sessions()),
        );
        dialog
    });
}
