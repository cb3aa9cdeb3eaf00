//! A file written by the TypeScript pi, with one entry of every type and two branches. Its session
//! manager wrote `reference-0.87.1.jsonl` for our texts, one of which contains a lone surrogate.

use pi_protocol::EntryId;
use pi_session::OpenReport;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::temp_files::{TempFiles, branch, open, read, user};

const WRITTEN: &str = include_str!("../fixtures/reference-0.87.1.jsonl");

#[test]
fn it_opens_correctly() {
    let temp = TempFiles::new();
    let path = temp.write("s.jsonl", WRITTEN);
    let session = open(&path).unwrap();
    assert_eq!(*session.open_report(), OpenReport::default());
    assert_eq!(session.entries().len(), 22);
    assert_eq!(session.name(), Some("a name of two lines"));
    assert_eq!(session.leaf_id().unwrap(), "033b15d1");
    assert_eq!(
        branch(&session),
        [
            "eab8eada", "89917a74", "302b353e", "d6df4933", "7ee2e762", "b342bc58", "8a64b82b",
            "60c9669c", "eb5fd211", "33997d85", "e12e3f7b", "b5e38269", "033b15d1"
        ]
    );
    let first_response = EntryId::from("60c9669c");
    assert_eq!(
        session.entries().children(Some(&first_response)).unwrap(),
        ["37da7a92", "eb5fd211"]
    );
    assert_eq!(session.entries().label(&first_response), None);
    assert_eq!(
        session.entries().label(&EntryId::from("7ee2e762")),
        Some("start")
    );
}

#[test]
fn every_entry_is_known_and_round_trips() {
    let temp = TempFiles::new();
    let session = open(&temp.write("s.jsonl", WRITTEN)).unwrap();
    for (entry, line) in session.entries().iter().zip(WRITTEN.lines().skip(1)) {
        let entry = entry.unwrap();
        assert!(
            !matches!(entry.body, pi_protocol::EntryBody::Unknown(_)),
            "{line}"
        );
        let raw_json = pi_protocol::json::to_string(&*entry).unwrap();
        // A lone surrogate cannot be represented in Rust; the file keeps it.
        let line = line.replace("\\ud83d", "\u{fffd}");
        let custom = entry.body.type_name().starts_with("custom");
        if custom {
            // The reference writes the fields of these two types before the IDs.
            let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(parse(&raw_json), parse(&line));
        } else {
            assert_eq!(raw_json, line);
        }
    }
}

#[test]
fn it_can_be_appended_to_and_forked_without_losing_a_byte() {
    let temp = TempFiles::new();
    let path = temp.write("s.jsonl", WRITTEN);
    let mut session = open(&path).unwrap();
    session.append_message(user("fourth question")).unwrap();
    assert!(read(&path).starts_with(WRITTEN));

    let fork = session.extract_branch(&EntryId::from("8a64b82b")).unwrap();
    let copied = read(fork.path().unwrap());
    let on_path = WRITTEN.lines().skip(2).take(6);
    for line in on_path {
        assert!(copied.contains(line), "{line}");
    }
    assert!(copied.contains("first question \\ud83d"));
}
