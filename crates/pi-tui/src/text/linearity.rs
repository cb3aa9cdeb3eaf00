//! Pathological texts: every function must stay linear on them.
//!
//! Work is counted rather than timed: the number of bytes visited, including repeated visits.

use std::cell::Cell;

use super::*;

const LONG: usize = 10 * 1024 * 1024;
/// Small enough that even quadratic work finishes and is reported.
const SHORT: usize = 32 * 1024;
/// How often one function may visit each byte.
const PASSES: usize = 8;

thread_local! {
    static VISITED: Cell<usize> = const { Cell::new(0) };
}

/// Records that this many bytes were visited.
pub(super) fn count(bytes: usize) {
    VISITED.set(VISITED.get() + bytes);
}

/// Asserts that `work` visits each byte at most a few times.
fn assert_linear(name: &str, text: &str, work: impl FnOnce()) {
    VISITED.set(0);
    work();
    let visited = VISITED.get();
    let limit = PASSES * text.len() + 1000;
    assert!(
        visited <= limit,
        "{name}: {visited} bytes visited, {limit} allowed"
    );
}

fn exercise(name: &str, text: &str) {
    let check = |function: &str, work: &dyn Fn()| {
        assert_linear(&format!("{function} of {name}"), text, work);
    };
    check("width", &|| assert!(visible_width(text) <= text.len()));
    check("strip", &|| drop(strip_ansi(text)));
    check("sanitize", &|| drop(sanitize(text)));
    check("expand", &|| drop(expand_for_terminal(text)));
    check("truncate", &|| {
        drop(truncate_to_width(text, 80, TruncateOptions::default()));
    });
    check("slice", &|| {
        drop(slice_columns(text, 10..90, WideCharPolicy::Drop));
    });
    check("cells", &|| {
        assert!(cell_range_at(text, 1000).is_none_or(|cells| cells.len() <= 2));
    });
    check("link", &|| assert_eq!(link_at(text, 1000), None));
    check("wrap", &|| drop(wrap_text(text, 80)));
    for line in wrap_text(text, 80) {
        assert!(visible_width(&line) <= 80);
    }
}

/// Runs `exercise` on `part` repeated up to `length`, between a start and an end.
fn exercise_repeated(name: &str, [start, part, end]: [&str; 3], length: usize) {
    for length in [SHORT.min(length), length] {
        let text = format!("{start}{}{end}", part.repeat(length / part.len()));
        exercise(name, &text);
    }
}

#[test]
fn many_combining_marks() {
    let text = format!("e{}x", "\u{301}".repeat(1_000_000));
    assert_eq!(visible_width(&text), 2);
    exercise_repeated("combining marks", ["e", "\u{301}", "x"], 2_000_000);
}

#[test]
fn ten_megabyte_line() {
    exercise_repeated("one word", ["", "x", ""], LONG);
}

#[test]
fn unterminated_sequences() {
    exercise_repeated("an OSC", ["a\x1b]0;", "x", ""], LONG);
    exercise_repeated("a CSI", ["a\x1b[", "1;", ""], LONG);
    exercise_repeated("many ESC", ["", "\x1b", ""], LONG / 8);
    exercise_repeated("many OSC", ["", "\x1b]8;;x", ""], LONG / 4);
}

#[test]
fn joined_emoji_and_flags() {
    exercise_repeated("joined emoji", ["", "👩\u{200d}", ""], 1_400_000);
    exercise_repeated("half flags", ["", "🇩", ""], 800_000);
}

#[test]
fn styles_without_end() {
    exercise_repeated("styles", ["", "\x1b[1;31mx\x1b[4m ", ""], 1_300_000);
    exercise_repeated("spaces", ["", " ", ""], LONG / 8);
}
