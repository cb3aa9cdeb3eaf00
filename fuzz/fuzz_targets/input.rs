//! The input decoder: the first byte says where to split the rest; both ways give the same events.

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use pi_tui::{InputDecoder, InputEvent, InputTiming, KeyboardMode};

fn decode(chunks: &[&[u8]], now: Instant) -> Vec<InputEvent> {
    let mut decoder = InputDecoder::new(InputTiming::default(), KeyboardMode::default());
    let mut events: Vec<InputEvent> = chunks
        .iter()
        .flat_map(|chunk| decoder.push(chunk, now))
        .collect();
    events.extend(decoder.expire(now + Duration::from_secs(1)));
    events
}

fuzz_target!(|data: &[u8]| {
    let Some((split, bytes)) = data.split_first() else {
        return;
    };
    let (first, second) = bytes.split_at(usize::from(*split).min(bytes.len()));
    let now = Instant::now();
    assert_eq!(decode(&[bytes], now), decode(&[first, second], now));
});
