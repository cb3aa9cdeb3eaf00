//! What the clients of all official SDKs do with the agent: one table for TypeScript, Python and Rust.

use std::path::Path;

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{
    TEST_TIMEOUT, TestContext, partial_reply, pi_binary, text_reply, tool_call_reply,
};

/// A turn, after which another process loads, closes and resumes the session.
struct SdkScenario {
    name: &'static str,
    replies: fn() -> Vec<ScriptedReply>,
    /// Selected before the turn.
    thinking: Option<&'static str>,
    /// The option that the client selects when it is asked for permission; the rules ask only if there is one.
    permission: Option<&'static str>,
    /// Whether the client cancels after the first text.
    cancels: bool,
    stop_reason: &'static str,
    text: &'static str,
    /// The new text of the file that was written.
    diff: Option<&'static str>,
}

fn write_and_answer() -> Vec<ScriptedReply> {
    let arguments = json!({"path": "new.txt", "content": "one\n"});
    vec![tool_call_reply("write", &arguments), text_reply("Done.")]
}

const TURN: SdkScenario = SdkScenario {
    name: "a file is written",
    replies: write_and_answer,
    thinking: None,
    permission: None,
    cancels: false,
    stop_reason: "end_turn",
    text: "Done.",
    diff: Some("one\n"),
};

const SCENARIOS: [SdkScenario; 5] = [
    TURN,
    SdkScenario {
        name: "permission is granted",
        permission: Some("allow"),
        ..TURN
    },
    SdkScenario {
        name: "permission is rejected",
        permission: Some("reject"),
        diff: None,
        ..TURN
    },
    SdkScenario {
        name: "a thinking level is selected",
        replies: || vec![text_reply("Thought.")],
        thinking: Some("high"),
        text: "Thought.",
        diff: None,
        ..TURN
    },
    SdkScenario {
        name: "a turn is canceled",
        replies: || vec![partial_reply("Slow").stall()],
        cancels: true,
        stop_reason: "cancelled",
        text: "Slow",
        diff: None,
        ..TURN
    },
];

/// Runs all scenarios with the program of an SDK, which prints what it saw.
pub(super) async fn run_scenarios(program: &Path, arguments: &[&Path]) {
    for scenario in &SCENARIOS {
        run(scenario, program, arguments).await;
    }
}

async fn run(scenario: &SdkScenario, program: &Path, arguments: &[&Path]) {
    let name = scenario.name;
    let context = TestContext::new((scenario.replies)()).await;
    if scenario.permission.is_some() {
        let settings = json!({"permissions": {"ask": ["write"]}});
        context
            .home
            .write("agent/settings.json", settings.to_string());
    }
    let input = json!({
        "thinking": scenario.thinking,
        "permission": scenario.permission,
        "cancel": scenario.cancels,
    });
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(pi_binary())
        .arg(context.project_dir())
        .arg(input.to_string())
        .env_clear()
        .envs(context.environment())
        .kill_on_drop(true);
    let output = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
    let output = output.expect(name).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {stderr}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        report["stopReason"], scenario.stop_reason,
        "{name}: {stderr}"
    );
    assert_eq!(report["text"], scenario.text, "{name}");
    assert_eq!(report["diff"]["newText"].as_str(), scenario.diff, "{name}");
    let permissions = u64::from(scenario.permission.is_some());
    assert_eq!(report["permissions"], permissions, "{name}");
    assert_eq!(report["resumed"], true, "{name}");
    let replayed = report["replayed"].as_str().unwrap();
    assert!(replayed.contains(scenario.text), "{name}: {replayed}");
    assert!(report["commands"].as_u64().unwrap() >= 10, "{name}");
    let request = context.server.requests()[0].json();
    if let Some(level) = scenario.thinking {
        assert_eq!(request["reasoning_effort"], level, "{name}");
    }
}
