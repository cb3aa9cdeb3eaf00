//! Hooks that commands call, and commands that do not respond.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::modes::print_prompts;
use super::rpc_session::{RpcSession, is_entered, is_response, is_type};
use super::{BadHook, COMMANDED, ENDLESS, SHORT, SILENT, extension, for_each, replies};
use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;
use pi_test_support::ScriptedReply;

fn commanded(manners: &[&'static str], timeout: &'static str) -> Vec<BadHook> {
    let hooks = COMMANDED.iter().flat_map(|(hook, _)| {
        manners.iter().map(move |manner| BadHook {
            hook,
            manner,
            timeout,
        })
    });
    hooks.collect()
}

/// The command that calls a hook.
fn command(hook: BadHook) -> String {
    let found = COMMANDED.iter().find(|(name, _)| *name == hook.hook);
    format!("/{}", found.unwrap().1)
}

/// A session that can be compacted; the last reply is for its summary.
async fn context(hook: BadHook) -> TestContext {
    let summary = if hook.hook == "session_compact_failed" {
        ScriptedReply::full(400, &[], r#"{"error": {"message": "no"}}"#)
    } else {
        text_reply("summary")
    };
    let context = TestContext::new(replies().into_iter().chain([summary])).await;
    let settings = json!({"compaction": {"enabled": false, "keepRecentTokens": 1}});
    let settings = settings.to_string();
    context.home.write("agent/settings.json", settings);
    context
}

async fn assert_print_continues(hook: BadHook) {
    let context = context(hook).await;
    let output = print_prompts(&context, hook, &["go", &command(hook)]).await;
    assert_eq!(output.code, Some(0), "{hook:?}: {output:?}");
    let expected = if hook.is_silent() {
        "not responding"
    } else {
        "thrown by the hook"
    };
    // The commands that call these do not wait for them, so the process may end earlier.
    let is_awaited = !["thinking_level_select", "session_info_changed"].contains(&hook.hook);
    if is_awaited {
        assert!(output.stderr.contains(expected), "{hook:?}: {output:?}");
    }
}

/// Print mode has no dialogs, so there are no events about them.
fn printed(manners: &[&'static str]) -> Vec<BadHook> {
    let hooks = commanded(manners, SHORT).into_iter();
    hooks
        .filter(|hook| !hook.hook.starts_with("ui_prompt"))
        .collect()
}

#[tokio::test]
async fn print_mode_continues_without_hooks_that_do_not_respond() {
    for_each(printed(&SILENT), assert_print_continues).await;
}

#[tokio::test]
async fn print_mode_continues_after_hooks_that_throw() {
    for_each(printed(&["throw"]), assert_print_continues).await;
}

/// Starts a session and answers its first prompt.
async fn start(context: &TestContext, hook: BadHook) -> RpcSession {
    let mut session = RpcSession::start(context, hook, &[]);
    session.prompt().await;
    session.until(is_type("agent_settled")).await;
    session
}

async fn assert_rpc_continues(hook: BadHook) {
    let context = context(hook).await;
    let mut session = start(&context, hook).await;
    let command = json!({"type": "prompt", "message": command(hook), "id": "command"});
    session.send(command).await;
    session
        .until(|record| record["id"] == "command" && record["type"] == "response")
        .await;
    session.send(json!({"type": "get_state"})).await;
    session.until(is_response("get_state")).await;
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

#[tokio::test]
async fn rpc_mode_continues_without_hooks_that_do_not_respond() {
    for_each(commanded(&SILENT, SHORT), assert_rpc_continues).await;
}

#[tokio::test]
async fn rpc_mode_continues_after_hooks_that_throw() {
    for_each(commanded(&["throw"], SHORT), assert_rpc_continues).await;
}

async fn abort_and_end(mut session: RpcSession, hook: BadHook, command: &str) {
    session
        .send(json!({"type": "prompt", "message": command}))
        .await;
    session.until(is_entered).await;
    session.send(json!({"type": "abort"})).await;
    session.until(is_response("abort")).await;
    session.send(json!({"type": "get_state"})).await;
    session.until(is_response("get_state")).await;
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

async fn assert_rpc_aborts(hook: BadHook) {
    let context = context(hook).await;
    let session = start(&context, hook).await;
    abort_and_end(session, hook, &command(hook)).await;
}

#[tokio::test]
async fn an_abort_does_not_wait_for_hooks() {
    for_each(commanded(&SILENT, ENDLESS), assert_rpc_aborts).await;
}

/// A command may take as long as it needs, but must not block clients or the end of the process.
async fn assert_command_can_be_left(hook: BadHook) {
    let context = context(hook).await;
    let session = start(&context, hook).await;
    abort_and_end(session, hook, "/do_bad").await;
}

#[tokio::test]
async fn a_command_that_does_not_respond_blocks_no_client() {
    let hooks = SILENT.map(|manner| BadHook {
        hook: "command",
        manner,
        timeout: ENDLESS,
    });
    for_each(hooks.into(), assert_command_can_be_left).await;
}

fn use_terminal(context: &TestContext, hook: BadHook) {
    let extension = extension();
    let arguments = ["--model", "mock/alpha", "-e", &extension];
    let mut terminal = Terminal::start_with(context, &arguments, &hook.variables());
    terminal.wait("alpha");
    terminal.submit("go");
    terminal.wait("done");
    terminal.wait_gone("to stop");
    terminal.submit(&command(hook));
    if hook.hook.starts_with("ui_prompt") {
        terminal.wait("Question");
        terminal.send("\r");
        terminal.wait_gone("Continue?");
    }
    if hook.is_silent() {
        terminal.wait("Disable the extension");
        terminal.send("\x1b[B\r");
        terminal.wait_gone("Quit");
    } else {
        terminal.wait("thrown by the hook");
    }
    if !["session_before_switch", "session_before_fork"].contains(&hook.hook) {
        // The prompt may have the text of the message that was left.
        terminal.send("\x15");
        terminal.submit("/do_ping");
        terminal.wait("pong");
    }
    terminal.send("\x03\x03");
    assert_eq!(terminal.exit_code(), 0, "{hook:?}");
    terminal.assert_restored();
}

async fn assert_terminal_continues(hook: BadHook) {
    let context = context(hook).await;
    let used = tokio::task::spawn_blocking(move || {
        use_terminal(&context, hook);
        // The server of the context runs in the runtime, not in this thread.
        context
    });
    drop(
        used.await
            .unwrap_or_else(|error| panic!("{hook:?}: {error}")),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_asks_about_hooks_that_do_not_respond() {
    for_each(commanded(&SILENT, SHORT), assert_terminal_continues).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_continues_after_hooks_that_throw() {
    for_each(commanded(&["throw"], SHORT), assert_terminal_continues).await;
}
