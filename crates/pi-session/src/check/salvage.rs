//! Salvages information from malformed lines. Both implementations of pi start an entry with
//! `type`, `id` and `parentId`, so complete records can be found after garbage, and a partial
//! record often still contains its ID and parent.

use std::ops::Range;

use memchr::memmem;
use pi_protocol::{EntryId, timestamp};
use serde_json::Value;

use crate::scan::{LineFields, Scanner};

/// How every record starts, in both implementations.
const RECORD_PREFIX: &[u8] = b"{\"type\":";

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Total bytes to scan for records in one line, and the bounds for the number of attempts derived
/// from it.
const SEARCH_BYTES: usize = 1024 * 1024 * 1024;
const MIN_ATTEMPTS: usize = 4;
const MAX_ATTEMPTS: usize = 256;

/// How many leading bytes of an unreadable part are searched for an ID and a parent.
const SALVAGE_PREFIX_BYTES: usize = 4096;

/// Links salvaged from an unreadable record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SalvagedInfo {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) timestamp_ms: Option<i64>,
}

/// Returns whether the bytes contain only null bytes, whitespace or a byte order mark, as left by
/// power loss or editors.
pub(crate) fn is_filler(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    bytes
        .iter()
        .all(|byte| *byte == 0 || byte.is_ascii_whitespace())
}

/// Finds the next complete record in a line, at or after `from`.
pub(crate) fn next_record<'line>(
    line: &'line [u8],
    from: usize,
    scanner: &mut Scanner,
) -> Option<(Range<usize>, LineFields<'line>)> {
    // Every attempt may scan to the end of the line; bound the work for hostile input.
    let attempts = (SEARCH_BYTES / line.len().max(1)).clamp(MIN_ATTEMPTS, MAX_ATTEMPTS);
    let rest = line.get(from..)?;
    for found in memmem::find_iter(rest, RECORD_PREFIX).take(attempts) {
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

/// Distinguishes records from message content blocks, which start the same way.
fn is_record(fields: &LineFields<'_>) -> bool {
    fields.type_name.is_some() && fields.id.is_some() && fields.timestamp.is_some()
}

/// Extracts the ID and the parent of a partial record.
pub(crate) fn link_info(bytes: &[u8]) -> Option<SalvagedInfo> {
    let start = bytes.get(..SALVAGE_PREFIX_BYTES).unwrap_or(bytes);
    let (id, after_id) = leading_value(after_key(start, b"\"id\":")?)?;
    let (parent, after_parent) = leading_value(after_id.strip_prefix(b",\"parentId\":")?)?;
    let parent = match parent {
        Value::Null => None,
        Value::String(parent) => Some(EntryId::from(parent)),
        _ => return None,
    };
    Some(SalvagedInfo {
        id: EntryId::from(id.as_str()?),
        parent,
        timestamp_ms: text_after(after_parent, "timestamp")
            .and_then(|timestamp| timestamp::parse_iso(&timestamp)),
    })
}

/// Returns the bytes after the first occurrence of a key and its colon.
fn after_key<'bytes>(bytes: &'bytes [u8], key: &[u8]) -> Option<&'bytes [u8]> {
    bytes.get(memmem::find(bytes, key)? + key.len()..)
}

/// Parses the value at the start of `bytes` and returns it with the rest.
fn leading_value(bytes: &[u8]) -> Option<(Value, &[u8])> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let end = values.byte_offset();
    Some((value, bytes.get(end..)?))
}

/// Returns the string value after the first occurrence of a key.
pub(crate) fn text_after(bytes: &[u8], key: &str) -> Option<String> {
    let key = format!("\"{key}\":");
    match leading_value(after_key(bytes, key.as_bytes())?)? {
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
    fn complete_records_are_found_in_garbage() {
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
    fn a_partial_record_reveals_its_parent() {
        let line = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:01.000Z","mess"#;
        let expected = SalvagedInfo {
            id: "b".into(),
            parent: Some("a".into()),
            timestamp_ms: Some(1_767_225_601_000),
        };
        assert_eq!(link_info(line.as_bytes()), Some(expected));
        let root = link_info(br#"#"type":"message","id":"b","parentId":null,"timesta"#).unwrap();
        assert_eq!((root.id.as_str(), root.parent), ("b", None));
        for line in [
            r#"{"type":"message","id":"b","par"#,
            r#"{"type":"message","id":"b","parentId":"a"#,
            r#"{"type":"toolCall","id":"b","name":"x","parentId":"a"}"#,
            "",
            "\0\0\0",
        ] {
            assert_eq!(link_info(line.as_bytes()), None, "{line}");
        }
    }
}
