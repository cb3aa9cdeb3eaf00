//! Workspaces that remain when a worker is killed after the end of a run.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::fixture::{Fixture, describe};
use crate::machines::{fleet, submit, until, worker};

/// Puts back the workspace of a finished run, as a worker leaves it that is killed before it removes the workspace.
/// Returns its path and the mirror.
fn leave_workspace(agent: &Path, run: &str) -> (PathBuf, PathBuf) {
    let mirrors = std::fs::read_dir(agent.join("fleet/mirrors")).unwrap();
    let mirrors = mirrors.map(|entry| entry.unwrap().path());
    let mut mirrors = mirrors.filter(|path| path.extension().is_some_and(|end| end == "git"));
    let mirror = mirrors.next().unwrap();
    let workspace = agent.join("fleet/batches/b/work").join(run);
    let mut git = std::process::Command::new("git");
    git.args(["worktree", "add", "--quiet", "--detach"])
        .arg(&workspace)
        .current_dir(&mirror);
    assert!(git.status().unwrap().success());
    (workspace, mirror)
}

fn worktrees(mirror: &Path) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["worktree", "list"]).current_dir(mirror);
    String::from_utf8(git.output().unwrap().stdout).unwrap()
}

#[tokio::test]
async fn the_next_command_removes_workspaces_of_finished_runs() {
    let Some(fixture) = Fixture::new().await else {
        return;
    };
    let names = ["once-a", "hold-b"].map(str::to_owned);
    let tasks = fixture.tasks(&names[..1], &json!({}));
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    let agent = fixture.home.path().join("agent");
    let (finished, mirror) = leave_workspace(&agent, "once-a");
    let tasks = fixture.tasks(&names, &json!({}));
    let mut holding = fixture.run(&tasks, &[]).spawn().unwrap();
    let has_request = async || fixture.model.requests("hold-b") == 1;
    until("no request", has_request).await;
    assert!(!finished.exists());
    assert!(!worktrees(&mirror).contains("once-a"));
    // A run in progress, and one whose command was killed, keep theirs.
    let kept = finished.with_file_name("hold-b");
    let other = fixture.tasks(&["once-c".to_owned()], &json!({}));
    let pi = fixture.pi.to_str().unwrap();
    let words = ["run", other.to_str().unwrap(), "--batch", "c", "--pi", pi];
    for is_killed in [false, true] {
        if is_killed {
            holding.kill().await.unwrap();
        }
        let output = fixture.fleet(&words).output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
        assert!(kept.exists());
        assert!(worktrees(&mirror).contains("hold-b"));
    }
    fixture.model.open_gate();
    let tasks = fixture.tasks(&names, &json!({}));
    let output = fixture.run(&tasks, &[]).output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    assert!(!kept.exists());
}

#[tokio::test]
async fn the_next_worker_removes_workspaces_of_finished_runs() {
    let Some((fixture, _server)) = fleet().await else {
        return;
    };
    let drain = async || {
        let worker = worker(&fixture, "one", &["--slots", "1", "--drain"]);
        let output = worker.wait_with_output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
    };
    submit(&fixture, &["once-a".to_owned()], &json!({}), &[]).await;
    drain().await;
    let (finished, mirror) = leave_workspace(&fixture.home.path().join("one"), "once-a");
    drain().await;
    assert!(!finished.exists());
    assert!(!worktrees(&mirror).contains("once-a"));
}

#[tokio::test]
async fn a_deleted_batch_leaves_nothing() {
    let Some(mut fixture) = Fixture::new().await else {
        return;
    };
    let tasks = fixture.tasks(&["once-a".to_owned(), "hold-b".to_owned()], &json!({}));
    let mut holding = fixture.run(&tasks, &["--workers", "1"]).spawn().unwrap();
    let has_request = async || fixture.model.requests("hold-b") == 1;
    until("no request", has_request).await;
    let delete = async |fixture: &Fixture, is_possible: bool| {
        let output = fixture.fleet(&["delete", "b"]).output().await.unwrap();
        let text = describe(&output);
        assert_eq!(output.status.success(), is_possible, "{text}");
        assert!(is_possible || text.contains("in progress"), "{text}");
    };
    delete(&fixture, false).await;
    holding.kill().await.unwrap();
    let agent = fixture.home.path().join("agent");
    let (_, mirror) = leave_workspace(&agent, "once-a");
    let references = || {
        let mut git = std::process::Command::new("git");
        git.args(["for-each-ref", "refs/fleet"])
            .current_dir(&mirror);
        String::from_utf8(git.output().unwrap().stdout).unwrap()
    };
    assert!(references().contains("refs/fleet/b/once-a"));
    delete(&fixture, true).await;
    assert!(!agent.join("fleet/batches/b").exists());
    assert_eq!(references(), "");
    assert!(!worktrees(&mirror).contains("fleet/batches/b"));
    // The same on a server.
    let Some((other, server)) = fleet().await else {
        return;
    };
    fixture = other;
    let names = ["once-a", "once-b"].map(str::to_owned);
    submit(&fixture, &names, &json!({}), &["--cost", "1"]).await;
    let worker = worker(&fixture, "one", &["--slots", "1", "--drain"]);
    let output = worker.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{}", describe(&output));
    submit(&fixture, &["queued".to_owned()], &json!({}), &[]).await;
    let engine = server.engine("main", "b").await;
    engine.batch("c").add(None).await.unwrap();
    delete(&fixture, true).await;
    assert_eq!(engine.batches().await.unwrap(), ["c"]);
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let mut streams = context.streams();
    let mut left = Vec::new();
    while let Some(stream) = futures_util::StreamExt::next(&mut streams).await {
        let stream = stream.unwrap();
        if stream.state.messages > 0 {
            left.push((stream.config.name, stream.state.messages));
        }
    }
    left.sort();
    // What the day has cost, and the other batch.
    let expected = ["PI_main_COST", "PI_main_STATE"].map(|stream| (stream.to_owned(), 1));
    assert_eq!(left, expected);
}
