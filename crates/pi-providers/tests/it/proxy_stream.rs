//! Streaming through a proxy server, using the public API.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing helper must fail its test"
)]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{
    AssistantMessage, AssistantMessageEvent, ErrorClass, StopReason, StreamPhase, ThinkingLevel,
};
use pi_providers::{ModelRequest, ProxyServer, StreamOptions, stream_through_proxy};
use pi_stream::AssistantStream;
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn model() -> Value {
    json!({
        "id": "alpha", "name": "Alpha", "api": "mock-api", "provider": "mock",
        "baseUrl": "http://provider.test", "reasoning": true, "input": ["text"],
        "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 1000, "maxTokens": 100, "headers": {"x-provider": "for the provider"}
    })
}

fn stream_through(server: &ScriptedServer, options: StreamOptions) -> AssistantStream {
    let messages: Vec<_> =
        serde_json::from_value(json!([{"role": "user", "content": "hi", "timestamp": 1}])).unwrap();
    let request = ModelRequest {
        model: Arc::new(serde_json::from_value(model()).unwrap()),
        messages: Arc::from(messages),
        options,
        env: Env::fixed::<&str, &str>([]).with_clock(|| 1_700_000_000_000),
    };
    let proxy = ProxyServer {
        url: format!("{}/", server.url()),
        auth_token: "proxy-token".into(),
    };
    stream_through_proxy(proxy, request, HttpClient::new())
}

fn events(events: &[Value]) -> String {
    let lines: Vec<String> = events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    lines.concat()
}

async fn types(mut stream: AssistantStream) -> (Vec<Value>, AssistantMessageEvent) {
    let mut all = Vec::new();
    loop {
        let event = stream
            .next()
            .await
            .expect("the stream ended without a terminal event");
        if event.final_message().is_some() {
            assert!(stream.next().await.is_none());
            return (all, event);
        }
        all.push(serde_json::to_value(&event).unwrap());
    }
}

#[tokio::test]
async fn the_proxy_gets_the_complete_request_without_the_key() {
    let done = events(&[json!({"type": "done", "reason": "stop", "usage": {}})]);
    let server = ScriptedServer::start([ScriptedReply::event_stream().chunk(done)]).await;
    let options = StreamOptions {
        api_key: Some("provider-key".into()),
        headers: [("x-mine".to_owned(), Some("1".to_owned()))].into(),
        reasoning: ThinkingLevel::High,
        max_tokens: Some(50),
        session_id: Some("s1".to_owned()),
        max_retry_delay: Some(Duration::from_secs(2)),
        ..StreamOptions::default()
    };
    stream_through(&server, options).result().await;
    let sent = server.wait_for_request(0).await;
    assert_eq!(
        (sent.method.as_str(), sent.target.as_str()),
        ("POST", "/api/stream")
    );
    assert_eq!(sent.header("authorization"), Some("Bearer proxy-token"));
    assert_eq!(sent.header("x-provider"), None);
    assert_eq!(sent.header("x-mine"), None);
    assert!(!String::from_utf8_lossy(&sent.body).contains("provider-key"));
    let body = sent.json();
    assert_eq!(body["model"], model());
    assert_eq!(body["context"]["messages"][0]["content"], "hi");
    let expected = json!({"maxTokens": 50, "reasoning": "high", "sessionId": "s1",
        "headers": {"x-mine": "1"}, "maxRetryDelayMs": 2000});
    assert_eq!(body["options"], expected);
}

