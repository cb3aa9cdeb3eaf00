//! AWS event-stream frames. The first byte is the chunk length.

use pi_bedrock::read_frames;
use pretty_assertions::assert_eq;

use crate::chunks::{chunkings, split_input};

/// Checks that frames, and the error that ends them, do not depend on chunk boundaries.
pub fn event_stream(data: &[u8]) {
    let Some((length, bytes)) = split_input(data) else {
        return;
    };
    let [complete, chunks, halves] = chunkings(bytes, length);
    let expected = read_frames(complete);
    let carried: usize = expected.0.iter().map(|(_, payload)| payload.len()).sum();
    assert!(carried <= bytes.len());
    assert_eq!(read_frames(chunks), expected);
    assert_eq!(read_frames(halves), expected);
}
