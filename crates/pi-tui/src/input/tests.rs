use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

const LEGACY: KeyboardMode = KeyboardMode {
    kitty: false,
    backspace_is_ctrl: false,
};
const KITTY: KeyboardMode = KeyboardMode {
    kitty: true,
    backspace_is_ctrl: false,
};
const WINDOWS_TERMINAL: KeyboardMode = KeyboardMode {
    kitty: false,
    backspace_is_ctrl: true,
};

fn decode(bytes: &[u8], mode: KeyboardMode) -> Vec<InputEvent> {
    let now = Instant::now();
    let mut decoder = InputDecoder::new(InputTiming::default(), mode);
    let mut events = decoder.push(bytes, now);
    events.extend(decoder.expire(now + Duration::from_secs(1)));
    events
}

/// Decodes `bytes` as exactly one key event.
fn key(bytes: &[u8], mode: KeyboardMode) -> KeyEvent {
    match decode(bytes, mode).as_slice() {
        [InputEvent::Key(key)] => key.clone(),
        other => panic!("{} gave {other:?}", bytes.escape_ascii()),
    }
}

/// Asserts that each sequence matches all keys listed next to it, and that the first one is its ID.
fn assert_keys(mode: KeyboardMode, table: &[(&[u8], &str)]) {
    for (bytes, names) in table {
        let event = key(bytes, mode);
        assert_eq!(event.raw(), *bytes);
        for (index, name) in names.split(' ').enumerate() {
            let id: KeyId = name.parse().unwrap();
            assert!(
                event.is(id),
                "{} is {:?}, not {name}",
                bytes.escape_ascii(),
                event
            );
            if index == 0 {
                assert_eq!(event.id(), Some(id), "{}", bytes.escape_ascii());
            }
        }
    }
}

#[test]
fn control_bytes() {
    assert_keys(
        LEGACY,
        &[
            (b"\x00", "ctrl+space"),
            (b"\x01", "ctrl+a"),
            (b"\x1a", "ctrl+z"),
            (b"\x08", "backspace ctrl+h"),
            (b"\t", "tab ctrl+i"),
            (b"\n", "enter ctrl+j"),
            (b"\r", "enter ctrl+m"),
            (b"\x1b", "escape ctrl+["),
            (b"\x1c", "ctrl+\\"),
            (b"\x1d", "ctrl+]"),
            (b"\x1e", "ctrl+^"),
            (b"\x1f", "ctrl+- ctrl+_"),
            (b"\x7f", "backspace"),
            (b" ", "space"),
            (b"a", "a"),
            (b"A", "shift+a"),
            (b"7", "7"),
            (b"?", "?"),
            (b"+", "+"),
        ],
    );
    assert_keys(KITTY, &[(b"\n", "shift+enter ctrl+j"), (b"\r", "enter")]);
}

#[test]
fn alt_as_escape_prefix() {
    assert_keys(
        LEGACY,
        &[
            (b"\x1ba", "alt+a"),
            (b"\x1bA", "shift+alt+a"),
            (b"\x1b1", "alt+1"),
            (b"\x1b/", "alt+/"),
            (b"\x1b ", "alt+space"),
            (b"\x1b\r", "alt+enter ctrl+alt+m"),
            (b"\x1b\x7f", "alt+backspace"),
            (b"\x1b\x08", "alt+backspace ctrl+alt+h"),
            (b"\x1b\t", "alt+tab ctrl+alt+i"),
            (b"\x1b\x01", "ctrl+alt+a"),
            (b"\x1b\x1d", "ctrl+alt+]"),
            (b"\x1b\x1f", "ctrl+alt+-"),
            (b"\x1b\x1b", "ctrl+alt+[ escape"),
            (b"\x1b[", "alt+["),
            (b"\x1b]", "alt+]"),
            (b"\x1bO", "shift+alt+o"),
        ],
    );
    assert_keys(
        KITTY,
        &[
            (b"\x1b\r", "shift+enter"),
            (b"\x1b\x7f", "alt+backspace"),
            (b"\x1bb", "alt+left"),
            (b"\x1bf", "alt+right"),
        ],
    );
    assert_eq!(key(b"\x1bx", KITTY).id(), None);
    assert_eq!(key("\x1bé".as_bytes(), LEGACY).text(), None);
}

