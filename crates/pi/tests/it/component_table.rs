//! The components that extensions build on, held against what the TypeScript pi's library draws.
//!
//! `component_table/cases.js` runs here as an extension. `expected.json` is what the same file gives
//! under Node with `@earendil-works/pi-tui` 0.87.1: copy it beside that package and write out what
//! its `results()` returns.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::process::{World, answer};

/// Resets between styles that are off anyway; where they stand is each library's own affair.
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
async fn components_draw_and_act_as_the_references_do() {
    let world = World::new([answer("done")]).await;
    let cases = include_str!("component_table/cases.js");
    let file = world.home.write("cases.js", cases);
    let file = file.to_string_lossy();
    let arguments = ["--model", "mock/alpha", "-e", &file, "-p", "hi"];
    let run = world.run(&arguments).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let results = std::fs::read(world.project().join("results.json")).unwrap();
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
