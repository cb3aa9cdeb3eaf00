use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::error::ErrorClass;

type Owned = (Option<String>, String);
/// What is shown, the body, and its events.
type Case = (
    &'static str,
    &'static [u8],
    &'static [(Option<&'static str>, &'static str)],
);

fn owned(event: SseEvent<'_>) -> Owned {
    (event.event.map(str::to_owned), event.data.to_owned())
}

fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
    let mut parser = SseParser::new();
    let mut events = Vec::new();
    let mut collect = |event: SseEvent<'_>| {
        events.push(owned(event));
        Ok(())
    };
    for piece in pieces {
        parser.push(piece, &mut collect).unwrap();
    }
    parser.finish(&mut collect).unwrap();
    events
}

#[test]
fn lines_and_fields_follow_the_standard() {
    let cases: &[Case] = &[
        (
            "line feeds",
            b"data: a\n\ndata: b\n\n",
            &[(None, "a"), (None, "b")],
        ),
        (
            "carriage returns",
            b"data: a\r\rdata: b\r\r",
            &[(None, "a"), (None, "b")],
        ),
        ("both", b"event: x\r\ndata: a\r\n\r\n", &[(Some("x"), "a")]),
        (
            "joined data",
            b"data: a\ndata:\ndata: b\n\n",
            &[(None, "a\n\nb")],
        ),
        (
            "one space stripped",
            b"data:  a\n\ndata:b\n\n",
            &[(None, " a"), (None, "b")],
        ),
        ("no colon", b"data\n\n", &[(None, "")]),
        ("empty data is an event", b"data:\n\n", &[(None, "")]),
        (
            "no data is none",
            b"event: ping\n\ndata: a\n\n",
            &[(None, "a")],
        ),
        (
            "comments and other fields",
            b": hi\nid: 1\nretry: 2\nfoo: 3\ndata: a\n\n",
            &[(None, "a")],
        ),
        (
            "the last event name counts",
            b"event: x\nevent: y\ndata: a\n\n",
            &[(Some("y"), "a")],
        ),
        (
            "an empty event name is none",
            b"event: x\nevent:\ndata: a\n\n",
            &[(None, "a")],
        ),
        (
            "colons in data",
            b"data: {\"a\":1}\n\n",
            &[(None, "{\"a\":1}")],
        ),
        (
            "byte order mark",
            b"\xEF\xBB\xBFdata: a\n\n",
            &[(None, "a")],
        ),
        (
            "only at the start",
            b"data: a\n\n\xEF\xBB\xBFdata: b\n\n",
            &[(None, "a")],
        ),
        (
            "invalid UTF-8 replaced",
            b"data: a\xFFb\n\n",
            &[(None, "a\u{FFFD}b")],
        ),
        ("blank lines only", b"\n\n\r\n\r\r", &[]),
        (
            "no blank line at the end",
            b"data: a\n\ndata: b\n",
            &[(None, "a"), (None, "b")],
        ),
        (
            "no line end at the end",
            b"event: x\ndata: b",
            &[(Some("x"), "b")],
        ),
        ("an event name alone at the end", b"event: x", &[]),
        ("nothing", b"", &[]),
    ];
    for (name, body, expected) in cases {
        let expected: Vec<Owned> = expected
            .iter()
            .map(|(event, data)| (event.map(str::to_owned), (*data).to_owned()))
            .collect();
        assert_eq!(parse([*body]), expected, "{name}");
        assert_eq!(parse(body.chunks(1)), expected, "{name}, byte by byte");
        // Empty chunks must not disturb a carriage return that waits for its line feed.
        let with_empty = body.chunks(1).flat_map(|byte| [byte, &[] as &[u8]]);
        assert_eq!(parse(with_empty), expected, "{name}, with empty chunks");
    }
}

#[test]
fn an_event_is_handed_out_as_soon_as_its_blank_line_arrives() {
    let mut parser = SseParser::new();
    let mut seen = 0;
    for (piece, expected) in [
        ("data: a\r\n", 0),
        ("\r", 1),
        ("\n", 1),
        ("data: b\n", 1),
        ("\n", 2),
    ] {
        parser
            .push(piece.as_bytes(), |_| {
                seen += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, expected, "after {piece:?}");
    }
}

#[test]
fn a_whole_event_is_not_copied() {
    let body = b"data: hello\n\n";
    let mut parser = SseParser::new();
    let mut inside = false;
    parser
        .push(body, |event| {
            inside = body.as_ptr_range().contains(&event.data.as_ptr());
            Ok(())
        })
        .unwrap();
    assert!(inside, "the data points into the chunk");
}

#[test]
fn an_error_of_the_callback_ends_the_parse() {
    let mut seen = 0;
    let outcome = SseParser::new().push(b"data: a\n\ndata: b\n\n", |_| {
        seen += 1;
        Err(ProviderError::protocol("no"))
    });
    assert_eq!((outcome, seen), (Err(ProviderError::protocol("no")), 1));
}

#[test]
fn an_endless_event_is_an_error() {
    for line_end in ["", "\n"] {
        let mut parser = SseParser::new();
        let chunk = format!("data: {}{line_end}", "x".repeat(LARGEST_EVENT / 2));
        parser.push(chunk.as_bytes(), |_| Ok(())).unwrap();
        let error = parser.push(chunk.as_bytes(), |_| Ok(())).unwrap_err();
        assert_eq!(error.class, ErrorClass::Protocol);
        assert!(error.message.contains("64 MiB"), "{}", error.message);
    }
}

proptest! {
    #[test]
    fn the_split_does_not_matter(
        body in "(data: [ab:]{0,3}|event: x|: c|\u{FEFF}|é)?((\r\n|\r|\n){1,2}(data:[ a]{0,2}|event|é|id:1)?){0,8}",
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let body = body.as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        places.sort_unstable();
        places.push(body.len());
        let mut from = 0;
        let pieces = places.into_iter().map(|place| {
            let piece = &body[from..place];
            from = place;
            piece
        });
        prop_assert_eq!(parse(pieces), parse([body]));
    }
}
