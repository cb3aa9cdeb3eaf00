use pretty_assertions::assert_eq;

use super::*;

/// Returns the pieces of `bytes` as text, pastes in brackets, after all timeouts expired.
fn split(bytes: &[u8]) -> Vec<String> {
    let now = Instant::now();
    let mut splitter = SequenceSplitter::new(InputTiming::default());
    let mut pieces = Vec::new();
    splitter.push(bytes, now, &mut pieces);
    splitter.expire(now + Duration::from_secs(1), &mut pieces);
    pieces
        .into_iter()
        .map(|piece| match piece {
            InputPiece::Sequence(bytes) => bytes.escape_ascii().to_string().replace("\\x1b", "^"),
            InputPiece::Paste(bytes) => format!("<{}>", bytes.escape_ascii()),
        })
        .collect()
}

#[test]
fn sequences_are_split_at_their_end() {
    let cases: &[(&[u8], &[&str])] = &[
        (b"ab", &["a", "b"]),
        (b"\x1b[A\x1b[1;5Bx", &["^[A", "^[1;5B", "x"]),
        (b"\x1bOAx\x1bO5Px", &["^OA", "x", "^O5P", "x"]),
        (b"\x1bax", &["^a", "x"]),
        (
            "é漢👍".as_bytes(),
            &["\\xc3\\xa9", "\\xe6\\xbc\\xa2", "\\xf0\\x9f\\x91\\x8d"],
        ),
        ("\x1bé".as_bytes(), &["^\\xc3\\xa9"]),
        (b"\x1b[<35;20;5mx", &["^[<35;20;5m", "x"]),
        (b"\x1b[M \x1b!x", &["^[M ^!", "x"]),
        (b"\x1b[[Ax\x1b[[5~x", &["^[[A", "x", "^[[5~", "x"]),
        (
            b"\x1b[3$x\x1b[?2026;2$yx",
            &["^[3$", "x", "^[?2026;2$y", "x"],
        ),
        (b"\x1b]11;rgb:0/0/0\x07x", &["^]11;rgb:0/0/0\\x07", "x"]),
        (b"\x1b]11;rgb:0/0/0\x1b\\x", &["^]11;rgb:0/0/0^\\\\", "x"]),
        (
            b"\x1bP>|x\x1b\\x\x1b_Gi=1;OK\x1b\\x",
            &["^P>|x^\\\\", "x", "^_Gi=1;OK^\\\\", "x"],
        ),
        (b"\x1b]0;cut\x1b[Ax", &["^]0;cut", "^[A", "x"]),
        (b"\x1b[12\x1b[A", &["^[12", "^[A"]),
        (b"\x1b[12\r", &["^[12", "\\r"]),
        (
            b"\xffa\xc3(\xe2\x82a",
            &["\\xff", "a", "\\xc3", "(", "\\xe2\\x82", "a"],
        ),
        (b"\xe1", &["^a"]),
        (b"\x1b", &["^"]),
        (b"\x1b[", &["^["]),
        (b"\x1bO", &["^O"]),
    ];
    for (bytes, expected) in cases {
        assert_eq!(&split(bytes), expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn double_escape_is_resolved_by_what_follows() {
    let cases: &[(&[u8], &[&str])] = &[
        (b"\x1b\x1b", &["^^"]),
        (b"\x1b\x1bx", &["^^", "x"]),
        (b"\x1b\x1b\x1b", &["^^", "^"]),
        (b"\x1b\x1b[27;1:3u", &["^", "^[27;1:3u"]),
        (b"\x1b\x1b[27u", &["^", "^[27u"]),
        (b"\x1b\x1b[A", &["^^[A"]),
        (b"\x1b\x1b[3~", &["^^[3~"]),
        (b"\x1b\x1bOA", &["^^OA"]),
        (b"\x1b\x1b[1;1:3A", &["^", "^[1;1:3A"]),
        (b"\x1b\x1b[?62c", &["^", "^[?62c"]),
        (b"\x1b\x1b[<0;1;1M", &["^", "^[<0;1;1M"]),
        (b"\x1b\x1b]11;x\x07", &["^", "^]11;x\\x07"]),
        (b"\x1b\x1b[200~x\x1b[201~", &["^", "<x>"]),
        (b"\x1b\x1b[", &["^", "^["]),
    ];
    for (bytes, expected) in cases {
        assert_eq!(&split(bytes), expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_paste_is_one_piece() {
    let cases: &[(&[u8], &[&str])] = &[
        (
            b"a\x1b[200~two\r\nlines\x1b[201~b",
            &["a", "<two\\r\\nlines>", "b"],
        ),
        (b"\x1b[200~\x1b[A\x1b[20\x1b[201~", &["<\\x1b[A\\x1b[20>"]),
        (b"\x1b[200~\x1b[201~\x1b[200~x\x1b[201~", &["<>", "<x>"]),
        (b"\x1b[200~never ends", &[]),
    ];
    for (bytes, expected) in cases {
        assert_eq!(&split(bytes), expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn timeout_depends_on_the_pending_bytes() {
    let cases: &[(&[u8], Option<u64>)] = &[
        (b"a", None),
        (b"\x1b", Some(10)),
        (b"\x1b\x1b", Some(10)),
        (b"\x1b[1", Some(50)),
        (b"\x1b[", Some(50)),
        (b"\x1bO", Some(50)),
        (b"\xe2", Some(50)),
        (b"\x1b[?62", Some(150)),
        (b"\x1b]11;rgb", Some(150)),
        (b"\x1b[200~text", None),
    ];
    let now = Instant::now();
    for (bytes, wait) in cases {
        let mut splitter = SequenceSplitter::new(InputTiming::default());
        splitter.push(bytes, now, &mut Vec::new());
        let waited = splitter.deadline().map(|deadline| deadline - now);
        assert_eq!(
            waited,
            wait.map(Duration::from_millis),
            "{}",
            bytes.escape_ascii()
        );
    }
    let mut splitter = SequenceSplitter::new(InputTiming::over_ssh());
    splitter.push(b"\x1b", now, &mut Vec::new());
    assert_eq!(splitter.deadline(), Some(now + Duration::from_millis(100)));
    splitter.awaiting_reply = true;
    splitter.push(b"[", now, &mut Vec::new());
    assert_eq!(splitter.deadline(), Some(now + Duration::from_millis(150)));
}

#[test]
fn late_bytes_still_complete_a_sequence() {
    let now = Instant::now();
    let mut splitter = SequenceSplitter::new(InputTiming::default());
    let mut pieces = Vec::new();
    splitter.push(b"\x1b", now, &mut pieces);
    splitter.expire(now + Duration::from_millis(9), &mut pieces);
    assert_eq!(pieces, []);
    splitter.push(b"[A", now + Duration::from_secs(1), &mut pieces);
    assert_eq!(pieces, [InputPiece::Sequence(b"\x1b[A".to_vec())]);
    assert_eq!(splitter.deadline(), None);
}

#[test]
fn the_environment_sets_the_escape_timeout() {
    let escape = |variables: &[(&str, &str)]| {
        let timing = InputTiming::from_environment(|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        });
        timing.escape.as_millis()
    };
    assert_eq!(escape(&[]), 10);
    assert_eq!(escape(&[("SSH_TTY", "/dev/pts/0")]), 100);
    assert_eq!(escape(&[("SSH_CONNECTION", "")]), 10);
    assert_eq!(escape(&[("PI_TUI_ESC_TIMEOUT", "25")]), 25);
    assert_eq!(
        escape(&[("PI_TUI_ESC_TIMEOUT", "25"), ("SSH_TTY", "x")]),
        25
    );
    for invalid in ["", "0", "-3", "NaN", "inf", "soon"] {
        assert_eq!(escape(&[("PI_TUI_ESC_TIMEOUT", invalid)]), 10, "{invalid}");
    }
    assert_eq!(escape(&[("PI_TUI_ESC_TIMEOUT", "1e15")]), 10_000);
}
