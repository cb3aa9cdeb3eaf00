//! Misbehaving extensions from `extension_abuse/`, each loaded together with a well-behaved one: the session and the
//! other extension keep working.
#![cfg(unix)]

use std::path::{Path, PathBuf};

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::extension_driver::{ExtensionDriver, pattern, program};
use crate::harness::{TestContext, text_reply, tool_calls_reply};

fn fixture(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/extension_abuse");
    directory.join(name).with_extension("ts")
}

fn notified(message: &str) -> Value {
    json!({"type": "extension_ui_request", "method": "notify", "message": message})
}

fn failed(error: &str) -> Value {
    json!({"type": "extension_error", "error": error})
}

/// Steps that pass only if the session and the well-behaved extension still work.
fn health_check() -> [Value; 3] {
    [
        json!({"run": "/good day"}),
        json!({"until": notified("good day")}),
        json!({"prompt": "use the tool"}),
    ]
}

fn replies() -> [ScriptedReply; 2] {
    [
        tool_calls_reply(&[("good_tool", &json!({"word": "tea"}))]),
        text_reply("done"),
    ]
}

/// Loads the extension together with the well-behaved one, runs the steps and the health check, and returns the
/// records.
async fn assert_session_survives(name: &str, steps: &[Value], expected: &[Value]) -> Vec<Value> {
    let context = TestContext::new(replies()).await;
    let good = fixture("good").to_string_lossy().into_owned();
    let steps = [steps, &health_check()].concat();
    let row = json!({"arguments": ["-e", good], "steps": steps});
    let mut driver = ExtensionDriver::start(&context, &program(), &fixture(name), &row);
    let outcome = driver.run_steps(&row).await;
    let records = driver.finish(&row).await;
    assert_eq!(outcome, Ok(()), "{name}: {records:#?}");
    let tool_end = json!({"type": "tool_execution_end", "toolName": "good_tool", "isError": false,
        "result": {"content": [{"type": "text", "text": "echo tea"}]}});
    let exit = json!({"type": "exit", "code": 0});
    for expected in expected.iter().chain([&tool_end, &exit]) {
        let is_present = records.iter().any(|it| pattern::matches(expected, it));
        assert!(is_present, "{name}: {expected} is not in {records:#?}");
    }
    records
}

/// Runs the `/bad` command of the extension and waits for `record`.
async fn assert_command_survives(name: &str, record: Value) {
    let steps = [json!({"run": "/bad"}), json!({"until": record})];
    assert_session_survives(name, &steps, &[]).await;
}

#[tokio::test]
async fn infinite_loop() {
    assert_command_survives("spin", failed("~without yielding")).await;
}

#[tokio::test]
async fn infinite_loop_after_await() {
    assert_command_survives("spin_later", failed("~without yielding")).await;
}

#[tokio::test]
async fn gigabyte_allocation() {
    assert_command_survives("gigabyte", failed("~memory")).await;
}

#[tokio::test]
async fn unbounded_allocation() {
    assert_command_survives("memory", failed("~memory")).await;
}

#[tokio::test]
async fn exception_in_timer() {
    assert_command_survives("timer", failed("~thrown in a timer")).await;
}

#[tokio::test]
async fn unhandled_rejection() {
    assert_command_survives("rejection", failed("~rejected without a handler")).await;
}

#[tokio::test]
async fn process_exit() {
    let steps = [
        json!({"run": "/bad"}),
        json!({"until": notified("rejected 5")}),
        json!({"until": failed("~process.exit")}),
    ];
    assert_session_survives("exit", &steps, &[]).await;
}

#[tokio::test]
async fn writes_to_stdout() {
    let steps = [
        json!({"run": "/bad"}),
        json!({"until": failed("~stdout is closed")}),
    ];
    // A line that is not a record would be an error in the driver.
    let records = assert_session_survives("stdout", &steps, &[]).await;
    let forged = json!({"id": "forged"});
    assert!(
        !records.iter().any(|it| pattern::matches(&forged, it)),
        "{records:#?}"
    );
}

#[tokio::test]
async fn polluted_prototypes() {
    assert_command_survives("pollution", failed("~1")).await;
}

#[tokio::test]
async fn import_cycle() {
    assert_command_survives("cycle", notified("second after first")).await;
}

