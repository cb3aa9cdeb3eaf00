use pi_test_support::ScriptedReply;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// Awaits `trigger`, then pauses the clock so that it advances until the stream ends.
async fn finish_after(trigger: impl Future<Output = ()>, stream: AssistantStream) -> StreamOutcome {
    let ahead = async {
        trigger.await;
        tokio::time::pause();
    };
    tokio::join!(ahead, finish(stream)).1
}

#[tokio::test]
async fn an_unestablished_connection_times_out() {
    // The TLS handshake is never answered.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let stream = stream(
        EchoProtocol::default(),
        echo_request(&url, StreamOptions::default()),
        HttpClient::new(),
    );
    let phase = stream.phase();
    let accepted = async {
        let connection = listener.accept().await.unwrap();
        assert_eq!(*phase.borrow(), StreamPhase::Connecting);
        // The connection must stay open, or the client would see its end.
        std::mem::forget(connection);
    };
    let finished = finish_after(accepted, stream).await;
    finished.assert_failed(
        ErrorClass::Network,
        &["Connecting to 127.0.0.1", "timed out after 30s"],
    );
}

#[tokio::test]
async fn a_stall_before_the_headers_times_out() {
    let server = ScriptedServer::start([ScriptedReply::new().gate("never")]).await;
    let stream = run_echo(&server, StreamOptions::default());
    let phase = stream.phase();
    let stalled = async {
        server.wait_for_gate("never").await;
        assert_eq!(*phase.borrow(), StreamPhase::Waiting);
    };
    let finished = finish_after(stalled, stream).await;
    finished.assert_failed(
        ErrorClass::Network,
        &["Waiting for a response", "timed out after 300s"],
    );
    assert!(finished.message.content.is_empty());
}

#[tokio::test]
async fn headers_that_never_end_time_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let options = StreamOptions {
        timeouts: crate::options::Timeouts {
            first_byte: Some(Duration::from_millis(500)),
            ..Default::default()
        },
        ..StreamOptions::default()
    };
    let stream = stream(
        EchoProtocol::default(),
        echo_request(&url, options),
        HttpClient::new(),
    );
    let dripping = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let received = connection.read(&mut [0; 4096]).await.unwrap();
        assert!(received > 0);
        connection
            .write_all(b"HTTP/1.1 200 OK\r\nx: ")
            .await
            .unwrap();
        while connection.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let finished = finish(stream).await;
    finished.assert_failed(
        ErrorClass::Network,
        &["Waiting for a response", "timed out"],
    );
    dripping.abort();
}

#[tokio::test]
async fn a_stall_during_the_response_times_out_and_keeps_the_partial_message() {
    let server = ScriptedServer::start([ScriptedReply::event_stream()
        .chunk("data: hel\n\ndata: l")
        .gate("never")])
    .await;
    let options = StreamOptions {
        timeouts: crate::options::Timeouts {
            idle: Some(Duration::from_millis(1500)),
            ..Default::default()
        },
        ..StreamOptions::default()
    };
    let stream = run_echo(&server, options);
    let phase = stream.phase();
    let live = stream.live();
    let stalled = async {
        server.wait_for_gate("never").await;
        let mut phase = phase;
        phase
            .wait_for(|phase| *phase == StreamPhase::Receiving)
            .await
            .unwrap();
        while live.read(AssistantMessage::text) != "hel" {
            tokio::task::yield_now().await;
        }
    };
    let finished = finish_after(stalled, stream).await;
    finished.assert_failed(ErrorClass::Network, &["stalled", "timed out after 1.5s"]);
    assert_eq!(finished.text, "hel");
}

#[tokio::test]
async fn a_consumer_idle_for_longer_than_the_timeout_loses_nothing() {
    let server = ScriptedServer::start([ScriptedReply::event_stream()
        .chunk("data: a\n\n")
        .gate("away")
        .chunk("data: b\n\ndata: [DONE]\n\n")])
    .await;
    let mut stream = run_echo(&server, StreamOptions::default());
    let mut deltas = 0;
    while deltas == 0 {
        let event = stream.next().await.unwrap();
        deltas += usize::from(matches!(event, AssistantMessageEvent::TextDelta { .. }));
    }
    assert!(
        poll_once(&mut stream).await.is_pending(),
        "the idle timer is running"
    );
    server.open_gate("away");
    tokio::time::pause();
    tokio::time::advance(Duration::from_hours(1)).await;
    tokio::time::resume();
    // The rest of the response reaches the connection's buffer without the consumer.
    drain_sockets().await;
    let text = stream.result().await.text();
    assert_eq!(text, "ab");
}

#[tokio::test]
async fn an_endless_error_body_is_read_as_far_as_it_arrives() {
    let server = ScriptedServer::start([ScriptedReply::new()
        .head(529, &[])
        .chunk("busy")
        .gate("never")])
    .await;
    let stream = run_echo(&server, StreamOptions::default());
    let stalled = async {
        server.wait_for_gate("never").await;
        drain_sockets().await;
    };
    let finished = finish_after(stalled, stream).await;
    finished.assert_failed(ErrorClass::Overloaded, &["529 busy"]);
}
