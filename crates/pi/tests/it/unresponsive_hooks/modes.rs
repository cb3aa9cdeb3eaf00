//! The matrix of hooks, manners and modes.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::rpc_session::{RpcSession, is_entered, is_response, is_type};
use super::{BadHook, ENDLESS, HOOKS, SHORT, SILENT, all, context, extension, for_each, path};
use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext};
use crate::terminal::Terminal;

/// Runs print mode with the extension.
async fn print(hook: BadHook) -> PiOutput {
    let context = context().await;
    print_in(&context, hook).await
}

pub(super) async fn print_in(context: &TestContext, hook: BadHook) -> PiOutput {
    print_prompts(context, hook, &["go"]).await
}

pub(super) async fn print_prompts(
    context: &TestContext,
    hook: BadHook,
    prompts: &[&str],
) -> PiOutput {
    let extension = extension();
    let arguments = ["--model", "mock/alpha", "-e", &extension, "-p"];
    let mut command = context.command(&[&arguments, prompts].concat());
    command.env("PATH", path(context)).envs(hook.variables());
    let child = command.spawn();
    let output = tokio::time::timeout(TEST_TIMEOUT, child.unwrap().wait_with_output()).await;
    let output = output.unwrap_or_else(|_| panic!("{hook:?} did not end"));
    PiOutput::new(output.unwrap())
}

async fn assert_print_continues(hook: BadHook) {
    let output = print(hook).await;
    assert_eq!(output.stdout, "done\n", "{hook:?}: {output:?}");
    assert_eq!(output.code, Some(0), "{hook:?}: {output:?}");
    let expected = if hook.is_silent() {
        "not responding"
    } else {
        "thrown by the hook"
    };
    // A handler of `tool_call` that throws blocks the call, which the model is informed about.
    if hook.is_silent() || hook.hook != "tool_call" {
        assert!(output.stderr.contains(expected), "{hook:?}: {output:?}");
        assert!(
            output.stderr.contains("misbehave.ts"),
            "{hook:?}: {output:?}"
        );
    }
}

#[tokio::test]
async fn print_mode_continues_without_hooks_that_do_not_respond() {
    for_each(all(&HOOKS, &SILENT, SHORT), assert_print_continues).await;
}

#[tokio::test]
async fn print_mode_continues_after_hooks_that_throw() {
    for_each(all(&HOOKS, &["throw"], SHORT), assert_print_continues).await;
}

