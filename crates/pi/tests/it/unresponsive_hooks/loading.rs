//! Extensions that do not load: their top level, or their default function.

use pretty_assertions::assert_eq;

use super::modes::print_in;
use super::{BadHook, LOADING, SHORT, SILENT, all, context, extension, for_each};
use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext};
use crate::terminal::Terminal;

const FAILURE: &str = "cannot load extension";

fn loading() -> Vec<BadHook> {
    let hooks = all(&LOADING, &SILENT, SHORT).into_iter();
    hooks.chain(all(&LOADING, &["throw"], SHORT)).collect()
}

async fn assert_print_ends(hook: BadHook) {
    let context = context().await;
    let output = print_in(&context, hook).await;
    assert_eq!(output.code, Some(1), "{hook:?}: {output:?}");
    assert_eq!(output.stdout, "", "{hook:?}");
    assert!(output.stderr.contains(FAILURE), "{hook:?}: {output:?}");
}

#[tokio::test]
async fn an_extension_that_does_not_load_ends_the_start() {
    for_each(loading(), assert_print_ends).await;
}

async fn assert_rpc_ends(hook: BadHook) {
    let context = context().await;
    let extension = extension();
    let arguments = ["--model", "mock/alpha", "--mode", "rpc", "-e", &extension];
    let mut command = context.command(&arguments);
    let child = command.envs(hook.variables()).spawn().unwrap();
    let output = tokio::time::timeout(TEST_TIMEOUT, child.wait_with_output()).await;
    let output = output.unwrap_or_else(|_| panic!("{hook:?} did not end"));
    let output = PiOutput::new(output.unwrap());
    assert_eq!(output.code, Some(1), "{hook:?}: {output:?}");
    assert!(output.stderr.contains(FAILURE), "{hook:?}: {output:?}");
}

#[tokio::test]
async fn an_extension_that_does_not_load_ends_the_start_of_rpc_mode() {
    for_each(loading(), assert_rpc_ends).await;
}

async fn in_terminal(hook: BadHook, check: fn(&TestContext, BadHook)) {
    let context = context().await;
    let used = tokio::task::spawn_blocking(move || {
        check(&context, hook);
        context
    });
    drop(
        used.await
            .unwrap_or_else(|error| panic!("{hook:?}: {error}")),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_that_does_not_load_ends_the_start_of_the_terminal() {
    let check = |context: &TestContext, hook: BadHook| {
        let extension = extension();
        let arguments = ["--model", "mock/alpha", "-e", &extension];
        let mut terminal = Terminal::start_with(context, &arguments, &hook.variables());
        assert_eq!(terminal.exit_code(), 1, "{hook:?}");
        terminal.wait(FAILURE);
    };
    for_each(loading(), |hook| in_terminal(hook, check)).await;
}
