//! Hooks that do not respond: every kind of hook, in every manner, in every mode. The session continues without
//! them, an abort does not wait for them, and the process can always be ended.
#![cfg(unix)]

mod commands;
mod loading;
mod modes;
mod node;
mod requests;
mod rpc_session;
mod tools;
mod trust;

use std::path::Path;

use futures_util::StreamExt as _;
use pi_test_support::ScriptedReply;

use crate::harness::{TestContext, bash_reply, text_reply};

/// Hooks that a prompt with a tool call and the end of the session call.
const HOOKS: [&str; 25] = [
    "session_start",
    "resources_discover",
    "input",
    "before_agent_start",
    "agent_start",
    "turn_start",
    "message_start",
    "message_update",
    "message_end",
    "context",
    "context_with_system",
    "before_provider_request",
    "before_provider_headers",
    "after_provider_response",
    "provider_stream_event",
    "tool_call",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "tool_result",
    "turn_end",
    "agent_before_settle",
    "agent_end",
    "agent_settled",
    "session_shutdown",
];

/// The other hooks, which commands of the extension call, each with its command.
const COMMANDED: [(&str, &str); 12] = [
    ("session_before_switch", "do_switch"),
    ("session_before_fork", "do_fork"),
    ("session_before_tree", "do_tree"),
    ("session_tree", "do_tree"),
    ("session_before_compact", "do_compact"),
    ("session_compact", "do_compact"),
    ("session_compact_failed", "do_compact"),
    ("model_select", "do_model"),
    ("thinking_level_select", "do_thinking"),
    ("session_info_changed", "do_name"),
    ("ui_prompt_start", "do_ask"),
    ("ui_prompt_end", "do_ask"),
];

/// Hooks that only the user or a project call.
const OTHERS: [&str; 2] = ["user_bash", "project_trust"];

/// Hooks while the extension is loaded.
const LOADING: [&str; 2] = ["import", "load"];

/// Manners in which a hook does not respond.
const SILENT: [&str; 4] = ["never", "loop", "block", "flood"];

/// Time that hooks have, in milliseconds: short for tests that wait for it, endless for those that do not.
const SHORT: &str = "500";
const ENDLESS: &str = "3600000";

/// Number of processes at a time.
const PARALLEL: usize = 4;

/// A hook, and how it misbehaves.
#[derive(Debug, Clone, Copy)]
struct BadHook {
    hook: &'static str,
    manner: &'static str,
    timeout: &'static str,
}

impl BadHook {
    fn variables(self) -> [(&'static str, &'static str); 3] {
        [
            ("BAD_HOOK", self.hook),
            ("BAD_MANNER", self.manner),
            ("PI_EXTENSION_TIMEOUT_MS", self.timeout),
        ]
    }

    fn is_silent(self) -> bool {
        self.manner != "throw"
    }
}

#[test]
fn every_event_of_extensions_is_tested() {
    let events = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pi-extensions/src/events");
    let mut declared = std::collections::BTreeSet::new();
    for file in ["lifecycle.rs", "run.rs", "summaries.rs"] {
        let source = std::fs::read_to_string(events.join(file)).unwrap();
        let names = source.lines().filter_map(|line| {
            let (_, name) = line.trim().split_once(" => \"")?;
            Some(name.split_once('"')?.0.to_owned())
        });
        declared.extend(names);
    }
    let commanded = COMMANDED.iter().map(|(hook, _)| *hook);
    let tested = HOOKS.into_iter().chain(commanded).chain(OTHERS);
    assert_eq!(declared, tested.map(str::to_owned).collect());
}

fn all(
    hooks: &'static [&'static str],
    manners: &'static [&'static str],
    timeout: &'static str,
) -> Vec<BadHook> {
    let hooks = hooks.iter().flat_map(|hook| {
        manners.iter().map(|manner| BadHook {
            hook,
            manner,
            timeout,
        })
    });
    hooks.collect()
}

/// Runs a check for every hook, a few at a time.
async fn for_each<Check: Future<Output = ()>>(
    hooks: Vec<BadHook>,
    check: impl Fn(BadHook) -> Check,
) {
    futures_util::stream::iter(hooks)
        .map(check)
        .buffer_unordered(PARALLEL)
        .collect::<Vec<()>>()
        .await;
}

fn extension() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/unresponsive_hooks");
    directory
        .join("misbehave.ts")
        .to_string_lossy()
        .into_owned()
}

fn replies() -> [ScriptedReply; 2] {
    [bash_reply("true"), text_reply("done")]
}

/// Returns a `PATH` that starts with the programs of a test.
fn path(context: &TestContext) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{}:{path}", context.home.path().join("bin").display())
}

async fn context() -> TestContext {
    TestContext::new(replies()).await
}