#[test]
fn apple_terminal_and_iterm() {
    assert_keys(
        LEGACY,
        &[
            (b"\x1bb", "alt+left alt+b"),
            (b"\x1bf", "alt+right alt+f"),
            (b"\x1bp", "alt+up alt+p"),
            (b"\x1bn", "alt+down alt+n"),
            (b"\x1bB", "alt+left shift+alt+b"),
            (b"\x1bF", "alt+right shift+alt+f"),
            (b"\x1b\x1b[A", "alt+up"),
            (b"\x1b\x1b[D", "alt+left"),
            (b"\x1b[1;2D", "shift+left"),
            (b"\x1b[H", "home"),
            (b"\x1b[F", "end"),
            (b"\x1b[3~", "delete"),
            (b"\x1bOP", "f1"),
        ],
    );
}

#[test]
fn xterm() {
    assert_keys(
        LEGACY,
        &[
            (b"\x1b[A", "up"),
            (b"\x1bOB", "down"),
            (b"\x1b[1;2C", "shift+right"),
            (b"\x1b[1;3D", "alt+left"),
            (b"\x1b[1;5A", "ctrl+up"),
            (b"\x1b[1;6B", "ctrl+shift+down"),
            (b"\x1b[1;7C", "ctrl+alt+right"),
            (b"\x1b[1;5H", "ctrl+home"),
            (b"\x1bOF", "end"),
            (b"\x1b[E", "clear"),
            (b"\x1b[Z", "shift+tab"),
            (b"\x1b[1;5Z", "ctrl+shift+tab"),
            (b"\x1b[2~", "insert"),
            (b"\x1b[3;5~", "ctrl+delete"),
            (b"\x1b[3;3~", "alt+delete"),
            (b"\x1b[5~", "pageUp"),
            (b"\x1b[6;5~", "ctrl+pageDown"),
            (b"\x1bOP", "f1"),
            (b"\x1bOS", "f4"),
            (b"\x1b[1;2P", "shift+f1"),
            (b"\x1b[1;5R", "ctrl+f3"),
            (b"\x1b[15~", "f5"),
            (b"\x1b[17~", "f6"),
            (b"\x1b[21;5~", "ctrl+f10"),
            (b"\x1b[24~", "f12"),
            (b"\x1bOM", "enter"),
            (b"\x1bOj", "*"),
            (b"\x1bOk", "+"),
            (b"\x1bOm", "-"),
            (b"\x1bOo", "/"),
            (b"\x1bOp", "0"),
            (b"\x1bOy", "9"),
            (b"\x1bOX", "="),
            (b"\x1bO5A", "ctrl+up"),
            (b"\x1bO1;3P", "alt+f1"),
        ],
    );
    assert_eq!(key(b"\x1bOp", LEGACY).text(), Some('0'));
}

#[test]
fn xterm_modify_other_keys_and_tmux() {
    assert_keys(
        LEGACY,
        &[
            (b"\x1b[27;5;97~", "ctrl+a"),
            (b"\x1b[27;6;65~", "ctrl+shift+a"),
            (b"\x1b[27;6;97~", "ctrl+shift+a"),
            (b"\x1b[27;2;13~", "shift+enter"),
            (b"\x1b[27;3;13~", "alt+enter"),
            (b"\x1b[27;5;9~", "ctrl+tab"),
            (b"\x1b[27;2;9~", "shift+tab"),
            (b"\x1b[27;5;127~", "ctrl+backspace"),
            (b"\x1b[27;1;27~", "escape"),
            (b"\x1b[27;5;32~", "ctrl+space"),
            (b"\x1b[27;7;93~", "ctrl+alt+]"),
            (b"\x1b[27;2;33~", "shift+! !"),
            (b"\x1b[27;5;45~", "ctrl+-"),
            (b"\x1b[97;5u", "ctrl+a"),
            (b"\x1b[13;2u", "shift+enter"),
            (b"\x1b[1;5A", "ctrl+up"),
        ],
    );
    assert_eq!(key(b"\x1b[27;2;65~", LEGACY).text(), Some('A'));
    assert!(!key(b"\x1b[27;6;45~", LEGACY).is("ctrl+-".parse().unwrap()));
    assert_eq!(key(b"\x1b[27;5;97~", LEGACY).text(), None);
}

