//! Parts of the program that extensions use by themselves, here and on Node: `extension_parts/parts.ts` builds and
//! drives them and writes down what they do.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::process::{Finished, LIMIT, World, answer};

fn expected() -> Value {
    json!({
        "messages": {
            "user": ["1. hi"],
            "open": ["One.", "Two.", "Answer"],
            "hidden": ["Thinking...", "Answer"],
            "failed": ["Error: no route"],
            "custom": ["[note]", "plain"],
            "drawn": ["own"],
            "notDrawn": ["[note]", "plain"],
            "folded": ["[compaction]", "Compacted from 1,234 tokens (ctrl+o to expand)"],
            "expanded": ["[compaction]", "Compacted from 1,234 tokens", "what was"],
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
            "shown": ["Which?", "of three", "a", "→ b", "c"],
            "heard": [
                ["chosen", "b"], "left", ["named", "me!"], ["written", "firstx"], ["level", "high"],
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
        "another": {
            "text": "from another", "model": "alpha", "last": "agent_settled", "same": true,
            "roles": ["user", "assistant"], "shell": "out", "refused": "Error",
            "gone": "the client was stopped",
        },
        "replaced": {
            "first": "from an agent", "fresh": [0, true], "back": true, "rebound": [true, true],
        },
        "png": ["image/png", "PNG", null],
    })
}

async fn world() -> World {
    let replies = ["from another", "from an agent", "done"].map(answer);
    World::new(replies).await
}

fn check(world: &World, run: &Finished) {
    assert_eq!(run.code, Some(0), "{run:?}");
    let results = std::fs::read(world.project().join("results.json"));
    let results = results.unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let results: Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(results, expected());
}

#[tokio::test]
async fn components_programs_and_agents_work_in_an_extension() {
    let world = world().await;
    let file = world
        .home
        .write("parts.ts", include_str!("extension_parts/parts.ts"));
    let file = file.to_string_lossy();
    let run = world
        .run(&["--model", "mock/alpha", "-e", &file, "-p", "hi"])
        .await;
    check(&world, &run);
}

#[cfg(unix)]
#[tokio::test]
async fn components_programs_and_agents_work_in_an_extension_on_node() {
    let folder = crate::reference_client::modules().map(|modules| modules.join(".bin"));
    let Some(folder) = folder.filter(|folder| folder.join("node").exists()) else {
        println!("skipped: the Node of the TypeScript pi is not installed");
        return;
    };
    let world = world().await;
    let file = world
        .home
        .write("parts.ts", include_str!("extension_parts/parts.ts"));
    let file = file.to_string_lossy();
    world.home.write(
        "agent/settings.json",
        r#"{"extensionHost": {"parts.ts": "node"}}"#,
    );
    let path = std::env::var("PATH").unwrap_or_default();
    let child = world
        .command(&["--model", "mock/alpha", "-e", &file, "-p", "hi"])
        .env("PATH", format!("{}:{path}", folder.display()))
        .output();
    let run = tokio::time::timeout(LIMIT, child).await;
    check(&world, &Finished::new(run.expect("pi hangs").unwrap()));
}

#[cfg(unix)]
#[tokio::test]
async fn an_extension_for_node_without_node_says_what_to_install() {
    let world = world().await;
    let file = world.home.write("parts.ts", "export default () => {};");
    let file = file.to_string_lossy();
    let arguments = ["--extension-host", "node", "-e", &file, "-p", "hi"];
    let child = world
        .command(&arguments)
        .env("PATH", world.project())
        .output();
    let run = tokio::time::timeout(LIMIT, child).await;
    let run = Finished::new(run.expect("pi hangs").unwrap());
    assert_eq!(run.code, Some(1), "{run:?}");
    let wanted = "`node` was not found on PATH; install Node 22.15 or newer";
    assert!(run.stderr.contains(wanted), "{run:?}");
    let run = world.run(&["--extension-host", "deno", "-p", "hi"]).await;
    assert!(run.stderr.contains("use quickjs or node"), "{run:?}");
}
