//! The same on the Node host, whose code cannot be interrupted: a process that stays blocked is killed. Without a
//! suitable Node the tests are skipped with a message.

use pretty_assertions::assert_eq;
use serde_json::json;

use pi_test_support::ScriptedReply;

use super::modes::print_in;
use super::rpc_session::{RpcSession, is_entered, is_response};
use super::{BadHook, ENDLESS, LOADING, SILENT, all, for_each, tools};
use crate::harness::{TestContext, node};

/// A hook of each phase.
const HOOKS: [&str; 7] = [
    "session_start",
    "turn_start",
    "message_update",
    "tool_call",
    "tool_execution_update",
    "agent_end",
    "session_shutdown",
];

/// Time that hooks have, in milliseconds: long enough for the start of Node.
const LIMIT: &str = "5000";

/// Returns a context in which extensions run on Node; `None` without a suitable one.
async fn node_context(replies: [ScriptedReply; 2]) -> Option<TestContext> {
    let node = node()?;
    let context = TestContext::new(replies).await;
    let settings = json!({"extensionHost": "node"}).to_string();
    context.home.write("agent/settings.json", settings);
    let bin = context.home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(node, bin.join("node")).unwrap();
    Some(context)
}

async fn assert_print_continues(hook: BadHook) {
    let Some(context) = node_context(super::replies()).await else {
        return;
    };
    let output = print_in(&context, hook).await;
    assert_eq!(output.stdout, "done\n", "{hook:?}: {output:?}");
    assert_eq!(output.code, Some(0), "{hook:?}: {output:?}");
    let expected = "not responding";
    assert!(output.stderr.contains(expected), "{hook:?}: {output:?}");
}

#[tokio::test]
async fn print_mode_continues_without_hooks_that_do_not_respond() {
    for_each(all(&HOOKS, &SILENT, LIMIT), assert_print_continues).await;
}

async fn assert_abort_and_exit(hook: BadHook) {
    let Some(context) = node_context(super::replies()).await else {
        return;
    };
    let mut session = RpcSession::start(&context, hook, &[]);
    session.prompt().await;
    session.until(is_entered).await;
    session.send(json!({"type": "abort"})).await;
    session.until(is_response("abort")).await;
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

#[tokio::test]
async fn an_abort_does_not_wait_for_hooks() {
    let hooks = all(&HOOKS[1..6], &SILENT, ENDLESS);
    for_each(hooks, assert_abort_and_exit).await;
}

async fn assert_loading_ends(hook: BadHook) {
    let Some(context) = node_context(super::replies()).await else {
        return;
    };
    let output = print_in(&context, hook).await;
    assert_eq!(output.code, Some(1), "{hook:?}: {output:?}");
    let expected = "cannot load extension";
    assert!(output.stderr.contains(expected), "{hook:?}: {output:?}");
}

#[tokio::test]
async fn an_extension_that_does_not_load_ends_the_start() {
    for_each(all(&LOADING, &SILENT, LIMIT), assert_loading_ends).await;
}

#[tokio::test]
async fn an_abort_does_not_wait_for_tools() {
    let check = async |hook: BadHook| {
        if let Some(context) = node_context(tools::replies()).await {
            tools::assert_abort_abandons(&context, hook).await;
        }
    };
    for_each(tools::tools(), check).await;
}
