//! Calls of extensions with arguments that the types do not allow: they succeed and fail as in the TypeScript pi 1.5.0,
//! whose results are in `extension_tolerance/expected.json`, and no data is lost. `getContextUsage` differs: it fails there
//! after a message with a number as content.
#![cfg(unix)]

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply};
use crate::reference_client::node_of;

const MIN_CALLS: usize = 93;

async fn run_calls(settings: &str) -> (Value, Value) {
    let context = TestContext::new([text_reply("done"), text_reply("done")]).await;
    context.home.write("agent/settings.json", settings);
    let source = include_str!("extension_tolerance/calls.ts");
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
    let read = |name: &str| -> Value {
        let text = std::fs::read(context.project_dir().join(name));
        let text = text.unwrap_or_else(|error| panic!("{name}: {error}: {run:?}"));
        serde_json::from_slice(&text).unwrap()
    };
    (read("sloppy.json"), read("entries.json"))
}

fn assert_results((observed, entries): (Value, Value)) {
    let expected: Value =
        serde_json::from_str(include_str!("extension_tolerance/expected.json")).unwrap();
    assert!(expected.as_object().unwrap().len() >= MIN_CALLS);
    assert_eq!(observed, expected);
    let entries = entries.as_array().unwrap();
    let has = |expected: Value| {
        let expected = expected.as_object().unwrap();
        let mut entries = entries.iter();
        let is_found = entries.any(|entry| expected.iter().all(|(name, it)| &entry[name] == it));
        assert!(is_found, "{expected:?} is missing in {entries:?}");
    };
    has(json!({"customType": "t", "content": "42"}));
    has(json!({"customType": "t", "content": [{"type": "text", "text": "42"}]}));
    has(json!({"customType": "t", "content": [{"type": "widget", "x": 1}]}));
    has(json!({"customType": "7", "content": "x"}));
    has(json!({"customType": "5", "data": {"a": 1}}));
}

#[tokio::test]
async fn loose_arguments_are_accepted_in_the_embedded_engine() {
    assert_results(run_calls("{}").await);
}

#[tokio::test]
async fn loose_arguments_are_accepted_on_node() {
    if node_of("1.5.0").is_some() {
        assert_results(run_calls(r#"{"extensionHost": "node"}"#).await);
    }
}
