//! Extensions that misbehave, each beside one that does not: whatever the first does, the session goes on, and the
//! second with it. `extension_abuse/*.ts` are what is loaded.
#![cfg(unix)]

use std::path::{Path, PathBuf};

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::extension_driver::{Driver, pattern, program};
use crate::process::{World, answer, tool_calls};

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/extension_abuse");
    folder.join(name).with_extension("ts")
}

fn notified(message: &str) -> Value {
    json!({"type": "extension_ui_request", "method": "notify", "message": message})
}

fn failed(error: &str) -> Value {
    json!({"type": "extension_error", "error": error})
}

/// What shows that the session and the neighbor are well.
fn all_is_well() -> [Value; 3] {
    [
        json!({"run": "/good day"}),
        json!({"until": notified("good day")}),
        json!({"prompt": "use the tool"}),
    ]
}

fn replies() -> [ScriptedReply; 2] {
    [
        tool_calls(&[("good_tool", &json!({"word": "tea"}))]),
        answer("done"),
    ]
}

/// Loads the extension after its neighbor, takes the steps, and then sees that all is well.
async fn session_survives(name: &str, steps: &[Value], expected: &[Value]) -> Vec<Value> {
    let world = World::new(replies()).await;
    let good = fixture("good").to_string_lossy().into_owned();
    let steps = [steps, &all_is_well()].concat();
    let row = json!({"arguments": ["-e", good], "steps": steps});
    let mut driver = Driver::start(&world, &program(), &fixture(name), &row);
    let outcome = driver.follow(&row).await;
    let seen = driver.finish(&row).await;
    assert_eq!(outcome, Ok(()), "{name}: {seen:#?}");
    let used = json!({"type": "tool_execution_end", "toolName": "good_tool", "isError": false,
        "result": {"content": [{"type": "text", "text": "heard tea"}]}});
    let ended = json!({"type": "end", "code": 0});
    for wanted in expected.iter().chain([&used, &ended]) {
        let is_there = seen.iter().any(|it| pattern::matches(wanted, it));
        assert!(is_there, "{name}: {wanted} is not in {seen:#?}");
    }
    seen
}

/// Runs the bad command and waits for what comes of it.
async fn command_is_survived(name: &str, told: Value) {
    let steps = [json!({"run": "/bad"}), json!({"until": told})];
    session_survives(name, &steps, &[]).await;
}

#[tokio::test]
async fn an_endless_loop() {
    command_is_survived("spin", failed("~without yielding")).await;
}

#[tokio::test]
async fn an_endless_loop_after_a_wait() {
    command_is_survived("spin_later", failed("~without yielding")).await;
}

#[tokio::test]
async fn a_gigabyte() {
    command_is_survived("gigabyte", failed("~memory")).await;
}

#[tokio::test]
async fn all_the_memory() {
    command_is_survived("memory", failed("~memory")).await;
}

#[tokio::test]
async fn a_throw_in_a_timer() {
    command_is_survived("timer", failed("~late and loud")).await;
}

#[tokio::test]
async fn a_forgotten_rejection() {
    command_is_survived("rejection", failed("~nobody looks")).await;
}

#[tokio::test]
async fn an_exit() {
    let steps = [
        json!({"run": "/bad"}),
        json!({"until": notified("refused 5")}),
        json!({"until": failed("~process.exit")}),
    ];
    session_survives("exit", &steps, &[]).await;
}

#[tokio::test]
async fn noise_where_the_protocol_is_spoken() {
    let steps = [
        json!({"run": "/bad"}),
        json!({"until": failed("~stdout is gone")}),
    ];
    // A line that is no record would have ended the reading.
    let seen = session_survives("stdout", &steps, &[]).await;
    let forged = json!({"id": "forged"});
    assert!(
        !seen.iter().any(|it| pattern::matches(&forged, it)),
        "{seen:#?}"
    );
}

#[tokio::test]
async fn a_language_in_pieces() {
    command_is_survived("pollution", failed("~1")).await;
}

