//! Tools that appear and disappear while a session runs.

use std::sync::Arc;

use pi_core::{RegisteredTool, ToolExposure, ToolMetadata, ToolRegistry};
use pi_protocol::transcript::active_tools;
use pi_protocol::{Message, ToolOutput};
use pi_providers::FauxResponse;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::harness::{HarnessOptions, SessionHarness, echo, tool};

fn harness(sources: &[&Arc<ToolRegistry>]) -> SessionHarness {
    SessionHarness::with_options(HarnessOptions {
        sources: sources.iter().map(|&it| Arc::clone(it) as _).collect(),
        ..HarnessOptions::default()
    })
}

/// Adds a tool that runs an action.
fn add_action(registry: &ToolRegistry, name: &str, action: impl Fn() + Send + Sync + 'static) {
    let tool = tool(name, move |_, _, _| {
        action();
        async { Ok(ToolOutput::text("done")) }
    });
    registry.add(RegisteredTool::new(tool));
}

/// Returns the names of the tools that each request declares.
fn declared(harness: &SessionHarness) -> Vec<Vec<String>> {
    let requests = harness.faux.requests();
    let declared = requests.iter().map(|request| {
        let systems = request.messages.iter().filter_map(|message| match message {
            Message::System(system) => Some(&**system),
            _ => None,
        });
        let tools = active_tools(systems);
        tools.iter().map(|tool| tool.name.clone()).collect()
    });
    declared.collect()
}

fn results(harness: &SessionHarness) -> Vec<String> {
    let mut context = harness.context();
    context.retain(|line| line.starts_with("toolResult"));
    context
}

#[tokio::test]
async fn a_tool_added_during_a_run_is_declared_in_the_next_request() {
    let (base, server) = (
        Arc::new(ToolRegistry::default()),
        Arc::new(ToolRegistry::default()),
    );
    let connected = Arc::clone(&server);
    add_action(&base, "connect", move || {
        connected.add(RegisteredTool::new(echo()));
    });
    let harness = harness(&[&base, &server]);
    harness.faux.extend([
        FauxResponse::tool_call("connect", json!({})),
        FauxResponse::tool_call("echo", json!({"text": "hello"})),
        "done".into(),
    ]);
    harness.prompt("go").await;
    assert_eq!(
        declared(&harness),
        [
            vec!["connect"],
            vec!["connect", "echo"],
            vec!["connect", "echo"]
        ]
    );
    assert_eq!(results(&harness), ["toolResult done", "toolResult hello"]);
    assert_eq!(harness.session.tools().active_names(), ["connect", "echo"]);
}

#[tokio::test]
async fn a_tool_removed_during_a_run_is_not_found() {
    let (base, server) = (
        Arc::new(ToolRegistry::default()),
        Arc::new(ToolRegistry::new(vec![RegisteredTool::new(echo())])),
    );
    let disconnected = Arc::clone(&server);
    add_action(&base, "disconnect", move || {
        disconnected.remove("echo");
    });
    let harness = harness(&[&base, &server]);
    harness.faux.extend([
        FauxResponse::tool_call("disconnect", json!({})),
        FauxResponse::tool_call("echo", json!({"text": "hello"})),
        "done".into(),
    ]);
    harness.prompt("go").await;
    assert_eq!(
        declared(&harness),
        [
            vec!["disconnect", "echo"],
            vec!["disconnect"],
            vec!["disconnect"]
        ]
    );
    assert_eq!(
        results(&harness),
        ["toolResult done", "toolResult Tool echo not found"]
    );
    assert_eq!(harness.session.tools().all().len(), builtin_count() + 1);
}

/// Built-in tools exist in these sessions, but are not active.
fn builtin_count() -> usize {
    harness(&[&Arc::default()]).session.tools().all().len()
}

#[tokio::test]
async fn a_tool_that_was_deactivated_stays_inactive_when_others_change() {
    let source = Arc::new(ToolRegistry::new(vec![RegisteredTool::new(echo())]));
    let harness = harness(&[&source]);
    harness.session.tools().set_active(&[]);
    add_action(&source, "other", || ());
    assert_eq!(harness.session.tools().active_names(), ["other"]);
    source.add(RegisteredTool::new(echo()));
    assert_eq!(harness.session.tools().active_names(), ["other"]);
    harness
        .session
        .tools()
        .register(RegisteredTool::new(echo()));
    assert_eq!(harness.session.tools().active_names(), ["other"]);
}

#[tokio::test]
async fn registering_activates_by_exposure_and_again_if_it_widens() {
    let source = Arc::default();
    let harness = harness(&[&source]);
    let tools = harness.session.tools();
    let register = |exposure| {
        tools.register(RegisteredTool {
            metadata: ToolMetadata {
                exposure,
                ..ToolMetadata::default()
            },
            ..RegisteredTool::new(echo())
        });
        tools.active_names()
    };
    for exposure in [ToolExposure::Codemode, ToolExposure::Deferred] {
        assert!(register(exposure).is_empty(), "{exposure:?}");
    }
    tools.set_active(&["echo".to_owned()]);
    assert_eq!(tools.active_names(), ["echo"]);
    assert!(register(ToolExposure::Hidden).is_empty());
    tools.set_active(&["echo".to_owned()]);
    assert!(tools.active_names().is_empty());
    assert_eq!(register(ToolExposure::ModelOnly), ["echo"]);
}
