use insta::assert_snapshot;
use pi_http::ResponseHead;
use pi_protocol::{ErrorClass, Model};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::AnthropicMessages;
use crate::options::StreamOptions;
use crate::wire::testing::{self, lines};
use crate::wire::{Decoder, HttpProtocol};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/anthropic-messages/",
            $name,
            ".sse"
        ))
        .as_slice()
    };
}

fn model() -> Model {
    testing::model("anthropic-messages", json!({}))
}

fn decoder(model: &Model) -> Box<dyn Decoder> {
    let request = testing::request(model.clone(), json!([]), StreamOptions::default());
    AnthropicMessages::default().decoder(&request)
}

fn events(body: &[u8]) -> Vec<Value> {
    let model = model();
    testing::decode(decoder(&model), &model, [body])
}

/// The final message without the fields that are the same in all of them.
fn last_message(events: &[Value]) -> Value {
    let last = events.last().unwrap();
    let mut message = last.get("message").unwrap_or(&last["error"]).clone();
    for field in ["api", "provider", "model", "timestamp"] {
        message.as_object_mut().unwrap().shift_remove(field);
    }
    message
}

#[test]
fn text_is_streamed_in_deltas() {
    assert_snapshot!(lines(&events(fixture!("text"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Grüße"}
    {"type":"text_delta","contentIndex":0,"delta":""}
    {"type":"text_delta","contentIndex":0,"delta":" aus 東京 😀"}
    {"type":"text_end","contentIndex":0,"content":"Grüße aus 東京 😀"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"Grüße aus 東京 😀"}],"api":"anthropic-messages","provider":"mock","model":"alpha","responseId":"msg_01","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"cacheWrite1h":0,"totalTokens":15,"cost":{"input":0.00003,"output":0.00007500000000000001,"cacheRead":0,"cacheWrite":0,"total":0.000105,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"end_turn","timestamp":1700000000000}}
    "##);
}

#[test]
fn thinking_keeps_its_signature_and_usage_is_split() {
    assert_snapshot!(lines(&events(fixture!("thinking"))), @r##"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"two "}
    {"type":"thinking_delta","contentIndex":0,"delta":"steps"}
    {"type":"thinking_end","contentIndex":0,"content":"two steps"}
    {"type":"thinking_start","contentIndex":1}
    {"type":"thinking_end","contentIndex":1,"content":"[Reasoning redacted]"}
    {"type":"text_start","contentIndex":2}
    {"type":"text_delta","contentIndex":2,"delta":"done"}
    {"type":"text_end","contentIndex":2,"content":"done"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"two steps","thinkingSignature":"c2lnbmF0dXJl"},{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"b3BhcXVl","redacted":true},{"type":"text","text":"done"}],"api":"anthropic-messages","provider":"mock","model":"alpha","responseId":"msg_01","usage":{"input":3,"output":50,"cacheRead":20,"cacheWrite":100,"cacheWrite1h":40,"reasoning":30,"totalTokens":173,"cost":{"input":0.000009,"output":0.00075,"cacheRead":0.000006,"cacheWrite":0.000465,"total":0.0012300000000000002,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"end_turn","timestamp":1700000000000}}
    "##);
}

#[test]
fn tool_arguments_are_joined() {
    assert_snapshot!(lines(&events(fixture!("tools"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Reading."}
    {"type":"text_end","contentIndex":0,"content":"Reading."}
    {"type":"toolcall_start","contentIndex":1,"id":"toolu_1","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":1,"delta":""}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"pa"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"th\": \"a b"}
    {"type":"toolcall_delta","contentIndex":1,"delta":".txt\", \"lim"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"it\": 2}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"toolu_1","name":"read","arguments":{"path":"a b.txt","limit":2}}}
    {"type":"toolcall_start","contentIndex":2,"id":"toolu_2","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":\"c\"}"}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"toolu_2","name":"read","arguments":{"path":"c"}}}
    {"type":"toolcall_start","contentIndex":3,"id":"toolu_3","toolName":"now"}
    {"type":"toolcall_end","contentIndex":3,"toolCall":{"type":"toolCall","id":"toolu_3","name":"now","arguments":{}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"text","text":"Reading."},{"type":"toolCall","id":"toolu_1","name":"read","arguments":{"path":"a b.txt","limit":2}},{"type":"toolCall","id":"toolu_2","name":"read","arguments":{"path":"c"}},{"type":"toolCall","id":"toolu_3","name":"now","arguments":{}}],"api":"anthropic-messages","provider":"mock","model":"alpha","responseId":"msg_01","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"cacheWrite1h":0,"totalTokens":15,"cost":{"input":0.00003,"output":0.00007500000000000001,"cacheRead":0,"cacheWrite":0,"total":0.000105,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"tool_use","timestamp":1700000000000}}
    "##);
}

#[test]
fn blocks_can_be_interleaved() {
    assert_snapshot!(lines(&events(fixture!("interleaved"))), @r##"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"toolu_1","toolName":"read"}
    {"type":"toolcall_start","contentIndex":1,"id":"toolu_2","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"path\":\"b\""}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\"a\"}"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"toolu_2","name":"read","arguments":{"path":"b"}}}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"toolu_1","name":"read","arguments":{"path":"a"}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"toolu_1","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"toolu_2","name":"read","arguments":{"path":"b"}}],"api":"anthropic-messages","provider":"mock","model":"alpha","responseId":"msg_01","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"cacheWrite1h":0,"totalTokens":15,"cost":{"input":0.00003,"output":0.00007500000000000001,"cacheRead":0,"cacheWrite":0,"total":0.000105,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"tool_use","timestamp":1700000000000}}
    "##);
}

#[test]
fn the_output_limit_is_a_length_stop() {
    let events = events(fixture!("length"));
    assert_eq!(events.last().unwrap()["reason"], "length");
    assert_eq!(last_message(&events)["rawStopReason"], "max_tokens");
}

#[test]
fn a_refusal_is_an_error_with_the_explanation() {
    assert_snapshot!(lines(&events(fixture!("refusal"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"no"}
    {"type":"text_end","contentIndex":0,"content":"no"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"no"}],"api":"anthropic-messages","provider":"mock","model":"alpha","responseId":"msg_01","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"cacheWrite1h":0,"totalTokens":15,"cost":{"input":0.00003,"output":0.00007500000000000001,"cacheRead":0,"cacheWrite":0,"total":0.000105,"totalFromProvider":false}},"stopReason":"error","errorMessage":"This request touches a restricted subject.","rawStopReason":"refusal","timestamp":1700000000000}}
    "##);
}

#[test]
fn an_error_event_keeps_the_partial_message() {
    assert_snapshot!(lines(&events(fixture!("overloaded"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"anthropic-messages","provider":"mock","model":"alpha","responseId":"msg_01","usage":{"input":10,"output":1,"cacheRead":0,"cacheWrite":0,"cacheWrite1h":0,"totalTokens":11,"cost":{"input":0.00003,"output":0.000015,"cacheRead":0,"cacheWrite":0,"total":0.000045,"totalFromProvider":false}},"stopReason":"error","errorMessage":"The service reported an error: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}","timestamp":1700000000000}}
    "##);
}

#[test]
fn unknown_events_blocks_and_deltas_are_skipped() {
    assert_snapshot!(lines(&events(fixture!("oddities"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"-multi"}
    {"type":"text_end","contentIndex":0,"content":"pre-multi"}
    {"type":"toolcall_start","contentIndex":1,"id":"t1","toolName":"bash"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"echo from start"}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"text","text":"pre-multi"},{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"echo from start"}}],"api":"anthropic-messages","provider":"mock","model":"alpha","responseId":"msg_01","usage":{"input":10,"output":9,"cacheRead":0,"cacheWrite":0,"cacheWrite1h":0,"totalTokens":19,"cost":{"input":0.00003,"output":0.000135,"cacheRead":0,"cacheWrite":0,"total":0.000165,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"tool_use","timestamp":1700000000000}}
    "##);
}

#[test]
fn a_fallback_response_uses_its_own_prices() {
    let model = testing::model(
        "anthropic-messages",
        json!({"compat": {"allowedFallbackModels": [
            {"provider": "other", "model": "beta", "cost": {"input": 9, "output": 9}},
            {"provider": "mock", "model": "beta", "cost": {"input": 1, "output": 2}}
        ]}}),
    );
    let events = testing::decode(decoder(&model), &model, [fixture!("fallback")]);
    assert_snapshot!(last_message(&events), @r##"
    {"content":[{"type":"text","text":"instead"}],"responseModel":"beta","responseId":"msg_01","diagnostics":[{"type":"anthropic_input_transformations","timestamp":1700000000000,"details":{"transformations":[{"type":"image_resized","path":"messages.0.content.1","reason":"too_large"}]}}],"usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"cacheWrite1h":0,"totalTokens":15,"cost":{"input":9.999999999999999e-6,"output":9.999999999999999e-6,"cacheRead":0.0,"cacheWrite":0.0,"total":0.000019999999999999998,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"end_turn"}
    "##);
}

#[test]
fn a_change_of_model_after_the_first_block_is_an_error() {
    let switched = String::from_utf8(fixture!("fallback").to_vec())
        .unwrap()
        .replace("\"fallback\"", "\"text\"")
        .replace(
            "\"content_block\":{\"type\":\"text\",\"text\":\"\"}",
            "\"content_block\":{\"type\":\"fallback\"}",
        );
    let message = last_message(&events(switched.as_bytes()));
    assert_eq!(
        message["errorMessage"],
        "The service changed the model in the middle of a response"
    );
}

#[test]
fn malformed_streams_are_reported() {
    let text = String::from_utf8(fixture!("text").to_vec()).unwrap();
    let stop = |reason: &str| text.replace("\"end_turn\"", reason);
    let cases = [
        (stop("\"brand_new\""), "brand_new"),
        (stop("\"sensitive\""), "content filter"),
        (stop("null"), "ended without a stop reason"),
        (
            text.replace("event: message_stop", "event: ping"),
            "stream ended before message_stop",
        ),
        (
            text.replace("{\"type\":\"text_delta\"", "{\"type"),
            "content_block_delta",
        ),
        (String::new(), "stream ended before message_stop"),
    ];
    for (body, expected) in cases {
        let message = last_message(&events(body.as_bytes()));
        let error = message["errorMessage"].as_str().unwrap();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    }
}

#[test]
fn raw_control_characters_and_lone_surrogates_are_accepted() {
    let text = String::from_utf8(fixture!("text").to_vec()).unwrap();
    for (sent, read) in [("a\tb", "a\tb"), ("a\\ud83d", "a\u{fffd}")] {
        let events = events(text.replace("Grüße", sent).as_bytes());
        let error = &last_message(&events)["content"][0]["text"];
        assert_eq!(*error, format!("{read} aus 東京 😀"));
    }
}

#[test]
fn counts_of_other_types_are_accepted() {
    let text = String::from_utf8(fixture!("text").to_vec()).unwrap();
    let with_other_types = text
        .replace("\"input_tokens\":10", "\"input_tokens\":10.0")
        .replace(
            "\"cache_read_input_tokens\":0",
            "\"cache_read_input_tokens\":null",
        );
    assert_eq!(
        last_message(&events(with_other_types.as_bytes()))["usage"]["input"],
        10
    );
}

#[test]
fn an_unknown_stop_reason_is_kept_as_the_raw_value() {
    let text = String::from_utf8(fixture!("text").to_vec()).unwrap();
    let message = last_message(&events(text.replace("end_turn", "brand_new").as_bytes()));
    assert_eq!(message["rawStopReason"], "brand_new");
    assert_eq!(message["stopReason"], "error");
    assert_eq!(message["usage"]["output"], 1);
}

#[test]
fn error_types_determine_the_class() {
    let unlimited = ErrorClass::RateLimited { retry_after: None };
    let cases = [
        (400, "invalid_request_error", ErrorClass::InvalidRequest),
        (401, "authentication_error", ErrorClass::Auth),
        (402, "billing_error", ErrorClass::Quota),
        (403, "permission_error", ErrorClass::Auth),
        (404, "not_found_error", ErrorClass::InvalidRequest),
        (413, "request_too_large", ErrorClass::ContextOverflow),
        (429, "rate_limit_error", unlimited),
        (500, "api_error", ErrorClass::Overloaded),
        (504, "timeout_error", ErrorClass::Overloaded),
        (529, "overloaded_error", ErrorClass::Overloaded),
        (418, "brand_new_error", ErrorClass::InvalidRequest),
    ];
    for (status, kind, class) in cases {
        let head = ResponseHead {
            status,
            headers: [].into(),
        };
        let body = json!({"type": "error", "error": {"type": kind, "message": "why"}}).to_string();
        let spaced = body.replace("\":", "\": ");
        let error = AnthropicMessages::default().error(&head, &spaced);
        assert_eq!(error.class, class, "{kind}");
        assert!(error.message.starts_with(&status.to_string()), "{kind}");
        assert!(error.message.ends_with(&body), "{kind}");
    }
}

#[test]
fn the_effort_of_the_request_is_recorded() {
    let model = testing::model(
        "anthropic-messages",
        json!({"compat": {"supportsMidConvoEffort": true, "forceAdaptiveThinking": true}}),
    );
    let request = testing::request(
        model.clone(),
        json!([]),
        StreamOptions {
            reasoning: pi_protocol::ThinkingLevel::Low,
            ..StreamOptions::default()
        },
    );
    let events = testing::decode(
        AnthropicMessages::default().decoder(&request),
        &model,
        [fixture!("text")],
    );
    assert_eq!(last_message(&events)["providerThinkingLevel"], "low");
}

#[test]
fn any_split_yields_the_same_events() {
    let model = model();
    for body in [
        fixture!("text"),
        fixture!("thinking"),
        fixture!("tools"),
        fixture!("interleaved"),
        fixture!("oddities"),
    ] {
        testing::assert_same_events_for_any_split(|| decoder(&model), &model, body);
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    let model = model();
    for body in [fixture!("text"), fixture!("thinking"), fixture!("tools")] {
        testing::assert_truncation_is_an_error(|| decoder(&model), &model, body);
    }
}