#[test]
fn rxvt_linux_console_and_putty() {
    assert_keys(
        LEGACY,
        &[
            (b"\x1b[a", "shift+up"),
            (b"\x1b[d", "shift+left"),
            (b"\x1b[e", "shift+clear"),
            (b"\x1bOa", "ctrl+up"),
            (b"\x1bOd", "ctrl+left"),
            (b"\x1bOe", "ctrl+clear"),
            (b"\x1b[2$", "shift+insert"),
            (b"\x1b[3^", "ctrl+delete"),
            (b"\x1b[5@", "ctrl+shift+pageUp"),
            (b"\x1b[7~", "home"),
            (b"\x1b[8~", "end"),
            (b"\x1b[7$", "shift+home"),
            (b"\x1b[8^", "ctrl+end"),
            (b"\x1b[11~", "f1"),
            (b"\x1b[14~", "f4"),
            (b"\x1b\x1bOA", "alt+up"),
            (b"\x1b\x1b[3~", "alt+delete"),
            (b"\x1b\x1b[7^", "ctrl+alt+home"),
            (b"\x1b[1~", "home"),
            (b"\x1b[4~", "end"),
            (b"\x1b[[A", "f1"),
            (b"\x1b[[E", "f5"),
            (b"\x1b[[5~", "pageUp"),
            (b"\x1b[[6~", "pageDown"),
        ],
    );
}

#[test]
fn kitty_protocol() {
    assert_keys(
        KITTY,
        &[
            (b"\x1b[27u", "escape"),
            (b"\x1b[27;1:1u", "escape"),
            (b"\x1b[97;5u", "ctrl+a"),
            (b"\x1b[97;133u", "ctrl+a"),
            (b"\x1b[97;69u", "ctrl+a"),
            (b"\x1b[97:65;2u", "shift+a"),
            (b"\x1b[65;6u", "ctrl+shift+a"),
            (b"\x1b[97;9u", "super+a"),
            (b"\x1b[97;16u", "shift+alt+ctrl+super+a"),
            (b"\x1b[13;2u", "shift+enter"),
            (b"\x1b[57414;2u", "shift+enter"),
            (b"\x1b[9;2u", "shift+tab"),
            (b"\x1b[127;5u", "ctrl+backspace"),
            (b"\x1b[32;5u", "ctrl+space"),
            (b"\x1b[47:63;2u", "shift+/ ?"),
            (b"\x1b[45:95;6u", "ctrl+shift+- ctrl+_"),
            (b"\x1b[1089::99;5u", "ctrl+c"),
            (b"\x1b[107::118;5u", "ctrl+k"),
            (b"\x1b[47::91;5u", "ctrl+/"),
            (b"\x1b[1;1:2A", "up"),
            (b"\x1b[1;5:3D", "ctrl+left"),
            (b"\x1b[3;1:3~", "delete"),
            (b"\x1b[1;129H", "home"),
            (b"\x1b[13~", "f3"),
            (b"\x1b[1;2P", "shift+f1"),
            (b"\x1b[57417u", "left"),
            (b"\x1b[57424u", "end"),
            (b"\x1b[57399u", "0"),
            (b"\x1b[57413u", "+"),
            (b"\x1b[57364u", "f1"),
            (b"\x1b[57427u", "clear"),
        ],
    );
    let text = |bytes: &[u8]| key(bytes, KITTY).text();
    assert_eq!(text(b"\x1b[97u"), Some('a'));
    assert_eq!(text(b"\x1b[97:65;2u"), Some('A'));
    assert_eq!(text(b"\x1b[97;2u"), Some('A'));
    assert_eq!(text(b"\x1b[97;65u"), Some('A'));
    assert_eq!(text(b"\x1b[47:63;2u"), Some('?'));
    assert_eq!(text(b"\x1b[1089;1u"), Some('с'));
    assert_eq!(text(b"\x1b[97;2;228u"), Some('ä'));
    assert_eq!(text(b"\x1b[57399;129u"), Some('0'));
    assert_eq!(text(b"\x1b[32u"), Some(' '));
    for bytes in [
        &b"\x1b[97;5u"[..],
        b"\x1b[97;3u",
        b"\x1b[97;9u",
        b"\x1b[97;1:3u",
        b"\x1b[57358u",
        b"\x1b[27u",
        b"\x1b[13u",
        b"\x1b[57441;2u",
        b"\x1b[1114112u",
        b"\x1b[55296u",
    ] {
        assert_eq!(text(bytes), None, "{}", bytes.escape_ascii());
    }
    // Hyper and Meta have no name.
    assert_eq!(key(b"\x1b[97;17u", KITTY).id(), None);
    assert_eq!(key(b"\x1b[1;33A", KITTY).id(), None);
}

