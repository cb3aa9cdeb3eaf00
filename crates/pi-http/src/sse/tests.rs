use pi_protocol::ErrorClass;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

type OwnedEvent = (Option<String>, String);
/// Name, body, and expected events.
type Case = (
    &'static str,
    &'static [u8],
    &'static [(Option<&'static str>, &'static str)],
);

fn owned(event: SseEvent<'_>) -> OwnedEvent {
    (event.event.map(str::to_owned), event.data.to_owned())
}

fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<OwnedEvent> {
    let mut parser = SseParser::new();
    let mut events = Vec::new();
    let mut collect = |event: SseEvent<'_>| {
        events.push(owned(event));
        Ok(())
    };
    for chunk in chunks {
        parser.push(chunk, &mut collect).unwrap();
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
            "no data means no event",
            b"event: ping\n\ndata: a\n\n",
            &[(None, "a")],
        ),
        (
            "comments and other fields",
            b": hi\nid: 1\nretry: 2\nfoo: 3\ndata: a\n\n",
            &[(None, "a")],
        ),
        (
            "the last event name wins",
            b"event: x\nevent: y\ndata: a\n\n",
            &[(Some("y"), "a")],
        ),
        (
            "an empty event name is ignored",
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
            "byte order mark only at the start",
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
        ("only an event name at the end", b"event: x", &[]),
        ("empty body", b"", &[]),
    ];
    for (name, body, expected) in cases {
        let expected: Vec<OwnedEvent> = expected
            .iter()
            .map(|(event, data)| (event.map(str::to_owned), (*data).to_owned()))
            .collect();
        assert_eq!(parse([*body]), expected, "{name}");
        assert_eq!(parse(body.chunks(1)), expected, "{name}, byte by byte");
        // Empty chunks must not affect a carriage return at the end of a chunk.
        let with_empty = body.chunks(1).flat_map(|byte| [byte, &[] as &[u8]]);
        assert_eq!(parse(with_empty), expected, "{name}, with empty chunks");
    }
}

#[test]
fn an_event_is_emitted_as_soon_as_its_blank_line_arrives() {
    let mut parser = SseParser::new();
    let mut seen = 0;
    for (chunk, expected) in [
        ("data: a\r\n", 0),
        ("\r", 1),
        ("\n", 1),
        ("data: b\n", 1),
        ("\n", 2),
    ] {
        parser
            .push(chunk.as_bytes(), |_| {
                seen += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, expected, "after {chunk:?}");
    }
}

#[test]
fn a_complete_event_is_not_copied() {
    let body = b"data: hello\n\n";
    let mut parser = SseParser::new();
    let mut borrowed = false;
    parser
        .push(body, |event| {
            borrowed = body.as_ptr_range().contains(&event.data.as_ptr());
            Ok(())
        })
        .unwrap();
    assert!(borrowed, "the data points into the chunk");
}

#[test]
fn an_error_of_the_callback_stops_parsing() {
    let mut seen = 0;
    let outcome = SseParser::new().push(b"data: a\n\ndata: b\n\n", |_| {
        seen += 1;
        Err(ProviderError::protocol("no"))
    });
    assert_eq!((outcome, seen), (Err(ProviderError::protocol("no")), 1));
}

#[test]
fn an_oversized_event_is_an_error() {
    for line_end in ["", "\n"] {
        let mut parser = SseParser::new();
        let chunk = format!("data: {}{line_end}", "x".repeat(MAX_EVENT / 2));
        parser.push(chunk.as_bytes(), |_| Ok(())).unwrap();
        let error = parser.push(chunk.as_bytes(), |_| Ok(())).unwrap_err();
        assert_eq!(error.class, ErrorClass::Protocol);
        assert!(error.message.contains("64 MiB"), "{}", error.message);
    }
}

proptest! {
    #[test]
    fn any_split_yields_the_same_events(
        body in "(data: [ab:]{0,3}|event: x|: c|\u{FEFF}|é)?((\r\n|\r|\n){1,2}(data:[ a]{0,2}|event|é|id:1)?){0,8}",
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let body = body.as_bytes();
        let mut cut_offsets: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cut_offsets.sort_unstable();
        cut_offsets.push(body.len());
        let mut from = 0;
        let chunks = cut_offsets.into_iter().map(|end| {
            let chunk = &body[from..end];
            from = end;
            chunk
        });
        prop_assert_eq!(parse(chunks), parse([body]));
    }
}

#[test]
fn the_position_follows_the_fields_id_and_retry() {
    let mut parser = SseParser::new();
    let body = b"id: 7\nretry: 10\ndata: a\n\nid: a\0b\nretry: soon\ndata: b\n\nid\n";
    let (first, rest) = body.split_at(19);
    parser.push(first, |_| Ok(())).unwrap();
    let position = SsePosition {
        last_event_id: Some("7".to_owned()),
        retry: Some(Duration::from_millis(10)),
    };
    assert_eq!(parser.position(), &position);
    parser.push(&rest[..rest.len() - 3], |_| Ok(())).unwrap();
    assert_eq!(parser.position(), &position, "invalid values are ignored");
    parser.push(&rest[rest.len() - 3..], |_| Ok(())).unwrap();
    assert_eq!(parser.position().last_event_id.as_deref(), Some(""));
}
