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
    protocol: Parrot,
    server: &ScriptedServer,
    options: StreamOptions,
) -> (Finished, Duration) {
    let begun = Instant::now();
    let stream = stream(protocol, ask(&server.url(), options), HttpClient::new());
    let finished = without_retry_waits(stream, finish).await;
    (finished, begun.elapsed())
}

#[tokio::test]
async fn nothing_is_retried_unless_asked_for() {
    let server = ScriptedServer::start([slow(&[("retry-after", "7")])]).await;
    let (finished, _) = run_with(Parrot::default(), &server, retrying(0)).await;
    let retry_after = Some(Duration::from_secs(7));
    finished.assert_failed(ErrorClass::RateLimited { retry_after }, &["429 slow"]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_wait_a_service_asks_for_is_kept_and_shown() {
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
    let begun = Instant::now();
    let stream = talk(&server, retrying(3));
    let mut phase = stream.phase();
    let watching = async {
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
    let (finished, seen) = tokio::join!(without_retry_waits(stream, finish), watching);
    assert_eq!(finished.text, "ok");
    // The date of the second refusal has passed: nothing to wait for, and perhaps nothing to see.
    assert_eq!(seen, [(1, 30_000), (3, 5_000)]);
    assert!(begun.elapsed() >= Duration::from_secs(35));
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
    assert_eq!(
        signatures,
        ["1", "2", "3", "4"],
        "each attempt is signed anew"
    );
}

#[tokio::test]
async fn a_service_may_forbid_the_retry() {
    let server =
        ScriptedServer::start([ScriptedReply::full(529, &[("x-should-retry", "false")], "busy")]).await;
    let (finished, _) = run_with(Parrot::default(), &server, retrying(3)).await;
    finished.assert_failed(ErrorClass::Overloaded, &["529 busy"]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_wait_longer_than_allowed_is_an_error_that_names_it() {
    let server = ScriptedServer::start([slow(&[("retry-after", "7")])]).await;
    let options = StreamOptions {
        max_retry_delay: Some(Duration::from_secs(2)),
        ..retrying(2)
    };
    let (finished, _) = run_with(Parrot::default(), &server, options).await;
    let retry_after = Some(Duration::from_secs(7));
    let words = ["retry delay of 7s", "2s allowed", "429 slow"];
    finished.assert_failed(ErrorClass::RateLimited { retry_after }, &words);
    assert_eq!(finished.cause().status, Some(429));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn retries_end_with_the_last_refusal() {
    let refusals = (1..=3).map(|number| ScriptedReply::full(500, &[], format!("no {number}")));
    let server = ScriptedServer::start(refusals).await;
    let (finished, waited) = run_with(Parrot::default(), &server, retrying(2)).await;
    finished.assert_failed(ErrorClass::Overloaded, &["500 no 3"]);
    assert_eq!(server.requests().len(), 3);
    // Half a second and a second, each less a quarter at most.
    assert!(waited >= Duration::from_millis(1125), "{waited:?}");
}

#[tokio::test]
async fn the_protocol_decides_whether_and_how_to_retry() {
    let cases = [
        (RetrySupport::Never, 0, 2, 1),
        (RetrySupport::Unheeding, 0, 1, 2),
        (RetrySupport::Heeding, 2, 0, 3),
    ];
    for (support, least_retries, max_retries, expected) in cases {
        // Heeding this delay would be an error.
        let header: &[(&str, &str)] = match support {
            RetrySupport::Unheeding => &[("retry-after", "4000")],
            _ => &[("retry-after", "1")],
        };
        let server = ScriptedServer::start((0..4).map(|_| slow(header))).await;
        let protocol = Parrot {
            support,
            least_retries,
            ..Parrot::default()
        };
        let (finished, _) = run_with(protocol, &server, retrying(max_retries)).await;
        assert_eq!(finished.message.error_message.as_deref(), Some("429 slow"));
        assert_eq!(server.requests().len(), expected, "{support:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_tried_again() {
    let server = ScriptedServer::start([
        ScriptedReply::new().disconnect(),
        ScriptedReply::new().reset(),
        ScriptedReply::event_stream().chunk(OK),
    ])
    .await;
    let (finished, _) = run_with(Parrot::default(), &server, retrying(2)).await;
    assert_eq!(finished.text, "ok");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn an_answer_that_breaks_is_not_tried_again() {
    let server =
        ScriptedServer::start([ScriptedReply::event_stream().chunk("data: par\n\n").gate("cut").disconnect()]).await;
    let mut stream = talk(&server, retrying(2));
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
async fn an_attempt_without_an_answer_is_not_diagnosed_by_an_earlier_one() {
    let server = ScriptedServer::start([slow(&[("retry-after", "1")]), ScriptedReply::new().disconnect()]).await;
    let (finished, _) = run_with(Parrot::default(), &server, retrying(1)).await;
    finished.assert_failed(ErrorClass::Network, &["Connection error"]);
    assert_eq!(finished.message.diagnostics, None);
}
