//! Hooks that requests of a client call, outside of a run.

use serde_json::{Value, json};

use super::rpc_session::{RpcSession, is_entered, is_response};
use super::{BadHook, ENDLESS, SHORT, SILENT, context, for_each};
use crate::terminal::Terminal;

/// Hooks, and the request that calls each.
const REQUESTED: [(&str, &str); 7] = [
    ("session_before_switch", "new_session"),
    ("session_before_compact", "compact"),
    ("model_select", "set_model"),
    ("thinking_level_select", "set_thinking_level"),
    ("session_info_changed", "set_session_name"),
    ("user_bash", "bash"),
    ("input", "prompt"),
];

fn request(hook: BadHook) -> (&'static str, Value) {
    let (_, kind) = REQUESTED
        .into_iter()
        .find(|(name, _)| *name == hook.hook)
        .unwrap();
    let request = json!({
        "type": kind, "provider": "mock", "modelId": "beta", "level": "high", "name": "name",
        "command": "true", "message": "go",
    });
    (kind, request)
}

fn requested(timeout: &'static str) -> Vec<BadHook> {
    let hooks = REQUESTED.iter().flat_map(|(hook, _)| {
        SILENT.map(|manner| BadHook {
            hook,
            manner,
            timeout,
        })
    });
    hooks.collect()
}

/// Starts a session with a message, so that it can be compacted.
async fn start(context: &crate::harness::TestContext, hook: BadHook) -> RpcSession {
    let settings = json!({"compaction": {"enabled": false, "keepRecentTokens": 1}});
    context
        .home
        .write("agent/settings.json", settings.to_string());
    let mut session = RpcSession::start(context, hook, &[]);
    if hook.hook == "session_before_compact" {
        session.prompt().await;
        session
            .until(|record| record["type"] == "agent_settled")
            .await;
    }
    session
}

async fn assert_responds(hook: BadHook) {
    let context = context().await;
    let mut session = start(&context, hook).await;
    let (kind, request) = request(hook);
    session.send(request).await;
    session.until(is_response(kind)).await;
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

#[tokio::test]
async fn requests_continue_without_hooks_that_do_not_respond() {
    for_each(requested(SHORT), assert_responds).await;
}

async fn assert_aborts(hook: BadHook) {
    let context = context().await;
    let mut session = start(&context, hook).await;
    let (kind, request) = request(hook);
    session.send(request).await;
    session.until(is_entered).await;
    session.send(json!({"type": "abort"})).await;
    // In any order.
    let mut waiting = vec![kind, "abort"];
    while !waiting.is_empty() {
        let record = session.next().await.unwrap_or_else(|| panic!("{hook:?}"));
        if record["type"] == "response" {
            waiting.retain(|kind| record["command"] != *kind);
        }
    }
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

#[tokio::test]
async fn an_abort_ends_the_hooks_of_requests() {
    for_each(requested(ENDLESS), assert_aborts).await;
}

/// The user runs a command in the terminal, and disables the extension.
async fn assert_terminal_runs_command(hook: BadHook) {
    let context = context().await;
    let used = tokio::task::spawn_blocking(move || {
        let extension = super::extension();
        let arguments = ["--model", "mock/alpha", "-e", &extension];
        let terminal = Terminal::start_with(&context, &arguments, &hook.variables());
        terminal.wait("alpha");
        terminal.submit("!true");
        terminal.wait("Disable the extension");
        terminal.send("\x1b[B\r");
        terminal.wait_gone("Quit");
        terminal.submit("/do_ping");
        terminal.wait("pong");
        terminal.quit();
        context
    });
    drop(
        used.await
            .unwrap_or_else(|error| panic!("{hook:?}: {error}")),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_asks_about_hooks_of_commands() {
    let hooks = SILENT.map(|manner| BadHook {
        hook: "user_bash",
        manner,
        timeout: SHORT,
    });
    for_each(hooks.into(), assert_terminal_runs_command).await;
}
