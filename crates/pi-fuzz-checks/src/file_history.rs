//! The index of a file history. The first line is the ID of an entry, the rest is the file.

use std::fs;

use pi_checkpoint::{CapturedFile, ChangeCause, FileHistory, Position};
use pi_protocol::EntryId;
use pretty_assertions::assert_eq;

use crate::temp_files;

/// Contents of a history, in bytes.
const MAX_BYTES: u64 = 1 << 16;

/// Checks that a damaged index can be read and appended to: no earlier change is lost, the new one is found again, and
/// no byte of the file changes.
pub fn file_history(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let (entry, index) = data.split_at(end);
    let entry = EntryId::from(&*String::from_utf8_lossy(entry));
    let file = temp_files::write("history/index.jsonl", index);
    let changed = temp_files::write("changed", b"before");
    let directory = file.parent().unwrap();

    let mut history = FileHistory::open(directory, MAX_BYTES).unwrap();
    let known = history.changes().to_vec();
    let before = CapturedFile::read(&changed).unwrap();
    fs::remove_file(&changed).unwrap();
    let after = CapturedFile::read(&changed).unwrap();
    // Longer than any call in the index.
    let call = "c".repeat(index.len() + 1);
    let (turn, response) = (EntryId::from("turn"), EntryId::from("response"));
    let branch = [entry, turn.clone(), response.clone()];
    let at = Position {
        branch: &branch,
        turn: &turn,
    };
    let cause = ChangeCause::Tool { call: &call };
    history
        .record(&at, cause, &changed, &before, &after)
        .unwrap();
    history.bind(&call, &turn, &response).unwrap();

    let written = fs::read(&file).unwrap();
    assert!(written.starts_with(index), "the index was rewritten");
    let reopened = FileHistory::open(directory, MAX_BYTES).unwrap();
    assert_eq!(reopened.changes(), history.changes());
    let (earlier, new) = reopened.changes().split_at(known.len());
    // A line without its end may be complete all the same.
    if index.is_empty() || index.ends_with(b"\n") {
        assert_eq!(earlier, known);
    }
    let last = new.last().unwrap();
    assert_eq!(last.path, changed);
    assert_eq!(last.entry, Some(response));
    fs::remove_dir_all(directory).unwrap();
}
