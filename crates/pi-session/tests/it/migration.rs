//! Migration of files in older formats.

use std::fs;

use pi_protocol::EntryBody;
use pi_session::{AccessMode, OpenSession, Session};
use pretty_assertions::assert_eq;

use crate::temp_files::{TempFiles, branch, open, read, user};

const FIRST_FORMAT: [&str; 6] = [
    r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p","provider":"mock"}"#,
    r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1}}"#,
    "a line that is not JSON",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"hookMessage","customType":"n","content":"hooked","display":true,"timestamp":2},"unknown":[1]}"#,
    r#"{"type":"compaction","timestamp":"2025-01-01T00:00:03.000Z","summary":"s","firstKeptEntryIndex":2,"tokensBefore":100}"#,
    r#"{"type":"message","timestamp":"2025-01-01T00:00:04.000Z","message":{"role":"user","content":"two","timestamp":3}}"#,
];

#[test]
fn the_first_format_gets_ids_and_a_chain_of_parents() {
    let temp = TempFiles::new();
    let path = temp.lines("old.jsonl", &FIRST_FORMAT);
    let mut session = open(&path).unwrap();
    assert_eq!(session.open_report().migrated_from, Some(1));
    assert_eq!(session.header().format_version(), 3);
    let entries = session.current_branch().entries().unwrap();
    assert_eq!(entries.len(), 4);
    let EntryBody::Compaction(compaction) = &entries[2].body else {
        panic!("{:?}", entries[2]);
    };
    assert_eq!(
        compaction.first_kept_entry_id.as_ref(),
        Some(&entries[1].id)
    );
    assert!(read(&path).lines().any(|line| line == FIRST_FORMAT[2]));
    assert!(read(&path).lines().next().unwrap().starts_with(
        r#"{"type":"session","version":3,"id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p","provider":"mock"}"#
    ));
    let hooked = pi_protocol::json::to_string(&*entries[1]).unwrap();
    assert!(
        hooked.contains(r#""role":"custom","customType":"n""#),
        "{hooked}"
    );
    assert!(hooked.ends_with(r#""unknown":[1]}"#), "{hooked}");

    session.append_message(user("three")).unwrap();
    let ids = branch(&session);
    drop(session);
    let again = open(&path).unwrap();
    assert_eq!(
        (again.open_report().migrated_from, branch(&again)),
        (None, ids)
    );
}

#[test]
fn the_second_format_keeps_its_ids() {
    let temp = TempFiles::new();
    let path = temp.lines(
        "old.jsonl",
        &[
            r#"{"type":"session","id":"old","timestamp":"t","cwd":"/p","version":2}"#,
            r#"{"type":"message","id":"aaaaaaa1","parentId":null,"timestamp":"t","message":{"role":"hookMessage","customType":"n","content":"hooked","display":true,"timestamp":2}}"#,
            r#"{"type":"custom","id":"aaaaaaa2","parentId":"aaaaaaa1","timestamp":"t","customType":"x"}"#,
        ],
    );
    let session = open(&path).unwrap();
    assert_eq!(session.open_report().migrated_from, Some(2));
    assert_eq!(branch(&session), ["aaaaaaa1", "aaaaaaa2"]);
    assert!(read(&path).contains(r#""version":3"#) && !read(&path).contains("hookMessage"));
}

#[test]
fn reading_does_not_migrate_the_file() {
    let temp = TempFiles::new();
    let path = temp.lines("old.jsonl", &FIRST_FORMAT);
    let before = read(&path);
    let options = OpenSession {
        access: AccessMode::Read,
        ..OpenSession::default()
    };
    let session = Session::open(&path, options).unwrap();
    assert_eq!(branch(&session).len(), 4);
    assert_eq!(read(&path), before);
}

#[cfg(unix)]
#[test]
fn a_migration_keeps_the_mode_and_follows_symlinks() {
    use std::os::unix::fs::PermissionsExt as _;
    let temp = TempFiles::new();
    let target = temp.lines("real/old.jsonl", &FIRST_FORMAT);
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    let link = temp.path().join("link.jsonl");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    open(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        fs::metadata(&target).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(read(&target).contains(r#""version":3"#));
    assert_eq!(fs::read_dir(target.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_newer_version_can_be_opened() {
    let temp = TempFiles::new();
    let path = temp.lines(
        "new.jsonl",
        &[
            r#"{"type":"session","version":9,"id":"new","timestamp":"t","cwd":"/p","more":{}}"#,
            r#"{"type":"later","id":"a","parentId":null,"timestamp":"t","x":1}"#,
        ],
    );
    let before = read(&path);
    let mut session = open(&path).unwrap();
    session.append_message(user("on")).unwrap();
    assert!(read(&path).starts_with(&before));
}
