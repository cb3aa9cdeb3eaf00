//! How long an answer of many small deltas takes from bytes to events, per delta.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pi_ai::bench_support;

/// What a TLS record or a read from the socket brings at once.
const PIECE_SIZE: usize = 16 * 1024;

fn main() {
    divan::main();
}

fn body(deltas: usize) -> Vec<u8> {
    let event = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
                 \"delta\":{\"type\":\"text_delta\",\"text\":\"some words \"}}\n\n";
    event.repeat(deltas).into_bytes()
}

#[divan::bench(args = [2_000, 20_000])]
fn server_sent_events(bencher: Bencher<'_, '_>, deltas: usize) {
    let body = body(deltas);
    bencher
        .counter(ItemsCount::new(deltas))
        .bench_local(|| bench_support::parse_events(black_box(&body), PIECE_SIZE));
}

/// Every event is cut in several places, so that none can be handed out without a copy.
#[divan::bench(args = [2_000, 20_000])]
fn server_sent_events_in_small_pieces(bencher: Bencher<'_, '_>, deltas: usize) {
    let body = body(deltas);
    bencher
        .counter(ItemsCount::new(deltas))
        .bench_local(|| bench_support::parse_events(black_box(&body), 50));
}