/// A client disables the extension, the answer arrives, and the end of the input ends the process.
async fn assert_rpc_continues(hook: BadHook) {
    let context = context().await;
    let mut session = RpcSession::start(&context, hook, &[]);
    session.prompt().await;
    let was_asked = session.disable_until(is_type("agent_settled")).await;
    // Before a client is served, none can answer; at the end, none is asked.
    let is_asked_later = [
        "session_start",
        "resources_discover",
        "session_shutdown",
        "agent_settled",
    ];
    if hook.is_silent() && !is_asked_later.contains(&hook.hook) {
        assert!(was_asked, "{hook:?}");
    }
    session.send(json!({"type": "get_state"})).await;
    session.until(is_response("get_state")).await;
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

#[tokio::test]
async fn rpc_mode_continues_without_hooks_that_do_not_respond() {
    for_each(all(&HOOKS, &SILENT, SHORT), assert_rpc_continues).await;
}

#[tokio::test]
async fn rpc_mode_continues_after_hooks_that_throw() {
    for_each(all(&HOOKS, &["throw"], SHORT), assert_rpc_continues).await;
}

/// An abort ends the hook, although it has an hour.
async fn assert_rpc_aborts(hook: BadHook) {
    let context = context().await;
    let mut session = RpcSession::start(&context, hook, &[]);
    session.prompt().await;
    session.until(is_entered).await;
    session.send(json!({"type": "abort"})).await;
    session.until(is_response("abort")).await;
    session.send(json!({"type": "get_state"})).await;
    session
        .until(|record| {
            is_response("get_state")(record) && record["data"]["isStreaming"] == json!(false)
        })
        .await;
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

/// Hooks of a run, which a client can abort.
fn abortable() -> Vec<BadHook> {
    let hooks = all(&HOOKS, &SILENT, ENDLESS).into_iter();
    let outside = ["session_start", "resources_discover", "session_shutdown"];
    hooks.filter(|hook| !outside.contains(&hook.hook)).collect()
}

#[tokio::test]
async fn an_abort_does_not_wait_for_hooks() {
    for_each(abortable(), assert_rpc_aborts).await;
}

#[tokio::test]
async fn an_abort_does_not_wait_for_code_that_cannot_be_interrupted() {
    let hooks = ["turn_start", "tool_call", "agent_end"];
    let hooks = hooks.map(|hook| BadHook {
        hook,
        manner: "stuck",
        timeout: ENDLESS,
    });
    for_each(hooks.into(), assert_rpc_aborts).await;
}

#[tokio::test]
async fn an_aborted_extension_receives_the_events_of_the_next_prompt() {
    let hook = BadHook {
        hook: "turn_start",
        manner: "never",
        timeout: ENDLESS,
    };
    let context = context().await;
    let mut session = RpcSession::start(&context, hook, &[]);
    for _ in 0..2 {
        session.prompt().await;
        session.until(is_entered).await;
        session.send(json!({"type": "abort"})).await;
        session.until(is_response("abort")).await;
    }
    assert_eq!(session.end().await.code(), Some(0));
}

/// The end of the input ends the process, although the hook has an hour.
async fn assert_end_of_input_ends(hook: BadHook) {
    let context = context().await;
    let mut session = RpcSession::start(&context, hook, &[]);
    session.prompt().await;
    session.until(is_entered).await;
    assert_eq!(session.end().await.code(), Some(0), "{hook:?}");
}

#[tokio::test]
async fn the_end_of_the_input_does_not_wait_for_hooks() {
    for_each(abortable(), assert_end_of_input_ends).await;
}

/// A signal ends the process with its exit code; at most a second one is needed while it starts.
async fn assert_signal_ends(hook: BadHook) {
    let context = context().await;
    let mut session = RpcSession::start(&context, hook, &[]);
    session.prompt().await;
    session.until(is_entered).await;
    session.signal(rustix::process::Signal::TERM);
    assert_eq!(session.exit().await.code(), Some(143), "{hook:?}");
}

#[tokio::test]
async fn a_signal_does_not_wait_for_hooks() {
    for_each(abortable(), assert_signal_ends).await;
}

#[tokio::test]
async fn a_second_signal_ends_a_shutdown() {
    for manner in SILENT {
        let hook = BadHook {
            hook: "session_shutdown",
            manner,
            timeout: ENDLESS,
        };
        let context = context().await;
        let mut session = RpcSession::start(&context, hook, &[]);
        session.send(json!({"type": "get_state"})).await;
        session.until(is_response("get_state")).await;
        session.signal(rustix::process::Signal::TERM);
        session.until(is_entered).await;
        session.signal(rustix::process::Signal::TERM);
        assert_eq!(session.exit().await.code(), Some(143), "{hook:?}");
    }
}

/// The user disables the extension, sees the answer and quits.
fn use_terminal(context: &TestContext, hook: BadHook) {
    let extension = extension();
    let variables = hook.variables();
    let arguments = ["--model", "mock/alpha", "-e", &extension];
    let terminal = Terminal::start_with(context, &arguments, &variables);
    let is_asked_at_start = ["session_start", "resources_discover"].contains(&hook.hook);
    let disable = || {
        terminal.wait("Disable the extension");
        terminal.send("\x1b[B\r");
        terminal.wait_gone("Quit");
    };
    terminal.wait("alpha");
    if is_asked_at_start && hook.is_silent() {
        disable();
    }
    terminal.submit("go");
    if !is_asked_at_start && hook.hook != "session_shutdown" && hook.is_silent() {
        disable();
    }
    terminal.wait("done");
    terminal.wait_gone("to stop");
    terminal.quit();
}

async fn assert_terminal_continues(hook: BadHook) {
    let context = context().await;
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
    for_each(all(&HOOKS, &SILENT, SHORT), assert_terminal_continues).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_continues_after_hooks_that_throw() {
    for_each(all(&HOOKS, &["throw"], SHORT), assert_terminal_continues).await;
}

/// Escape ends the hook, although it has an hour; Ctrl+C twice ends the process.
async fn assert_escape_interrupts(hook: BadHook) {
    let context = context().await;
    let used = tokio::task::spawn_blocking(move || {
        let extension = extension();
        let arguments = ["--model", "mock/alpha", "-e", &extension];
        let mut terminal = Terminal::start_with(&context, &arguments, &hook.variables());
        terminal.wait("alpha");
        terminal.submit("go");
        terminal.wait("hook entered");
        // Escape as a sequence, which the next key cannot become part of.
        terminal.send("\x1b[27u");
        terminal.wait_gone("to stop");
        terminal.send("\x03\x03");
        assert_eq!(terminal.exit_code(), 0, "{hook:?}");
        terminal.assert_restored();
        context
    });
    drop(
        used.await
            .unwrap_or_else(|error| panic!("{hook:?}: {error}")),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_does_not_wait_for_hooks() {
    for_each(abortable(), assert_escape_interrupts).await;
}

/// Signals end the application and restore the terminal.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_terminal_application() {
    for manner in SILENT {
        let hook = BadHook {
            hook: "session_shutdown",
            manner,
            timeout: ENDLESS,
        };
        let context = context().await;
        let extension = extension();
        let arguments = ["--model", "mock/alpha", "-e", &extension];
        let mut terminal = Terminal::start_with(&context, &arguments, &hook.variables());
        terminal.wait("alpha");
        let pid = i32::try_from(terminal.process_id()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let terminate = || rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        terminate().unwrap();
        // The terminal is restored before the hook is called.
        terminal.wait_written("\x1b[?2004l");
        terminate().unwrap();
        assert_eq!(terminal.exit_code(), 143, "{hook:?}");
        terminal.assert_restored();
    }
}