#[test]
fn kitty_event_kinds() {
    assert_eq!(key(b"\x1b[97;1:1u", KITTY).kind(), KeyEventKind::Press);
    assert_eq!(key(b"\x1b[97;1:2u", KITTY).kind(), KeyEventKind::Repeat);
    assert!(key(b"\x1b[97;1:3u", KITTY).is_release());
    assert!(key(b"\x1b[1;1:3F", KITTY).is_release());
    assert!(
        decode(b"\x1b[5;1:3~", KITTY)
            .iter()
            .all(InputEvent::is_key_release)
    );
    // A paste that contains text resembling a release is not a release.
    assert!(
        !decode(b"\x1b[200~90:62:3F:A5\x1b[201~", KITTY)
            .iter()
            .any(InputEvent::is_key_release)
    );
}

#[test]
fn wezterm_escape_press_and_release() {
    let events = decode(b"\x1b\x1b[27;1:3u", KITTY);
    let [InputEvent::Key(press), InputEvent::Key(release)] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert!(press.is("escape".parse().unwrap()) && !press.is_release());
    assert!(release.is("escape".parse().unwrap()) && release.is_release());
}

#[test]
fn windows_terminal() {
    assert_keys(
        WINDOWS_TERMINAL,
        &[
            (b"\x08", "ctrl+backspace ctrl+h"),
            (b"\x7f", "backspace"),
            (b"\x1b[Z", "shift+tab"),
            (b"\x1b[1;5C", "ctrl+right"),
            (b"\x1b\r", "alt+enter"),
            (b"\x1b[3;2~", "shift+delete"),
        ],
    );
}

#[test]
fn windows_terminal_is_detected_unless_remote() {
    let mode = |set: &[&str]| {
        KeyboardMode::from_environment(|name| set.contains(&name).then(|| "1".to_owned()))
    };
    assert_eq!(mode(&["WT_SESSION"]), WINDOWS_TERMINAL);
    assert_eq!(mode(&["WT_SESSION", "SSH_TTY"]), LEGACY);
    assert_eq!(mode(&[]), LEGACY);
}

