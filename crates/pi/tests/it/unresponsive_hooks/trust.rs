//! Extensions that decide about the trust in a project, and do not respond.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::modes::print_in;
use super::rpc_session::{RpcSession, is_response};
use super::{BadHook, SHORT, SILENT, context, extension, for_each};
use crate::harness::TestContext;
use crate::terminal::Terminal;

fn trusting() -> Vec<BadHook> {
    let manners = SILENT.into_iter().chain(["throw"]);
    let hooks = manners.map(|manner| BadHook {
        hook: "project_trust",
        manner,
        timeout: SHORT,
    });
    hooks.collect()
}

/// A project that requires trust.
async fn project() -> TestContext {
    let context = context().await;
    context
        .home
        .write("project/.pi/prompts/plant.md", "Plant it");
    context
}

async fn assert_print_continues(hook: BadHook) {
    let context = project().await;
    let output = print_in(&context, hook).await;
    assert_eq!(output.stdout, "done\n", "{hook:?}: {output:?}");
    assert_eq!(output.code, Some(0), "{hook:?}: {output:?}");
}

#[tokio::test]
async fn print_mode_does_not_trust_the_project() {
    for_each(trusting(), assert_print_continues).await;
}

async fn assert_rpc_continues(hook: BadHook) {
    let context = project().await;
    let mut session = RpcSession::start(&context, hook, &[]);
    session.send(json!({"type": "get_commands"})).await;
    let response = session.record(is_response("get_commands")).await;
    let commands = response["data"]["commands"].as_array().unwrap();
    assert!(!commands.iter().any(|it| it["name"] == "plant"), "{hook:?}");
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

#[tokio::test]
async fn rpc_mode_does_not_trust_the_project() {
    for_each(trusting(), assert_rpc_continues).await;
}

async fn assert_terminal_asks(hook: BadHook) {
    let context = project().await;
    let used = tokio::task::spawn_blocking(move || {
        let extension = extension();
        let arguments = ["--model", "mock/alpha", "-e", &extension];
        let terminal = Terminal::start_with(&context, &arguments, &hook.variables());
        terminal.wait("rust");
        context
    });
    drop(
        used.await
            .unwrap_or_else(|error| panic!("{hook:?}: {error}")),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_asks_the_user() {
    for_each(trusting(), assert_terminal_asks).await;
}
