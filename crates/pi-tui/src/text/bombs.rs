//! Texts made to be expensive: every function stays linear on them.

use std::time::{Duration, Instant};

use super::*;

const LONG: usize = 10 * 1024 * 1024;

/// Far above what linear work takes even in a debug build on a busy machine, far below quadratic.
const BUDGET: Duration = Duration::from_mins(1);

fn within_budget(name: &str, work: impl FnOnce()) {
    let started = Instant::now();
    work();
    assert!(
        started.elapsed() < BUDGET,
        "{name} took {:?}",
        started.elapsed()
    );
}

fn exercise(name: &str, text: &str) {
    within_budget(name, || {
        visible_width(text);
        strip_ansi(text);
        sanitize(text);
        expand_for_terminal(text);
        truncate_to_width(text, 80, Truncation::default());
        slice_columns(text, 10..90, Edge::Drop);
        cell_range_at(text, 1000);
        link_at(text, 1000);
        for line in wrap_text(text, 80) {
            assert!(visible_width(&line) <= 80);
        }
    });
}

#[test]
fn a_million_combining_marks() {
    let text = format!("e{}x", "\u{301}".repeat(1_000_000));
    assert_eq!(visible_width(&text), 2);
    exercise("combining marks", &text);
}

#[test]
fn a_line_of_ten_megabytes() {
    exercise("one word", &"x".repeat(LONG));
}

#[test]
fn unterminated_sequences() {
    exercise("OSC", &format!("a\x1b]0;{}", "x".repeat(LONG)));
    exercise("CSI", &format!("a\x1b[{}", "1;".repeat(LONG / 2)));
    exercise("many OSC", &"\x1b]8;;x".repeat(LONG / 24));
}

#[test]
fn joined_emoji_and_flags() {
    exercise("joined emoji", &"👩\u{200d}".repeat(200_000));
    exercise("half flags", &"🇩".repeat(200_000));
}

#[test]
fn styles_without_end() {
    exercise("styles", &"\x1b[1;31mx\x1b[4m ".repeat(100_000));
    exercise("spaces", &" ".repeat(LONG / 8));
}
