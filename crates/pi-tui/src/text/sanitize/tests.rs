use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

const ENGLAND: &str = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";

#[test]
fn control_sequences_are_removed() {
    let cases: &[(&str, &str)] = &[
        ("plain 漢字 é 👨‍👩‍👧‍👦\n\ttext", "plain 漢字 é 👨‍👩‍👧‍👦\n\ttext"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[?1049h\x1b[2J\x1b[Hhome", "home"),
        ("\x1b[2 q\x1b[38:2::1:2:3mx", "x"),
        ("\x1b[>4;2m\x1b[<35;1;1M\x1b[=1u\x1b[?u\x1b[>qx", "x"),
        (
            "\x1b]4;1;?\x07\x1b]50;?\x07\x1b]52;c;?\x1b\\\x1bP$qm\x1b\\x",
            "x",
        ),
        (
            "\x1b_Ga=T,t=f;L2V0Yw==\x1b\\\x1b]9;note\x07\x1b]777;notify;a;b\x07\x1b]8;;file:///x\x07x",
            "x",
        ),
        ("\x1b]0;title\x07a\x1b]52;c;aGk=\x1b\\b", "ab"),
        ("\x1bPq#0;2;0;0;0\x1b\\a\x1b_Gf=100;AAAA\x1b\\b", "ab"),
        ("\x1b^pm\x1b\\a\x1bXsos\x1b\\b", "ab"),
        (
            "\u{9b}31ma\u{9d}0;title\u{9c}b\u{90}q\u{9c}c\u{9f}G\u{9c}d\u{9e}x\u{9c}e\u{98}x\u{9c}f",
            "abcdef",
        ),
        ("\x1bc\x1b7\x1b(Ba\x1b#8b", "ab"),
        ("a\x00\x07\x08\x0b\x0c\x0e\x7fb\u{84}\u{8d}c", "abc"),
        ("a\r\nb\rc\u{85}d\u{2028}e\u{2029}f", "a\nb\nc\nd\ne\nf"),
        ("cut\x1b", "cut"),
        ("cut\x1b[12;", "cut"),
        ("cut\x1b]0;never ends", "cut"),
        ("hidden\x1b]0;never ends\nnext", "hidden\nnext"),
        ("a\x1b[12\nb", "a\nb"),
        ("a\x1b[12éb", "aéb"),
        ("a\x1b\x1b[1mb", "ab"),
        ("a\x1b]0;x\x1b[1mb", "ab"),
        ("a\x1b]0;x\x18b", "ab"),
        ("a\x1bé", "aé"),
        ("end\r", "end"),
    ];
    for (text, expected) in cases {
        assert_eq!(sanitize(text), *expected, "{text:?}");
    }
}

#[test]
fn deceptive_characters_are_escaped() {
    let cases: &[(&str, &str)] = &[
        ("a\u{202e}cba", "a<U+202E>cba"),
        (
            "\u{2066}x\u{2069}\u{200f}\u{61c}",
            "<U+2066>x<U+2069><U+200F><U+061C>",
        ),
        ("hi\u{e0041}\u{e0042}", "hi<U+E0041><U+E0042>"),
        (ENGLAND, ENGLAND),
        ("🏴\u{200d}☠️", "🏴\u{200d}☠️"),
        ("🏴\u{e0067}\u{e0062}x", "🏴<U+E0067><U+E0062>x"),
        ("🏴\u{e0067}", "🏴<U+E0067>"),
        ("🏴\u{e0068}\u{e0069}", "🏴<U+E0068><U+E0069>"),
        ("🏴\x1b[1mx", "🏴x"),
        ("🏴🏴", "🏴🏴"),
        (
            "a\u{feff}b\u{2063}c\u{3164}d",
            "a<U+FEFF>b<U+2063>c<U+3164>d",
        ),
        (
            "❤️‍🔥 🏳️‍🌈 می\u{200c}خواهم ក\u{200b}ខ",
            "❤️‍🔥 🏳️‍🌈 می\u{200c}خواهم ក\u{200b}ខ",
        ),
        ("a\u{200b}\u{200c}\u{200b}b", "a\u{200b}<U+200C><U+200B>b"),
        ("😀\u{e0101}\u{e0102}", "😀\u{e0101}<U+E0102>"),
        (
            "a\u{200d}\x1b[1m\u{200d}\u{fe01}\u{200d}b",
            "a\u{200d}<U+200D><U+FE01><U+200D>b",
        ),
        (
            "a\u{fe01}\u{200d}\u{fe02}\u{200d}b",
            "a\u{fe01}\u{200d}<U+FE02><U+200D>b",
        ),
        ("葛\u{e0100}飾", "葛\u{e0100}飾"),
    ];
    for (text, expected) in cases {
        assert_eq!(sanitize(text), *expected, "{text:?}");
    }
}

#[test]
fn long_unterminated_sequences_are_removed() {
    let long = 10 * 1024 * 1024;
    assert_eq!(sanitize(&format!("\x1b]0;{}", "x".repeat(long))), "");
    assert_eq!(sanitize(&format!("\x1b[{}", "1".repeat(long))), "");
    assert_eq!(sanitize(&"\x1b".repeat(long)), "");
    assert_eq!(sanitize(&"\x1b]".repeat(long / 2)), "");
}

/// Text full of the starts, middles and ends of sequences.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\x1b",
            "[",
            "]",
            "P",
            "_",
            "^",
            "X",
            "\\",
            "\x07",
            "\u{9b}",
            "\u{9c}",
            "\u{9d}",
            "m",
            ";",
            "1",
            "\n",
            "\r",
            "\u{202e}",
            "🏴",
            "\u{200d}",
            "\u{200b}",
            "\u{fe0f}",
            "\u{e0100}",
            "\u{feff}",
            "\u{e0067}",
            "\u{e0062}",
            "\u{e0065}",
            "\u{e006e}",
            "\u{e007f}",
            "é",
            " ",
            "\x18",
            ENGLAND,
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn streaming_gives_the_same_text(text in hostile_text(), splits in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let characters: Vec<char> = text.chars().collect();
        let mut cuts: Vec<usize> = splits.iter().map(|split| split.index(characters.len() + 1)).collect();
        cuts.extend([0, characters.len()]);
        cuts.sort_unstable();
        let (mut sanitizer, mut pieces) = (Sanitizer::new(), String::new());
        for cut in cuts.windows(2) {
            sanitizer.push(&String::from_iter(&characters[cut[0]..cut[1]]), &mut pieces);
        }
        sanitizer.finish(&mut pieces);
        prop_assert_eq!(pieces, sanitize(&text).into_owned());
    }

    #[test]
    fn output_is_safe_and_idempotent(text in hostile_text()) {
        let clean = sanitize(&text).into_owned();
        prop_assert!(clean.chars().all(|one| matches!(one, '\n' | '\t') || !one.is_control()));
        prop_assert_eq!(sanitize(&clean), clean.as_str());
    }
}
