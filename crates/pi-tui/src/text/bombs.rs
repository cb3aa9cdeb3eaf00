//! Texts made to be expensive: every function stays linear on them.
//!
//! Work is counted, not timed: the bytes that were walked over, however often.

use std::cell::Cell;

use super::*;

const LONG: usize = 10 * 1024 * 1024;
/// Small enough that even quadratic work ends, and is told.
const SHORT: usize = 32 * 1024;
/// How often a byte may be walked over by one function.
const PASSES: usize = 8;

thread_local! {
    static WALKED: Cell<usize> = const { Cell::new(0) };
}

/// Notes that so many bytes were walked over.
pub(super) fn count(bytes: usize) {
    WALKED.set(WALKED.get() + bytes);
}

/// Asserts that `work` walks over a text a few times at most.
fn assert_linear(name: &str, text: &str, work: impl FnOnce()) {
    WALKED.set(0);
    work();
    let walked = WALKED.get();
    let limit = PASSES * text.len() + 1000;
    assert!(
        walked <= limit,
        "{name}: {walked} bytes walked over, {limit} allowed"
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
    check("slice", &|| drop(slice_columns(text, 10..90, WideCharPolicy::Drop)));
    check("cells", &|| {
        assert!(cell_range_at(text, 1000).is_none_or(|cells| cells.len() <= 2));
    });
    check("link", &|| assert_eq!(link_at(text, 1000), None));
    check("wrap", &|| drop(wrap_text(text, 80)));
    for line in wrap_text(text, 80) {
        assert!(visible_width(&line) <= 80);
    }
}

/// Exercises `part`, repeated to a length and between a start and an end.
fn bomb(name: &str, [start, part, end]: [&str; 3], length: usize) {
    for length in [SHORT.min(length), length] {
        let text = format!("{start}{}{end}", part.repeat(length / part.len()));
        exercise(name, &text);
    }
}

#[test]
fn a_million_combining_marks() {
    let text = format!("e{}x", "\u{301}".repeat(1_000_000));
    assert_eq!(visible_width(&text), 2);
    bomb("combining marks", ["e", "\u{301}", "x"], 2_000_000);
}

#[test]
fn a_line_of_ten_megabytes() {
    bomb("one word", ["", "x", ""], LONG);
}

#[test]
fn unterminated_sequences() {
    bomb("an OSC", ["a\x1b]0;", "x", ""], LONG);
    bomb("a CSI", ["a\x1b[", "1;", ""], LONG);
    bomb("many ESC", ["", "\x1b", ""], LONG / 8);
    bomb("many OSC", ["", "\x1b]8;;x", ""], LONG / 4);
}

#[test]
fn joined_emoji_and_flags() {
    bomb("joined emoji", ["", "👩\u{200d}", ""], 1_400_000);
    bomb("half flags", ["", "🇩", ""], 800_000);
}

#[test]
fn styles_without_end() {
    bomb("styles", ["", "\x1b[1;31mx\x1b[4m ", ""], 1_300_000);
    bomb("spaces", ["", " ", ""], LONG / 8);
}
