//! The gateway's protocol against recorded streams and built requests.

use insta::assert_snapshot;
use pi_env::Env;
use pi_http::ResponseHead;
use pi_protocol::{CacheRetention, ErrorClass, Model, ThinkingLevel, ToolChoice};
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::PiMessages;
use crate::options::{ModelRequest, StreamOptions};
use crate::wire::testing::{self, NOW, lines};
use crate::wire::{Decoder, HttpExchange, HttpProtocol};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/pi-messages/",
            $name,
            ".sse"
        ))
        .as_slice()
    };
}

fn model() -> Model {
    testing::model("pi-messages", json!({"baseUrl": "http://127.0.0.1:9/v1/"}))
}

fn request(messages: Value, options: StreamOptions) -> ModelRequest {
    testing::request(model(), messages, options)
}

fn decoder() -> Box<dyn Decoder> {
    PiMessages.decoder(&request(json!([]), StreamOptions::default()))
}

fn events(body: &[u8]) -> Vec<Value> {
    testing::decode(decoder(), &model(), [body])
}

#[test]
fn text_and_thinking_keep_their_signatures() {
    assert_snapshot!(lines(&events(fixture!("text"))), @r##"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"hm"}
    {"type":"thinking_end","contentIndex":0,"content":"hm","contentSignature":"c2ln"}
    {"type":"thinking_start","contentIndex":1}
    {"type":"thinking_end","contentIndex":1,"content":"","contentSignature":"b3BhcXVl","redacted":true}
    {"type":"text_start","contentIndex":2}
    {"type":"text_delta","contentIndex":2,"delta":"Grüße"}
    {"type":"text_delta","contentIndex":2,"delta":" 😀"}
    {"type":"text_end","contentIndex":2,"content":"Grüße 😀","contentSignature":"ts"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"},{"type":"thinking","thinking":"","thinkingSignature":"b3BhcXVl","redacted":true},{"type":"text","text":"Grüße 😀","textSignature":"ts"}],"api":"pi-messages","provider":"mock","model":"alpha","responseId":"r1","providerThinkingLevel":"high","diagnostics":[{"type":"pi_messages_rewrite","timestamp":1700000000000,"details":{"policyId":"p","policyVersion":2,"changed":true,"tokenCountChange":-5,"messageCountChange":0,"systemPromptChanged":false}}],"usage":{"input":10,"output":5,"cacheRead":1,"cacheWrite":2,"reasoning":3,"totalTokens":18,"cost":{"input":0.5,"output":0.25,"cacheRead":0,"cacheWrite":0,"total":0.75}},"stopReason":"stop","timestamp":1700000000000}}
    "##);
}

#[test]
fn calls_can_be_interleaved() {
    assert_snapshot!(lines(&events(fixture!("tools"))), @r##"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"a","toolName":"read"}
    {"type":"toolcall_start","contentIndex":1,"id":"b","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"path\":\"b\"}"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\"a\"}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"b","name":"read","arguments":{"path":"b"},"thoughtSignature":"th"}}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"a","name":"read","arguments":{"path":"a"}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"a","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"b","name":"read","arguments":{"path":"b"},"thoughtSignature":"th"}],"api":"pi-messages","provider":"mock","model":"alpha","responseId":"r2","usage":{"input":10,"output":5,"cacheRead":1,"cacheWrite":2,"reasoning":3,"totalTokens":18,"cost":{"input":0.5,"output":0.25,"cacheRead":0,"cacheWrite":0,"total":0.75}},"stopReason":"toolUse","timestamp":1700000000000}}
    "##);
}

