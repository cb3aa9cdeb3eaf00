//! Every byte of every record as the place where the disk or the process gives up.

use std::io;

use pretty_assertions::assert_eq;

use super::*;
use crate::log::AppendError;
use crate::storage::faulty::Fault;

/// A moment before a record is written.
struct Stage {
    disk: FaultyDisk,
    leaf: Option<EntryId>,
    body: EntryBody,
    /// How many bytes the write has: the record, and at first all that was said before it.
    length: usize,
}

impl Stage {
    /// The session at this moment, on a disk of its own that holds what was acknowledged.
    fn set(&self) -> (FaultyDisk, Session) {
        let disk = self.disk.revived();
        let session = if disk.content(Path::new(PATH)).is_some() {
            let mut session = open(&disk, AccessMode::Write).unwrap();
            session.branch(self.leaf.as_ref().unwrap()).unwrap();
            session
        } else {
            unsaved(&disk)
        };
        (disk, session)
    }
}

fn unsaved(disk: &FaultyDisk) -> Session {
    let mut session = deferred(disk);
    session.append(user("hello")).unwrap();
    session
}

/// Every record of a session with one entry of every type and two branches.
fn stages() -> Vec<Stage> {
    let disk = FaultyDisk::default();
    let mut session = unsaved(&disk);
    let mut stages = Vec::new();
    let mut append = |session: &mut Session, body: EntryBody| {
        let before = disk.revived();
        let leaf = session.leaf_id().cloned();
        let entry = session.append(body.clone()).unwrap();
        let written = |disk: &FaultyDisk| disk.content(Path::new(PATH)).map_or(0, |c| c.len());
        stages.push(Stage {
            length: written(&disk) - written(&before),
            disk: before,
            leaf,
            body,
        });
        entry.id.clone()
    };
    let text = "the first answer, \"quoted\" and ünïcöde 🦀";
    let answer = append(&mut session, assistant(text));
    for body in one_of_each(&answer, "text") {
        append(&mut session, body);
    }
    let question = append(&mut session, user("and on"));
    let edit = ContextEditEntry {
        target_id: question,
        replacement: Some(ContextReplacement {
            content: json!("else"),
            extra: pi_ai::json::JsonObject::new(),
        }),
    };
    append(&mut session, edit.into());
    session.branch(&answer).unwrap();
    append(&mut session, user("another branch"));
    stages
}

/// The entries as they stand in the file; parsing them all at every byte would take minutes.
fn lines(session: &Session) -> Vec<String> {
    let slots = (0..).take(session.len());
    slots.map(|slot| session.line_at(slot).unwrap()).collect()
}

#[test]
fn a_kill_at_any_byte_loses_at_most_the_record_under_way() {
    for stage in stages() {
        for after in 0..stage.length {
            let (disk, mut session) = stage.set();
            let acknowledged = lines(&session);
            let was_saved = session.is_saved();
            disk.arm(Fault::Kill { after });
            assert!(session.append(stage.body.clone()).is_err());
            assert_eq!(session.len(), acknowledged.len(), "{after}");
            drop(session);

            let disk = disk.revived();
            let left = disk.content(Path::new(PATH)).unwrap();
            let mut session = match open(&disk, AccessMode::Write) {
                Ok(session) => session,
                // The file was never there: half a header is not yet a session.
                Err(SessionError::NotASession { .. }) if !was_saved => continue,
                Err(error) => panic!("{after}: {error}"),
            };
            let found = lines(&session);
            if was_saved {
                assert_eq!(found[..acknowledged.len()], acknowledged, "{after}");
            }
            assert!(found.len() <= acknowledged.len() + 1, "{after}");
            let is_torn = !left.is_empty() && !left.ends_with(b"\n");
            let findings = session.open_report();
            let is_told = findings.torn_tail || findings.missing_line_feed;
            assert_eq!(is_told, is_torn, "{after}: a repair is told");

            let next = session.append(user("life goes on")).unwrap();
            drop(session);
            let again = open(&disk, AccessMode::Write).unwrap();
            let findings = again.open_report();
            assert!(
                !findings.torn_tail && !findings.missing_line_feed,
                "{after}"
            );
            assert_eq!(lines(&again)[..found.len()], found, "{after}");
            assert_eq!(again.leaf_id(), Some(&next.id), "{after}");
        }
    }
}

/// An error and a short write at one byte; a full disk and a broken one take turns.
fn refusals(after: usize) -> [Fault; 2] {
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::Other];
    let kind = kinds[after % kinds.len()];
    [Fault::Refuse { after, kind }, Fault::Short { after }]
}

#[test]
fn a_refused_write_leaves_memory_and_disk_equal() {
    for stage in stages() {
        for fault in (0..stage.length).flat_map(refusals) {
            let (disk, mut session) = stage.set();
            let before = disk.content(Path::new(PATH));
            let leaf = session.leaf_id().cloned();
            let known = session.len();
            disk.arm(fault);
            let error = session.append(stage.body.clone()).unwrap_err();
            let is_refused = matches!(
                error,
                SessionError::AppendFailed {
                    source: AppendError::Write(_),
                    ..
                }
            );
            assert!(is_refused, "{fault:?}: {error}");
            assert_eq!(disk.content(Path::new(PATH)), before, "{fault:?}");
            assert_eq!((session.len(), session.leaf_id()), (known, leaf.as_ref()));

            disk.arm(Fault::None);
            let next = session.append(assistant("space again")).unwrap();
            assert_eq!(next.parent_id, leaf, "{fault:?}");
            let reader = open(&disk, AccessMode::Read).unwrap();
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
        let SessionError::AppendFailed { source, .. } = error else {
            panic!("{error}");
        };
        assert!(matches!(source, AppendError::Torn(_)), "{source}");
        disk.arm(Fault::None);
    }
    disk.fail_truncation(false);
    session.append(user("kept")).unwrap();
    let reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
    assert_eq!(reader.open_report().skipped_lines, 0);
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
    let mut session = open(&disk, AccessMode::Write).unwrap();
    assert!(session.open_report().missing_line_feed);
    assert_eq!(disk.content(Path::new(PATH)).unwrap(), content);
    assert!(session.append(user("refused")).is_err());
    disk.arm(Fault::None);
    session.append(user("taken")).unwrap();
    let reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
    assert_eq!(*reader.open_report(), OpenReport::default());
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
