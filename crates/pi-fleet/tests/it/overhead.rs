//! What barriers cost. Prints times per turn; run it with `--ignored --nocapture` on a quiet machine.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::fixture::{Fixture, describe};
use crate::machines::{fleet, submit, worker};
use crate::model_server::LONG_TURNS;

/// The fastest of several runs is the one with the least noise.
const REPETITIONS: usize = 3;

/// Returns the time per turn: that of a long task without what every task costs.
async fn time_per_turn(label: &str, mut run: impl AsyncFnMut(&str) -> Duration) -> Duration {
    let mut fastest = [Duration::MAX; 2];
    for number in 0..REPETITIONS {
        for (fastest, kind) in fastest.iter_mut().zip(["once", "long"]) {
            *fastest = run(&format!("{kind}-{label}-{number}")).await.min(*fastest);
        }
    }
    let [once, long] = fastest;
    long.saturating_sub(once) / (LONG_TURNS - 1)
}

#[tokio::test]
#[ignore = "a measurement"]
async fn barriers_cost_a_fraction_of_a_turn() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let work = fixture.home.path().join("repository");
    let plain = time_per_turn("plain", async |task| {
        let started = Instant::now();
        let mut pi = fixture.program(&fixture.pi, &["-p", "--model", "mock/alpha", task]);
        let output = pi.current_dir(&work).output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
        started.elapsed()
    })
    .await;
    let local = time_per_turn("local", async |task| {
        let tasks = fixture.tasks(&[task.to_owned()], &json!({}));
        let started = Instant::now();
        let output = fixture.run(&tasks, &[]).output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
        started.elapsed()
    })
    .await;
    let ratio = |time: Duration| time.as_secs_f64() / plain.as_secs_f64();
    let added = |time: Duration| (time.as_secs_f64() - plain.as_secs_f64()) * 1000.0;
    eprintln!("per turn without barriers: {plain:?}");
    eprintln!(
        "per turn with barriers, local engine: {local:?}, {:.2} times, {:+.2} ms",
        ratio(local),
        added(local)
    );
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    let nats = time_per_turn("nats", async |task| {
        submit(&fixture, &[task.to_owned()], &json!({}), &[]).await;
        let started = Instant::now();
        let worker = worker(&fixture, "one", &["--slots", "1", "--drain"]);
        let output = worker.wait_with_output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
        started.elapsed()
    })
    .await;
    eprintln!(
        "per turn with barriers, one NATS node: {nats:?}, {:.2} times, {:+.2} ms",
        ratio(nats),
        added(nats)
    );
}
