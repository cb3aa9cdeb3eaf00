//! Lists, lookups and their progress.

use std::path::Path;

use pi_session::listing::{
    self, FoundSession, ListProgress, ListingCanceled, MessageText, SearchScope, SessionInfo,
};
use pi_session::{SessionDirectory, sessions_root};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use crate::scratch::Scratch;

/// Writes a session with one message at a moment, and returns nothing.
fn session(scratch: &Scratch, directory: &SessionDirectory, id: &str, cwd: &str, moment: i64) {
    let name = directory.path().join(format!("{id}.jsonl"));
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#
    );
    let message = format!(
        r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"hello from {id}","timestamp":{moment}}}}}"#
    );
    scratch.write(&name.to_string_lossy(), format!("{header}\n{message}\n"));
}

fn ids(sessions: &[std::sync::Arc<SessionInfo>]) -> Vec<&str> {
    sessions.iter().map(|info| info.id.as_str()).collect()
}

fn list(directory: &SessionDirectory) -> (Vec<std::sync::Arc<SessionInfo>>, Vec<ListProgress>) {
    let mut seen = Vec::new();
    let sessions = listing::list(
        directory,
        MessageText::Skip,
        &mut |progress| seen.push(progress),
        &CancellationToken::new(),
    );
    (sessions.unwrap(), seen)
}

#[test]
fn a_session_is_summed_up() {
    let scratch = Scratch::new();
    let lines = [
        r#"{"type":"session","version":3,"id":"one","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project","parentSession":"/p.jsonl"}"#,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"system","content":"rules","timestamp":9000000000000}}"#,
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"user","content":[{"type":"image","data":"","mimeType":"x"}],"timestamp":1}}"#,
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"t","message":{"role":"user","content":[{"type":"text","text":"two"},{"type":"text","text":"parts \ud83d"}],"timestamp":5}}"#,
        r#"{"type":"session_info","id":"d","parentId":"c","timestamp":"t","name":"first name"}"#,
        "broken",
        r#"{"type":"message","id":"e","parentId":"d","timestamp":"2026-01-01T00:00:07.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"answer"}]}}"#,
        r#"{"type":"message","id":"f","parentId":"e","timestamp":"t","message":{"role":"toolResult","content":[{"type":"text","text":"long output"}],"timestamp":8000000000000}}"#,
        r#"{"type":"session_info","id":"g","parentId":"f","timestamp":"t","name":" last name "}"#,
    ];
    let path = scratch.lines("s.jsonl", &lines);
    let info = SessionInfo::read(&path, MessageText::Collect).unwrap();
    assert_eq!(
        info,
        SessionInfo {
            path: path.clone(),
            id: "one".to_owned(),
            cwd: "/project".to_owned(),
            name: Some("last name".to_owned()),
            parent_session: Some("/p.jsonl".to_owned()),
            created_ms: Some(1_767_225_600_000),
            modified_ms: 1_767_225_607_000,
            message_count: 5,
            first_message: Some("two parts \u{fffd}".to_owned()),
            text: "two parts \u{fffd} answer".to_owned(),
        }
    );
    assert_eq!(info.title(), Some("last name"));
    let brief = SessionInfo::read(&path, MessageText::Skip).unwrap();
    assert_eq!(
        (brief.text.as_str(), brief.first_message),
        ("", info.first_message)
    );

    let quiet = scratch.lines("q.jsonl", &lines[..1]);
    let info = SessionInfo::read(&quiet, MessageText::Skip).unwrap();
    assert_eq!((info.modified_ms, info.title()), (1_767_225_600_000, None));
    let foreign = scratch.write("f.jsonl", "hello\n");
    assert_eq!(SessionInfo::read(&foreign, MessageText::Skip), None);
}

#[test]
fn a_directory_is_listed_newest_first_and_told_as_it_goes() {
    let scratch = Scratch::new();
    let directory = scratch.sessions("/project");
    assert_eq!(list(&directory).0, []);
    for number in 0..25 {
        session(
            &scratch,
            &directory,
            &format!("s{number:02}"),
            "/project",
            1000 + number,
        );
    }
    scratch.write(
        &directory.path().join("x.jsonl").to_string_lossy(),
        "no session",
    );
    scratch.write(
        &directory.path().join("notes.txt").to_string_lossy(),
        "no session",
    );
    let (sessions, seen) = list(&directory);
    let expected: Vec<String> = (0..25)
        .rev()
        .map(|number| format!("s{number:02}"))
        .collect();
    assert_eq!(ids(&sessions), expected);
    assert_eq!(seen.len(), 26, "one for every file");
    let shown: Vec<usize> = seen
        .iter()
        .filter(|progress| progress.sessions.is_some())
        .map(|progress| progress.loaded)
        .collect();
    assert_eq!(shown, [1, 10, 20, 26]);
    assert_eq!(seen.last().unwrap().sessions.as_deref(), Some(&*sessions));
    assert!(seen.iter().all(|progress| progress.total == 26));
}

