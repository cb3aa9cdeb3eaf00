//! Money and rate limits that runs share.

use std::process::Output;
use std::time::Duration;

use pi_fleet::{BucketChange, BucketId, FleetEngine as _};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::chaos::setting;
use crate::fixture::{Fixture, describe};
use crate::machines::{fleet, submit, today, until, wait, worker};

/// Lets pi repeat a failed request soon, so that only the rate limit delays it.
const FAST_RETRIES: &str = r#"{"retry":{"baseDelayMs":50}}"#;

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{prefix}{number}"))
        .collect()
}

#[tokio::test]
async fn a_refused_request_stops_the_requests_of_all_runs() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    fixture.home.write("agent/settings.json", FAST_RETRIES);
    let names = names("t", 6);
    let tasks = fixture.tasks(&names, &json!({}));
    fixture.model.close_after(8);
    let output = fixture
        .run(&tasks, &["--workers", "3"])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    // Each run may have a request in flight when the first one is refused.
    let refused = fixture.model.refused();
    assert!((1..=3).contains(&refused), "{refused}");
    for result in fixture.results().await.values() {
        assert_eq!(
            (&result["status"], &result["attempts"]),
            (&json!("done"), &json!(1))
        );
    }
}

#[tokio::test]
async fn a_refused_request_stops_the_requests_of_all_machines() {
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    for machine in ["one", "two"] {
        fixture
            .home
            .write(&format!("{machine}/settings.json"), FAST_RETRIES);
    }
    let names = names("t", 8);
    submit(&fixture, &names, &json!({}), &[]).await;
    fixture.model.close_after(8);
    let _workers = ["one", "two"].map(|machine| worker(&fixture, machine, &["--slots", "2"]));
    wait(&fixture, names.len()).await;
    let refused = fixture.model.refused();
    assert!((1..=4).contains(&refused), "{refused}");
    for result in fixture.results().await.values() {
        assert_eq!(
            (&result["status"], &result["attempts"]),
            (&json!("done"), &json!(1))
        );
    }
}

/// Tasks of a storm of refusals, and how many seconds it lasts: 20 with `PI_FLEET_STORM_SECONDS`, as a real one.
const STORM_TASKS: usize = 12;
const STORM_SECONDS: u64 = 4;

/// In a storm, the same request may be refused more often than pi repeats it by default.
const PATIENT_RETRIES: &str = r#"{"retry":{"baseDelayMs":50,"maxRetries":20}}"#;

fn begin_storm(fixture: &Fixture) {
    let seconds = setting("PI_FLEET_STORM_SECONDS", STORM_SECONDS);
    fixture.model.begin_storm(Duration::from_secs(seconds));
}

/// Checks that a storm has cost at most one request more for each that was answered.
async fn check_storm(fixture: &Fixture, names: &[String]) {
    let (answered, refused) = (count_of(fixture, names), fixture.model.refused());
    eprintln!("{answered} requests answered, {refused} refused");
    assert_eq!(answered, 4 * names.len() as u64);
    assert!((1..=answered).contains(&refused), "{refused}");
    for result in fixture.results().await.values() {
        assert_eq!(
            (&result["status"], &result["attempts"]),
            (&json!("done"), &json!(1))
        );
    }
}

#[tokio::test]
async fn a_storm_of_refusals_costs_at_most_one_retry_per_request() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    fixture.home.write("agent/settings.json", PATIENT_RETRIES);
    let names = names("t", STORM_TASKS);
    let tasks = fixture.tasks(&names, &json!({}));
    begin_storm(&fixture);
    let output = fixture
        .run(&tasks, &["--workers", "4"])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    check_storm(&fixture, &names).await;
    // The same on two machines.
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    for machine in ["one", "two"] {
        fixture
            .home
            .write(&format!("{machine}/settings.json"), PATIENT_RETRIES);
    }
    submit(&fixture, &names, &json!({}), &[]).await;
    begin_storm(&fixture);
    let _workers = ["one", "two"].map(|machine| worker(&fixture, machine, &["--slots", "2"]));
    wait(&fixture, names.len()).await;
    check_storm(&fixture, &names).await;
}

