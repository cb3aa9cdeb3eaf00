use std::path::Path;

use insta::assert_snapshot;
use pi_http::ResponseHead;
use pi_protocol::{ErrorClass, Model};
use pi_providers::StreamOptions;
use pi_providers::wire::testing::{self, NOW, lines};
use pi_providers::wire::{Decoder, HttpProtocol};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::BedrockConverse;

/// Encodes a fixture: one frame per line, `event-type payload`, or `!exception-type payload`.
pub(super) fn body(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/bedrock-converse-stream")
        .join(name)
        .with_extension("frames");
    encoded(&std::fs::read_to_string(path).unwrap())
}

fn encoded(frames: &str) -> Vec<u8> {
    use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
    let mut bytes = Vec::new();
    for line in frames.lines() {
        let (name, payload) = line.split_once(' ').unwrap();
        let (kind, name) = match name.strip_prefix('!') {
            Some(name) => ("exception", name),
            None => ("event", name),
        };
        let headers = [
            (format!(":{kind}-type"), name),
            (":content-type".to_owned(), "application/json"),
            (":message-type".to_owned(), kind),
        ];
        let message = headers.into_iter().fold(
            Message::new(payload.as_bytes().to_vec()),
            |message, (name, value)| {
                let value = HeaderValue::String(value.to_owned().into());
                message.add_header(Header::new(name, value))
            },
        );
        aws_smithy_eventstream::frame::write_message_to(&message, &mut bytes).unwrap();
    }
    bytes
}

fn model() -> Model {
    testing::model("bedrock-converse-stream", json!({}))
}

fn decoder() -> Box<dyn Decoder> {
    let request = testing::request(model(), json!([]), StreamOptions::default());
    BedrockConverse::default().decoder(&request)
}

fn events(body: &[u8]) -> Vec<Value> {
    testing::decode(decoder(), &model(), [body])
}

fn failure(body: &[u8]) -> String {
    let events = events(body);
    let error = &events.last().unwrap()["error"];
    error["errorMessage"].as_str().unwrap().to_owned()
}

