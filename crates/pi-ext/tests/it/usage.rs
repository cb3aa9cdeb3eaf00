//! What is counted for each extension.

use std::path::PathBuf;
use std::time::Duration;

use pi_ext::{ExtensionUsage, UiCall};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::api::ManagerEnv;

const PATIENCE: Duration = Duration::from_mins(1);

const MIB: u64 = 1024 * 1024;

/// Keeps the thread busy.
const BUSY: &str =
    "function busy(ms: number) { const end = Date.now() + ms; while (Date.now() < end); }";

/// Loads extensions and returns their paths.
async fn load(env: &ManagerEnv, sources: [(&str, &str); 4]) -> Vec<String> {
    let mut paths = Vec::new();
    for (name, body) in sources {
        let source = format!("{BUSY}\nexport default (pi: any) => {{ {body} }};\n");
        env.load(name, &source).await.unwrap();
        let path: PathBuf = env.write(name, &source);
        paths.push(path.to_string_lossy().into_owned());
    }
    paths
}

#[tokio::test]
async fn the_most_expensive_extension_ranks_first_in_its_column() {
    let env = ManagerEnv::new();
    let paths = load(
        &env,
        [
            // Longer than the allocations take, also on a busy machine.
            (
                "sleeps.ts",
                r#"let time = 700;
                pi.events.on("allocated", (took: number) => { time = Math.max(time, 2 * took); });
                pi.on("turn_start", () => new Promise((done) => setTimeout(done, time)));"#,
            ),
            (
                "allocates.ts",
                r#"const kept: string[][] = [];
                pi.on("turn_end", () => {
                    const start = Date.now();
                    for (let i = 0; i < 100; i++) kept.push(["x".repeat(1024 * 1024)]);
                    pi.events.emit("allocated", Date.now() - start);
                });"#,
            ),
            (
                "renders.ts",
                r#"pi.registerMessageRenderer("slow", () => ({ render: () => { busy(40); return ["slow"]; } }));"#,
            ),
            ("idles.ts", r#"pi.on("turn_start", () => {}); pi.on("turn_end", () => {});"#),
        ],
    )
    .await;
    // The heap is followed once the figures were requested.
    env.extensions().engine().usage(PATIENCE).await;
    for event in ["turn_start", "turn_end", "turn_start"] {
        env.emit(json!({ "type": event })).await;
    }
    let row = UiCall::RenderCustom {
        id: 1,
        width: 80,
        data: json!({"kind": "message", "type": "slow", "value": {}, "expanded": false}),
    };
    env.extensions().call_ui(row, None).await.unwrap();

    let usage = env.extensions().engine().usage(PATIENCE).await;
    let most = |figure: fn(&ExtensionUsage) -> u128| {
        let most = usage.iter().max_by_key(|(_, usage)| figure(usage));
        most.map(|(path, _)| path.clone()).unwrap()
    };
    assert_eq!(most(|usage| usage.handlers.as_nanos()), paths[0]);
    assert_eq!(most(|usage| usage.heap.into()), paths[1]);
    assert_eq!(most(|usage| usage.rendering.as_nanos()), paths[2]);
    assert_eq!(most(|usage| usage.late_frames.into()), paths[2]);
    let of = |position: usize| usage[&paths[position]];
    assert_eq!((of(0).events, of(1).events, of(3).events), (2, 1, 3));
    assert!(
        of(0).longest_handler >= Duration::from_millis(600),
        "{usage:?}"
    );
    assert!(of(1).heap > 50 * MIB && of(3).heap < 10 * MIB, "{usage:?}");
    assert_eq!(of(2).frames, 1);
    assert!(of(2).rendering >= Duration::from_millis(25), "{usage:?}");
    assert!(usage.values().all(|usage| usage.load > Duration::ZERO));
    // The engine sleeps while the handler does.
    assert!(of(0).running < of(0).handlers, "{usage:?}");
}

#[tokio::test]
async fn the_heap_of_a_worker_is_not_that_of_the_extensions() {
    let env = ManagerEnv::new();
    let paths = load(
        &env,
        [
            (
                "allocates.ts",
                r#"const kept: string[] = [];
                pi.on("turn_start", () => { for (let i = 0; i < 60; i++) kept.push("x".repeat(1024 * 1024)); });"#,
            ),
            (
                "works.ts",
                r#"pi.on("turn_end", async () => {
                    const { Worker } = await import("node:worker_threads");
                    const source = `const end = Date.now() + 100; while (Date.now() < end);
                        require("node:worker_threads").parentPort.postMessage("done");`;
                    const worker = new Worker(source, { eval: true });
                    await new Promise((done) => worker.once("exit", done));
                });"#,
            ),
            ("idles.ts", r#"pi.on("turn_start", () => {});"#),
            ("reads.ts", r#"pi.on("turn_end", () => {});"#),
        ],
    )
    .await;
    let engine = env.extensions().engine();
    engine.usage(PATIENCE).await;
    for event in ["turn_start", "turn_end"] {
        env.emit(json!({ "type": event })).await;
        engine.usage(PATIENCE).await;
    }
    let usage = engine.usage(PATIENCE).await;
    let of = |position: usize| usage[&paths[position]];
    assert!(of(0).heap > 50 * MIB, "{usage:?}");
    assert!(of(1).heap < 10 * MIB, "{usage:?}");
    assert!(of(1).running >= Duration::from_millis(50), "{usage:?}");
}

#[tokio::test]
async fn failures_and_children_are_counted_for_the_extension_whose_handler_runs() {
    let env = ManagerEnv::new();
    let paths = load(
        &env,
        [
            ("quiet.ts", r#"pi.on("turn_start", () => {});"#),
            (
                "fails.ts",
                r#"pi.on("turn_start", () => { setTimeout(() => { throw new Error("late"); }, 1); });"#,
            ),
            (
                "spawns.ts",
                r#"pi.on("turn_start", async () => {
                    const { spawnSync } = await import("node:child_process");
                    spawnSync("true"); spawnSync("true");
                });"#,
            ),
            ("other.ts", r#"pi.on("turn_start", async () => { await new Promise((done) => setTimeout(done, 20)); });"#),
        ],
    )
    .await;
    env.emit(json!({"type": "turn_start"})).await;
    assert_eq!(env.calls("fault"), [json!("late")]);
    let usage = env.extensions().engine().usage(PATIENCE).await;
    let counts: Vec<_> = paths
        .iter()
        .map(|path| (usage[path].errors, usage[path].children))
        .collect();
    assert_eq!(counts, [(0, 0), (1, 0), (0, 2), (0, 0)]);
}

#[tokio::test]
async fn added_prompt_text_is_reported_when_it_changes() {
    let env = ManagerEnv::new();
    let paths = load(
        &env,
        [
            (
                "section.ts",
                r#"pi.on("before_agent_start", (event: any) => { event.systemPromptOptions.sections.todo = "x".repeat(400); });"#,
            ),
            (
                "prompt.ts",
                r#"pi.on("before_agent_start", (event: any) => ({ systemPrompt: event.systemPrompt + "y".repeat(100) }));"#,
            ),
            (
                "context.ts",
                r#"pi.on("context", (event: any) => ({ messages: [...event.messages, { role: "user", content: "added" }] }));"#,
            ),
            ("reader.ts", r#"pi.on("context", () => {}); pi.on("before_agent_start", () => {});"#),
        ],
    )
    .await;
    for _ in 0..2 {
        env.emit(
            json!({"type": "before_agent_start", "prompt": "p", "systemPrompt": "s",
            "systemPromptOptions": {"sections": {}}}),
        )
        .await;
        env.emit(json!({"type": "context", "messages": [{"role": "user", "content": "hello"}]}))
            .await;
    }
    let message = "user".len() + "added".len();
    let reported = |position: usize, part: &str, characters: usize, sections: &[&str]| json!({"extensionPath": paths[position], "part": part, "characters": characters, "sections": sections});
    assert_eq!(
        env.calls("program.promptText"),
        [
            reported(0, "system", 400, &["todo"]),
            reported(1, "system", 100, &[]),
            reported(2, "context", message, &[]),
        ]
    );
}

#[tokio::test]
async fn messages_are_measured_without_serializing_them() {
    let env = ManagerEnv::new();
    let paths = load(
        &env,
        [
            (
                "copies.ts",
                r#"pi.on("context", (event: any) => ({ messages: event.messages.map((it: any) => ({ ...it })) }));"#,
            ),
            (
                "circular.ts",
                r#"pi.on("context", (event: any) => {
                    const added: any = { role: "user", content: "added", details: { count: 10n } };
                    added.details.self = added;
                    return { messages: [...event.messages, added] };
                });"#,
            ),
            (
                "pictures.ts",
                r#"pi.on("context", (event: any) => {
                    const content = [{ type: "image", data: "A".repeat(1024 * 1024), mimeType: "image/png" }];
                    return { messages: [...event.messages.slice(0, -1), { role: "user", content }] };
                });"#,
            ),
            (
                "removes.ts",
                r#"pi.on("context", (event: any) => ({ messages: event.messages.slice(0, 1) }));"#,
            ),
        ],
    )
    .await;
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": "hello"}]}]);
    let changed = env
        .emit(json!({"type": "context", "messages": messages}))
        .await;
    assert_eq!(changed, json!({ "messages": messages }));
    assert_eq!(env.calls("program.reportError"), [json!(null); 0]);
    assert_eq!(env.calls("fault"), [json!(null); 0]);
    let reported = |position: usize, characters: i64| json!({"extensionPath": paths[position], "part": "context", "characters": characters, "sections": []});
    let (text, image) = (9, 4 + 4800);
    assert_eq!(
        env.calls("program.promptText"),
        [
            reported(1, text),
            reported(2, image - text),
            reported(3, -image),
        ]
    );
}
