//! What extensions call to embed pi: sessions, session files, resources, models, packages and settings. The results are
//! those of the TypeScript pi 1.5.0, in `extension_sdk_calls/expected.json`.
#![cfg(unix)]

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply, tool_call_reply};
use crate::reference_client::node_of;

const MIN_CALLS: usize = 24;

async fn run_calls(settings: &str) -> Value {
    let replies = [
        tool_call_reply("lookup", &json!({})),
        text_reply("found it"),
        text_reply("from the runtime"),
        text_reply("main"),
    ];
    let context = TestContext::new(replies).await;
    context.home.write("agent/settings.json", settings);
    let source = include_str!("extension_sdk_calls/calls.ts");
    let file = context.home.write("calls.ts", source);
    let file = file.to_string_lossy();
    let mut command = context.command(&["--model", "mock/alpha", "-e", &file, "-p", "hi"]);
    if let Some(node) = node_of("1.5.0") {
        let path = std::env::var("PATH").unwrap_or_default();
        let directory = node.parent().unwrap().display();
        command.env("PATH", format!("{directory}:{path}"));
    }
    let run = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
    let run = PiOutput::new(run.expect("pi timed out").unwrap());
    let observed = std::fs::read(context.project_dir().join("observed.json"));
    let observed = observed.unwrap_or_else(|error| panic!("{error}: {run:?}"));
    serde_json::from_slice(&observed).unwrap()
}

fn assert_results(observed: &Value) {
    let expected = include_str!("extension_sdk_calls/expected.json");
    let expected: Value = serde_json::from_str(expected).unwrap();
    assert!(expected.as_object().unwrap().len() >= MIN_CALLS);
    assert_eq!(*observed, expected);
}

#[tokio::test]
async fn calls_give_the_same_results_in_the_embedded_engine() {
    assert_results(&run_calls("{}").await);
}

#[tokio::test]
async fn calls_give_the_same_results_on_node() {
    if node_of("1.5.0").is_none() {
        println!("skipped: the Node of the TypeScript pi is not installed");
        return;
    }
    assert_results(&run_calls(r#"{"extensionHost": "node"}"#).await);
}
