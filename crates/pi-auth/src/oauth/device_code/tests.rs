use parking_lot::Mutex;
use pretty_assertions::assert_eq;

use super::*;

type PollScript = Vec<Result<PollStatus<&'static str>, OAuthError>>;

/// Runs a scripted poll and returns the outcome and the seconds at which it polled.
async fn run(
    schedule: PollSchedule,
    first: FirstPoll,
    script: PollScript,
) -> (Result<&'static str, OAuthError>, Vec<u64>) {
    let started = Instant::now();
    let poll_times = Mutex::new(Vec::new());
    let script = Mutex::new(script.into_iter());
    let outcome = poll(schedule, first, &CancellationToken::new(), || {
        poll_times.lock().push(started.elapsed().as_secs());
        let response = script.lock().next().unwrap_or(Ok(PollStatus::Pending));
        std::future::ready(response)
    })
    .await;
    (outcome, poll_times.into_inner())
}

fn schedule(interval: Option<f64>, expires_in: Option<f64>) -> PollSchedule {
    PollSchedule::new(interval, expires_in, Instant::now())
}

fn network() -> OAuthError {
    OAuthError::Network {
        what: "device sign-in",
        problem: "connection reset".to_owned(),
        sent: true,
    }
}

#[tokio::test(start_paused = true)]
async fn polls_at_the_interval_of_the_service() {
    let pending = || Ok(PollStatus::Pending);
    let done = || Ok(PollStatus::Complete("token"));
    for (interval, expected) in [
        (None, vec![5, 10, 15]),
        (Some(2.0), vec![2, 4, 6]),
        (Some(0.2), vec![1, 2, 3]),
        (Some(0.0), vec![5, 10, 15]),
        (Some(f64::NAN), vec![5, 10, 15]),
        (Some(-3.0), vec![5, 10, 15]),
    ] {
        let (outcome, poll_times) = run(
            schedule(interval, Some(600.0)),
            FirstPoll::Delayed,
            vec![pending(), pending(), done()],
        )
        .await;
        assert_eq!(
            (outcome, poll_times),
            (Ok("token"), expected),
            "{interval:?}"
        );
    }
    let (_, poll_times) = run(
        schedule(None, None),
        FirstPoll::Immediate,
        vec![pending(), done()],
    )
    .await;
    assert_eq!(poll_times, [0, 5]);
}

#[tokio::test(start_paused = true)]
async fn slows_down_on_request() {
    let slow = |interval_seconds| Ok(PollStatus::SlowDown { interval_seconds });
    let (outcome, poll_times) = run(
        schedule(Some(5.0), Some(600.0)),
        FirstPoll::Immediate,
        vec![
            slow(None),
            slow(None),
            slow(Some(7.0)),
            Ok(PollStatus::Pending),
            slow(Some(0.1)),
            Ok(PollStatus::Complete("token")),
        ],
    )
    .await;
    assert_eq!(outcome, Ok("token"));
    // 5+5, then 15, then the service's 7 twice, never less than one second.
    assert_eq!(poll_times, [0, 10, 25, 32, 39, 40]);
}

#[tokio::test(start_paused = true)]
async fn fails_when_the_code_has_expired() {
    let (outcome, poll_times) =
        run(schedule(Some(4.0), Some(10.0)), FirstPoll::Delayed, vec![]).await;
    assert_eq!(outcome, Err(OAuthError::Expired { slowed_down: false }));
    assert_eq!(poll_times, [4, 8]);

    let slow = Ok(PollStatus::SlowDown {
        interval_seconds: None,
    });
    let (outcome, poll_times) = run(
        schedule(Some(4.0), Some(10.0)),
        FirstPoll::Delayed,
        vec![slow],
    )
    .await;
    assert_eq!(outcome, Err(OAuthError::Expired { slowed_down: true }));
    assert_eq!(poll_times, [4]);

    let started = Instant::now();
    let (outcome, _) = run(schedule(None, None), FirstPoll::Delayed, vec![]).await;
    assert_eq!(outcome, Err(OAuthError::Expired { slowed_down: false }));
    assert_eq!(started.elapsed(), DEFAULT_LIFETIME);
}

#[tokio::test(start_paused = true)]
async fn denial_ends_polling_immediately() {
    let denied = OAuthError::Denied { description: None };
    let (outcome, poll_times) = run(
        schedule(None, None),
        FirstPoll::Immediate,
        vec![Ok(PollStatus::Pending), Err(denied.clone())],
    )
    .await;
    assert_eq!((outcome, poll_times), (Err(denied), vec![0, 5]));
}

#[tokio::test(start_paused = true)]
async fn a_few_connection_failures_are_tolerated() {
    let broken = || Err(network());
    let (outcome, poll_times) = run(
        schedule(Some(1.0), Some(600.0)),
        FirstPoll::Immediate,
        vec![
            broken(),
            broken(),
            broken(),
            Ok(PollStatus::Pending),
            broken(),
            Ok(PollStatus::Complete("token")),
        ],
    )
    .await;
    assert_eq!(outcome, Ok("token"));
    assert_eq!(poll_times, [0, 6, 17, 33, 49, 70]);

    let always = (0..9).map(|_| broken()).collect();
    let (outcome, poll_times) = run(schedule(None, None), FirstPoll::Immediate, always).await;
    assert_eq!((outcome, poll_times.len()), (Err(network()), 4));
}

#[tokio::test(start_paused = true)]
async fn cancellation_ends_polling() {
    let cancel = CancellationToken::new();
    let polls = Mutex::new(0);
    let outcome = poll::<&str, _>(schedule(None, None), FirstPoll::Immediate, &cancel, || {
        let mut polls = polls.lock();
        *polls += 1;
        if *polls == 3 {
            cancel.cancel();
        }
        std::future::ready(Ok(PollStatus::Pending))
    })
    .await;
    assert_eq!(outcome, Err(OAuthError::Cancelled));
    assert_eq!(polls.into_inner(), 3);
}