#[test]
fn text_starts_with_its_first_delta() {
    assert_snapshot!(lines(&events(&body("text"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Grüße"}
    {"type":"text_delta","contentIndex":0,"delta":" aus 東京 😀"}
    {"type":"text_end","contentIndex":0,"content":"Grüße aus 東京 😀"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"Grüße aus 東京 😀"}],"api":"bedrock-converse-stream","provider":"mock","model":"alpha","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{"input":0.00003,"output":0.00007500000000000001,"cacheRead":0,"cacheWrite":0,"total":0.000105,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"end_turn","timestamp":1700000000000}}
    "##);
}

#[test]
fn thinking_is_signed_or_encrypted() {
    assert_snapshot!(lines(&events(&body("thinking"))), @r##"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"two "}
    {"type":"thinking_delta","contentIndex":0,"delta":"steps"}
    {"type":"thinking_end","contentIndex":0,"content":"two steps"}
    {"type":"thinking_start","contentIndex":1}
    {"type":"thinking_delta","contentIndex":1,"delta":"[Reasoning redacted]"}
    {"type":"thinking_end","contentIndex":1,"content":"[Reasoning redacted]"}
    {"type":"text_start","contentIndex":2}
    {"type":"text_delta","contentIndex":2,"delta":"done"}
    {"type":"text_end","contentIndex":2,"content":"done"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"two steps","thinkingSignature":"c2ln"},{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"b3BhcXVl","redacted":true},{"type":"text","text":"done"}],"api":"bedrock-converse-stream","provider":"mock","model":"alpha","usage":{"input":10,"output":20,"cacheRead":30,"cacheWrite":100,"cacheWrite1h":60,"totalTokens":160,"cost":{"input":0.00003,"output":0.00030000000000000003,"cacheRead":0.000009,"cacheWrite":0.00051,"total":0.0008490000000000001,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"end_turn","timestamp":1700000000000}}
    "##);
}

#[test]
fn tool_arguments_are_joined() {
    assert_snapshot!(lines(&events(&body("tools"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Reading."}
    {"type":"text_end","contentIndex":0,"content":"Reading."}
    {"type":"toolcall_start","contentIndex":1,"id":"tooluse_1","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"pa"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"th\": \"a b.txt\"}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"tooluse_1","name":"read","arguments":{"path":"a b.txt"}}}
    {"type":"toolcall_start","contentIndex":2,"id":"tooluse_2","toolName":"now"}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"tooluse_2","name":"now","arguments":{}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"text","text":"Reading."},{"type":"toolCall","id":"tooluse_1","name":"read","arguments":{"path":"a b.txt"}},{"type":"toolCall","id":"tooluse_2","name":"now","arguments":{}}],"api":"bedrock-converse-stream","provider":"mock","model":"alpha","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"totalTokens":15,"cost":{"input":0.00003,"output":0.00007500000000000001,"cacheRead":0,"cacheWrite":0,"total":0.000105,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"tool_use","timestamp":1700000000000}}
    "##);
}

#[test]
fn an_exception_keeps_the_partial_message() {
    assert_snapshot!(lines(&events(&body("exception"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"bedrock-converse-stream","provider":"mock","model":"alpha","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Throttling error: Too many tokens, wait before trying again.","timestamp":1700000000000}}
    "##);
}

#[test]
fn stop_reasons_are_mapped() {
    let cases = [
        ("end_turn", "stop", ""),
        ("stop_sequence", "stop", ""),
        ("max_tokens", "length", ""),
        ("model_context_window_exceeded", "length", ""),
        ("tool_use", "toolUse", ""),
        ("guardrail_intervened", "error", "guardrail"),
        ("content_filtered", "error", "content filter"),
        ("brand_new", "error", "brand_new"),
    ];
    for (raw, reason, error) in cases {
        let stop = format!("messageStop {{\"stopReason\":\"{raw}\"}}");
        let events = events(&encoded(&stop));
        let last = events.last().unwrap();
        assert_eq!(last["reason"], reason, "{raw}");
        let message = last.get("message").unwrap_or(&last["error"]);
        assert_eq!(message["rawStopReason"], raw);
        let text = message["errorMessage"].as_str().unwrap_or_default();
        assert!(text.contains(error), "{text:?} lacks {error:?}");
    }
}

#[test]
fn malformed_streams_are_reported() {
    assert_eq!(failure(&[]), "The stream ended without a stop reason");
    let user = encoded("messageStart {\"role\":\"user\"}");
    assert!(failure(&user).contains("role user"));
    let not_json = encoded("contentBlockDelta {\"contentBlock");
    assert!(failure(&not_json).contains("contentBlockDelta"));
    let mut flipped = body("text");
    *flipped.last_mut().unwrap() ^= 0xff;
    assert!(failure(&flipped).contains("event-stream frame that cannot be decoded"));
}

#[test]
fn exceptions_keep_the_prefixes_that_retry_and_overflow_match() {
    let cases = [
        ("internalServerException", "Internal server error: why"),
        ("modelStreamErrorException", "Model stream error: why"),
        ("validationException", "Validation error: why"),
        ("throttlingException", "Throttling error: why"),
        ("serviceUnavailableException", "Service unavailable: why"),
        ("brandNewException", "brandNewException: why"),
    ];
    for (name, message) in cases {
        let frame = format!("!{name} {{\"message\":\"why\"}}");
        assert_eq!(failure(&encoded(&frame)), message);
    }
}

#[test]
fn any_split_yields_the_same_events() {
    for name in ["text", "thinking", "tools"] {
        testing::assert_same_events_for_any_split(decoder, &model(), &body(name));
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    for name in ["text", "thinking", "tools"] {
        testing::assert_truncation_is_an_error(decoder, &model(), &body(name));
    }
}

fn head(status: u16, headers: &[(&str, &str)]) -> ResponseHead {
    ResponseHead {
        status,
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

/// Status, headers, body, expected message and class.
type Case<'case> = (
    u16,
    &'case [(&'case str, &'case str)],
    &'case str,
    &'case str,
    ErrorClass,
);

#[test]
fn error_messages_depend_on_the_exception() {
    let unlimited = ErrorClass::RateLimited { retry_after: None };
    let typed = |name| [("x-amzn-errortype", name)];
    let cases: [Case<'_>; 8] = [
        (
            400,
            &typed("ValidationException"),
            r#"{"message":"bad field"}"#,
            "Validation error: bad field",
            ErrorClass::InvalidRequest,
        ),
        (
            400,
            &[],
            r#"{"__type":"com.amazon#ValidationException","Message":"bad field"}"#,
            "Validation error: bad field",
            ErrorClass::InvalidRequest,
        ),
        (
            403,
            &typed("AccessDeniedException:http://internal.amazon.com/"),
            r#"{"message":"no"}"#,
            "Access denied: no",
            ErrorClass::Auth,
        ),
        (
            429,
            &typed("ThrottlingException"),
            r#"{"message":"slow"}"#,
            "Throttling error: slow",
            unlimited,
        ),
        (
            503,
            &typed("ServiceUnavailableException"),
            r#"{"message":"busy"}"#,
            "Service unavailable: busy",
            ErrorClass::Overloaded,
        ),
        (
            404,
            &typed("ResourceNotFoundException"),
            r#"{"message":"gone"}"#,
            "ResourceNotFoundException: gone",
            ErrorClass::InvalidRequest,
        ),
        (
            403,
            &[],
            r#"{"reason":"blocked"}"#,
            r#"403 Forbidden: {"reason":"blocked"}"#,
            ErrorClass::Auth,
        ),
        (
            400,
            &typed("ValidationException"),
            r#"{"message":"Data retention mode 'default' is not available"}"#,
            "Validation error: Data retention mode 'default' is not available (see \
             https://docs.aws.amazon.com/bedrock/latest/userguide/data-retention.html)",
            ErrorClass::InvalidRequest,
        ),
    ];
    for (status, headers, body, message, class) in cases {
        let error = BedrockConverse::default().error(&head(status, headers), body);
        assert_eq!(error.message, message);
        assert_eq!(error.class, class, "{message}");
        assert_eq!(error.status, Some(status), "{message}");
    }
}

#[test]
fn support_details_are_recorded() {
    let request = testing::request(model(), json!([]), StreamOptions::default());
    let recorded = |head: &ResponseHead, body| {
        let diagnostic = BedrockConverse::default().diagnose(&request, head, body)?;
        assert_eq!(diagnostic.kind, "bedrock_response_failure");
        assert_eq!(diagnostic.timestamp, NOW);
        Some(Value::Object(diagnostic.details.unwrap()))
    };
    let named = head(
        400,
        &[
            ("x-amzn-errortype", "ValidationException"),
            ("x-amzn-requestid", " req-1 "),
        ],
    );
    assert_eq!(
        recorded(&named, Some("{}")),
        Some(json!({"status": 400, "errorCode": "ValidationException", "requestId": "req-1"}))
    );
    assert_eq!(recorded(&named, None), Some(json!({"requestId": "req-1"})));
    assert_eq!(
        recorded(&head(403, &[]), Some("")),
        Some(json!({"status": 403}))
    );
    assert_eq!(recorded(&head(200, &[]), None), None);
    let endless = "x".repeat(201);
    assert_eq!(
        recorded(&head(200, &[("x-amzn-requestid", &endless)]), None),
        None
    );
}
