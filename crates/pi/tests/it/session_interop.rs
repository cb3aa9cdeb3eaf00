//! The TypeScript pi and this one can resume each other's sessions. Skipped if the TypeScript pi is not installed.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, bash_reply, partial_reply, text_reply};
use crate::reference_client::modules;

/// Runs both programs in one home.
struct InteropContext {
    context: TestContext,
    bin_dir: PathBuf,
}

impl InteropContext {
    /// Runs one of the programs and returns its stdout.
    async fn run(&self, program: &Path, arguments: &[&str]) -> String {
        // The TypeScript pi needs the Node.js it was installed with.
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.bin_dir.display());
        let child = Command::new(program)
            .args(["--model", "mock/alpha"])
            .args(arguments)
            .current_dir(self.context.project_dir())
            .env_clear()
            .envs(self.context.environment())
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let output = tokio::time::timeout(2 * TEST_TIMEOUT, child.wait_with_output()).await;
        let run = PiOutput::new(output.expect("pi timed out").unwrap());
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        run.stdout
    }

    async fn run_rust(&self, arguments: &[&str]) -> String {
        self.run(Path::new(env!("CARGO_BIN_EXE_pi")), arguments)
            .await
    }

    async fn run_typescript(&self, arguments: &[&str]) -> String {
        self.run(&self.bin_dir.join("pi"), arguments).await
    }

    /// Returns the entries of the only session.
    fn entries(&self) -> Vec<Value> {
        self.context.session_records().into_iter().skip(1).collect()
    }
}

async fn interop_context(replies: Vec<pi_test_support::ScriptedReply>) -> Option<InteropContext> {
    let bin_dir = modules()?.join(".bin");
    if !bin_dir.join("pi").exists() {
        return None;
    }
    let context = TestContext::new(replies).await;
    Some(InteropContext { context, bin_dir })
}

/// Returns role and text of the messages in a request, without the system prompt.
fn conversation(request: &Value) -> Vec<(String, String)> {
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
async fn sessions_can_be_resumed_in_either_program() {
    let replies = vec![
        bash_reply("echo typescript"),
        text_reply("one"),
        bash_reply("echo rust"),
        text_reply("two"),
        text_reply("three"),
        text_reply("four"),
    ];
    let Some(interop) = interop_context(replies).await else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    assert_eq!(
        interop
            .run_typescript(&["--name", "an interop session", "-p", "first"])
            .await,
        "one\n"
    );
    assert_eq!(interop.run_rust(&["-c", "-p", "second"]).await, "two\n");
    assert_eq!(
        interop.run_typescript(&["-c", "-p", "third"]).await,
        "three\n"
    );
    assert_eq!(interop.run_rust(&["-c", "-p", "fourth"]).await, "four\n");
    let expected = [
        ("user", "first"),
        ("assistant", ""),
        ("tool", "typescript\n"),
        ("assistant", "one"),
        ("user", "second"),
        ("assistant", ""),
        ("tool", "rust\n"),
        ("assistant", "two"),
        ("user", "third"),
        ("assistant", "three"),
        ("user", "fourth"),
    ]
    .map(|(role, text)| (role.to_owned(), text.to_owned()));
    let requests = interop.context.server.requests();
    assert_eq!(conversation(&requests[5].json()), expected);
    // Earlier requests contain a prefix of the same conversation.
    assert_eq!(conversation(&requests[4].json()), expected[..9]);
    assert_eq!(conversation(&requests[2].json()), expected[..5]);

    let entries = interop.entries();
    let mut parent = &Value::Null;
    for entry in &entries {
        assert_eq!(&entry["parentId"], parent, "{entry}");
        parent = &entry["id"];
    }
    assert_eq!(entries[0]["name"], json!("an interop session"));
}

#[tokio::test]
async fn the_session_of_a_killed_process_can_be_resumed_in_the_other_program() {
    let replies = vec![partial_reply("par").gate("g"), text_reply("well")];
    let Some(interop) = interop_context(replies).await else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let mut child = interop
        .context
        .command(&["--model", "mock/alpha", "-p", "a question"])
        .spawn()
        .unwrap();
    interop.context.server.wait_for_gate("g").await;
    child.kill().await.unwrap();
    assert_eq!(
        interop.run_typescript(&["-c", "-p", "and?"]).await,
        "well\n"
    );
    let requests = interop.context.server.requests();
    let questions = [("user", "a question"), ("user", "and?")];
    assert_eq!(
        conversation(&requests[1].json()),
        questions.map(|(role, text)| (role.to_owned(), text.to_owned()))
    );
}
