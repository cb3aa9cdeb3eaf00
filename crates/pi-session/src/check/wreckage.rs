//! What can be told of bytes that are no record.
//!
//! Both programs begin an entry with `type`, `id` and `parentId`, so whole records are found behind
//! garbage, and half a record often still says what it was and what it followed.

use std::ops::Range;

use memchr::memmem;
use serde_json::Value;

use crate::entry::EntryId;
use crate::moment;
use crate::scan::{Fields, Scanner};

/// How every record of either program begins.
const BEGINNING: &[u8] = b"{\"type\":";

/// A UTF-8 byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How many bytes are read in search of records in one line, and how often at least and at most.
const SEARCH_BYTES: usize = 1024 * 1024 * 1024;
const FEWEST_ATTEMPTS: usize = 4;
const MOST_ATTEMPTS: usize = 256;

/// How far into lost bytes their beginning is looked for.
const FACTS_WITHIN: usize = 4096;

/// What can be told of a lost record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LostFacts {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) timestamp_ms: Option<i64>,
}

/// Returns whether bytes are only what a power cut or an editor puts there.
pub(crate) fn is_void(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    bytes
        .iter()
        .all(|byte| *byte == 0 || byte.is_ascii_whitespace())
}

/// Finds the next whole record in a line, at `from` or behind it.
pub(crate) fn next_record<'line>(
    line: &'line [u8],
    from: usize,
    scanner: &mut Scanner,
) -> Option<(Range<usize>, Fields<'line>)> {
    // Every attempt may read to the end of the line: a hostile one must not take forever.
    let attempts = (SEARCH_BYTES / line.len().max(1)).clamp(FEWEST_ATTEMPTS, MOST_ATTEMPTS);
    let rest = line.get(from..)?;
    for found in memmem::find_iter(rest, BEGINNING).take(attempts) {
        let start = from + found;
        let Some((fields, length)) = scanner.leading_object(line.get(start..)?) else {
            continue;
        };
        if is_record(&fields) {
            return Some((start..start + length, fields));
        }
    }
    None
}

/// Tells a record from the blocks of a message, which begin alike.
fn is_record(fields: &Fields<'_>) -> bool {
    fields.type_name.is_some() && fields.id.is_some() && fields.timestamp.is_some()
}

/// Reads the id and the parent of half a record.
pub(crate) fn facts(bytes: &[u8]) -> Option<LostFacts> {
    let start = bytes.get(..FACTS_WITHIN).unwrap_or(bytes);
    let (id, behind_id) = leading_value(behind(start, b"\"id\":")?)?;
    let (parent, behind_parent) = leading_value(behind_id.strip_prefix(b",\"parentId\":")?)?;
    let parent = match parent {
        Value::Null => None,
        Value::String(parent) => Some(EntryId::from(parent)),
        _ => return None,
    };
    Some(LostFacts {
        id: EntryId::from(id.as_str()?),
        parent,
        timestamp_ms: text_after(behind_parent, "timestamp")
            .and_then(|timestamp| moment::parse_iso(&timestamp)),
    })
}

/// Returns what stands behind the first occurrence of a key and its colon.
fn behind<'bytes>(bytes: &'bytes [u8], key: &[u8]) -> Option<&'bytes [u8]> {
    bytes.get(memmem::find(bytes, key)? + key.len()..)
}

/// Reads the value that bytes begin with, and returns it with what is behind it.
fn leading_value(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    Some((value, bytes.get(end..)?))
}

/// Reads the text behind the first occurrence of a key.
pub(crate) fn text_after(bytes: &[u8], key: &str) -> Option<String> {
    let key = format!("\"{key}\":");
    match leading_value(behind(bytes, key.as_bytes())?)? {
        (Value::String(text), _) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn records(line: &str) -> Vec<&str> {
        let (mut found, mut end) = (Vec::new(), 0);
        let mut scanner = Scanner::default();
        while let Some((range, _)) = next_record(line.as_bytes(), end, &mut scanner) {
            end = range.end;
            found.push(line.get(range).unwrap());
        }
        found
    }

    #[test]
    fn whole_records_are_found_in_anything() {
        let one = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"t","data":{"type":1}}"#;
        let two = r#"{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{}}"#;
        let block = r#"{"type":"toolCall","id":"c","name":"read"}"#;
        for (line, expected) in [
            (format!("{one}{two}"), vec![one, two]),
            (format!("\0\0{one}\0"), vec![one]),
            (format!("{}{two}", one.get(..40).unwrap()), vec![two]),
            (format!("{one}garbage{two}garbage"), vec![one, two]),
            (format!("[{block},"), vec![]),
            (one.get(..60).unwrap().to_owned(), vec![]),
            ("{\"type\":".repeat(2000), vec![]),
        ] {
            assert_eq!(records(&line), expected, "{line}");
        }
    }

    #[test]
    fn half_a_record_tells_what_it_followed() {
        let line = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:01.000Z","mess"#;
        let told = LostFacts {
            id: "b".into(),
            parent: Some("a".into()),
            timestamp_ms: Some(1_767_225_601_000),
        };
        assert_eq!(facts(line.as_bytes()), Some(told));
        let root = facts(br#"#"type":"message","id":"b","parentId":null,"timesta"#).unwrap();
        assert_eq!((root.id.as_str(), root.parent), ("b", None));
        for line in [
            r#"{"type":"message","id":"b","par"#,
            r#"{"type":"message","id":"b","parentId":"a"#,
            r#"{"type":"toolCall","id":"b","name":"x","parentId":"a"}"#,
            "",
            "\0\0\0",
        ] {
            assert_eq!(facts(line.as_bytes()), None, "{line}");
        }
    }
}
