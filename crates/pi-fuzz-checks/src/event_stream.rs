//! AWS event-stream frames: the first byte is a length of pieces.

use pi_ai::bench_support::read_frames;
use pretty_assertions::assert_eq;

use crate::pieces::{cuts, split_input};

/// Checks that frames, and the failure that ends them, do not depend on how their bytes arrive.
pub fn event_stream(data: &[u8]) {
    let Some((length, bytes)) = split_input(data) else {
        return;
    };
    let [whole, pieces, halves] = cuts(bytes, length);
    let expected = read_frames(whole);
    let carried: usize = expected.0.iter().map(|(_, payload)| payload.len()).sum();
    assert!(carried <= bytes.len());
    assert_eq!(read_frames(pieces), expected);
    assert_eq!(read_frames(halves), expected);
}
