//! Faults at every byte of every record.

use std::io;

use pretty_assertions::assert_eq;

use super::*;
use crate::log::AppendError;
use crate::storage::faulty::Fault;

/// The state before a record is written.
struct PendingAppend {
    disk: FaultyDisk,
    leaf: Option<EntryId>,
    body: EntryBody,
    /// Bytes written: the record and, on the first write, everything buffered before it.
    length: usize,
}

impl PendingAppend {
    /// Returns the session in this state, on a separate disk with the acknowledged records.
    fn restore(&self) -> (FaultyDisk, Session) {
        let disk = self.disk.restarted();
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

/// Every append of a session with one entry of every type and two branches.
fn pending_appends() -> Vec<PendingAppend> {
    let disk = FaultyDisk::default();
    let mut session = unsaved(&disk);
    let mut pending_appends = Vec::new();
    let mut append = |session: &mut Session, body: EntryBody| {
        let before = disk.restarted();
        let leaf = session.leaf_id().cloned();
        let entry = session.append(body.clone()).unwrap();
        let written = |disk: &FaultyDisk| disk.content(Path::new(PATH)).map_or(0, |c| c.len());
        pending_appends.push(PendingAppend {
            length: written(&disk) - written(&before),
            disk: before,
            leaf,
            body,
        });
        entry.id.clone()
    };
    let text = "the first response, \"quoted\" and ünïcöde 🦀";
    let response = append(&mut session, assistant(text));
    for body in one_of_each(&response, "text") {
        append(&mut session, body);
    }
    let question = append(&mut session, user("and on"));
    let edit = ContextEditEntry {
        target_id: question,
        replacement: Some(ContextReplacement {
            content: json!("else"),
            extra: pi_protocol::json::JsonObject::new(),
        }),
    };
    append(&mut session, edit.into());
    session.branch(&response).unwrap();
    append(&mut session, user("another branch"));
    pending_appends
}

/// The entries as stored; parsing all of them for every byte would take minutes.
fn lines(session: &Session) -> Vec<String> {
    let slots = (0..).take(session.entries().len());
    slots
        .map(|slot| session.entries.line_at(slot).unwrap())
        .collect()
}

#[test]
fn a_kill_at_any_byte_loses_at_most_the_current_record() {
    for case in pending_appends() {
        for after in 0..case.length {
            let (disk, mut session) = case.restore();
            let acknowledged = lines(&session);
            let was_saved = session.is_saved();
            disk.arm(Fault::Kill { after });
            assert!(session.append(case.body.clone()).is_err());
            assert_eq!(session.entries().len(), acknowledged.len(), "{after}");
            drop(session);

            let disk = disk.restarted();
            let left = disk.content(Path::new(PATH)).unwrap();
            let mut session = match open(&disk, AccessMode::Write) {
                Ok(session) => session,
                // The file did not exist before: a partial header is not a session.
                Err(SessionError::NotASession { .. }) if !was_saved => continue,
                Err(error) => panic!("{after}: {error}"),
            };
            let loaded = lines(&session);
            if was_saved {
                assert_eq!(loaded[..acknowledged.len()], acknowledged, "{after}");
            }
            assert!(loaded.len() <= acknowledged.len() + 1, "{after}");
            let is_torn = !left.is_empty() && !left.ends_with(b"\n");
            let report = session.open_report();
            let is_reported = report.torn_tail || report.missing_line_feed;
            assert_eq!(is_reported, is_torn, "{after}: a repair is reported");

            let next = session.append(user("next")).unwrap();
            drop(session);
            let again = open(&disk, AccessMode::Write).unwrap();
            let report = again.open_report();
            assert!(!report.torn_tail && !report.missing_line_feed, "{after}");
            assert_eq!(lines(&again)[..loaded.len()], loaded, "{after}");
            assert_eq!(again.leaf_id(), Some(&next.id), "{after}");
        }
    }
}

/// A write error and a short write at one byte, alternating between a full disk and an I/O error.
fn write_failures(after: usize) -> [Fault; 2] {
    let kinds = [io::ErrorKind::StorageFull, io::ErrorKind::Other];
    let kind = kinds[after % kinds.len()];
    [Fault::Fail { after, kind }, Fault::Short { after }]
}

#[test]
fn a_failed_write_leaves_memory_and_disk_equal() {
    for case in pending_appends() {
        for fault in (0..case.length).flat_map(write_failures) {
            let (disk, mut session) = case.restore();
            let before = disk.content(Path::new(PATH));
            let leaf = session.leaf_id().cloned();
            let known = session.entries().len();
            disk.arm(fault);
            let error = session.append(case.body.clone()).unwrap_err();
            let is_write_error = matches!(
                error,
                SessionError::AppendFailed {
                    source: AppendError::Write(_),
                    ..
                }
            );
            assert!(is_write_error, "{fault:?}: {error}");
            assert_eq!(disk.content(Path::new(PATH)), before, "{fault:?}");
            assert_eq!(
                (session.entries().len(), session.leaf_id()),
                (known, leaf.as_ref())
            );

            disk.arm(Fault::None);
            let next = session.append(assistant("next")).unwrap();
            assert_eq!(next.parent_id, leaf, "{fault:?}");
            let reader = open(&disk, AccessMode::Read).unwrap();
            assert_eq!(lines(&reader), lines(&session), "{fault:?}");
        }
    }
}

#[test]
fn a_partial_record_that_cannot_be_removed_blocks_the_log() {
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
fn a_missing_line_feed_is_added_by_the_next_append() {
    let disk = FaultyDisk::default();
    let mut content = encode_record(&header()).unwrap();
    content
        .extend(br#"{"type":"custom","id":"a","parentId":null,"timestamp":"","customType":"x"}"#);
    disk.put(Path::new(PATH), &content);
    disk.arm(Fault::Fail {
        after: 0,
        kind: io::ErrorKind::StorageFull,
    });
    let mut session = open(&disk, AccessMode::Write).unwrap();
    assert!(session.open_report().missing_line_feed);
    assert_eq!(disk.content(Path::new(PATH)).unwrap(), content);
    assert!(session.append(user("fails")).is_err());
    disk.arm(Fault::None);
    session.append(user("succeeds")).unwrap();
    let reader = open(&disk, AccessMode::Read).unwrap();
    assert_eq!(entries(&reader), entries(&session));
    let expected = OpenReport {
        read_only: true,
        ..OpenReport::default()
    };
    assert_eq!(*reader.open_report(), expected);
}

#[test]
fn a_summary_that_cannot_be_stored_does_not_move_the_leaf() {
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
