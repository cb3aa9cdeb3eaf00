//! Compares the terminal components available to extensions with those of the TypeScript pi.
//!
//! `component_table/cases.js` runs here as an extension. `expected.json` is the return value of its `results()` under
//! Node with `@earendil-works/pi-tui` 0.87.1; to regenerate it, copy `cases.js` next to that package.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::harness::{TestContext, text_reply};

/// Removes full resets; the libraries emit redundant ones at different positions.
fn without_resets(value: &Value) -> Value {
    match value {
        Value::String(text) => text.replace("\u{1b}[0m", "").into(),
        Value::Array(items) => items.iter().map(without_resets).collect(),
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| (name.clone(), without_resets(value)))
                .collect()
        }
        other => other.clone(),
    }
}

#[tokio::test]
async fn components_match_the_reference() {
    let context = TestContext::new([text_reply("done")]).await;
    let cases = include_str!("component_table/cases.js");
    let file = context.home.write("cases.js", cases);
    let file = file.to_string_lossy();
    let arguments = ["--model", "mock/alpha", "-e", &file, "-p", "hi"];
    let run = context.run(&arguments).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let results = std::fs::read(context.project_dir().join("results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let expected = include_str!("component_table/expected.json");
    let expected: Value = serde_json::from_str(expected).unwrap();
    for (area, expected) in expected.as_object().unwrap() {
        for (case, expected) in expected.as_object().unwrap() {
            assert_eq!(
                without_resets(&results[area][case]),
                without_resets(expected),
                "{area}, {case}"
            );
        }
    }
}
