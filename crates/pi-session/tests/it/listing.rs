//! Listing and finding sessions.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use pi_protocol::{ListProgress, SessionInfo};
use pi_session::listing::{self, FoundSession, ListingCanceled, MessageText, SearchScope};
use pi_session::{SessionStore, sessions_root};
use pretty_assertions::assert_eq;

use crate::temp_files::TempFiles;

/// Writes a session with one message.
fn session(temp: &TempFiles, directory: &SessionStore, id: &str, cwd: &str, timestamp_ms: i64) {
    let name = directory.path().join(format!("{id}.jsonl"));
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#
    );
    let message = format!(
        r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"hello from {id}","timestamp":{timestamp_ms}}}}}"#
    );
    temp.write(&name.to_string_lossy(), format!("{header}\n{message}\n"));
}

fn ids(sessions: &[std::sync::Arc<SessionInfo>]) -> Vec<&str> {
    sessions.iter().map(|info| info.id.as_str()).collect()
}

fn list(directory: &SessionStore) -> (Vec<std::sync::Arc<SessionInfo>>, Vec<ListProgress>) {
    let mut seen = Vec::new();
    let sessions = directory.list(
        MessageText::Skip,
        &mut |progress| seen.push(progress),
        &|| false,
    );
    (sessions.unwrap(), seen)
}

#[test]
fn session_info_is_read_from_the_file() {
    let temp = TempFiles::new();
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
    let path = temp.lines("s.jsonl", &lines);
    let info = listing::read_info(&path, MessageText::Collect).unwrap();
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
    let brief = listing::read_info(&path, MessageText::Skip).unwrap();
    assert_eq!(
        (brief.text.as_str(), brief.first_message),
        ("", info.first_message)
    );

    let empty = temp.lines("q.jsonl", &lines[..1]);
    let info = listing::read_info(&empty, MessageText::Skip).unwrap();
    assert_eq!((info.modified_ms, info.title()), (1_767_225_600_000, None));
    let other = temp.write("f.jsonl", "hello\n");
    assert_eq!(listing::read_info(&other, MessageText::Skip), None);
}

#[test]
fn sessions_are_listed_newest_first_with_progress() {
    let temp = TempFiles::new();
    let directory = temp.sessions("/project");
    assert_eq!(list(&directory).0, []);
    for number in 0..25 {
        session(
            &temp,
            &directory,
            &format!("s{number:02}"),
            "/project",
            1000 + number,
        );
    }
    temp.write(
        &directory.path().join("x.jsonl").to_string_lossy(),
        "not a session",
    );
    temp.write(
        &directory.path().join("notes.txt").to_string_lossy(),
        "not a session",
    );
    let (sessions, seen) = list(&directory);
    let expected: Vec<String> = (0..25)
        .rev()
        .map(|number| format!("s{number:02}"))
        .collect();
    assert_eq!(ids(&sessions), expected);
    assert_eq!(seen.len(), 26, "one per file");
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
fn a_custom_directory_lists_the_sessions_of_the_working_directory() {
    let temp = TempFiles::new();
    let agent = temp.path().join("agent");
    let custom = temp.path().join("custom");
    let directory = SessionStore::custom(&custom, &agent, Path::new("/project"));
    session(&temp, &directory, "mine", "/project", 1);
    session(&temp, &directory, "theirs", "/other", 9);
    assert_eq!(ids(&list(&directory).0), ["mine"]);
    assert_eq!(
        directory.find_most_recent().unwrap(),
        custom.join("mine.jsonl")
    );
    assert_eq!(directory.find_by_id("theirs"), None);
    assert_eq!(
        directory.find(SearchScope::Directory(&custom), "the"),
        Some(FoundSession::OtherProject {
            path: custom.join("theirs.jsonl"),
            cwd: "/other".to_owned(),
        })
    );
}

#[test]
fn sessions_of_all_directories_are_listed() {
    let temp = TempFiles::new();
    session(&temp, &temp.sessions("/one"), "a", "/one", 1);
    session(&temp, &temp.sessions("/two"), "b", "/two", 3);
    session(&temp, &temp.sessions("/three"), "c", "/three", 2);
    let root = sessions_root(&temp.path().join("agent"));
    let sessions = listing::list_all(&root, MessageText::Skip, &mut |_| (), &|| false);
    assert_eq!(ids(&sessions.unwrap()), ["b", "c", "a"]);
}

#[test]
fn a_listing_can_be_canceled() {
    let temp = TempFiles::new();
    let directory = temp.sessions("/project");
    for number in 0..40 {
        session(&temp, &directory, &format!("s{number}"), "/project", 1);
    }
    let canceled = AtomicBool::new(false);
    let result = directory.list(
        MessageText::Skip,
        &mut |progress| {
            if progress.loaded == 3 {
                canceled.store(true, Ordering::Relaxed);
            }
        },
        &|| canceled.load(Ordering::Relaxed),
    );
    assert_eq!(result, Err(ListingCanceled));
}

#[test]
fn sessions_are_found_by_id_prefix() {
    let temp = TempFiles::new();
    let local = temp.sessions("/here");
    let remote = temp.sessions("/there");
    session(&temp, &local, "abc-1", "/here", 5);
    session(&temp, &local, "abc-2", "/here", 9);
    session(&temp, &remote, "abc-3", "/there", 99);
    session(&temp, &remote, "xyz", "/there", 1);
    session(&temp, &remote, "xyz-long", "/there", 50);
    let root = sessions_root(&temp.path().join("agent"));
    let in_other = |id: &str| {
        Some(FoundSession::OtherProject {
            path: remote.path().join(format!("{id}.jsonl")),
            cwd: "/there".to_owned(),
        })
    };
    let in_local = |id: &str| {
        Some(FoundSession::Local(
            local.path().join(format!("{id}.jsonl")),
        ))
    };
    for (prefix, expected) in [
        ("abc-1", in_local("abc-1")),
        ("abc", in_local("abc-2")),
        ("abc-3", in_other("abc-3")),
        ("xyz", in_other("xyz")),
        ("xy", in_other("xyz-long")),
        ("missing", None),
    ] {
        let found = local.find(SearchScope::AllProjects(&root), prefix);
        assert_eq!(found, expected, "{prefix}");
    }
}

#[test]
fn the_header_is_searched_in_the_first_mebibyte() {
    let temp = TempFiles::new();
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
        let path = temp.write("s.jsonl", format!("{}{tail}", header(length)));
        assert_eq!(
            listing::read_header(&path).is_some(),
            found,
            "{length} {tail:?}"
        );
        crate::temp_files::open(&path).unwrap();
    }
    let blank = temp.write("b.jsonl", format!("\n\nbroken\n{}\n", header(0)));
    assert_eq!(listing::read_header(&blank).unwrap().id, "one");
}
