//! A second writer is noticed, told, and merged only when somebody asks.

use pretty_assertions::assert_eq;

use super::*;
use crate::log::AppendError;

fn refusal(session: &mut Session) -> AppendError {
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
fn foreign_entries_are_refused_until_adopted() {
    let (disk, mut session) = saved();
    let leaf = session.leaf_id().unwrap().clone();
    let foreign = format!(
        r#"{{"type":"message","id":"foreign1","parentId":"{leaf}","timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"theirs","timestamp":1}}}}"#
    );
    change(&disk, |content| {
        content.extend(format!("{foreign}\n").bytes());
    });
    let bytes = foreign.len() as u64 + 1;
    for _ in 0..2 {
        let error = refusal(&mut session);
        assert!(matches!(error, AppendError::ConcurrentWrite { bytes: found } if found == bytes));
    }
    assert_eq!(session.len(), 1);

    let adopted = session.load_appended().unwrap();
    assert_eq!(adopted.entries, ["foreign1"]);
    assert_eq!(session.leaf_id(), Some(&leaf));
    let mine = session.append(user("mine")).unwrap();
    assert_eq!(mine.parent_id.as_ref(), Some(&leaf));
    assert_eq!(
        session.children(Some(&leaf)).unwrap(),
        [EntryId::from("foreign1"), mine.id.clone()]
    );
    assert_eq!(session.load_appended().unwrap().entries, [] as [EntryId; 0]);
    let reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
}

#[test]
fn half_a_foreign_record_is_ended_and_skipped() {
    let (disk, mut session) = saved();
    change(&disk, |content| content.extend(br#"{"type":"mess"#));
    assert!(matches!(
        refusal(&mut session),
        AppendError::ConcurrentWrite { .. }
    ));
    let adopted = session.load_appended().unwrap();
    assert_eq!((adopted.entries.len(), adopted.skipped_lines), (0, 1));
    session.append(user("mine")).unwrap();
    let reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
}

#[test]
fn a_reader_follows_a_writer_through_half_a_record() {
    let (disk, mut session) = saved();
    let whole = disk.content(Path::new(PATH)).unwrap().len();
    session.append(user("second")).unwrap();
    let after = disk.content(Path::new(PATH)).unwrap();
    disk.put(Path::new(PATH), &after[..whole + 30]);
    let mut reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(reader.len(), 1);
    disk.put(Path::new(PATH), &after);
    assert_eq!(reader.load_appended().unwrap().entries.len(), 1);
    assert_eq!(entries(&reader), entries(&session));
    assert!(matches!(refusal(&mut reader), AppendError::ReadOnly));
}

#[test]
fn a_file_that_shrank_or_vanished_is_not_written_to() {
    let (disk, mut session) = saved();
    change(&disk, |content| content.truncate(10));
    assert!(matches!(refusal(&mut session), AppendError::Replaced));
    assert_eq!(disk.content(Path::new(PATH)).unwrap().len(), 10);

    let (disk, mut session) = saved();
    disk.remove(Path::new(PATH)).unwrap();
    assert!(matches!(refusal(&mut session), AppendError::Deleted));
    assert_eq!(disk.content(Path::new(PATH)), None);
}

#[test]
fn a_file_in_the_place_of_a_new_session_is_not_overwritten() {
    let disk = FaultyDisk::default();
    let mut session = deferred(&disk);
    session.set_name("early").unwrap();
    disk.put(Path::new(PATH), b"somebody else's");
    let error = session.append(user("hello")).unwrap_err();
    assert!(
        matches!(error, SessionError::AlreadyExists { .. }),
        "{error}"
    );
    assert_eq!(disk.content(Path::new(PATH)).unwrap(), b"somebody else's");
    assert_eq!(session.len(), 1);
}
