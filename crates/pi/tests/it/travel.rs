//! A session goes back and forth between the TypeScript pi and ours. Skips where that one is not installed.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::{Finished, LIMIT, World, answer, begin, shell_call};
use crate::reference_client::modules;

/// Both programs, one home.
struct Both {
    world: World,
    programs: PathBuf,
}

impl Both {
    /// Runs one of the programs on the newest session.
    async fn run(&self, program: &Path, arguments: &[&str]) -> String {
        // The TypeScript pi needs the Node.js it was installed with.
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.programs.display());
        let child = Command::new(program)
            .args(["--model", "mock/alpha"])
            .args(arguments)
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment())
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = tokio::time::timeout(2 * LIMIT, child.wait_with_output()).await;
        let run = Finished::new(output.expect("pi hangs").unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        run.stdout
    }

    async fn ours(&self, arguments: &[&str]) -> String {
        self.run(Path::new(env!("CARGO_BIN_EXE_pi")), arguments)
            .await
    }

    async fn theirs(&self, arguments: &[&str]) -> String {
        self.run(&self.programs.join("pi"), arguments).await
    }

    /// Returns the entries of the only session there is.
    fn entries(&self) -> Vec<Value> {
        let folder = self.world.home.path().join("agent/sessions");
        let projects: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
        assert_eq!(projects.len(), 1);
        let project = projects[0].as_ref().unwrap().path();
        let files: Vec<_> = std::fs::read_dir(project).unwrap().collect();
        assert_eq!(files.len(), 1, "nobody began another session");
        let text = std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
        let entries = text.lines().skip(1);
        entries
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

async fn both(replies: Vec<pi_test_support::ScriptedReply>) -> Option<Both> {
    let programs = modules()?.join(".bin");
    if !programs.join("pi").exists() {
        return None;
    }
    let world = World::new(replies).await;
    Some(Both { world, programs })
}

/// Returns who said what, in the words of a request.
fn said(request: &Value) -> Vec<(String, String)> {
    let messages = request["messages"].as_array().unwrap().iter().skip(1);
    let text = |content: &Value| match content {
        Value::Array(blocks) => blocks[0]["text"].as_str().unwrap().to_owned(),
        Value::String(text) => text.clone(),
        _ => String::new(),
    };
    messages
        .map(|message| {
            (
                message["role"].as_str().unwrap().to_owned(),
                text(&message["content"]),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_session_goes_on_in_either_program() {
    let replies = vec![
        shell_call("echo theirs"),
        answer("one"),
        shell_call("echo ours"),
        answer("two"),
        answer("three"),
        answer("four"),
    ];
    let Some(both) = both(replies).await else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    assert_eq!(
        both.theirs(&["--name", "a journey", "-p", "first"]).await,
        "one\n"
    );
    assert_eq!(both.ours(&["-c", "-p", "second"]).await, "two\n");
    assert_eq!(both.theirs(&["-c", "-p", "third"]).await, "three\n");
    assert_eq!(both.ours(&["-c", "-p", "fourth"]).await, "four\n");
    let expected = [
        ("user", "first"),
        ("assistant", ""),
        ("tool", "theirs\n"),
        ("assistant", "one"),
        ("user", "second"),
        ("assistant", ""),
        ("tool", "ours\n"),
        ("assistant", "two"),
        ("user", "third"),
        ("assistant", "three"),
        ("user", "fourth"),
    ]
    .map(|(role, text)| (role.to_owned(), text.to_owned()));
    let requests = both.world.server.requests();
    assert_eq!(said(&requests[5].json()), expected);
    // Their last request and our first see the same beginning.
    assert_eq!(said(&requests[4].json()), expected[..9]);
    assert_eq!(said(&requests[2].json()), expected[..5]);

    let entries = both.entries();
    let mut before = &Value::Null;
    for entry in &entries {
        assert_eq!(&entry["parentId"], before, "{entry}");
        before = &entry["id"];
    }
    assert_eq!(entries[0]["name"], json!("a journey"));
}

#[tokio::test]
async fn a_session_of_a_killed_process_goes_on_in_the_other_program() {
    let replies = vec![begin("par").gate("g"), answer("well")];
    let Some(both) = both(replies).await else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let mut child = both
        .world
        .command(&["--model", "mock/alpha", "-p", "a question"])
        .spawn()
        .unwrap();
    both.world.server.wait_for_gate("g").await;
    child.kill().await.unwrap();
    assert_eq!(both.theirs(&["-c", "-p", "and?"]).await, "well\n");
    let requests = both.world.server.requests();
    let questions = [("user", "a question"), ("user", "and?")];
    assert_eq!(
        said(&requests[1].json()),
        questions.map(|(role, text)| (role.to_owned(), text.to_owned()))
    );
}