#[test]
fn a_chosen_directory_shows_the_sessions_of_this_working_directory() {
    let scratch = Scratch::new();
    let agent = scratch.path().join("agent");
    let chosen = scratch.path().join("chosen");
    let directory = SessionDirectory::custom(&chosen, &agent, Path::new("/project"));
    session(&scratch, &directory, "mine", "/project", 1);
    session(&scratch, &directory, "theirs", "/other", 9);
    assert_eq!(ids(&list(&directory).0), ["mine"]);
    assert_eq!(
        listing::find_most_recent(&directory).unwrap(),
        chosen.join("mine.jsonl")
    );
    assert_eq!(listing::find_by_id(&directory, "theirs"), None);
    assert_eq!(
        listing::find(&directory, SearchScope::Directory(&chosen), "the"),
        Some(FoundSession::OtherProject {
            path: chosen.join("theirs.jsonl"),
            cwd: "/other".to_owned(),
        })
    );
}

#[test]
fn all_sessions_of_all_directories() {
    let scratch = Scratch::new();
    session(&scratch, &scratch.sessions("/one"), "a", "/one", 1);
    session(&scratch, &scratch.sessions("/two"), "b", "/two", 3);
    session(&scratch, &scratch.sessions("/three"), "c", "/three", 2);
    let root = sessions_root(&scratch.path().join("agent"));
    let sessions = listing::list_all(
        &root,
        MessageText::Skip,
        &mut |_| (),
        &CancellationToken::new(),
    );
    assert_eq!(ids(&sessions.unwrap()), ["b", "c", "a"]);
}

#[test]
fn a_cancelled_listing_ends() {
    let scratch = Scratch::new();
    let directory = scratch.sessions("/project");
    for number in 0..40 {
        session(&scratch, &directory, &format!("s{number}"), "/project", 1);
    }
    let token = CancellationToken::new();
    let answer = listing::list(
        &directory,
        MessageText::Skip,
        &mut |progress| {
            if progress.loaded == 3 {
                token.cancel();
            }
        },
        &token,
    );
    assert_eq!(answer, Err(ListingCanceled));
}

#[test]
fn sessions_are_found_by_the_beginning_of_their_id() {
    let scratch = Scratch::new();
    let here = scratch.sessions("/here");
    let there = scratch.sessions("/there");
    session(&scratch, &here, "abc-1", "/here", 5);
    session(&scratch, &here, "abc-2", "/here", 9);
    session(&scratch, &there, "abc-3", "/there", 99);
    session(&scratch, &there, "xyz", "/there", 1);
    session(&scratch, &there, "xyz-long", "/there", 50);
    let root = sessions_root(&scratch.path().join("agent"));
    let elsewhere = |id: &str| {
        Some(FoundSession::OtherProject {
            path: there.path().join(format!("{id}.jsonl")),
            cwd: "/there".to_owned(),
        })
    };
    let here_is = |id: &str| Some(FoundSession::Local(here.path().join(format!("{id}.jsonl"))));
    for (prefix, expected) in [
        ("abc-1", here_is("abc-1")),
        ("abc", here_is("abc-2")),
        ("abc-3", elsewhere("abc-3")),
        ("xyz", elsewhere("xyz")),
        ("xy", elsewhere("xyz-long")),
        ("nobody", None),
    ] {
        let found = listing::find(&here, SearchScope::AllProjects(&root), prefix);
        assert_eq!(found, expected, "{prefix}");
    }
}

#[test]
fn a_header_is_looked_for_in_the_first_mebibyte() {
    let scratch = Scratch::new();
    let header = |length: usize| {
        format!(
            r#"{{"type":"session","version":3,"id":"one","timestamp":"t","cwd":"/p","pad":"{}"}}"#,
            "x".repeat(length)
        )
    };
    let empty = header(0).len();
    let limit = 1024 * 1024;
    for (length, tail, found) in [
        (limit - empty - 1, "\n{}\n", true),
        (limit - empty, "", true),
        (limit - empty, "\n", false),
        (limit, "\n", false),
    ] {
        let path = scratch.write("s.jsonl", format!("{}{tail}", header(length)));
        assert_eq!(
            listing::read_header(&path).is_some(),
            found,
            "{length} {tail:?}"
        );
        crate::scratch::open(&path).unwrap();
    }
    let blank = scratch.write("b.jsonl", format!("\n\nbroken\n{}\n", header(0)));
    assert_eq!(listing::read_header(&blank).unwrap().id, "one");
}
