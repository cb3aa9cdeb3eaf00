//! Terminal input. The first byte is the position at which the rest is split; both ways must give the same events.

use std::time::{Duration, Instant};

use pi_tui::{InputDecoder, InputEvent, InputTiming, KeyboardMode};
use pretty_assertions::assert_eq;

use crate::chunks::{chunkings, split_input};

/// Checks that keys, pastes and replies do not depend on chunk boundaries.
pub fn input(data: &[u8]) {
    let Some((length, bytes)) = split_input(data) else {
        return;
    };
    let now = Instant::now();
    let [complete, chunks, halves] = chunkings(bytes, length);
    let expected = decode(&complete, now);
    assert_eq!(decode(&chunks, now), expected);
    assert_eq!(decode(&halves, now), expected);
}

fn decode(pieces: &[&[u8]], now: Instant) -> Vec<InputEvent> {
    let mut decoder = InputDecoder::new(InputTiming::default(), KeyboardMode::default());
    let mut events: Vec<InputEvent> = pieces
        .iter()
        .flat_map(|piece| decoder.push(piece, now))
        .collect();
    events.extend(decoder.expire(now + Duration::from_secs(1)));
    events
}
