//! The scanner accepts the same JSON as a real parser and finds the same fields.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn scan(line: &str) -> ScannedLine<'_> {
    Scanner::default().scan(line.as_bytes())
}

#[test]
fn fields_are_found_in_any_position() {
    let expected = LineFields {
        type_name: Some("message".into()),
        id: Some("a1".into()),
        parent_id: Some("b2".into()),
        timestamp: Some("t".into()),
        role: Some("user".into()),
        message_timestamp: Some(12),
        message: None,
    };
    for line in [
        r#"{"type":"message","id":"a1","parentId":"b2","timestamp":"t","message":{"role":"user","content":"x","timestamp":12}}"#,
        r#" { "message" : { "content" : [ { "role" : "no", "id": "no" } ] , "timestamp" : 1.2e1, "role" : "user" } , "timestamp" : "t" , "x" : {"type":"no"}, "parentId" : "b2" , "id" : "a1" , "type" : "message" } "#,
        "{\"type\":\"message\",\"id\":\"a\\u0031\",\"parentId\":\"b2\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\",\"timestamp\":12}}\r\n",
        r#"{"t\u0079pe":"message","\u0069d":"a1","parent\u0049d":"b2","timestamp":"t","mess\u0061ge":{"r\u006fle":"user","timestamp":12}}"#,
        r#"{"type":"no","id":"no","type":"message","id":"a1","parentId":"b2","timestamp":"t","message":{"role":"no"},"message":{"timestamp":12,"role":"user"}}"#,
    ] {
        let ScannedLine::Object(mut fields) = scan(line) else {
            panic!("{line}");
        };
        let message = fields.message.take().unwrap();
        assert_eq!(fields, expected, "{line}");
        let message: Value = serde_json::from_slice(message).unwrap();
        let parsed: Value = serde_json::from_str(line).unwrap();
        assert_eq!(message, parsed["message"], "{line}");
    }
}

#[test]
fn fields_of_other_types_are_absent() {
    assert_eq!(
        scan(r#"{"type":1,"id":null,"parentId":{"a":"b"},"timestamp":[],"message":"user"}"#),
        ScannedLine::Object(LineFields::default())
    );
}

#[test]
fn lines_that_are_not_objects() {
    for (line, expected) in [
        ("", ScannedLine::Blank),
        (" \t\r\n", ScannedLine::Blank),
        ("null", ScannedLine::Blank),
        ("42", ScannedLine::Scalar),
        (r#""text""#, ScannedLine::Scalar),
        ("[1,2]", ScannedLine::Scalar),
    ] {
        assert_eq!(scan(line), expected, "{line}");
    }
}

#[test]
fn invalid_json_is_malformed() {
    for line in [
        "hello",
        "{",
        r#"{"type"}"#,
        r#"{"type":}"#,
        r#"{"type":"a",}"#,
        r#"{"a":1 "b":2}"#,
        r#"{"a":[1,2}"#,
        r#"{"a":[1,]}"#,
        r#"{"a":01}"#,
        r#"{"a":-}"#,
        r#"{"a":1.}"#,
        r#"{"a":tru}"#,
        r#"{"a":"\x"}"#,
        r#"{"a":"\u12g4"}"#,
        r#"{"a":"open}"#,
        r#"{"a":1}{"b":2}"#,
        r"{'a':1}",
        "{\"a\":1}\u{2028}",
    ] {
        assert_eq!(scan(line), ScannedLine::Malformed, "{line}");
        assert!(serde_json::from_str::<Value>(line).is_err(), "{line}");
    }
}

#[test]
fn nesting_uses_no_stack() {
    let depth = 1_000_000;
    let line = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(matches!(scan(&line), ScannedLine::Object(_)));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::hash_map("type|id|message|role|timestamp|.{0,3}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn text<'value>(value: &'value Value, name: &str) -> Option<&'value str> {
    value.get(name).and_then(Value::as_str)
}

proptest! {
    #[test]
    fn scanner_and_parser_agree_on_valid_json(value in json()) {
        let line = value.to_string();
        match scan(&line) {
            ScannedLine::Object(fields) => {
                prop_assert!(value.is_object());
                prop_assert_eq!(fields.type_name.as_deref(), text(&value, "type"));
                prop_assert_eq!(fields.id.as_deref(), text(&value, "id"));
                let role = value.get("message").and_then(|message| text(message, "role"));
                prop_assert_eq!(fields.role.as_deref(), role);
            }
            ScannedLine::Scalar => prop_assert!(!value.is_object() && !value.is_null()),
            ScannedLine::Blank => prop_assert!(value.is_null()),
            ScannedLine::Malformed => prop_assert!(false, "{}", line),
        }
    }

    #[test]
    fn scanner_and_parser_agree_on_damaged_json(
        value in json(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"{}[],:\"0e.- ntx\\".to_vec()),
    ) {
        let mut line = value.to_string().into_bytes();
        let at = at.index(line.len());
        for changed in [true, false] {
            if changed { line[at] = byte } else { line.truncate(at) }
            let malformed = Scanner::default().scan(&line) == ScannedLine::Malformed;
            let parsed = serde_json::from_slice::<Value>(&line);
            // The scanner does not validate number ranges and text encoding.
            if let Err(error) = &parsed && (error.to_string().contains("number out of range")
                || error.to_string().contains("surrogate") || error.to_string().contains("hex escape")
                || std::str::from_utf8(&line).is_err() || error.to_string().contains("control character")) {
                continue;
            }
            let blank = line.iter().all(u8::is_ascii_whitespace);
            prop_assert_eq!(malformed, parsed.is_err() && !blank, "{}", String::from_utf8_lossy(&line));
        }
    }
}
