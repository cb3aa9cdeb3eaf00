//! Server-sent events. The first byte is the chunk length.

use pi_providers::bench_support::read_events;
use pretty_assertions::assert_eq;

use crate::chunks::{chunkings, split_input};

/// Checks that events do not depend on chunk boundaries, and that they agree with a naive
/// reference parser.
pub fn sse(data: &[u8]) {
    let Some((length, bytes)) = split_input(data) else {
        return;
    };
    let expected = events_of(bytes);
    for pieces in chunkings(bytes, length) {
        assert_eq!(read_events(pieces).unwrap(), expected);
    }
}

/// Parses the events of a complete body, line by line.
fn events_of(bytes: &[u8]) -> Vec<(Option<String>, String)> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut events = Vec::new();
    let (mut event, mut data): (Option<Vec<u8>>, Option<Vec<u8>>) = (None, None);
    let mut lines = lines_of(bytes);
    // The last event need not end with a blank line.
    lines.push(Vec::new());
    for line in lines {
        if line.is_empty() {
            let name = event.take().map(|name| lossy(&name));
            let name = name.filter(|name| !name.is_empty());
            if let Some(data) = data.take() {
                events.push((name, lossy(&data)));
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value).to_vec();
        match name {
            b"data" => match &mut data {
                Some(data) => data.extend([b"\n".to_vec(), value].concat()),
                None => data = Some(value),
            },
            b"event" => event = Some(value),
            _ => {}
        }
    }
    events
}

/// Splits lines at CR LF, LF and CR.
fn lines_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = vec![Vec::new()];
    let mut rest = bytes;
    while let Some((byte, after)) = rest.split_first() {
        rest = match byte {
            b'\r' => after.strip_prefix(b"\n").unwrap_or(after),
            _ => after,
        };
        match byte {
            b'\r' | b'\n' => lines.push(Vec::new()),
            _ => lines.last_mut().unwrap().push(*byte),
        }
    }
    lines
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
