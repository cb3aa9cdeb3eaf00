//! Session files damaged by crashes, other programs or manual edits.

use std::fs;
use std::path::Path;

use pi_session::{AccessMode, OpenSession, Session, SessionError};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::temp_files;

/// Checks that every valid line is an entry, that appended entries follow the existing ones,
/// and that reopening the file gives the same entries.
pub fn session_file(data: &[u8]) {
    let path = temp_files::write("session.jsonl", data);
    let Ok(reader) = open(&path, AccessMode::Read) else {
        // A file that is not a session is not changed; an empty file gets a header.
        let opened = open(&path, AccessMode::Write);
        if opened.is_err() {
            assert_eq!(fs::read(&path).unwrap(), data);
        }
        return;
    };
    let is_current = reader.open_report().migrated_from.is_none();
    let ids = ids_of(data);
    assert!(reader.entries().len() >= ids.len());
    // Entries of format version 1 get new IDs.
    for id in ids.iter().filter(|_| is_current) {
        assert!(reader.entries().contains(id), "{id:?} is lost");
        reader.entries().read_json(id).unwrap();
    }
    drop(reader);
    assert_eq!(fs::read(&path).unwrap(), data, "reading changed the file");

    let Ok(mut writer) = open(&path, AccessMode::Write) else {
        return;
    };
    let before = lines_of(&writer);
    let skipped = writer.open_report().skipped_lines;
    writer.set_name("appended").unwrap();
    let leaf = writer.leaf_id().unwrap().clone();
    drop(writer);
    if is_current {
        assert!(
            fs::read(&path).unwrap().starts_with(data),
            "nothing goes away"
        );
    }

    let again = open(&path, AccessMode::Write).unwrap();
    assert_eq!(again.leaf_id(), Some(&leaf));
    assert_eq!(again.name(), Some("appended"));
    let findings = again.open_report();
    assert!(!findings.torn_tail && !findings.missing_line_feed);
    if is_current {
        assert_eq!(findings.skipped_lines, skipped);
    }
    let after = lines_of(&again);
    assert_eq!(after.len(), before.len() + 1);
    assert!(after.starts_with(&before));
}

fn open(path: &Path, access: AccessMode) -> Result<Session, SessionError> {
    Session::open(
        path,
        OpenSession {
            access,
            ..OpenSession::default()
        },
    )
}

/// Returns the IDs of lines that are certainly entries, using a naive reference
/// parser. The session's parser accepts more, as JavaScript does.
fn ids_of(data: &[u8]) -> Vec<String> {
    let data = data.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(data);
    let lines = data.split(|byte| *byte == b'\n');
    let objects = lines.filter_map(|line| {
        let text = String::from_utf8_lossy(line);
        serde_json::from_str::<Value>(&text).ok()
    });
    let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    objects
        .filter(|object| text(object, "type").is_some_and(|kind| kind != "session"))
        .filter_map(|object| text(&object, "id"))
        .collect()
}

/// Returns the JSON of every entry in file order.
fn lines_of(session: &Session) -> Vec<String> {
    let entries = session.entries().iter();
    entries
        .map(|entry| match entry {
            Ok(entry) => serde_json::to_string(&*entry).unwrap(),
            Err(error) => error.to_string(),
        })
        .collect()
}