#[tokio::test]
async fn duplicate_command_names() {
    let context = TestContext::new([]).await;
    let good = fixture("good").to_string_lossy().into_owned();
    let steps = json!([
        {"run": "/good:1"}, {"until": notified("the other good")},
        {"run": "/good:2 day"}, {"until": notified("good day")},
    ]);
    let row = json!({"arguments": ["-e", good], "steps": steps});
    let mut driver = ExtensionDriver::start(&context, &program(), &fixture("clash"), &row);
    let outcome = driver.run_steps(&row).await;
    let records = driver.finish(&row).await;
    assert_eq!(outcome, Ok(()), "{records:#?}");
}

#[tokio::test]
async fn promise_that_never_settles() {
    let never = tool_calls_reply(&[("never", &json!({}))]);
    let context = TestContext::new(std::iter::once(never).chain(replies())).await;
    let good = fixture("good").to_string_lossy().into_owned();
    let steps = [
        json!({"run": "wait for it"}),
        json!({"until": {"type": "tool_execution_start", "toolName": "never"}}),
        json!({"send": {"type": "get_state"}}),
        json!({"send": {"type": "abort"}}),
        json!({"until": {"type": "agent_settled"}}),
    ];
    let steps = [&steps[..], &health_check()].concat();
    let row = json!({"arguments": ["-e", good], "steps": steps});
    let mut driver = ExtensionDriver::start(&context, &program(), &fixture("never"), &row);
    let outcome = driver.run_steps(&row).await;
    let records = driver.finish(&row).await;
    assert_eq!(outcome, Ok(()), "{records:#?}");
}

/// Returns resident memory in kilobytes and the number of threads, open files and child processes.
#[cfg(target_os = "linux")]
fn resource_usage(pid: u32) -> [usize; 4] {
    let count = |directory: &str| {
        std::fs::read_dir(format!("/proc/{pid}/{directory}")).map_or(0, Iterator::count)
    };
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|it| it.trim().strip_suffix(" kB"));
    let children = format!("/proc/{pid}/task/{pid}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    [
        resident.unwrap().parse().unwrap(),
        count("task"),
        count("fd"),
        children.split_whitespace().count(),
    ]
}

/// Number of reloads; `PI_RELOADS` overrides it. An engine that is shutting down is counted in several rounds, so a
/// quarter has to be longer than that.
#[cfg(target_os = "linux")]
const RELOADS: usize = 160;

/// Allowed growth of resident memory in kilobytes, for allocator noise.
#[cfg(target_os = "linux")]
const MEMORY_SLACK: usize = 8 * 1024;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn reloading_leaks_no_resources() {
    let requested = std::env::var("PI_RELOADS").ok();
    let rounds: usize = requested.map_or(RELOADS, |it| it.parse().unwrap());
    let context = TestContext::new(replies()).await;
    let good = fixture("good").to_string_lossy().into_owned();
    let row = json!({"arguments": ["-e", good]});
    let mut driver = ExtensionDriver::start(&context, &program(), &fixture("reload"), &row);
    // The minimum of each quarter, since an engine that is shutting down still uses resources.
    let mut usage = [[usize::MAX; 4]; 4];
    for round in 0..rounds {
        let step = json!({"steps": [{"run": "/again"}]});
        assert_eq!(driver.run_steps(&step).await, Ok(()), "round {round}");
        let minimum = &mut usage[round * 4 / rounds];
        for (minimum, current) in minimum.iter_mut().zip(resource_usage(driver.pid())) {
            *minimum = current.min(*minimum);
        }
    }
    let step = json!({"steps": health_check()});
    let outcome = driver.run_steps(&step).await;
    let records = driver.finish(&row).await;
    assert_eq!(outcome, Ok(()), "{records:#?}");
    println!("kilobytes, threads, files, children: {usage:?}");
    // The first quarter is warm-up.
    let [_, first, _, last] = usage;
    assert!(last[0] <= first[0] + MEMORY_SLACK, "memory: {usage:?}");
    // The thread pool may differ by a thread or two; a leak adds one per reload.
    for (last, first) in last.iter().zip(first).skip(1) {
        assert!(*last <= first + 2, "{usage:?}");
    }
}
