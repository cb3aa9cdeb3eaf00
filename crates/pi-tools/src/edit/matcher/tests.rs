use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

/// A text, the edits as pairs of old and new text, and the result.
type MatchCase = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

fn edits(pairs: &[(&str, &str)]) -> Vec<Edit> {
    pairs
        .iter()
        .map(|(old_text, new_text)| Edit {
            old_text: (*old_text).to_owned(),
            new_text: (*new_text).to_owned(),
        })
        .collect()
}

fn apply(text: &str, pairs: &[(&str, &str)]) -> Result<String, EditError> {
    let plain = PlainText::read(text.as_bytes());
    let replacements = find_replacements(&plain, &edits(pairs))?;
    Ok(String::from_utf8(plain.splice(&replacements)).expect("text stays text"))
}

#[test]
fn edits_are_applied() {
    let cases: &[MatchCase] = &[
        ("a b c", &[("b", "B")], "a B c"),
        ("a b c", &[("c", "C"), ("a", "A")], "A b C"),
        ("a b", &[("a ", ""), ("b", "B")], "B"),
        // All edits are matched against the original: the second does not see the result of the
        // first.
        (
            "one two",
            &[("one", "two!"), ("two", "three")],
            "two! three",
        ),
        ("x\r\ny\r\n", &[("x\ny\n", "z\n")], "z\r\n"),
        ("a\tb", &[("\t", " ")], "a b"),
        // Approximate matches: touched lines are rewritten, others keep their bytes.
        ("“q”\n“r”\n", &[("\"q\"", "s")], "s\n“r”\n"),
        ("say “q” – “r”\n", &[("\"q\"", "q")], "say q - \"r\"\n"),
        ("a  \nb\t\nc  \n", &[("a\nb\n", "x\n")], "x\nc  \n"),
        ("ﬁne\u{a0}x\n  ", &[("fine x", "ok")], "ok\n  "),
        // One approximate match makes all matches approximate.
        (
            "“a”\nb  \n“c”\n",
            &[("\"a\"", "A"), ("b", "B")],
            "A\nB\n“c”\n",
        ),
        // Two edits on one line.
        ("“a” “b”\n", &[("\"a\"", "1"), ("\"b\"", "2")], "1 2\n"),
        ("“a”\r\nb\nc\r\n", &[("\"a\"", "A")], "A\r\nb\nc\r\n"),
    ];
    for (text, pairs, expected) in cases {
        assert_eq!(
            apply(text, pairs).as_deref(),
            Ok(*expected),
            "{text:?} {pairs:?}"
        );
    }
}

#[test]
fn errors_are_specific() {
    let cases: &[MatchCase] = &[
        (
            "a",
            &[("", "b")],
            "oldText is empty; provide the text to replace",
        ),
        (
            "a",
            &[("a", "b"), ("", "b")],
            "edits[1].oldText is empty; provide the text to replace",
        ),
        (
            "aa",
            &[("a", "b")],
            "oldText occurs 2 times; add surrounding lines to make it unique",
        ),
        (
            "a b a",
            &[("b", "c"), ("a", "d")],
            "edits[1].oldText occurs 2 times; add surrounding lines to make it unique",
        ),
        // Texts that look the same are ambiguous, even if only one matches exactly.
        (
            "“a”\n\"a\"\n",
            &[("\"a\"", "b")],
            "oldText occurs 2 times; add surrounding lines to make it unique",
        ),
        (
            "x  \nx\n",
            &[("x  ", "y")],
            "oldText occurs 2 times; add surrounding lines to make it unique",
        ),
        (
            "\t\t",
            &[("\t", " ")],
            "oldText occurs 2 times; add surrounding lines to make it unique",
        ),
        (
            "abcd",
            &[("bcd", "x"), ("abc", "y")],
            "edits[1] and edits[0] overlap; merge them into one edit or target separate regions",
        ),
        (
            "a",
            &[("a", "a")],
            "the new text is identical to the old text",
        ),
        (
            "a\r\nb",
            &[("a\nb", "a\r\nb")],
            "the new text is identical to the old text",
        ),
        (
            "zzz",
            &[("q", "r")],
            "oldText not found in the file; it must match exactly, including whitespace and line breaks",
        ),
        (
            "fn a() {\n    one();\n    two();\n}\n",
            &[("fn a() {\n  one();\n", "")],
            "oldText not found in the file; it must match exactly, including whitespace and line \
             breaks. Closest match at line 1:\nfn a() {\n    one();",
        ),
        (
            "",
            &[("a", "b")],
            "oldText not found in the file; it must match exactly, including whitespace and line breaks",
        ),
    ];
    for (text, pairs, expected) in cases {
        let error = apply(text, pairs).expect_err("the edit is invalid");
        assert_eq!(error.to_string(), *expected, "{text:?} {pairs:?}");
    }
}