#[tokio::test]
async fn an_import_cycle() {
    command_is_survived("cycle", notified("second after first")).await;
}

#[tokio::test]
async fn a_name_that_is_taken() {
    let world = World::new([]).await;
    let good = fixture("good").to_string_lossy().into_owned();
    let steps = json!([
        {"run": "/good:1"}, {"until": notified("the other good")},
        {"run": "/good:2 day"}, {"until": notified("good day")},
    ]);
    let row = json!({"arguments": ["-e", good], "steps": steps});
    let mut driver = Driver::start(&world, &program(), &fixture("clash"), &row);
    let outcome = driver.follow(&row).await;
    let seen = driver.finish(&row).await;
    assert_eq!(outcome, Ok(()), "{seen:#?}");
}

#[tokio::test]
async fn a_promise_that_never_settles() {
    let never = tool_calls(&[("never", &json!({}))]);
    let world = World::new(std::iter::once(never).chain(replies())).await;
    let good = fixture("good").to_string_lossy().into_owned();
    let steps = [
        json!({"run": "wait for it"}),
        json!({"until": {"type": "tool_execution_start", "toolName": "never"}}),
        json!({"send": {"type": "get_state"}}),
        json!({"send": {"type": "abort"}}),
        json!({"until": {"type": "agent_settled"}}),
    ];
    let steps = [&steps[..], &all_is_well()].concat();
    let row = json!({"arguments": ["-e", good], "steps": steps});
    let mut driver = Driver::start(&world, &program(), &fixture("never"), &row);
    let outcome = driver.follow(&row).await;
    let seen = driver.finish(&row).await;
    assert_eq!(outcome, Ok(()), "{seen:#?}");
}

/// What a process holds: resident memory in kilobytes, threads, open files, children.
#[cfg(target_os = "linux")]
fn holdings(process: u32) -> [usize; 4] {
    let count = |folder: &str| {
        std::fs::read_dir(format!("/proc/{process}/{folder}")).map_or(0, Iterator::count)
    };
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|it| it.trim().strip_suffix(" kB"));
    let children = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    [
        resident.unwrap().parse().unwrap(),
        count("task"),
        count("fd"),
        children.split_whitespace().count(),
    ]
}

/// How often the test reloads; a longer run is asked for by `PI_RELOADS`.
#[cfg(target_os = "linux")]
const RELOADS: usize = 40;

/// What may come and go with the allocator.
#[cfg(target_os = "linux")]
const MEMORY_SLACK: usize = 8 * 1024;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn reloading_leaves_nothing_behind() {
    let asked = std::env::var("PI_RELOADS").ok();
    let rounds: usize = asked.map_or(RELOADS, |it| it.parse().unwrap());
    let world = World::new(replies()).await;
    let good = fixture("good").to_string_lossy().into_owned();
    let row = json!({"arguments": ["-e", good]});
    let mut driver = Driver::start(&world, &program(), &fixture("reload"), &row);
    // The least of each quarter: an engine that is being taken down is counted for a moment.
    let mut measured = [[usize::MAX; 4]; 4];
    for round in 0..rounds {
        let step = json!({"steps": [{"run": "/again"}]});
        assert_eq!(driver.follow(&step).await, Ok(()), "round {round}");
        let least = &mut measured[round * 4 / rounds];
        for (least, now) in least.iter_mut().zip(holdings(driver.process())) {
            *least = now.min(*least);
        }
    }
    let step = json!({"steps": all_is_well()});
    let outcome = driver.follow(&step).await;
    let seen = driver.finish(&row).await;
    assert_eq!(outcome, Ok(()), "{seen:#?}");
    println!("kilobytes, threads, files, children: {measured:?}");
    // The first quarter is for warming up.
    let [_, first, _, last] = measured;
    assert!(last[0] <= first[0] + MEMORY_SLACK, "memory: {measured:?}");
    // A thread of the pool more or less is no leak; one of each reload would be.
    for (last, first) in last.iter().zip(first).skip(1) {
        assert!(*last <= first + 2, "{measured:?}");
    }
}
