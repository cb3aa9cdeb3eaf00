use pi_test_support::ScriptedReply;
use tokio::time::Instant;

use super::*;

const OK: &str = "data: ok\n\ndata: [DONE]\n\n";

fn slow(headers: &[(&str, &str)]) -> ScriptedReply {
    ScriptedReply::full(429, headers, "slow")
}

fn retrying(max_retries: u32) -> StreamOptions {
    StreamOptions {
        max_retries,
        ..StreamOptions::default()
    }
}

async fn run_with(
    protocol: EchoProtocol,
    server: &ScriptedServer,
    options: StreamOptions,
) -> (StreamOutcome, Duration) {
    let started = Instant::now();
    let stream = stream(
        protocol,
        echo_request(&server.url(), options),
        HttpClient::new(),
    );
    let finished = without_retry_waits(stream, finish).await;
    (finished, started.elapsed())
}

#[tokio::test]
async fn nothing_is_retried_by_default() {
    let server = ScriptedServer::start([slow(&[("retry-after", "7")])]).await;
    let (finished, _) = run_with(EchoProtocol::default(), &server, retrying(0)).await;
    let retry_after = Some(Duration::from_secs(7));
    finished.assert_failed(ErrorClass::RateLimited { retry_after }, &["429 slow"]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_requested_retry_delay_is_honored_and_reported() {
    let server = ScriptedServer::start([
        slow(&[("retry-after", "30")]),
        ScriptedReply::full(
            503,
            &[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")],
            "two",
        ),
        ScriptedReply::full(
            400,
            &[("x-should-retry", "true"), ("retry-after-ms", "5000")],
            "three",
        ),
        ScriptedReply::event_stream().chunk(OK),
    ])
    .await;
    let started = Instant::now();
    let stream = run_echo(&server, retrying(3));
    let mut phase = stream.phase();
    let watch = async {
        let mut seen = Vec::new();
        while phase.changed().await.is_ok() {
            if let StreamPhase::Retrying { attempt, delay } = *phase.borrow_and_update()
                && !delay.is_zero()
            {
                seen.push((attempt, delay.as_millis()));
            }
        }
        seen
    };
    let (finished, seen) = tokio::join!(without_retry_waits(stream, finish), watch);
    assert_eq!(finished.text, "ok");
    // The date of the second response has passed: no delay, and the phase may go unobserved.
    assert_eq!(seen, [(1, 30_000), (3, 5_000)]);
    assert!(started.elapsed() >= Duration::from_secs(35));
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    assert!(
        requests
            .iter()
            .all(|request| request.body == requests[0].body)
    );
    let signatures: Vec<_> = requests
        .iter()
        .filter_map(|request| request.header("x-signed"))
        .collect();
    assert_eq!(signatures, ["1", "2", "3", "4"], "every attempt is signed");
}

#[tokio::test]
async fn a_service_can_forbid_the_retry() {
    let server = ScriptedServer::start([ScriptedReply::full(
        529,
        &[("x-should-retry", "false")],
        "busy",
    )])
    .await;
    let (finished, _) = run_with(EchoProtocol::default(), &server, retrying(3)).await;
    finished.assert_failed(ErrorClass::Overloaded, &["529 busy"]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_delay_longer_than_allowed_is_an_error_with_both_durations() {
    let server = ScriptedServer::start([slow(&[("retry-after", "7")])]).await;
    let options = StreamOptions {
        max_retry_delay: Some(Duration::from_secs(2)),
        ..retrying(2)
    };
    let (finished, _) = run_with(EchoProtocol::default(), &server, options).await;
    let retry_after = Some(Duration::from_secs(7));
    let fragments = ["retry delay of 7s", "2s allowed", "429 slow"];
    finished.assert_failed(ErrorClass::RateLimited { retry_after }, &fragments);
    assert_eq!(finished.cause().status, Some(429));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_last_failed_attempt_is_reported() {
    let failures = (1..=3).map(|number| ScriptedReply::full(500, &[], format!("no {number}")));
    let server = ScriptedServer::start(failures).await;
    let (finished, waited) = run_with(EchoProtocol::default(), &server, retrying(2)).await;
    finished.assert_failed(ErrorClass::Overloaded, &["500 no 3"]);
    assert_eq!(server.requests().len(), 3);
    // Half a second and a second, each less a quarter at most.
    assert!(waited >= Duration::from_millis(1125), "{waited:?}");
}

#[tokio::test]
async fn the_protocol_sets_the_retry_policy() {
    let cases = [
        (TransportRetry::Never, 0, 2, 1),
        (TransportRetry::IgnoreRetryAfter, 0, 1, 2),
        (TransportRetry::HonorRetryAfter, 2, 0, 3),
    ];
    for (retry, min_retries, max_retries, expected) in cases {
        // Honoring this delay would be an error.
        let header: &[(&str, &str)] = match retry {
            TransportRetry::IgnoreRetryAfter => &[("retry-after", "4000")],
            _ => &[("retry-after", "1")],
        };
        let server = ScriptedServer::start((0..4).map(|_| slow(header))).await;
        let protocol = EchoProtocol {
            retry,
            min_retries,
            ..EchoProtocol::default()
        };
        let (finished, _) = run_with(protocol, &server, retrying(max_retries)).await;
        assert_eq!(finished.message.error_message.as_deref(), Some("429 slow"));
        assert_eq!(server.requests().len(), expected, "{retry:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_response_is_retried() {
    let server = ScriptedServer::start([
        ScriptedReply::new().disconnect(),
        ScriptedReply::new().reset(),
        ScriptedReply::event_stream().chunk(OK),
    ])
    .await;
    let (finished, _) = run_with(EchoProtocol::default(), &server, retrying(2)).await;
    assert_eq!(finished.text, "ok");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_response_that_breaks_is_not_retried() {
    let server = ScriptedServer::start([ScriptedReply::event_stream()
        .chunk("data: par\n\n")
        .gate("cut")
        .disconnect()])
    .await;
    let mut stream = run_echo(&server, retrying(2));
    while stream.live().read(AssistantMessage::text) != "par" {
        stream.next().await.unwrap();
    }
    server.open_gate("cut");
    let message = stream.result().await;
    assert_eq!(message.stop_reason, StopReason::Error);
    assert_eq!(message.text(), "par");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_attempt_without_a_response_does_not_reuse_an_earlier_diagnostic() {
    let server = ScriptedServer::start([
        slow(&[("retry-after", "1")]),
        ScriptedReply::new().disconnect(),
    ])
    .await;
    let (finished, _) = run_with(EchoProtocol::default(), &server, retrying(1)).await;
    finished.assert_failed(ErrorClass::Network, &["Connection error"]);
    assert_eq!(finished.message.diagnostics, None);
}

#[tokio::test]
async fn a_rejected_request_is_replaced_once_by_its_fallback() {
    let limit = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Too many strict tools (21)"}}"#;
    let rejects = || ScriptedReply::full(400, &[], limit);
    let server = ScriptedServer::start([rejects(), rejects()]).await;
    let fields = json!({"baseUrl": server.url(), "compat": {"supportsStrictTools": true}});
    let messages = json!([{"role": "system", "content": "", "timestamp": 0, "toolsAdded": [
        {"name": "read", "description": "Reads.", "parameters": {"type": "object"},
            "constrainedSampling": {"type": "json_schema", "strict": "prefer"}},
    ]}]);
    let options = StreamOptions {
        api_key: Some("key".into()),
        ..StreamOptions::default()
    };
    let request = request(model("anthropic-messages", fields), messages, options);
    let protocol = crate::wire::anthropic_messages::AnthropicMessages::default();
    let finished = finish(stream(protocol, request, HttpClient::new())).await;
    finished.assert_failed(ErrorClass::InvalidRequest, &["Too many strict tools"]);
    let strict: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.json()["tools"][0]["strict"].clone())
        .collect();
    assert_eq!(strict, [json!(true), json!(null)]);
    let diagnostics = finished.message.diagnostics.clone().unwrap();
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].kind, "anthropic_strict_tools_fallback");
}
