//! The library API that extensions import, in the embedded engine and on Node. `extension_library/library.ts` uses
//! components, the RPC client and session runtimes, and writes the results to a file.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply};

fn expected() -> Value {
    json!({
        "messages": {
            "user": ["1. hi"],
            "visible": ["One.", "Two.", "Answer"],
            "hidden": ["Thinking...", "Answer"],
            "failed": ["Error: connection failed"],
            "custom": ["[note]", "plain"],
            "rendered": ["rendered text"],
            "renderFailed": ["[note]", "plain"],
            "collapsed": ["[compaction]", "Compacted from 1,234 tokens (ctrl+o to expand)"],
            "expanded": ["[compaction]", "Compacted from 1,234 tokens", "the summary"],
            "branch": "[branch]",
            "skill": "review",
        },
        "executions": {
            "pending": ["dig 2"],
            "result": [12, true],
            "expanded": 13,
            "unknown": ["other", "{", "\"a\": 1", "}"],
            "shell": ["$ ls", "a", "bc", "(exit 2)"],
            "output": "a\nbc\n",
        },
        "dialogs": {
            "lines": ["Which?", "of three", "a", "→ b", "c"],
            "callbacks": [
                ["selected", "b"], "canceled", ["input", "me!"], ["edited", "firstx"], ["level", "high"],
                ["images", false], ["message", "1"],
            ],
            "list": ["Continue from a message", "one", "1 of 2", "› two lines", "2 of 2"],
            "themes": "function",
        },
        "input": {
            "events": [
                "a", "\u{1b}[A", {"pasted": "one"}, "é", "\u{1b}OP", "\u{1b}[<0;1;2M", "\u{1b}", "\u{1b}a",
            ],
            "columns": 80,
        },
        "rpcClient": {
            "text": "from the client", "model": "alpha", "last": "agent_settled", "sameEvents": true,
            "roles": ["user", "assistant"], "shell": "out", "rejected": "Error",
            "stopped": "the client was stopped",
        },
        "sessionRuntime": {
            "first": "from a session", "newSession": [0, true], "switchedBack": true, "rebound": [true, true],
        },
        "png": ["image/png", "PNG", null],
    })
}

async fn create_context() -> TestContext {
    let replies = ["from the client", "from a session", "done"].map(text_reply);
    TestContext::new(replies).await
}

fn assert_results(context: &TestContext, run: &PiOutput) {
    assert_eq!(run.code, Some(0), "{run:?}");
    let results = std::fs::read(context.project_dir().join("results.json"));
    let results = results.unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let results: Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(results, expected());
}

#[tokio::test]
async fn the_library_works_in_the_embedded_engine() {
    let context = create_context().await;
    let file = context
        .home
        .write("library.ts", include_str!("extension_library/library.ts"));
    let file = file.to_string_lossy();
    let run = context
        .run(&["--model", "mock/alpha", "-e", &file, "-p", "hi"])
        .await;
    assert_results(&context, &run);
}

#[cfg(unix)]
#[tokio::test]
async fn the_library_works_on_node() {
    let bin_dir = crate::reference_client::modules().map(|modules| modules.join(".bin"));
    let Some(bin_dir) = bin_dir.filter(|bin_dir| bin_dir.join("node").exists()) else {
        println!("skipped: the Node of the TypeScript pi is not installed");
        return;
    };
    let context = create_context().await;
    let file = context
        .home
        .write("library.ts", include_str!("extension_library/library.ts"));
    let file = file.to_string_lossy();
    context.home.write(
        "agent/settings.json",
        r#"{"extensionHost": {"library.ts": "node"}}"#,
    );
    let path = std::env::var("PATH").unwrap_or_default();
    let child = context
        .command(&["--model", "mock/alpha", "-e", &file, "-p", "hi"])
        .env("PATH", format!("{}:{path}", bin_dir.display()))
        .output();
    let run = tokio::time::timeout(TEST_TIMEOUT, child).await;
    assert_results(
        &context,
        &PiOutput::new(run.expect("pi timed out").unwrap()),
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_missing_node_is_reported_with_the_required_version() {
    let context = create_context().await;
    let file = context.home.write("empty.ts", "export default () => {};");
    let file = file.to_string_lossy();
    let arguments = ["--extension-host", "node", "-e", &file, "-p", "hi"];
    let child = context
        .command(&arguments)
        .env("PATH", context.project_dir())
        .output();
    let run = tokio::time::timeout(TEST_TIMEOUT, child).await;
    let run = PiOutput::new(run.expect("pi timed out").unwrap());
    assert_eq!(run.code, Some(1), "{run:?}");
    let expected = "`node` not found on PATH; install Node 22.15 or newer";
    assert!(run.stderr.contains(expected), "{run:?}");
    let run = context.run(&["--extension-host", "deno", "-p", "hi"]).await;
    assert!(run.stderr.contains("use quickjs or node"), "{run:?}");
}