#[test]
fn comments_names_and_end_markers_are_skipped() {
    assert_snapshot!(lines(&events(fixture!("oddities"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"a"}
    {"type":"done","reason":"length","message":{"content":[{"type":"text","text":"a"}],"api":"pi-messages","provider":"mock","model":"alpha","responseId":"r","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"length","timestamp":1700000000000}}
    "##);
}

#[test]
fn an_error_event_keeps_the_partial_message() {
    assert_snapshot!(lines(&events(fixture!("error"))), @r##"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"pi-messages","provider":"mock","model":"alpha","responseId":"r3","diagnostics":[{"type":"pi_messages_rewrite","timestamp":1700000000000,"details":{"policyId":"p"}}],"usage":{"input":10,"output":5,"cacheRead":1,"cacheWrite":2,"reasoning":3,"totalTokens":18,"cost":{"input":0.5,"output":0.25,"cacheRead":0,"cacheWrite":0,"total":0.75}},"stopReason":"error","errorMessage":"upstream is overloaded","timestamp":1700000000000}}
    "##);
}

#[test]
fn malformed_streams_are_reported() {
    let start = r#"data: {"type":"text_start","contentIndex":0}"#;
    let cases = [
        (String::new(), "ended without a terminal event"),
        (format!("{start}\n\n"), "ended without a terminal event"),
        (
            r#"data: {"type":"text_delta","contentIndex":3,"delta":"x"}"#.to_owned() + "\n\n",
            "block 3, which was never started",
        ),
        (
            format!("{start}\n\n{}\n\n", start.replace('0', "2")),
            "starts block 2 before block 1",
        ),
        ("data: {\"type\n\n".to_owned(), "terminated early"),
        (
            r#"data: {"type":"error","reason":"error"}"#.to_owned(),
            "unknown error",
        ),
    ];
    for (body, expected) in cases {
        let events = events(body.as_bytes());
        let error = &events.last().unwrap()["error"]["errorMessage"];
        let error = error.as_str().unwrap();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    }
}

#[test]
fn the_end_names_the_model_that_answered() {
    let done = br#"data: {"type":"done","reason":"stop","responseModel":"beta"}"#;
    let events = events(done);
    assert_eq!(events.last().unwrap()["message"]["responseModel"], "beta");
}

#[test]
fn a_gateway_can_report_cancellation() {
    let events = events(br#"data: {"type":"error","reason":"aborted","errorMessage":"stopped"}"#);
    assert_eq!(events.last().unwrap()["reason"], "aborted");
}

#[test]
fn any_split_yields_the_same_events() {
    for body in [fixture!("text"), fixture!("tools"), fixture!("oddities")] {
        testing::assert_same_events_for_any_split(decoder, &model(), body);
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    for body in [fixture!("text"), fixture!("tools")] {
        testing::assert_truncation_is_an_error(decoder, &model(), body);
    }
}

async fn exchange(request: &ModelRequest) -> HttpExchange {
    PiMessages.prepare(request).await.unwrap()
}

fn options() -> StreamOptions {
    StreamOptions {
        api_key: Some(SecretString::from("key")),
        ..StreamOptions::default()
    }
}

#[tokio::test]
async fn the_transcript_is_sent_unchanged() {
    for origin in [("mock", "pi-messages", "alpha"), ("other", "mistral", "m")] {
        let messages = testing::full_conversation(origin.0, origin.1, origin.2);
        let exchange = exchange(&request(messages.clone(), options())).await;
        assert_eq!(exchange.url, "http://127.0.0.1:9/v1/messages");
        let body = exchange.body.into_value();
        assert_eq!(body["model"], "alpha");
        assert_eq!(body["options"], json!({}));
        let sent = &body["context"]["messages"];
        assert_eq!(
            sent.as_array().unwrap().len(),
            messages.as_array().unwrap().len()
        );
        for (sent, message) in sent
            .as_array()
            .unwrap()
            .iter()
            .zip(messages.as_array().unwrap())
        {
            for (field, value) in message.as_object().unwrap() {
                if field != "usage" {
                    assert_eq!(&sent[field], value);
                }
            }
        }
    }
}

#[tokio::test]
async fn only_options_that_are_set_are_sent() {
    let forced = json!({"type": "function", "function": {"name": "read"}});
    let cases = [
        (options(), json!({})),
        (
            StreamOptions {
                temperature: Some(0.5),
                max_tokens: Some(10),
                reasoning: ThinkingLevel::Xhigh,
                cache_retention: Some(CacheRetention::None),
                session_id: Some("s".to_owned()),
                tool_choice: Some(ToolChoice::Auto),
                ..options()
            },
            json!({"temperature": 0.5, "maxTokens": 10, "reasoning": "xhigh",
                "cacheRetention": "none", "sessionId": "s", "toolChoice": "auto"}),
        ),
        (
            StreamOptions {
                cache_retention: Some(CacheRetention::Short),
                provider_options: [("toolChoice".to_owned(), forced.clone())]
                    .into_iter()
                    .collect(),
                ..options()
            },
            json!({"cacheRetention": "short", "toolChoice": forced}),
        ),
    ];
    for (options, expected) in cases {
        assert_eq!(
            exchange(&request(json!([]), options))
                .await
                .body
                .into_value()["options"],
            expected
        );
    }
}

#[tokio::test]
async fn environment_and_debug_option_are_applied() {
    let mut request = request(
        json!([]),
        StreamOptions {
            provider_options: [("debug".to_owned(), true.into())].into_iter().collect(),
            ..options()
        },
    );
    request.env = Env::fixed([("PI_CACHE_RETENTION", "long")]);
    let exchange = exchange(&request).await;
    assert_eq!(exchange.url, "http://127.0.0.1:9/v1/messages?debug=1");
    assert_eq!(
        exchange.body.into_value()["options"],
        json!({"cacheRetention": "long"})
    );
    assert_eq!(
        exchange.headers["authorization"].as_deref(),
        Some("Bearer key")
    );
    assert_eq!(
        exchange.headers["accept"].as_deref(),
        Some("text/event-stream")
    );
}

#[tokio::test]
async fn a_request_without_a_key_is_an_error() {
    let bare = request(json!([]), StreamOptions::default());
    let error = PiMessages.prepare(&bare).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert_eq!(error.message, "No API key for provider mock");
}

fn head(status: u16) -> ResponseHead {
    ResponseHead {
        status,
        headers: [].into(),
    }
}

#[test]
fn a_failed_response_is_described_and_recorded() {
    let request = request(json!([]), StreamOptions::default());
    let own = r#"{"error":{"code":"no_credit","message":"empty"}}"#;
    assert_eq!(
        PiMessages.error(&head(402), own).message,
        "402 Payment Required: empty (no_credit)"
    );
    assert_eq!(PiMessages.error(&head(402), own).class, ErrorClass::Quota);
    assert_eq!(
        PiMessages.error(&head(502), "<html>bad</html>").message,
        "502 Bad Gateway: <html>bad</html>"
    );
    let recorded = |status, body| {
        let diagnostic = PiMessages
            .diagnose(&request, &head(status), Some(body))
            .unwrap();
        serde_json::to_value(diagnostic).unwrap()
    };
    assert_eq!(
        recorded(402, own),
        json!({"type": "pi_messages_response_failure", "timestamp": NOW,
            "error": {"name": "PiMessagesResponseError",
                "message": "402 Payment Required: empty (no_credit)", "code": "no_credit"},
            "details": {"version": 1, "provider": "mock", "model": "alpha",
                "url": "http://127.0.0.1:9/v1/messages", "status": 402,
                "statusText": "Payment Required",
                "error": {"code": "no_credit", "message": "empty"}, "timestampMs": NOW}})
    );
    assert_eq!(
        recorded(502, "<html>bad</html>")["details"]["body"],
        "<html>bad</html>"
    );
    assert_eq!(PiMessages.diagnose(&request, &head(200), None), None);
}
