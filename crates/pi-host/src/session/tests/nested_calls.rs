//! Tools that call other tools of their session.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    Decision, DenialReason, HookError, LoadoutChanges, NestedToolCall, Observed, PendingToolCall,
    Prompt, RegisteredTool, ReviewedToolCall, Tool, ToolContext, ToolError, ToolExposure,
    ToolLoadout, ToolMetadata, ToolRegistry,
};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, Answer, Message, NestedCallStatus, SessionEvent, Tool as ToolDeclaration,
    ToolOutput,
};
use pi_providers::FauxResponse;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::harness::{HarnessOptions, SessionHarness, echo};
use crate::participants::{Participants, ToolPolicy};

/// Calls the tools that its arguments name, one after the other, and returns their texts.
struct Caller(ToolDeclaration);

impl Tool for Caller {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn prepare_loadout(&self, loadout: ToolLoadout) -> BoxFuture<'_, LoadoutChanges> {
        let callable: Vec<_> = loadout.callable.iter().map(RegisteredTool::name).collect();
        let description = format!("calls {}", callable.join(", "));
        let changes = LoadoutChanges {
            descriptions: [("caller".to_owned(), description)].into(),
            hidden: vec!["echo".to_owned()],
        };
        Box::pin(std::future::ready(changes))
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let calls = arguments["calls"].as_array().cloned().unwrap_or_default();
            let mut texts = Vec::new();
            for name in calls.iter().filter_map(Value::as_str) {
                let mut arguments = JsonObject::new();
                arguments.insert("text".to_owned(), json!("hello"));
                let result = cx.execute_tool(NestedToolCall::new(name, arguments)).await;
                let text = pi_protocol::join_text(&result.output.content);
                texts.push(format!("{} {} {text}", result.call.id, result.is_error));
            }
            Ok(ToolOutput::text(texts.join("; ")))
        })
    }
}

fn caller() -> RegisteredTool {
    RegisteredTool::new(Arc::new(Caller(ToolDeclaration {
        name: "caller".to_owned(),
        description: "calls tools".to_owned(),
        parameters: json!({"type": "object"}),
        constrained_sampling: None,
        extra: JsonObject::new(),
    })))
}

fn with_exposure(exposure: ToolExposure) -> RegisteredTool {
    RegisteredTool {
        metadata: ToolMetadata {
            exposure,
            ..ToolMetadata::default()
        },
        ..RegisteredTool::new(echo())
    }
}

fn harness(tools: Vec<RegisteredTool>, participants: Participants) -> SessionHarness {
    let harness = SessionHarness::with_options(HarnessOptions {
        sources: vec![Arc::new(ToolRegistry::new(tools))],
        participants,
        ..HarnessOptions::default()
    });
    let arguments = json!({"calls": ["echo", "missing"]});
    harness
        .faux
        .push(FauxResponse::tool_call("caller", arguments));
    harness.faux.push(FauxResponse::text("done"));
    harness
}

