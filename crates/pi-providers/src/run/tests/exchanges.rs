use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_protocol::Model;
use pi_test_support::ScriptedReply;
use proptest::prelude::*;
use ruzstd::decoding::StreamingDecoder;
use serde_json::Value;

use super::*;

fn overrides(entries: &[(&str, Option<&str>)]) -> HeaderOverrides {
    entries
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
        .collect()
}

#[tokio::test]
async fn phases_come_in_order() {
    let server = ScriptedServer::start([ScriptedReply::new()
        .gate("head")
        .head(200, &[])
        .gate("body")
        .chunk("data: hi\n\ndata: [DONE]\n\n")])
    .await;
    let mut stream = run_echo(&server, StreamOptions::default());
    let mut phase = stream.phase();
    assert_eq!(*phase.borrow_and_update(), StreamPhase::Preparing);
    assert!(poll_once(&mut stream).await.is_pending());
    assert_eq!(*phase.borrow_and_update(), StreamPhase::Connecting);
    tokio::select! {
        _ = stream.next() => panic!("unexpected event before the response"),
        () = server.wait_for_gate("head") => {}
    }
    assert_eq!(*phase.borrow_and_update(), StreamPhase::Waiting);
    server.open_gate("head");
    let start = stream.next().await;
    assert!(matches!(start, Some(AssistantMessageEvent::Start { .. })));
    assert_eq!(*phase.borrow_and_update(), StreamPhase::Receiving);
    server.open_gate("body");
    let finished = finish(stream).await;
    assert_eq!(finished.text, "hi");
    assert_eq!(finished.message.stop_reason, StopReason::Stop);
}

#[tokio::test]
async fn a_pooled_connection_serves_the_next_request() {
    let ok = || ScriptedReply::event_stream().chunk("data: a\n\ndata: [DONE]\n\n");
    let server = ScriptedServer::start([ok(), ok()]).await;
    let http = HttpClient::new();
    for _ in 0..2 {
        let request = echo_request(&server.url(), StreamOptions::default());
        finish(stream(EchoProtocol::default(), request, http.clone())).await;
    }
    let connections: Vec<usize> = server
        .requests()
        .iter()
        .map(|request| request.connection)
        .collect();
    assert_eq!(connections, [0, 0]);
}

#[tokio::test]
async fn the_user_agent_is_sent_and_headers_are_merged_in_layers() {
    let server =
        ScriptedServer::start([ScriptedReply::event_stream().chunk("data: [DONE]\n\n")]).await;
    let model = model(
        "echo",
        json!({"baseUrl": server.url(), "headers": {"X-Layer": "model", "x-model": "1"}}),
    );
    let options = StreamOptions {
        headers: overrides(&[("x-layer", Some("options")), ("X-Echo", None)]),
        ..StreamOptions::default()
    };
    finish(stream(
        EchoProtocol::default(),
        request(model, json!([]), options),
        HttpClient::new(),
    ))
    .await;
    let sent = server.wait_for_request(0).await;
    assert_eq!(
        (sent.method.as_str(), sent.target.as_str()),
        ("POST", "/echo")
    );
    let name = sent.header("user-agent").unwrap();
    let release = pi_env::release();
    assert!(name.starts_with(&format!("pi/{release} (")), "{name}");
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(sent.header("x-layer"), Some("options"));
    assert_eq!(sent.header("x-model"), Some("1"));
    assert_eq!(sent.header("x-echo"), None);
    assert_eq!(sent.json(), json!({"input": "hello"}));
}

#[tokio::test]
async fn even_the_user_agent_can_be_deleted() {
    let server =
        ScriptedServer::start([ScriptedReply::event_stream().chunk("data: [DONE]\n\n")]).await;
    let options = StreamOptions {
        headers: overrides(&[("User-Agent", None)]),
        ..StreamOptions::default()
    };
    finish(run_echo(&server, options)).await;
    assert_eq!(server.wait_for_request(0).await.header("user-agent"), None);
}