#[test]
fn an_approximate_match_does_not_lose_bytes() {
    let plain = PlainText::read(b"\xe2\x80\x9cq\xe2\x80\x9d \xff\nnext\n");
    let error = find_replacements(&plain, &edits(&[("\"q\"", "q")]));
    assert_eq!(
        error,
        Err(EditError::Undecodable {
            field: OldTextField(None)
        })
    );
    let replacements = find_replacements(&plain, &edits(&[("next", "N")])).expect("it matches");
    assert_eq!(
        plain.splice(&replacements),
        b"\xe2\x80\x9cq\xe2\x80\x9d \xff\nN\n"
    );
}

/// Distinct lines with unusual characters and line endings.
fn file() -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let body = prop_oneof!["[a-c “”–\t]{0,6}", "[a-cﬁé\u{a0}]{0,4}"];
    let line_break = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    proptest::collection::vec((body, line_break), 1..8).prop_map(|lines| {
        let numbered = |(index, (body, line_break)): (usize, (String, _))| {
            // The number prevents a lone CR from joining with the LF of an empty line.
            (format!("{index}:{body}"), line_break)
        };
        lines.into_iter().enumerate().map(numbered).collect()
    })
}

fn join(lines: &[(String, &'static str)]) -> String {
    let parts = lines
        .iter()
        .flat_map(|(body, line_break)| [body.as_str(), line_break]);
    parts.collect()
}

proptest! {
    #[test]
    fn edits_replace_text_in_the_original(
        lines in file(),
        chosen in any::<prop::sample::Index>(),
        new_text in "[xyz]{1,5}",
        mark in any::<bool>(),
    ) {
        let index = chosen.index(lines.len());
        let mut text = join(&lines);
        let mut changed = lines.clone();
        changed[index].0.clone_from(&new_text);
        let mut expected = join(&changed);
        if mark {
            text.insert(0, '\u{feff}');
            expected.insert(0, '\u{feff}');
        }
        // The number makes the line unique, exactly and normalized.
        prop_assert_eq!(apply(&text, &[(&lines[index].0, &new_text)]), Ok(expected));
    }

    #[test]
    fn untouched_lines_keep_their_bytes(lines in file(), chosen in any::<prop::sample::Index>()) {
        let index = chosen.index(lines.len());
        let text = join(&lines);
        // As a model would write it: with plain quotes, dashes and spaces.
        let old_text = normalize(&lines[index].0);
        let mut changed = lines.clone();
        let Ok(edited) = apply(&text, &[(&old_text, "new")]) else {
            return Err(TestCaseError::reject("ambiguous"));
        };
        // The line is rewritten from its normalized form; whitespace after the match may be
        // removed.
        changed[index].0 = "new".to_owned();
        let exact = lines[index].0.strip_prefix(&old_text).map(|rest| format!("new{rest}"));
        let mut kept = changed.clone();
        kept[index].0 = exact.unwrap_or_default();
        prop_assert!(edited == join(&changed) || edited == join(&kept), "{:?} -> {:?}", text, edited);
    }

    #[test]
    fn no_input_causes_a_panic(text in "[ab“\"\r\n\t ]{0,20}", old in "[ab“\"\r\n\t ]{0,4}", new in "[ab\r\n]{0,4}") {
        if let Ok(edited) = apply(&text, &[(&old, &new)]) {
            prop_assert_ne!(edited, text);
        }
    }
}
