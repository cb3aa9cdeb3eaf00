//! Every byte of every record as the place where the disk or the process gives up.

use std::io;

use pretty_assertions::assert_eq;

use super::*;
use crate::log::AppendError;
use crate::storage::faulty::Fault;

/// Appends one entry of every type, edits included, until one is refused.
fn script(session: &mut Session) -> Result<(), SessionError> {
    session.append(user("hello"))?;
    let answer = session.append(assistant("the first answer, \"quoted\" and ünïcöde 🦀"))?;
    for body in one_of_each(&answer.id, "text") {
        session.append(body)?;
    }
    let question = session.append(user("and on"))?;
    session.append(ContextEditEntry {
        target_id: question.id.clone(),
        replacement: Some(ContextReplacement {
            content: json!("else"),
            extra: pi_ai::json::JsonObject::new(),
        }),
    })?;
    session.branch(&answer.id)?;
    session.append(user("another branch"))?;
    Ok(())
}

/// The entries as they stand in the file; parsing them all at every byte would take minutes.
fn lines(session: &Session) -> Vec<String> {
    let slots = (0..).take(session.len());
    slots.map(|slot| session.line_at(slot).unwrap()).collect()
}

fn script_length() -> usize {
    let disk = FaultyDisk::default();
    script(&mut deferred(&disk)).unwrap();
    disk.content(Path::new(PATH)).unwrap().len()
}

#[test]
fn a_kill_at_any_byte_loses_at_most_the_record_under_way() {
    for after in 0..script_length() {
        let disk = FaultyDisk::default();
        disk.arm(Fault::Kill { after });
        let mut session = deferred(&disk);
        assert!(script(&mut session).is_err(), "{after}");
        let acknowledged = session.index.records().to_vec();
        let was_saved = session.is_saved();
        drop(session);

        let disk = disk.revived();
        let left = disk.content(Path::new(PATH)).unwrap();
        let mut session = match open(&disk, Access::Write) {
            Ok(session) => session,
            Err(SessionError::NotASession { .. }) if !was_saved => continue,
            Err(error) => panic!("{after}: {error}"),
        };
        if was_saved {
            let known = session.len();
            assert!(known >= acknowledged.len(), "{after}: an entry is gone");
            assert!(known <= acknowledged.len() + 1, "{after}: too many");
        }
        for (acknowledged, found) in acknowledged.iter().zip(session.index.records()) {
            assert_eq!(acknowledged.id, found.id, "{after}");
        }
        let torn = !left.is_empty() && !left.ends_with(b"\n");
        assert_eq!(
            session.findings().torn_tail || session.findings().missing_line_feed,
            torn,
            "{after}: a repair is told"
        );

        let before = lines(&session);
        let next = session.append(user("life goes on")).unwrap();
        drop(session);
        let again = open(&disk, Access::Write).unwrap();
        assert_eq!(
            *again.findings(),
            OpenFindings {
                skipped_lines: again.findings().skipped_lines,
                ..OpenFindings::default()
            }
        );
        assert_eq!(lines(&again)[..before.len()], before, "{after}");
        assert_eq!(again.leaf_id(), Some(&next.id), "{after}");
    }
}

fn refusals(after: usize) -> [Fault; 3] {
    [
        Fault::Refuse {
            after,
            kind: io::ErrorKind::StorageFull,
        },
        Fault::Refuse {
            after,
            kind: io::ErrorKind::Other,
        },
        Fault::Short { after },
    ]
}

#[test]
fn a_refused_write_leaves_memory_and_disk_equal() {
    for after in 0..script_length() - 1 {
        for fault in refusals(after) {
            let disk = FaultyDisk::default();
            disk.arm(fault);
            let mut session = deferred(&disk);
            let leaf_before_error = match script(&mut session) {
                Ok(()) => panic!("{fault:?} did not strike"),
                Err(SessionError::NotAppended {
                    source: AppendError::Write(_),
                    ..
                }) => session.leaf_id().cloned(),
                Err(error) => panic!("{fault:?}: {error}"),
            };
            if session.is_saved() {
                let reader = open(&disk, Access::Read).unwrap();
                assert_eq!(lines(&reader), lines(&session), "{fault:?}");
                assert_eq!(*reader.findings(), OpenFindings::default(), "{fault:?}");
            } else {
                assert_eq!(disk.content(Path::new(PATH)), None, "{fault:?}");
            }
            disk.arm(Fault::None);
            let next = session.append(assistant("space again")).unwrap();
            assert_eq!(next.parent_id, leaf_before_error, "{fault:?}");
            let reader = open(&disk, Access::Read).unwrap();
            assert_eq!(lines(&reader), lines(&session), "{fault:?}");
        }
    }
}

#[test]
fn half_a_record_that_cannot_be_removed_stops_the_log_until_it_can() {
    let disk = FaultyDisk::default();
    let mut session = deferred(&disk);
    session.append(assistant("saved")).unwrap();
    disk.arm(Fault::Short { after: 20 });
    disk.fail_truncation(true);
    for _ in 0..2 {
        let error = session.append(user("lost")).unwrap_err();
        let SessionError::NotAppended { source, .. } = error else {
            panic!("{error}");
        };
        assert!(matches!(source, AppendError::Torn(_)), "{source}");
        disk.arm(Fault::None);
    }
    disk.fail_truncation(false);
    session.append(user("kept")).unwrap();
    let reader = open(&disk, Access::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
    assert_eq!(reader.findings().skipped_lines, 0);
}

#[test]
fn a_line_feed_that_cannot_be_repaired_comes_with_the_next_record() {
    let disk = FaultyDisk::default();
    let mut content = spell(&header()).unwrap();
    content
        .extend(br#"{"type":"custom","id":"a","parentId":null,"timestamp":"","customType":"x"}"#);
    disk.put(Path::new(PATH), &content);
    disk.arm(Fault::Refuse {
        after: 0,
        kind: io::ErrorKind::StorageFull,
    });
    let mut session = open(&disk, Access::Write).unwrap();
    assert!(session.findings().missing_line_feed);
    assert_eq!(disk.content(Path::new(PATH)).unwrap(), content);
    assert!(session.append(user("refused")).is_err());
    disk.arm(Fault::None);
    session.append(user("taken")).unwrap();
    let reader = open(&disk, Access::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
    assert_eq!(*reader.findings(), OpenFindings::default());
}

#[test]
fn a_summary_that_is_not_stored_leaves_the_leaf() {
    let disk = FaultyDisk::default();
    let mut session = deferred(&disk);
    let first = session.append(user("one")).unwrap();
    session.append(assistant("two")).unwrap();
    let leaf = session.leaf_id().cloned();
    disk.arm(Fault::Short { after: 3 });
    let summary = crate::BranchSummary {
        summary: "s".to_owned(),
        ..crate::BranchSummary::default()
    };
    assert!(
        session
            .branch_with_summary(Some(&first.id), summary)
            .is_err()
    );
    assert_eq!(session.leaf_id().cloned(), leaf);
}
