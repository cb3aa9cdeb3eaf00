use std::sync::Mutex;

use pretty_assertions::assert_eq;

use super::*;

type Script = Vec<Result<PollAnswer<&'static str>, OAuthError>>;

/// Asks by script and returns the outcome and the seconds at which was asked.
async fn run(
    pace: Pace,
    first: FirstPoll,
    script: Script,
) -> (Result<&'static str, OAuthError>, Vec<u64>) {
    let started = Instant::now();
    let asked = Mutex::new(Vec::new());
    let script = Mutex::new(script.into_iter());
    let outcome = poll(pace, first, &CancellationToken::new(), || {
        asked.lock().unwrap().push(started.elapsed().as_secs());
        let answer = script
            .lock()
            .unwrap()
            .next()
            .unwrap_or(Ok(PollAnswer::Pending));
        std::future::ready(answer)
    })
    .await;
    (outcome, asked.into_inner().unwrap())
}

fn pace(interval: Option<f64>, expires_in: Option<f64>) -> Pace {
    Pace::new(interval, expires_in, Instant::now())
}

fn network() -> OAuthError {
    OAuthError::Network {
        what: "the device sign-in",
        problem: "connection reset".to_owned(),
        sent: true,
    }
}

#[tokio::test(start_paused = true)]
async fn asks_at_the_pace_the_service_names() {
    let pending = || Ok(PollAnswer::Pending);
    let done = || Ok(PollAnswer::Complete("token"));
    for (interval, expected) in [
        (None, vec![5, 10, 15]),
        (Some(2.0), vec![2, 4, 6]),
        (Some(0.2), vec![1, 2, 3]),
        (Some(0.0), vec![5, 10, 15]),
        (Some(f64::NAN), vec![5, 10, 15]),
        (Some(-3.0), vec![5, 10, 15]),
    ] {
        let (outcome, asked) = run(
            pace(interval, Some(600.0)),
            FirstPoll::Delayed,
            vec![pending(), pending(), done()],
        )
        .await;
        assert_eq!((outcome, asked), (Ok("token"), expected), "{interval:?}");
    }
    let (_, asked) = run(
        pace(None, None),
        FirstPoll::Immediate,
        vec![pending(), done()],
    )
    .await;
    assert_eq!(asked, [0, 5]);
}

#[tokio::test(start_paused = true)]
async fn slows_down_when_asked_to() {
    let slow = |interval_seconds| Ok(PollAnswer::SlowDown { interval_seconds });
    let (outcome, asked) = run(
        pace(Some(5.0), Some(600.0)),
        FirstPoll::Immediate,
        vec![
            slow(None),
            slow(None),
            slow(Some(7.0)),
            Ok(PollAnswer::Pending),
            slow(Some(0.1)),
            Ok(PollAnswer::Complete("token")),
        ],
    )
    .await;
    assert_eq!(outcome, Ok("token"));
    // 5+5, then 15, then the service's own 7 twice, then never below one second.
    assert_eq!(asked, [0, 10, 25, 32, 39, 40]);
}

#[tokio::test(start_paused = true)]
async fn gives_up_when_the_code_has_expired() {
    let (outcome, asked) = run(pace(Some(4.0), Some(10.0)), FirstPoll::Delayed, vec![]).await;
    assert_eq!(outcome, Err(OAuthError::Expired { slowed_down: false }));
    assert_eq!(asked, [4, 8]);

    let slow = Ok(PollAnswer::SlowDown {
        interval_seconds: None,
    });
    let (outcome, asked) = run(pace(Some(4.0), Some(10.0)), FirstPoll::Delayed, vec![slow]).await;
    assert_eq!(outcome, Err(OAuthError::Expired { slowed_down: true }));
    assert_eq!(asked, [4]);

    let started = Instant::now();
    let (outcome, _) = run(pace(None, None), FirstPoll::Delayed, vec![]).await;
    assert_eq!(outcome, Err(OAuthError::Expired { slowed_down: false }));
    assert_eq!(started.elapsed(), DEFAULT_LIFETIME);
}

#[tokio::test(start_paused = true)]
async fn a_denial_ends_it_at_once() {
    let denied = OAuthError::Denied { description: None };
    let (outcome, asked) = run(
        pace(None, None),
        FirstPoll::Immediate,
        vec![Ok(PollAnswer::Pending), Err(denied.clone())],
    )
    .await;
    assert_eq!((outcome, asked), (Err(denied), vec![0, 5]));
}

#[tokio::test(start_paused = true)]
async fn a_few_broken_connections_are_tolerated() {
    let broken = || Err(network());
    let (outcome, asked) = run(
        pace(Some(1.0), Some(600.0)),
        FirstPoll::Immediate,
        vec![
            broken(),
            broken(),
            broken(),
            Ok(PollAnswer::Pending),
            broken(),
            Ok(PollAnswer::Complete("token")),
        ],
    )
    .await;
    assert_eq!(outcome, Ok("token"));
    assert_eq!(asked, [0, 6, 17, 33, 49, 70]);

    let always = (0..9).map(|_| broken()).collect();
    let (outcome, asked) = run(pace(None, None), FirstPoll::Immediate, always).await;
    assert_eq!((outcome, asked.len()), (Err(network()), 4));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_the_wait() {
    let cancel = CancellationToken::new();
    let asked = Mutex::new(0);
    let outcome = poll::<&str, _>(pace(None, None), FirstPoll::Immediate, &cancel, || {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        if *asked == 3 {
            cancel.cancel();
        }
        std::future::ready(Ok(PollAnswer::Pending))
    })
    .await;
    assert_eq!(outcome, Err(OAuthError::Cancelled));
    assert_eq!(asked.into_inner().unwrap(), 3);
}
