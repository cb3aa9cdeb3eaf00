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

/// Reads the stream to its end, cancelling it as soon as `moment` has come.
async fn cancel_at(
    moment: impl Future<Output = ()>,
    cancel: CancellationToken,
    stream: AssistantStream,
) -> Finished {
    let cancelling = async {
        moment.await;
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
    let finished = finish(talk(&server, options)).await;
    finished.assert_failed(ErrorClass::Aborted, &["aborted"]);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn during_preparation() {
    let (cancel, options) = cancellable();
    let protocol = Parrot {
        never_prepared: true,
        ..Parrot::default()
    };
    let stream = stream(
        protocol,
        ask("http://127.0.0.1:9", options),
        HttpClient::new(),
    );
    let moment = phase_is(&stream, StreamPhase::Preparing);
    let finished = cancel_at(moment, cancel, stream).await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
}

#[tokio::test]
async fn inside_each_hook() {
    struct Stuck(&'static str);

    impl Stuck {
        async fn at(&self, place: &str) {
            if self.0 == place {
                std::future::pending::<()>().await;
            }
        }
    }

    impl RequestHooks for Stuck {
        fn on_payload<'a>(
            &'a self,
            payload: serde_json::Value,
            _model: &'a crate::model::Model,
        ) -> futures_util::future::BoxFuture<'a, serde_json::Value> {
            Box::pin(async move {
                self.at("payload").await;
                payload
            })
        }

        fn on_headers<'a>(
            &'a self,
            headers: HeaderOverrides,
            _model: &'a crate::model::Model,
        ) -> futures_util::future::BoxFuture<'a, HeaderOverrides> {
            Box::pin(async move {
                self.at("headers").await;
                headers
            })
        }

        fn on_response<'a>(
            &'a self,
            _response: &'a ResponseHead,
            _model: &'a crate::model::Model,
        ) -> futures_util::future::BoxFuture<'a, ()> {
            Box::pin(self.at("response"))
        }
    }

    for place in ["payload", "headers", "response"] {
        let server = ScriptedServer::start([ScriptedReply::event_stream().stall()]).await;
        let (cancel, mut options) = cancellable();
        options.hooks = Some(Arc::new(Stuck(place)));
        let stream = talk(&server, options);
        let moment = async {
            if place == "response" {
                server.wait_for_request(0).await;
            }
        };
        let finished = cancel_at(moment, cancel, stream).await;
        finished.assert_failed(ErrorClass::Aborted, &[]);
    }
}

#[tokio::test]
async fn while_connecting() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (cancel, options) = cancellable();
    let stream = stream(Parrot::default(), ask(&url, options), HttpClient::new());
    let moment = phase_is(&stream, StreamPhase::Connecting);
    let finished = cancel_at(moment, cancel, stream).await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
}

#[tokio::test]
async fn before_the_first_byte() {
    let server = ScriptedServer::start([ScriptedReply::new().gate("never")]).await;
    let (cancel, options) = cancellable();
    let finished = cancel_at(server.wait_for_gate("never"), cancel, talk(&server, options)).await;
    finished.assert_failed(ErrorClass::Aborted, &[]);
    assert!(finished.message.content.is_empty());
    server.wait_for_disconnect(0).await;
}

#[tokio::test]
async fn between_and_inside_frames() {
    for (body, expected) in [
        ("data: one\n\ndata: two\n\n", "onetwo"),
        ("data: one\n\ndata: tw", "one"),
    ] {
        let server = ScriptedServer::start([ScriptedReply::event_stream().chunk(body).gate("never")]).await;
        let (cancel, options) = cancellable();
        let stream = talk(&server, options);
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
    let server = ScriptedServer::start([ScriptedReply::full(429, &[("retry-after", "15")], "slow")]).await;
    let (cancel, mut options) = cancellable();
    options.max_retries = 2;
    let stream = talk(&server, options);
    let moment = {
        let mut phase = stream.phase();
        async move {
            let waits = |phase: &StreamPhase| matches!(phase, StreamPhase::Retrying { .. });
            phase.wait_for(waits).await.unwrap();
        }
    };
    let finished = cancel_at(moment, cancel, stream).await;
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
    let mut stream = talk(&server, options);
    // The consumer takes one event and then looks away while the producer goes on as far as it can.
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
    let server = ScriptedServer::start([ScriptedReply::event_stream().chunk("data: a\n\n").gate("never")]).await;
    let mut stream = talk(&server, StreamOptions::default());
    stream.next().await.unwrap();
    drop(stream);
    server.wait_for_disconnect(0).await;
}