#[tokio::test]
async fn the_message_is_rebuilt_from_deltas() {
    let body = events(&[
        json!({"type": "start"}),
        json!({"type": "thinking_start", "contentIndex": 0}),
        json!({"type": "thinking_delta", "contentIndex": 0, "delta": "hm"}),
        json!({"type": "thinking_end", "contentIndex": 0, "contentSignature": "sig"}),
        json!({"type": "text_start", "contentIndex": 1}),
        json!({"type": "text_delta", "contentIndex": 1, "delta": "Rea"}),
        json!({"type": "text_delta", "contentIndex": 1, "delta": "ding."}),
        json!({"type": "text_end", "contentIndex": 1}),
        json!({"type": "toolcall_start", "contentIndex": 2, "id": "c1", "toolName": "read"}),
        json!({"type": "toolcall_delta", "contentIndex": 2, "delta": "{\"path\":"}),
        json!({"type": "toolcall_delta", "contentIndex": 2, "delta": "\"a\"}"}),
        json!({"type": "toolcall_end", "contentIndex": 2}),
        json!({"type": "done", "reason": "toolUse", "usage": {"input": 3, "output": 4,
            "cacheRead": 0, "cacheWrite": 0, "totalTokens": 7, "cost": {"total": 0.5}}}),
    ]);
    let server = ScriptedServer::start([ScriptedReply::event_stream().chunk(body)]).await;
    let (event_types, last) = types(stream_through(&server, StreamOptions::default())).await;
    let event_types: Vec<&str> = event_types
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(
        event_types,
        [
            "start",
            "thinking_start",
            "thinking_delta",
            "thinking_end",
            "text_start",
            "text_delta",
            "text_delta",
            "text_end",
            "toolcall_start",
            "toolcall_delta",
            "toolcall_delta",
            "toolcall_end"
        ]
    );
    let message = last.final_message().unwrap();
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!(message.usage.total_tokens, 7);
    let content = serde_json::to_value(&message.content).unwrap();
    assert_eq!(
        content,
        json!([
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
            {"type": "text", "text": "Reading."},
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}
        ])
    );
}

#[tokio::test]
async fn failures_keep_the_partial_message() {
    let partial = [
        json!({"type": "text_start", "contentIndex": 0}),
        json!({"type": "text_delta", "contentIndex": 0, "delta": "partial"}),
    ];
    let failed = json!({"type": "error", "reason": "error", "errorMessage": "529 overloaded",
        "usage": {"input": 1, "output": 1, "totalTokens": 2}});
    let cases = [
        (
            ScriptedReply::event_stream().chunk(events(&partial)),
            "partial",
            "ended without",
        ),
        (
            ScriptedReply::event_stream().chunk(events(&partial) + &events(&[failed])),
            "partial",
            "529 overloaded",
        ),
        (
            ScriptedReply::event_stream()
                .chunk("data: {\"type\":\"text_delta\",\"contentIndex\":3,\"delta\":\"x\"}\n\n"),
            "",
            "block 3",
        ),
        (
            ScriptedReply::full(401, &[], r#"{"error":"no such token"}"#),
            "",
            "The proxy rejected the request: 401 no such token",
        ),
    ];
    for (reply, text, expected) in cases {
        let server = ScriptedServer::start([reply]).await;
        let (_, last) = types(stream_through(&server, StreamOptions::default())).await;
        let message = last.final_message().unwrap();
        assert_eq!(message.stop_reason, StopReason::Error);
        assert_eq!(message.text(), text);
        let error = message.error_message.as_deref().unwrap();
        assert!(error.contains(expected), "{expected:?} is not in {error:?}");
    }
}

#[tokio::test]
async fn canceling_keeps_the_partial_message() {
    let partial = events(&[
        json!({"type": "text_start", "contentIndex": 0}),
        json!({"type": "text_delta", "contentIndex": 0, "delta": "partial"}),
    ]);
    let server =
        ScriptedServer::start([ScriptedReply::event_stream().chunk(partial).gate("never")]).await;
    let options = StreamOptions::default();
    let cancel = options.cancel.clone();
    let mut stream = stream_through(&server, options);
    while stream.live().read(AssistantMessage::text) != "partial" {
        stream.next().await.unwrap();
    }
    cancel.cancel();
    let phase = stream.phase();
    let (_, last) = types(stream).await;
    let AssistantMessageEvent::Error {
        reason,
        error,
        cause,
    } = last
    else {
        panic!("expected an error event");
    };
    assert_eq!(
        (reason, cause.unwrap().class),
        (StopReason::Aborted, ErrorClass::Aborted)
    );
    assert_eq!(error.text(), "partial");
    assert_eq!(*phase.borrow(), StreamPhase::Ended);
    server.wait_for_disconnect(0).await;
}
