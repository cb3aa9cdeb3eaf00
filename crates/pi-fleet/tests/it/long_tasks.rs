//! Tasks that are longer than a message of the server.

use pi_fleet::FleetEngine as _;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{Fixture, describe};
use crate::machines::{fleet, text, worker};

const TASK: &str = "long-prompt";

/// Writes a task file with a prompt that one message cannot carry.
fn tasks(fixture: &Fixture, prompt: &str) -> std::path::PathBuf {
    let task = json!({"id": TASK, "prompt": prompt, "model": "mock/alpha"});
    fixture.home.write("tasks.jsonl", format!("{task}\n"))
}

#[tokio::test]
async fn a_task_may_be_longer_than_a_message_of_the_server() {
    let Some((fixture, server)) = fleet().await else {
        return;
    };
    let prompt = format!("once {}", "long ".repeat(400_000));
    for prompt in [prompt.as_str(), &format!("once other {prompt}")] {
        let path = tasks(&fixture, prompt);
        let words = ["submit", path.to_str().unwrap(), "--batch", "b"];
        assert_eq!(text(&fixture, &words).await, "b\n");
    }
    // The first one is kept.
    let engine = server.engine("main", "b").await;
    let runs = engine.overview().await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].problem, None);
    assert!(runs[0].task.prompt == prompt, "another prompt");
    let worker = worker(&fixture, "one", &["--slots", "1", "--drain"]);
    let output = worker.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    assert_eq!(fixture.model.requests(prompt.trim()), 1);
    assert_eq!(fixture.results().await[TASK]["status"], "done");
    let path = tasks(&fixture, &"x".repeat(17 * 1024 * 1024));
    let words = ["submit", path.to_str().unwrap(), "--batch", "other"];
    let output = fixture.fleet(&words).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", describe(&output));
    assert!(describe(&output).contains("more than a server accepts"));
}