#[test]
fn typed_text_arrives_by_character() {
    let typed: String = decode("aÄ漢👨‍👩 \"".as_bytes(), LEGACY)
        .iter()
        .map(|event| match event {
            InputEvent::Key(key) => key.text().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(typed, "aÄ漢👨‍👩 \"");
    assert_eq!(KeyEvent::typed('x').text(), Some('x'));
    assert_eq!(KeyEvent::typed('X').id(), Some("shift+x".parse().unwrap()));
    assert_eq!(key("\u{85}".as_bytes(), LEGACY).text(), None);
}

#[test]
fn a_character_reported_twice_is_typed_once() {
    let typed = |bytes: &[u8]| -> String {
        decode(bytes, KITTY)
            .iter()
            .filter_map(|event| match event {
                InputEvent::Key(key) => key.text(),
                _ => None,
            })
            .collect()
    };
    assert_eq!(typed(b"\x1b[97ua"), "a");
    assert_eq!(typed(b"\x1b[97uaa"), "aa");
    assert_eq!(typed(b"\x1b[97ub"), "ab");
    assert_eq!(typed(b"\x1b[97ubba"), "abba");
    assert_eq!(typed("\x1b[228uä".as_bytes()), "ä");
    assert_eq!(typed(b"\x1b[97;1:1ua"), "aa");
    assert_eq!(typed(b"\x1b[97u\x1b[97u"), "aa");
    assert_eq!(typed(b"\x1b[97u\x1b[200~\x1b[201~a"), "aa");
}

#[test]
fn non_key_input_is_distinguished() {
    assert_eq!(
        decode(b"\x1b[I\x1b[O", LEGACY),
        [
            InputEvent::Focus(FocusChange::Gained),
            InputEvent::Focus(FocusChange::Lost)
        ]
    );
    assert_eq!(
        decode(b"\x1b[?7u\x1b[?62;4c", LEGACY),
        [
            InputEvent::Reply(TerminalReply::KittyKeyboard(7)),
            InputEvent::Reply(TerminalReply::DeviceAttributes(vec![62, 4]))
        ]
    );
    assert_eq!(
        decode(b"\x1b[<64;3;4M", LEGACY),
        [InputEvent::Mouse(MouseReport {
            code: 64,
            released: false,
            column: 2,
            row: 3
        })]
    );
    let paste = decode("\x1b[200~é\n\x1b[201~".as_bytes(), LEGACY);
    assert_eq!(
        paste,
        [InputEvent::Paste(Paste {
            text: "é\n".into()
        })]
    );
    assert_eq!(&*paste[0].raw(), "\x1b[200~é\n\x1b[201~".as_bytes());
    assert_eq!(
        decode(b"\x1b[99~", LEGACY),
        [InputEvent::Unknown(b"\x1b[99~".to_vec())]
    );
    assert_eq!(
        decode(b"\x1b[5;5;5A", LEGACY),
        [InputEvent::Unknown(b"\x1b[5;5;5A".to_vec())]
    );
    assert_eq!(
        decode(b"\xff", LEGACY),
        [InputEvent::Unknown(b"\xff".to_vec())]
    );
}

#[test]
fn unterminated_sequences_use_bounded_memory() {
    let long = 10 * 1024 * 1024;
    for introducer in [&b"\x1b]0;"[..], b"\x1b[", b"\x1bO", b"\x1b[["] {
        let bytes = [introducer, &vec![b'1'; long]].concat();
        let events = decode(&bytes, LEGACY);
        assert!(matches!(events.as_slice(), [InputEvent::Unknown(raw)] if raw.len() < 100_000));
    }
    let pastes = b"\x1b[200~\x1b[201~".repeat(100_000);
    assert_eq!(decode(&pastes, LEGACY).len(), 100_000);
}

#[test]
fn random_bytes_are_decoded() {
    // xorshift: the same bytes on every run.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let common_bytes = b"\x1b[]OP_?<>;:0123459uM~Am\\\x07\x7f\xc3\xa9";
    let now = Instant::now();
    let mut decoder = InputDecoder::new(InputTiming::default(), LEGACY);
    let mut events = 0;
    for round in 0..10_000_u64 {
        let chunk: Vec<u8> = (0..100)
            .map(|_| {
                let random = next();
                let byte = random.to_le_bytes()[1];
                if random & 1 == 0 {
                    byte
                } else {
                    common_bytes[usize::from(byte) % common_bytes.len()]
                }
            })
            .collect();
        events += decoder
            .push(&chunk, now + Duration::from_millis(round * 200))
            .len();
        if round % 3 == 0 {
            events += decoder
                .expire(now + Duration::from_millis(round * 200 + 199))
                .len();
        }
    }
    assert!(events > 100_000, "{events}");
}

/// Bytes of a busy keyboard.
fn keyboard_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            &b"\x1b"[..],
            b"\x1b[A",
            b"\x1b[1;5D",
            b"\x1bOP",
            b"\x1b[97;5u",
            b"\x1b[97u",
            b"a",
            b"\x1b[27u",
            b"\x1b[200~",
            b"\x1b[201~",
            b"\x1b[<0;1;1M",
            b"\x1b[M !!",
            b"\x1b]11;rgb:0/0/0\x07",
            b"\x1b\\",
            b"\x1b[?62c",
            b"\xc3\xa9",
            b"\xf0\x9f\x91\x8d",
            b"\x1b_G",
            b"\x1b[[A",
            b"\x1b[3$",
            b"\r",
            b"\x18",
        ])
        .prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn splitting_input_gives_the_same_events(
        bytes in keyboard_bytes(),
        splits in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let now = Instant::now();
        let mut cuts: Vec<usize> = splits.iter().map(|split| split.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut decoder = InputDecoder::new(InputTiming::default(), LEGACY);
        let mut events = Vec::new();
        for cut in cuts.windows(2) {
            events.extend(decoder.push(&bytes[cut[0]..cut[1]], now));
        }
        events.extend(decoder.expire(now + Duration::from_secs(1)));
        prop_assert_eq!(events, decode(&bytes, LEGACY));
    }
}