#[tokio::test]
async fn hooks_see_and_change_the_exchange() {
    struct RecordingHooks(Arc<Mutex<Vec<String>>>);

    impl RequestHooks for RecordingHooks {
        fn on_payload<'a>(&'a self, mut payload: Value, model: &'a Model) -> BoxFuture<'a, Value> {
            payload["model"] = model.id.clone().into();
            Box::pin(std::future::ready(payload))
        }

        fn on_headers<'a>(
            &'a self,
            mut headers: HeaderOverrides,
            _model: &'a Model,
        ) -> BoxFuture<'a, HeaderOverrides> {
            self.0.lock().extend(headers.keys().cloned());
            headers.insert("X-Echo".to_owned(), Some("hook".to_owned()));
            headers.insert("x-layer".to_owned(), None);
            Box::pin(std::future::ready(headers))
        }

        fn on_response<'a>(
            &'a self,
            response: &'a ResponseHead,
            _model: &'a Model,
        ) -> BoxFuture<'a, ()> {
            let name = response.headers.get("x-name").cloned().unwrap_or_default();
            self.0.lock().push(format!("{} {name}", response.status));
            Box::pin(std::future::ready(()))
        }
    }

    let reply = ScriptedReply::new()
        .head(200, &[("X-Name", "polly")])
        .chunk("data: [DONE]\n\n");
    let server = ScriptedServer::start([reply]).await;
    let seen = Arc::default();
    let options = StreamOptions {
        hooks: Some(Arc::new(RecordingHooks(Arc::clone(&seen)))),
        ..StreamOptions::default()
    };
    finish(run_echo(&server, options)).await;
    let sent = server.wait_for_request(0).await;
    assert_eq!(sent.json(), json!({"input": "hello", "model": "alpha"}));
    assert_eq!(sent.header("x-echo"), Some("hook"));
    assert_eq!(sent.header("x-layer"), None);
    let expected = [
        "content-type",
        "user-agent",
        "x-echo",
        "x-layer",
        "200 polly",
    ];
    assert_eq!(*seen.lock(), expected);
}

#[tokio::test]
async fn a_body_can_be_compressed() {
    let server =
        ScriptedServer::start([ScriptedReply::event_stream().chunk("data: [DONE]\n\n")]).await;
    let protocol = EchoProtocol {
        encoding: BodyEncoding::Zstd,
        ..EchoProtocol::default()
    };
    let request = echo_request(&server.url(), StreamOptions::default());
    finish(stream(protocol, request, HttpClient::new())).await;
    let sent = server.wait_for_request(0).await;
    assert_eq!(sent.header("content-encoding"), Some("zstd"));
    assert_eq!(decompress(&sent.body), br#"{"input":"hello"}"#);
}

fn decompress(body: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    let mut decoder = StreamingDecoder::new(body).unwrap();
    decoder.read_to_end(&mut content).unwrap();
    content
}

proptest! {
    #[test]
    fn any_body_can_be_compressed(parts in prop::collection::vec((".{0,40}", 1_usize..400), 0..40)) {
        let body: String = parts.iter().map(|(text, times)| text.repeat(*times)).collect();
        let compressed = encode(body.clone().into_bytes(), BodyEncoding::Zstd);
        prop_assert_eq!(decompress(&compressed), body.as_bytes());
    }
}

#[tokio::test]
async fn a_compressed_response_is_decoded_as_it_arrives() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"data: early\n\n").unwrap();
    encoder.flush().unwrap();
    let early = std::mem::take(encoder.get_mut());
    encoder
        .write_all(b"data: , late\n\ndata: [DONE]\n\n")
        .unwrap();
    let late = encoder.finish().unwrap();
    let server = ScriptedServer::start([ScriptedReply::new()
        .head(200, &[("content-encoding", "gzip")])
        .chunk(early)
        .gate("late")
        .chunk(late)])
    .await;
    let mut stream = run_echo(&server, StreamOptions::default());
    while stream.live().read(AssistantMessage::text) != "early" {
        stream.next().await.unwrap();
    }
    server.open_gate("late");
    assert_eq!(stream.result().await.text(), "early, late");
    let accepted = server
        .wait_for_request(0)
        .await
        .header("accept-encoding")
        .map(str::to_owned);
    let accepted = accepted.unwrap_or_default();
    for encoding in ["gzip", "br", "deflate"] {
        assert!(
            accepted.contains(encoding),
            "{encoding} is not in {accepted:?}"
        );
    }
}

#[tokio::test]
async fn a_broken_connection_keeps_the_partial_message() {
    for reset in [false, true] {
        let reply = ScriptedReply::event_stream()
            .chunk("data: par\n\ndata: ti")
            .gate("break");
        let reply = if reset {
            reply.reset()
        } else {
            reply.disconnect()
        };
        let server = ScriptedServer::start([reply]).await;
        let stream = run_echo(&server, StreamOptions::default());
        let live = stream.live();
        let breaking = async {
            while live.read(AssistantMessage::text) != "par" {
                tokio::task::yield_now().await;
            }
            server.open_gate("break");
        };
        let (finished, ()) = tokio::join!(finish(stream), breaking);
        finished.assert_failed(ErrorClass::Network, &["Connection lost"]);
        assert_eq!(finished.text, "par");
        let diagnostics = serde_json::to_value(&finished.message.diagnostics).unwrap();
        assert_eq!(
            diagnostics[0]["details"],
            json!({"status": 200, "body": null})
        );
    }
}

