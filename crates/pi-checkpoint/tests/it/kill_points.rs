//! A process may be killed at any moment: what was acknowledged stays, and no wrong contents are restored.

use std::fs;

use pi_checkpoint::{CapturedFile, ChangeCause, FileHistory, HistoryCheck, Position, Resolution};
use pi_protocol::EntryId;
use pretty_assertions::assert_eq;

use crate::simulated_session::{SimulatedSession, text, write, write_bytes};

#[test]
fn an_index_that_ends_anywhere_keeps_its_complete_lines() {
    let mut session = SimulatedSession::new();
    session.prompt();
    for contents in ["one", "two", "three"] {
        session.write("a", contents);
    }
    let index = session.store().join("index.jsonl");
    let complete = fs::read(&index).unwrap();
    let all = session.history.changes().to_vec();
    for length in 0..complete.len() {
        write_bytes(&index, &complete[..length]);
        let mut history = FileHistory::open(&session.store(), u64::MAX).unwrap();
        let lines = complete[..length].iter().filter(|byte| **byte == b'\n');
        // Each change is followed by the line that binds it.
        let kept = lines.count().div_ceil(2);
        assert_eq!(history.changes().len(), kept, "{length}");
        for (change, original) in history.changes().iter().zip(&all) {
            assert_eq!(
                (&change.before, &change.after),
                (&original.before, &original.after)
            );
        }
        // The next writer continues after an incomplete line.
        let entry = &session.entries[0];
        history.bind("other", entry, entry).unwrap();
        let history = FileHistory::open(&session.store(), u64::MAX).unwrap();
        let is_complete_change = complete[length] == b'\n' && kept < all.len();
        let recovered = history.changes().len() - kept;
        assert!(recovered == 0 || is_complete_change, "{length}");
        let check = HistoryCheck::read(&session.store()).unwrap().unwrap();
        assert!(check.invalid_lines <= 1, "{length}");
    }
}

#[test]
fn damaged_contents_are_never_restored() {
    let mut session = SimulatedSession::new();
    let file = session.path("a");
    write(&file, "the old contents of the file");
    let prompt = session.prompt();
    session.write("a", "new");
    let branch = session.branch(&prompt);
    let plan = session.history.plan(&branch).unwrap();
    let id = plan.files[0].wanted.content().unwrap().clone();
    let stored = session.store().join("contents").join(id.as_str());
    let complete = fs::read(&stored).unwrap();
    for length in 0..complete.len() {
        write_bytes(&stored, &complete[..length]);
        let report = session
            .history
            .restore(&plan, Resolution::Overwrite)
            .unwrap();
        assert_eq!(report.failed.len(), 1, "{length}");
        assert_eq!(text(&file).unwrap(), "new", "{length}");
        let check = HistoryCheck::read(&session.store()).unwrap().unwrap();
        assert_eq!(check.damaged, std::slice::from_ref(&id), "{length}");
    }
    for position in 0..complete.len() {
        let mut flipped = complete.clone();
        flipped[position] ^= 0x10;
        write_bytes(&stored, &flipped);
        session
            .history
            .restore(&plan, Resolution::Overwrite)
            .unwrap();
        let restored = text(&file).unwrap();
        // A flipped bit may leave the decompressed text as it is.
        assert!(restored == "new" || restored == "the old contents of the file");
        write(&file, "new");
    }
    write_bytes(&stored, &complete);
    session
        .history
        .restore(&plan, Resolution::Overwrite)
        .unwrap();
    assert_eq!(text(&file).unwrap(), "the old contents of the file");
}

#[test]
fn a_restore_that_was_not_recorded_is_complete() {
    let mut session = SimulatedSession::new();
    let file = session.path("a");
    write(&file, "old");
    let prompt = session.prompt();
    session.write("a", "new");
    // Killed after the file was written, before the line.
    write(&file, "old");
    let branch = session.branch(&prompt);
    assert!(session.history.plan(&branch).unwrap().is_empty());
}

#[test]
fn a_line_that_another_process_cut_does_not_damage_the_next() {
    let mut session = SimulatedSession::new();
    let prompt = session.prompt();
    session.write("a", "one");
    let before = session.history.changes().len();
    let index = session.store().join("index.jsonl");
    let mut text = fs::read(&index).unwrap();
    text.extend_from_slice(b"{\"entry\":\"x\",\"tu");
    write_bytes(&index, &text);
    session.history.bind("other", &prompt, &prompt).unwrap();
    session.write("a", "two");
    let history = FileHistory::open(&session.store(), u64::MAX).unwrap();
    assert_eq!(history.changes().len(), before + 1);
    assert_eq!(history.changes(), session.history.changes());
    let check = HistoryCheck::read(&session.store()).unwrap().unwrap();
    assert_eq!(check.invalid_lines, 1);
}

#[test]
fn changes_of_concurrent_writers_are_all_kept() {
    let session = SimulatedSession::new();
    let turn = EntryId::from("turn");
    let files: Vec<_> = (0..4)
        .map(|writer| session.path(&format!("{writer}")))
        .collect();
    std::thread::scope(|scope| {
        for file in &files {
            let (store, turn) = (session.store(), &turn);
            scope.spawn(move || {
                let mut history = FileHistory::open(&store, u64::MAX).unwrap();
                for number in 0..10 {
                    let before = CapturedFile::read(file).unwrap();
                    write(file, &format!("{} {number}", file.display()));
                    let after = CapturedFile::read(file).unwrap();
                    let branch = [turn.clone()];
                    let at = Position {
                        branch: &branch,
                        turn,
                    };
                    let cause = ChangeCause::Tool { call: "call" };
                    history.record(&at, cause, file, &before, &after).unwrap();
                }
            });
        }
    });
    let history = FileHistory::open(&session.store(), u64::MAX).unwrap();
    for file in &files {
        let changes = history
            .changes()
            .iter()
            .filter(|change| change.path == *file);
        let contents: Vec<_> = changes
            .filter_map(|change| change.after.content())
            .collect();
        assert_eq!(contents.len(), 10);
        let last = history.content(contents[9]).unwrap().unwrap();
        assert_eq!(last, fs::read(file).unwrap());
    }
    let check = HistoryCheck::read(&session.store()).unwrap().unwrap();
    assert_eq!((check.invalid_lines, check.damaged.len()), (0, 0));
}
