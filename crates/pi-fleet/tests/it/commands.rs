//! The commands, as their user runs them.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{Fixture, describe};

async fn text(fixture: &Fixture, words: &[&str]) -> String {
    let output = fixture.fleet(words).output().await.unwrap();
    assert!(output.status.success(), "{words:?}: {}", describe(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_budget_stops_the_batch_and_a_higher_one_continues_it() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names: Vec<String> = (0..4).map(|number| format!("t{number}")).collect();
    let tasks = fixture.tasks(&names, &json!({}));
    // Each run costs $0.08, in four requests.
    let limited = fixture.run(&tasks, &["--workers", "2", "--cost", "0.1"]);
    let output = { limited }.output().await.unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", describe(&output));
    let requests: u64 = names.iter().map(|name| fixture.model.requests(name)).sum();
    // $0.02 per request: five reach the budget, and one more per slot may be in flight.
    assert!((5..=7).contains(&requests), "{requests}");
    let output = fixture
        .run(&tasks, &["--cost", "1"])
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(fixture.check_results(&names).await, (0, 0));
}

#[tokio::test]
async fn a_limit_ends_a_run_and_retry_starts_it_again() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names = ["a".to_owned()];
    let tasks = fixture.tasks(&names, &json!({"limits": {"turns": 2}}));
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    let result = &fixture.results().await["a"];
    assert_eq!(
        (&result["status"], &result["error"]),
        (&json!("limit"), &json!("turns"))
    );
    assert_eq!(
        (&result["turns"], fixture.model.requests("a")),
        (&json!(2), 2)
    );
    let table = text(&fixture, &["ls", "b"]).await;
    assert!(table.contains("limit"), "{table}");
    assert!(text(&fixture, &["show", "b/a"]).await.contains("turns"));
    assert_eq!(
        text(&fixture, &["retry", "b"]).await,
        "1 runs are queued again. Run the batch to start them.\n"
    );
    assert!(text(&fixture, &["ls", "b"]).await.contains("waiting"));
}

#[tokio::test]
async fn canceled_and_paused_runs_do_not_start() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names = ["a".to_owned(), "b".to_owned()];
    let tasks = fixture.tasks(&names, &json!({}));
    let output = fixture
        .run(&tasks, &["--cost", "0"])
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", describe(&output));
    text(&fixture, &["cancel", "b/a"]).await;
    text(&fixture, &["pause", "b/b"]).await;
    assert!(text(&fixture, &["ls", "b"]).await.contains("paused"));
    text(&fixture, &["resume", "b/b"]).await;
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    let results = fixture.results().await;
    assert_eq!(
        (&results["a"]["status"], fixture.model.requests("a")),
        (&json!("canceled"), 0)
    );
    assert_eq!(results["b"]["status"], "done");
}

#[tokio::test]
async fn a_task_that_cannot_start_fails_with_its_reason() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    for (fields, expected) in [
        (json!({"model": "nowhere/none"}), "nowhere"),
        (json!({"setup": "echo no space; exit 1"}), "no space"),
        (json!({"verify": "echo wrong; exit 7"}), "code 7: wrong"),
    ] {
        let tasks = fixture.tasks(&["a".to_owned()], &fields);
        let output = fixture.run(&tasks, &[]).output().await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
        let result = &fixture.results().await["a"];
        assert_eq!(result["status"], "failed");
        let error = result["error"].as_str().unwrap();
        assert!(error.contains(expected), "{error}");
        std::fs::remove_dir_all(fixture.batch()).unwrap();
    }
}

#[tokio::test]
async fn a_task_whose_worker_dies_every_time_is_poisoned() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let fields = json!({"setup": "kill -9 $PPID", "limits": {"attempts": 2}});
    let tasks = fixture.tasks(&["a".to_owned()], &fields);
    for _ in 0..2 {
        let output = fixture.run(&tasks, &[]).output().await.unwrap();
        assert_eq!(output.status.code(), None, "{}", describe(&output));
    }
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", describe(&output));
    assert_eq!(fixture.results().await["a"]["status"], "poisoned");
}

#[tokio::test]
async fn mistakes_are_usage_errors() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    for words in [
        &["run", "missing.jsonl"][..],
        &["ls", "none"],
        &["show", "x"],
        &["fly"],
    ] {
        let output = fixture.fleet(words).output().await.unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: "));
    }
    let checked = text(&fixture, &["check", "--pi", fixture.pi.to_str().unwrap()]).await;
    assert_eq!(checked.matches("ok ").count(), 3, "{checked}");
}
