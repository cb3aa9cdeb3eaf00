use pi_test_support::ScriptedReply;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::*;

fn cancellable() -> (CancellationToken, StreamOptions) {
    let cancel = CancellationToken::new();
    let options = StreamOptions {
        cancel: cancel.clone(),
        ..StreamOptions::default()
    };
    (cancel, options)
}

/// Reads the stream to its end and cancels it as soon as `trigger` resolves.
async fn cancel_at(
    trigger: impl Future<Output = ()>,
    cancel: CancellationToken,
    stream: AssistantStream,
) -> StreamOutcome {
    let cancelling = async {
        trigger.await;
        cancel.cancel();
    };
    tokio::join!(cancelling, finish(stream)).1
}

fn phase_is(stream: &AssistantStream, expected: StreamPhase) -> impl Future<Output = ()> + use<> {
    let mut phase = stream.phase();
    async move {
        phase.wait_for(|phase| *phase == expected).await.unwrap();
    }
}

#[tokio::test]
async fn before_the_first_poll() {
    let server = ScriptedServer::start([]).await;
    let (cancel, options) = cancellable();
    cancel.cancel();
    let finished = finish(run_echo(&server, options)).await;
    finished.assert_failed(ErrorClass::Aborted, &["aborted"]);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn during_preparation() {
    let (cancel, options) = cancellable();
    let protocol = EchoProtocol {
        never_prepared: true,
        ..EchoProtocol::default()
    };
    let stream = stream(
        protocol,
        echo_request("http://127.0.0.1:9", options),
        HttpClient::new(),
    );
    let trigger = phase_is(&stream, StreamPhase::Preparing);
    let finished = cancel_at(trigger, cancel, stream).await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
}

#[tokio::test]
async fn inside_each_hook() {
    struct StuckHook(&'static str);

    impl StuckHook {
        async fn block_at(&self, stage: &str) {
            if self.0 == stage {
                std::future::pending::<()>().await;
            }
        }
    }

    impl RequestHooks for StuckHook {
        fn on_payload<'a>(
            &'a self,
            payload: serde_json::Value,
            _model: &'a pi_protocol::Model,
        ) -> futures_util::future::BoxFuture<'a, serde_json::Value> {
            Box::pin(async move {
                self.block_at("payload").await;
                payload
            })
        }

        fn on_headers<'a>(
            &'a self,
            headers: HeaderOverrides,
            _model: &'a pi_protocol::Model,
        ) -> futures_util::future::BoxFuture<'a, HeaderOverrides> {
            Box::pin(async move {
                self.block_at("headers").await;
                headers
            })
        }

        fn on_response<'a>(
            &'a self,
            _response: &'a ResponseHead,
            _model: &'a pi_protocol::Model,
        ) -> futures_util::future::BoxFuture<'a, ()> {
            Box::pin(self.block_at("response"))
        }
    }

    for stage in ["payload", "headers", "response"] {
        let server = ScriptedServer::start([ScriptedReply::event_stream().stall()]).await;
        let (cancel, mut options) = cancellable();
        options.hooks = Some(Arc::new(StuckHook(stage)));
        let stream = run_echo(&server, options);
        let trigger = async {
            if stage == "response" {
                server.wait_for_request(0).await;
            }
        };
        let finished = cancel_at(trigger, cancel, stream).await;
        finished.assert_failed(ErrorClass::Aborted, &[]);
    }
}

#[tokio::test]
async fn while_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (cancel, options) = cancellable();
    let stream = stream(
        EchoProtocol::default(),
        echo_request(&url, options),
        HttpClient::new(),
    );
    let trigger = phase_is(&stream, StreamPhase::Connecting);
    let finished = cancel_at(trigger, cancel, stream).await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
}

#[tokio::test]
async fn before_the_first_byte() {
    let server = ScriptedServer::start([ScriptedReply::new().gate("never")]).await;
    let (cancel, options) = cancellable();
    let finished = cancel_at(
        server.wait_for_gate("never"),
        cancel,
        run_echo(&server, options),
    )
    .await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
    assert!(finished.message.content.is_empty());
    server.wait_for_disconnect(0).await;
}

#[tokio::test]
async fn text_that_had_arrived_is_kept() {
    let reply = ScriptedReply::event_stream().chunk("data: one\n\n");
    let server = ScriptedServer::start([reply.gate("sent")]).await;
    let (cancel, options) = cancellable();
    let stream = run_echo(&server, options);
    let finished = cancel_at(server.wait_for_gate("sent"), cancel, stream).await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
    assert_eq!(finished.text, "one");
}

#[tokio::test]
async fn between_and_inside_frames() {
    for (body, expected) in [
        ("data: one\n\ndata: two\n\n", "onetwo"),
        ("data: one\n\ndata: tw", "one"),
    ] {
        let server =
            ScriptedServer::start([ScriptedReply::event_stream().chunk(body).gate("never")]).await;
        let (cancel, options) = cancellable();
        let stream = run_echo(&server, options);
        let live = stream.live();
        let arrived = async {
            while live.read(AssistantMessage::text) != expected {
                tokio::task::yield_now().await;
            }
        };
        let finished = cancel_at(arrived, cancel, stream).await;
        finished.assert_failed(ErrorClass::Aborted, &[]);
        assert_eq!(finished.text, expected);
        server.wait_for_disconnect(0).await;
    }
}

#[tokio::test]
async fn during_the_wait_for_a_retry() {
    let server =
        ScriptedServer::start([ScriptedReply::full(429, &[("retry-after", "15")], "slow")]).await;
    let (cancel, mut options) = cancellable();
    options.max_retries = 2;
    let stream = run_echo(&server, options);
    let trigger = {
        let mut phase = stream.phase();
        async move {
            let is_retrying = |phase: &StreamPhase| matches!(phase, StreamPhase::Retrying { .. });
            phase.wait_for(is_retrying).await.unwrap();
        }
    };
    let finished = cancel_at(trigger, cancel, stream).await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn with_events_that_the_consumer_has_not_taken() {
    let body = "data: word\n\n".repeat(50);
    let (head, tail) = body.split_at(100);
    let server = ScriptedServer::start([ScriptedReply::event_stream()
        .chunk(head.to_owned())
        .gate("second")
        .chunk(tail.to_owned())
        .gate("never")])
    .await;
    let (cancel, options) = cancellable();
    let mut stream = run_echo(&server, options);
    // The consumer takes one event and then stops polling while the producer continues as far as it can.
    let first = stream.next().await;
    assert!(matches!(first, Some(AssistantMessageEvent::Start { .. })));
    server.wait_for_gate("second").await;
    server.open_gate("second");
    server.wait_for_gate("never").await;
    cancel.cancel();
    let finished = finish(stream).await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
    assert_eq!(finished.text, finished.deltas);
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let server = ScriptedServer::start([ScriptedReply::event_stream()
        .chunk("data: a\n\n")
        .gate("never")])
    .await;
    let mut stream = run_echo(&server, StreamOptions::default());
    stream.next().await.unwrap();
    drop(stream);
    server.wait_for_disconnect(0).await;
}
