//! Benchmarks of text functions and input decoding: `cargo bench -p pi-tui --bench text`.

use std::time::Instant;

use divan::{Bencher, black_box, counter::BytesCount};
use pi_tui::{
    FuzzyQuery, InputDecoder, InputTiming, KeyboardMode, TruncateOptions, sanitize,
    truncate_to_width, visible_width, wrap_text,
};

fn main() {
    divan::main();
}

/// Returns a megabyte of each kind of text.
fn sample(kind: &str) -> String {
    let piece = match kind {
        "ascii" => "The quick brown fox jumps over the lazy dog. ",
        "styled" => "\x1b[1;31mThe quick\x1b[0m brown \x1b[38;5;240mfox jumps\x1b[39m over it. ",
        "cjk" => "天地玄黄宇宙洪荒日月盈昃辰宿列張",
        _ => "naïve café 👩‍💻 – “quoted” … e\u{301} ",
    };
    piece.repeat((1 << 20) / piece.len())
}

const KINDS: [&str; 4] = ["ascii", "styled", "cjk", "mixed"];

#[divan::bench(args = KINDS)]
fn width(bencher: Bencher<'_, '_>, kind: &str) {
    let text = sample(kind);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| visible_width(black_box(&text)));
}

#[divan::bench(args = KINDS)]
fn wrap(bencher: Bencher<'_, '_>, kind: &str) {
    let text = sample(kind);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| wrap_text(black_box(&text), 100));
}

#[divan::bench(args = KINDS)]
fn clean(bencher: Bencher<'_, '_>, kind: &str) {
    let text = sample(kind);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| sanitize(black_box(&text)).len());
}

#[divan::bench]
fn width_of_a_line() -> usize {
    visible_width(black_box(
        "\x1b[1mThe quick\x1b[0m brown fox jumps over the lazy dog — 漢字 and all.",
    ))
}

#[divan::bench]
fn truncate_a_long_line(bencher: Bencher<'_, '_>) {
    let text = sample("styled");
    bencher.bench(|| truncate_to_width(black_box(&text), 100, TruncateOptions::default()).len());
}

#[divan::bench]
fn decode_keys(bencher: Bencher<'_, '_>) {
    let bytes = b"hello \x1b[A\x1b[1;5D\x1b[97;5u\x1b[97;1:3u\xc3\xa9\x1b[<35;20;5M".repeat(1000);
    let now = Instant::now();
    bencher.counter(BytesCount::new(bytes.len())).bench(|| {
        InputDecoder::new(InputTiming::default(), KeyboardMode::default())
            .push(black_box(&bytes), now)
    });
}

#[divan::bench]
fn fuzzy_over_ten_thousand(bencher: Bencher<'_, '_>) {
    let items: Vec<String> = (0..10_000)
        .map(|number| format!("crates/module-{number}/src/lib.rs"))
        .collect();
    let query = FuzzyQuery::new("mod42 lib");
    bencher.bench(|| {
        items
            .iter()
            .filter_map(|item| query.score(black_box(item)))
            .count()
    });
}
