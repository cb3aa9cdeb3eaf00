use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn assert_parses(cases: &[(&str, Value)]) {
    for (text, expected) in cases {
        assert_eq!(&Value::Object(parse_object(text)), expected, "{text}");
    }
}

#[test]
fn a_truncated_object_holds_the_known_members() {
    assert_parses(&[
        ("", json!({})),
        ("  ", json!({})),
        ("{", json!({})),
        (r#"{"a"#, json!({})),
        (r#"{"a""#, json!({})),
        (r#"{"a": "#, json!({})),
        (r#"{"a":"x"#, json!({"a": "x"})),
        (r#"{"a":"x","#, json!({"a": "x"})),
        (r#"{"a":"x","b"#, json!({"a": "x"})),
        (r#"{"a":[1,{"b":["#, json!({"a": [1, {"b": []}]})),
        (r#"{"a":{"b":"c"}"#, json!({"a": {"b": "c"}})),
    ]);
}

#[test]
fn a_truncated_literal_or_number_is_parsed_if_unambiguous() {
    assert_parses(&[
        (r#"{"a":t"#, json!({"a": true})),
        (r#"{"a":fals"#, json!({"a": false})),
        (r#"{"a":nu"#, json!({"a": null})),
        (r#"{"a":12"#, json!({"a": 12})),
        (r#"{"a":12."#, json!({"a": 12})),
        (r#"{"a":-"#, json!({})),
        (r#"{"a":-1"#, json!({"a": -1})),
        (r#"{"a":1.5e"#, json!({"a": 1.5})),
        (r#"{"a":1e+"#, json!({"a": 1})),
        (r#"{"a":[1,-"#, json!({"a": [1]})),
    ]);
}

#[test]
fn a_truncated_escape_is_left_out() {
    assert_parses(&[
        (r#"{"a":"x\"#, json!({"a": "x"})),
        (r#"{"a":"x\u"#, json!({"a": "x"})),
        (r#"{"a":"x\u00e"#, json!({"a": "x"})),
        (r#"{"a":"x\u00e9"#, json!({"a": "xé"})),
        (r#"{"a":"x\ud83d"#, json!({"a": "x"})),
        (r#"{"a":"x\ud83d\"#, json!({"a": "x"})),
        (r#"{"a":"x\ud83d\ude"#, json!({"a": "x"})),
        (r#"{"a":"x\ud83d\ude00"#, json!({"a": "x😀"})),
    ]);
}

#[test]
fn common_mistakes_of_models_are_accepted() {
    assert_parses(&[
        ("{\"a\":\"x\ny\tz\u{1}\"}", json!({"a": "x\ny\tz\u{1}"})),
        (r#"{"a":"C:\users\q\d"}"#, json!({"a": "C:\\users\\q\\d"})),
        (r#"{"a":"\u12zz"}"#, json!({"a": "\\u12zz"})),
        (
            r#"{"a":"\ud83dx\ude00"}"#,
            json!({"a": "\u{fffd}x\u{fffd}"}),
        ),
        (r#"{"a":"\ud83d\n"}"#, json!({"a": "\u{fffd}\n"})),
        (r#"{"a":"\ud83d\ud83d\ude00"}"#, json!({"a": "\u{fffd}😀"})),
        (
            r#"{"a":[1,],"b":"x" "c":2,}"#,
            json!({"a": [1], "b": "x", "c": 2}),
        ),
        (
            r#"{"a":NaN,"b":-Infinity,"c":1e999,"d":007,"e":.5}"#,
            json!({"a": null, "b": null, "c": null, "d": 7.0, "e": 0.5}),
        ),
        (r#"{"a":1} and some words"#, json!({"a": 1})),
        (r#"{"a":1}{"b":2}"#, json!({"a": 1})),
        (r#"{"a":1,"a":2}"#, json!({"a": 2})),
    ]);
}

#[test]
fn malformed_text_stops_parsing() {
    assert_parses(&[
        (r#"{"a":1,b:2}"#, json!({"a": 1})),
        (r#"{"a":{"b":@},"c":1}"#, json!({"a": {}})),
        (r#"{"a" 1}"#, json!({})),
        (r#"{"a":1.2.3,"b":1}"#, json!({})),
        (r#"["a"]"#, json!({})),
        (r#""a""#, json!({})),
        ("12", json!({})),
        ("null", json!({})),
        ("é{}", json!({})),
    ]);
}

#[test]
fn depth_is_bounded() {
    for opening in ["[", "{\"a\":"] {
        let object = parse_object(&format!(
            "{{\"before\":1,\"deep\":{}",
            opening.repeat(100_000)
        ));
        assert_eq!(object["before"], 1);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
        ".*".prop_map(Value::from),
        "[\\x00-\\x1f\"\\\\/u0-9😀]*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[a-d\"\\\\é]{0,3}", inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Serializes a value with every non-ASCII character escaped.
fn ascii_json(value: &Value) -> String {
    let mut text = String::new();
    for unit in value.to_string().encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => text.push(char::from(byte)),
            _ => text.extend(format!("\\u{unit:04x}").chars()),
        }
    }
    text
}

/// Whether the later value only extends the earlier one. Numbers and literals may change until they
/// end.
fn extends_to(earlier: &Value, later: &Value) -> bool {
    match (earlier, later) {
        (Value::Object(earlier), Value::Object(later)) => earlier
            .iter()
            .all(|(key, value)| later.get(key).is_some_and(|later| extends_to(value, later))),
        (Value::Array(earlier), Value::Array(later)) => {
            earlier.len() <= later.len()
                && earlier
                    .iter()
                    .zip(later)
                    .all(|(earlier, later)| extends_to(earlier, later))
        }
        (Value::String(earlier), Value::String(later)) => later.starts_with(earlier),
        (earlier, later) => std::mem::discriminant(earlier) == std::mem::discriminant(later),
    }
}

proptest! {
    #[test]
    fn complete_json_parses_like_serde_json(value in any_json()) {
        let object = json!({"value": value});
        for text in [object.to_string(), ascii_json(&object), format!(" {object:#} ")] {
            let expected: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(Value::Object(parse_object(&text)), expected);
        }
    }

    #[test]
    fn every_prefix_parses_and_only_grows(value in any_json()) {
        // Duplicate keys would replace each other.
        let text = ascii_json(&json!({"value": value}));
        let mut earlier = json!({});
        for end in 0..=text.len() {
            let later = Value::Object(parse_object(text.get(..end).unwrap()));
            prop_assert!(extends_to(&earlier, &later), "{earlier} then {later} at {end} of {text}");
            earlier = later;
        }
    }

    #[test]
    fn no_text_panics(text in ".*", noise in "[{}\\[\\]\",:\\\\u0-9a-f.e+\\-tn]*") {
        parse_object(&text);
        parse_object(&noise);
        parse_object(&format!("{{\"a\":{noise}"));
        parse_object(&format!("{{\"a\":\"{noise}"));
    }
}
