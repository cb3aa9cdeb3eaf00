//! Concurrent writers are detected, and their entries are loaded only on request.

use pretty_assertions::assert_eq;

use super::*;
use crate::log::AppendError;

fn append_error(session: &mut Session) -> AppendError {
    match session.append(user("mine")) {
        Err(SessionError::AppendFailed { source, .. }) => source,
        Err(error) => panic!("{error}"),
        Ok(entry) => panic!("appended {entry:?}"),
    }
}

fn saved() -> (FaultyDisk, Session) {
    let disk = FaultyDisk::default();
    let mut session = deferred(&disk);
    session.append(assistant("first")).unwrap();
    (disk, session)
}

fn change(disk: &FaultyDisk, change: impl FnOnce(&mut Vec<u8>)) {
    let mut content = disk.content(Path::new(PATH)).unwrap();
    change(&mut content);
    disk.put(Path::new(PATH), &content);
}

#[test]
fn appends_fail_until_entries_of_another_writer_are_loaded() {
    let (disk, mut session) = saved();
    let leaf = session.leaf_id().unwrap().clone();
    let other = format!(
        r#"{{"type":"message","id":"theirs01","parentId":"{leaf}","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"theirs","timestamp":1}}}}"#
    );
    change(&disk, |content| {
        content.extend(format!("{other}\n").bytes());
    });
    let bytes = other.len() as u64 + 1;
    for _ in 0..2 {
        let error = append_error(&mut session);
        assert!(matches!(error, AppendError::ConcurrentWrite { bytes: found } if found == bytes));
    }
    assert_eq!(session.entries().len(), 1);

    let appended = session.load_appended().unwrap();
    assert_eq!(appended.entries, ["theirs01"]);
    assert_eq!(session.leaf_id(), Some(&leaf));
    let mine = session.append(user("mine")).unwrap();
    assert_eq!(mine.parent_id.as_ref(), Some(&leaf));
    assert_eq!(
        session.entries().children(Some(&leaf)).unwrap(),
        [EntryId::from("theirs01"), mine.id.clone()]
    );
    assert_eq!(session.load_appended().unwrap().entries, [] as [EntryId; 0]);
    let reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
}

#[test]
fn a_partial_record_of_another_writer_is_terminated_and_skipped() {
    let (disk, mut session) = saved();
    change(&disk, |content| content.extend(br#"{"type":"mess"#));
    assert!(matches!(
        append_error(&mut session),
        AppendError::ConcurrentWrite { .. }
    ));
    let appended = session.load_appended().unwrap();
    assert_eq!((appended.entries.len(), appended.skipped_lines), (0, 1));
    session.append(user("mine")).unwrap();
    let reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
}

#[test]
fn a_reader_follows_a_writer_across_a_partial_record() {
    let (disk, mut session) = saved();
    let length = disk.content(Path::new(PATH)).unwrap().len();
    session.append(user("second")).unwrap();
    let after = disk.content(Path::new(PATH)).unwrap();
    disk.put(Path::new(PATH), &after[..length + 30]);
    let mut reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(reader.entries().len(), 1);
    disk.put(Path::new(PATH), &after);
    assert_eq!(reader.load_appended().unwrap().entries.len(), 1);
    assert_eq!(entries(&reader), entries(&session));
    assert!(matches!(append_error(&mut reader), AppendError::ReadOnly));
}

#[test]
fn a_truncated_or_deleted_file_is_not_written() {
    let (disk, mut session) = saved();
    change(&disk, |content| content.truncate(10));
    assert!(matches!(append_error(&mut session), AppendError::Replaced));
    assert_eq!(disk.content(Path::new(PATH)).unwrap().len(), 10);

    let (disk, mut session) = saved();
    disk.remove(Path::new(PATH)).unwrap();
    assert!(matches!(append_error(&mut session), AppendError::Deleted));
    assert_eq!(disk.content(Path::new(PATH)), None);
}

#[test]
fn an_existing_file_is_not_overwritten_by_a_new_session() {
    let disk = FaultyDisk::default();
    let mut session = deferred(&disk);
    session.set_name("early").unwrap();
    disk.put(Path::new(PATH), b"other content");
    let error = session.append(user("hello")).unwrap_err();
    assert!(
        matches!(error, SessionError::AlreadyExists { .. }),
        "{error}"
    );
    assert_eq!(disk.content(Path::new(PATH)).unwrap(), b"other content");
    assert_eq!(session.entries().len(), 1);
}