#[tokio::test]
async fn a_long_wait_gives_the_slot_to_another_run() {
    let Some((fixture, server)) = fleet().await else {
        return;
    };
    let engine = server.engine("main", "b").await;
    let bucket = BucketId {
        account: String::new(),
        model: "mock/alpha".to_owned(),
    };
    let drain = BucketChange::Drain(Duration::from_hours(1));
    engine.change_bucket(&bucket, &drain).await.unwrap();
    let [waits, other] = ["once-a", "once-b"].map(str::to_owned);
    submit(&fixture, std::slice::from_ref(&waits), &json!({}), &[]).await;
    let beta = json!({"model": "mock/beta"});
    submit(&fixture, std::slice::from_ref(&other), &beta, &[]).await;
    let _worker = worker(&fixture, "one", &["--slots", "1"]);
    let is_finished = async || {
        let runs = engine.overview().await.unwrap();
        runs.iter().any(|run| run.state.result.is_some())
    };
    until("no run has finished", is_finished).await;
    let runs = engine.overview().await.unwrap();
    let run = runs.iter().find(|run| run.task.id == waits).unwrap();
    assert!(run.state.result.is_none() && !run.is_active, "{run:?}");
    // It was started, and this does not count against it.
    assert_eq!((run.state.attempts, run.state.fruitless_attempts), (1, 0));
    assert_eq!(fixture.model.requests(&waits), 0);
    assert_eq!(fixture.model.requests(&other), 1);
}

/// $1 for 100 tasks of $0.05.
#[tokio::test]
async fn a_budget_is_exceeded_by_at_most_one_request_per_slot() {
    const SLOTS: u64 = 4;
    let Some((mut fixture, _server)) = fleet().await else {
        return;
    };
    let names = names("once", 100);
    submit(&fixture, &names, &json!({}), &["--cost", "1"]).await;
    let workers =
        ["one", "two"].map(|machine| worker(&fixture, machine, &["--slots", "2", "--drain"]));
    for worker in workers {
        let output = worker.wait_with_output().await.unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", describe(&output));
    }
    let requests = count_of(&fixture, &names);
    assert!((20..=20 + SLOTS).contains(&requests), "{requests} requests");
    // The same on one machine.
    let locally: Vec<String> = names.iter().map(|name| format!("{name}-local")).collect();
    let tasks = fixture.tasks(&locally, &json!({}));
    fixture.engine = None;
    let output = fixture
        .run(&tasks, &["--workers", "4", "--cost", "1"])
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", describe(&output));
    let requests = count_of(&fixture, &locally);
    assert!((20..=20 + SLOTS).contains(&requests), "{requests} requests");
}

fn count_of(fixture: &Fixture, names: &[String]) -> u64 {
    names.iter().map(|name| fixture.model.requests(name)).sum()
}

#[tokio::test]
async fn a_day_has_a_budget_for_all_batches() {
    // Again if the day ends meanwhile.
    let (outputs, requests) = loop {
        let Some(fixture) = Fixture::new().await else {
            return;
        };
        let begin = today();
        let ended = run_with_day_budget(&fixture).await;
        if today() == begin {
            break ended;
        }
    };
    for (output, code) in outputs.iter().zip([0, 3, 3]) {
        assert_eq!(output.status.code(), Some(code), "{}", describe(output));
    }
    // $0.05 each.
    assert_eq!(requests, 5);
}

/// Runs three batches that share a budget of $0.25. Returns their output and the number of their requests.
async fn run_with_day_budget(fixture: &Fixture) -> (Vec<Output>, u64) {
    let settings = json!({"fleet": {"budget": {"perDay": 0.25}}});
    fixture
        .home
        .write("agent/settings.json", settings.to_string());
    let pi = fixture.pi.to_str().unwrap();
    let mut outputs = Vec::new();
    let mut requests = 0;
    for batch in ["a", "b", "c"] {
        let names = names(&format!("once-{batch}"), 4);
        let tasks = fixture.tasks(&names, &json!({}));
        let words = [
            "run",
            tasks.to_str().unwrap(),
            "--batch",
            batch,
            "--pi",
            pi,
            "--workers",
            "1",
            "--quiet",
        ];
        outputs.push(fixture.fleet(&words).output().await.unwrap());
        requests += count_of(fixture, &names);
    }
    (outputs, requests)
}