/// Returns the text and the nested calls of the only tool result.
fn result(harness: &SessionHarness) -> (String, Vec<(String, NestedCallStatus)>) {
    let messages = harness.session.history().messages().unwrap();
    let mut results = messages.iter().filter_map(|message| match &**message {
        AgentMessage::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = results.next().unwrap();
    let nested = result.nested_calls.clone().unwrap_or_default().calls;
    let nested = nested.into_iter().map(|call| (call.id, call.status));
    let text = pi_protocol::join_text(&result.content);
    (text.into_owned(), nested.collect())
}

/// Replaces the ID of the model's call, which is random.
fn without_ids(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once('/') {
        Some((_, number)) => format!("ID/{number}"),
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_tool_calls_others_and_its_result_records_the_calls() {
    let harness = harness(
        vec![caller(), with_exposure(ToolExposure::Codemode)],
        Participants::default(),
    );
    let mut observer = harness.session.observe(None);
    harness.prompt("go").await;
    let (text, nested) = result(&harness);
    assert_eq!(
        without_ids(&text),
        "ID/1 false hello; ID/2 true Tool missing not found"
    );
    let statuses: Vec<_> = nested.iter().map(|(_, status)| *status).collect();
    assert_eq!(statuses, [NestedCallStatus::Ok, NestedCallStatus::Error]);

    let mut events = Vec::new();
    for event in super::observers::logged(&mut observer) {
        let kind = event["type"].as_str().unwrap_or_default();
        if kind.starts_with("tool_execution") {
            let parent = event["parentToolCallId"].as_str();
            let id = event["toolCallId"].as_str().unwrap();
            assert_eq!(parent, id.split_once('/').map(|(parent, _)| parent));
            events.push(format!("{kind} {}", event["toolName"].as_str().unwrap()));
        }
    }
    assert_eq!(
        events,
        [
            "tool_execution_start caller",
            "tool_execution_start echo",
            "tool_execution_end echo",
            "tool_execution_start missing",
            "tool_execution_end missing",
            "tool_execution_end caller"
        ]
    );
    // The transcript has the call of the model only.
    let context = harness.context();
    let results = context.iter().filter(|line| line.starts_with("toolResult"));
    assert_eq!(results.count(), 1);
}

#[tokio::test]
async fn only_exposed_tools_can_be_called() {
    for (exposure, is_callable) in [
        (ToolExposure::Direct, true),
        (ToolExposure::Deferred, true),
        (ToolExposure::ModelOnly, false),
        (ToolExposure::Hidden, false),
    ] {
        let tools = vec![caller(), with_exposure(exposure)];
        let harness = harness(tools, Participants::default());
        harness.prompt("go").await;
        let (text, _) = result(&harness);
        assert_eq!(text.contains("false hello"), is_callable, "{exposure:?}");
    }
}

/// Asks about nested calls, or denies them.
struct NestedPolicy {
    denies: bool,
}

impl ToolPolicy for NestedPolicy {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        let decision = match (&call.parent, self.denies) {
            (None, _) => Decision::Allow,
            (Some(_), true) => Decision::Deny(DenialReason::default()),
            (Some(_), false) => Decision::Ask(call.approval_request(None)),
        };
        Box::pin(std::future::ready(Ok(ReviewedToolCall {
            decision,
            arguments: call.arguments,
        })))
    }
}

fn with_policy(denies: bool) -> SessionHarness {
    let policy = Participants::builder().tool_policy(Arc::new(NestedPolicy { denies }));
    harness(
        vec![caller(), with_exposure(ToolExposure::Codemode)],
        policy.build(),
    )
}

#[tokio::test]
async fn a_policy_can_deny_a_nested_call() {
    let harness = with_policy(true);
    harness.prompt("go").await;
    let (text, nested) = result(&harness);
    assert!(text.contains("/1 true"), "{text}");
    assert_eq!(nested[0].1, NestedCallStatus::Error);
}

#[tokio::test]
async fn a_client_approves_or_denies_a_nested_call() {
    for (answer, expected) in [
        (Answer::Allow, "/1 false hello"),
        (
            Answer::Deny {
                reason: Some("not now".to_owned()),
            },
            "/1 true not now",
        ),
    ] {
        let harness = with_policy(false);
        let mut observer = harness.session.observe(None);
        harness.session.prompt(Prompt::text("go")).await.unwrap();
        let id = loop {
            if let Observed::Event(envelope) = observer.next().await.unwrap()
                && let SessionEvent::ApprovalRequested { request } = &envelope.event
            {
                break request.id.clone();
            }
        };
        assert_eq!(harness.session.requests().pending().len(), 1);
        let requests = harness.session.requests();
        requests.answer(id, answer).await.unwrap();
        harness.session.wait_for_idle().await;
        let (text, _) = result(&harness);
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn an_active_tool_changes_the_declarations_of_requests() {
    let mut preparing = caller();
    preparing.metadata.prepares_loadout = true;
    let tools = vec![preparing, with_exposure(ToolExposure::Direct)];
    let harness = harness(tools, Participants::default());
    harness.prompt("go").await;
    let request = harness.faux.requests().into_iter().next().unwrap();
    let declared = request.messages.iter().filter_map(|message| match message {
        Message::System(system) => system.tools_added.clone(),
        _ => None,
    });
    let declared: Vec<_> = declared
        .flatten()
        .map(|tool| (tool.name, tool.description))
        .collect();
    let caller = ("caller".to_owned(), "calls caller, echo".to_owned());
    assert_eq!(declared, [caller]);
    // A hidden declaration stays active: the call succeeds.
    assert!(result(&harness).0.contains("false hello"));
}
