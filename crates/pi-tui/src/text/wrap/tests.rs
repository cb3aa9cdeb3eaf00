use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::text::strip_ansi;

#[test]
fn lines_break_at_words() {
    let cases: &[(&str, usize, &[&str])] = &[
        ("", 5, &[""]),
        ("one", 5, &["one"]),
        ("one two three", 7, &["one two", "three"]),
        ("one  two", 5, &["one", "two"]),
        ("one two  ", 9, &["one two  "]),
        ("one two  ", 8, &["one two"]),
        ("  indented text", 10, &["  indented", "text"]),
        ("    indented", 9, &["indented"]),
        ("abcdefgh", 3, &["abc", "def", "gh"]),
        ("a abcdefgh b", 3, &["a", "abc", "def", "gh", "b"]),
        ("  abcdefgh", 4, &["  ab", "cdef", "gh"]),
        ("          x", 4, &["x"]),
        ("          ", 4, &[""]),
        ("a\nb\r\nc\rd", 4, &["a", "b", "c", "d"]),
        ("a\n", 4, &["a", ""]),
        ("\n\n", 4, &["", "", ""]),
        ("漢字仮名", 5, &["漢字", "仮名"]),
        ("ab漢字cd", 4, &["ab漢", "字cd"]),
        ("漢字", 1, &["?", "?"]),
        ("ab\u{301}c", 2, &["ab\u{301}", "c"]),
        ("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 3, &["👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"]),
        ("a\tb", 4, &["a", "b"]),
        ("a\tb", 5, &["a\tb"]),
        ("text", 0, &[""]),
    ];
    for (text, width, expected) in cases {
        assert_eq!(&wrap_text(text, *width), expected, "{text:?} in {width}");
    }
}

#[test]
fn styles_continue_after_a_break() {
    let cases: &[(&str, usize, &[&str])] = &[
        (
            "\x1b[31mone two\x1b[0m",
            3,
            &["\x1b[31mone", "\x1b[31mtwo\x1b[0m"],
        ),
        ("\x1b[31mone\x1b[0m two", 3, &["\x1b[31mone\x1b[0m", "two"]),
        ("one \x1b[31mtwo", 3, &["one", "\x1b[31mtwo"]),
        ("\x1b[31mone \x1b[0mtwo", 3, &["\x1b[31mone", "two"]),
        ("\x1b[4mone two", 3, &["\x1b[4mone\x1b[24m", "\x1b[4mtwo"]),
        (
            "\x1b[4;41mab\ncd",
            9,
            &["\x1b[4;41mab\x1b[24m", "\x1b[4;41mcd"],
        ),
        (
            "\x1b[31mabcd\x1b[32mef",
            3,
            &["\x1b[31mabc", "\x1b[31md\x1b[32mef"],
        ),
        ("one two \x1b[0m", 3, &["one", "two\x1b[0m"]),
        (
            "\x1b]8;;u\x07one two\x1b]8;;\x07",
            3,
            &[
                "\x1b]8;;u\x07one\x1b]8;;\x07",
                "\x1b]8;;u\x07two\x1b]8;;\x07",
            ],
        ),
        ("ab\x1b_pi:c\x07cd", 2, &["ab\x1b_pi:c\x07", "cd"]),
    ];
    for (text, width, expected) in cases {
        assert_eq!(&wrap_text(text, *width), expected, "{text:?} in {width}");
    }
}

/// Text with elements that make wrapping difficult.
fn hard_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,12}",
        " {1,4}",
        Just("\n".to_owned()),
        Just("\t".to_owned()),
        Just("漢字".to_owned()),
        Just("e\u{301}".to_owned()),
        Just("👨‍👩‍👧‍👦".to_owned()),
        Just("🇩🇪".to_owned()),
        Just("\x1b[31m".to_owned()),
        Just("\x1b[4;44m".to_owned()),
        Just("\x1b[0m".to_owned()),
        Just("\x1b]8;;http://x\x1b\\".to_owned()),
        Just("\x1b]8;;\x1b\\".to_owned()),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn zero_width_text_stays_before_a_break() {
    let lines = wrap_text("\0\tAaaaaaaaaaaa", 12);
    assert_eq!(lines, ["\0Aaaaaaaaaaaa"]);
}

proptest! {
    #[test]
    fn no_line_exceeds_the_width(text in hard_text(), width in 1_usize..300) {
        for line in wrap_text(&text, width) {
            prop_assert!(visible_width(&line) <= width, "{line:?}");
        }
    }

    #[test]
    fn only_spaces_are_dropped(text in hard_text(), width in 3_usize..80) {
        let visible = |text: &str| -> String {
            strip_ansi(text).chars().filter(|one| !matches!(one, ' ' | '\t' | '\n' | '\r')).collect()
        };
        prop_assert_eq!(visible(&wrap_text(&text, width).join("\n")), visible(&text));
    }
}