#[tokio::test]
async fn the_decoder_decides_about_an_early_end() {
    let server =
        ScriptedServer::start([ScriptedReply::event_stream().chunk("data: par\n\n")]).await;
    let finished = finish(run_echo(&server, StreamOptions::default())).await;
    finished.assert_failed(ErrorClass::Network, &["ended without"]);
    assert_eq!(finished.text, "par");
}

#[tokio::test]
async fn an_error_event_keeps_the_preceding_events() {
    let body = "data: a\n\nevent: error\ndata: broken\n\n";
    let server = ScriptedServer::start([ScriptedReply::event_stream().chunk(body)]).await;
    let finished = finish(run_echo(&server, StreamOptions::default())).await;
    finished.assert_failed(ErrorClass::Protocol, &["broken"]);
    assert_eq!(finished.text, "a");
}

#[tokio::test]
async fn an_error_response_keeps_status_and_body_and_is_diagnosed() {
    let server = ScriptedServer::start([ScriptedReply::full(529, &[], "busy")]).await;
    let finished = finish(run_echo(&server, StreamOptions::default())).await;
    finished.assert_failed(ErrorClass::Overloaded, &["529 busy"]);
    assert_eq!(finished.cause().status, Some(529));
    let diagnostics = serde_json::to_value(&finished.message.diagnostics).unwrap();
    assert_eq!(
        diagnostics[0]["details"],
        json!({"status": 529, "body": "busy"})
    );
}

#[tokio::test]
async fn a_huge_error_body_is_truncated() {
    let body = "x".repeat(3 * MAX_ERROR_BODY);
    let server = ScriptedServer::start([ScriptedReply::full(500, &[], body)]).await;
    let finished = finish(run_echo(&server, StreamOptions::default())).await;
    let text = finished.message.error_message.as_deref().unwrap();
    assert_eq!(text.len(), "500 ".len() + MAX_ERROR_BODY);
}

#[tokio::test]
async fn an_idle_consumer_applies_back_pressure() {
    const CHUNKS: usize = 2_000;
    let chunk = format!("data: {}\n\n", "x".repeat(16 * 1024));
    let mut reply = ScriptedReply::event_stream();
    for _ in 0..CHUNKS {
        reply = reply.chunk(chunk.clone());
    }
    let server = ScriptedServer::start([reply.gate("all sent").chunk("data: [DONE]\n\n")]).await;
    let mut stream = run_echo(&server, StreamOptions::default());
    stream.next().await.unwrap();
    let all_sent = server.wait_for_gate("all sent");
    tokio::select! {
        () = all_sent => panic!("32 MiB were read without a consumer"),
        () = drain_sockets() => {}
    }
    server.open_gate("all sent");
    let finished = finish(stream).await;
    assert_eq!(finished.text.len(), CHUNKS * 16 * 1024);
}

#[tokio::test]
async fn an_invalid_base_url_is_an_error() {
    for url in ["", "ftp://example.test", "not a url"] {
        let request = echo_request(url, StreamOptions::default());
        let finished = finish(stream(EchoProtocol::default(), request, HttpClient::new())).await;
        finished.assert_failed(ErrorClass::InvalidRequest, &["base URL"]);
    }
}

#[tokio::test]
async fn an_endless_response_ends_at_its_limit_and_keeps_its_content() {
    let delta = format!("data: {}\n\n", "a".repeat(1 << 20));
    let mut reply = ScriptedReply::event_stream();
    for _ in 0..33 {
        reply = reply.chunk(delta.clone());
    }
    let server = ScriptedServer::start([reply.gate("never")]).await;
    let finished = finish(run_echo(&server, StreamOptions::default())).await;
    finished.assert_failed(
        ErrorClass::Protocol,
        &["The response is larger than 32 MiB"],
    );
    assert!(finished.text.len() > 32 << 20);
}

#[tokio::test]
async fn a_key_in_an_error_of_the_service_is_redacted() {
    let server = ScriptedServer::start([ScriptedReply::full(
        401,
        &[],
        r#"{"error": "invalid key sk-secret-123456", "header": "Bearer sk-secret-123456"}"#,
    )])
    .await;
    let options = StreamOptions {
        api_key: Some("sk-secret-123456".to_owned().into()),
        ..StreamOptions::default()
    };
    let finished = finish(run_echo(&server, options)).await;
    let error = finished.message.error_message.clone().unwrap();
    assert!(error.contains("invalid key [redacted]"), "{error}");
    assert!(!format!("{:?}", finished.message).contains("sk-secret"));
}
