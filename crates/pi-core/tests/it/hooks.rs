//! Hooks: their inputs, and how they change or block a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use pi_core::{
    Backend as _, DenialReason, FinishedToolCall, HookError, Input, PendingToolCall, Rejection,
    Reply, ReviewedToolCall, ToolResultUpdate, TurnDecision,
};
use pi_protocol::{AgentMessage, InputBlock, Message, SharedMessage, UserMessage};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use crate::backend::{TestBackend, TestHooks, prompt_input};
use crate::client::custom_message;
use crate::script::{ScriptedModel, ScriptedResponse, TestTool};

struct BlockingHooks;

impl TestHooks for BlockingHooks {
    fn before_tool_call<'a>(
        &'a self,
        _backend: &'a TestBackend,
        mut call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            match call.call.id.as_str() {
                "blocked" => Ok(ReviewedToolCall::deny(DenialReason {
                    text: Some("not here".into()),
                    terminate: false,
                })),
                "broken" => Err(HookError::new("the hook failed")),
                _ => {
                    let calls = call.response.as_deref().map(calls_of);
                    call.arguments
                        .insert("text".into(), format!("changed, {calls:?}").into());
                    Ok(ReviewedToolCall::allow(call.arguments))
                }
            }
        })
    }

    fn after_tool_call(&self, call: &FinishedToolCall) -> Result<ToolResultUpdate, HookError> {
        if call.pending.call.id == "rejected" {
            return Err(HookError::new("the result is not acceptable"));
        }
        let text = format!("{}!", pi_protocol::join_text(&call.output.content));
        Ok(ToolResultUpdate {
            content: Some(vec![InputBlock::text(text)]),
            ..ToolResultUpdate::default()
        })
    }
}

fn calls_of(message: &AgentMessage) -> usize {
    match message {
        AgentMessage::Assistant(response) => response.tool_calls().count(),
        _ => 0,
    }
}

#[tokio::test]
async fn calls_can_be_blocked_changed_and_reworded() {
    let calls = ["blocked", "broken", "runs", "rejected"].map(|id| (id, "echo"));
    let session = ScriptedModel::new([ScriptedResponse::Calls(calls.to_vec())])
        .session_with(vec![TestTool::echo("echo")], BlockingHooks);
    session.run("go").await;
    assert_eq!(
        session.texts()[3..7],
        [
            "failure blocked: not here",
            "failure broken: the hook failed",
            "result runs: changed, Some(4)!",
            "failure rejected: the result is not acceptable"
        ]
    );
}

/// Blocks every call and requests the end of the run.
struct TerminatingHooks;

impl TestHooks for TerminatingHooks {
    fn before_tool_call<'a>(
        &'a self,
        _backend: &'a TestBackend,
        _call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async {
            Ok(ReviewedToolCall::deny(DenialReason {
                text: None,
                terminate: true,
            }))
        })
    }
}

#[tokio::test]
async fn a_blocked_call_can_end_the_run() {
    let script = ScriptedModel::new([ScriptedResponse::Calls(vec![("1", "echo")])]);
    let session = script.session_with(vec![TestTool::echo("echo")], TerminatingHooks);
    session.run("go").await;
    assert_eq!(
        session.texts()[3..],
        ["failure 1: Tool execution was blocked"]
    );
    assert_eq!(script.requests.lock().unwrap().len(), 1);
}

/// Sends only the last message, and messages of extensions as the user's.
struct ConvertingHooks;

impl TestHooks for ConvertingHooks {
    fn prepare_run<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, Vec<AgentMessage>> {
        Box::pin(async { vec![custom_message("from an extension")] })
    }

    fn context(&self, messages: &[SharedMessage]) -> Result<Vec<Message>, HookError> {
        let last = messages.last().into_iter();
        let converted = last.filter_map(|message| match &**message {
            AgentMessage::Custom(custom) => Some(Message::from(UserMessage {
                content: custom.content.clone(),
                ..UserMessage::default()
            })),
            other => pi_core::model_message(other),
        });
        Ok(converted.collect())
    }
}

#[tokio::test]
async fn start_hooks_add_messages_and_the_context_hook_converts_them() {
    let script = ScriptedModel::new([]);
    let session = script.session_with(Vec::new(), ConvertingHooks);
    session.run("hi").await;
    let requests = script.requests.lock().unwrap();
    let [Message::User(user)] = &*requests[0] else {
        panic!("one user message")
    };
    assert_eq!(user.content.joined_text(), "from an extension");
    assert_eq!(
        session.texts(),
        [
            "user: hi",
            "custom: from an extension",
            "assistant Stop: done"
        ]
    );
}

struct FailingHooks;

impl TestHooks for FailingHooks {
    fn context(&self, _messages: &[SharedMessage]) -> Result<Vec<Message>, HookError> {
        Err(HookError::new("context lost"))
    }
}

#[tokio::test]
async fn a_failing_hook_ends_the_run_with_a_message() {
    let session = ScriptedModel::new([]).session_with(Vec::new(), FailingHooks);
    session.run("hi").await;
    assert_eq!(session.texts(), ["user: hi", "assistant Error: "]);
    assert_eq!(session.last_error().as_deref(), Some("context lost"));
    let end = ["turn_end assistant", "agent_end", "agent_settled"];
    assert_eq!(session.lines().split_off(session.lines().len() - 3), end);
}

/// Rewrites user messages, drops the second tool call of a response, and fails for one text.
struct RewritingHooks;

impl TestHooks for RewritingHooks {
    fn replace_message(&self, message: SharedMessage) -> Result<SharedMessage, HookError> {
        match &*message {
            AgentMessage::User(user) if user.content.joined_text() == "unwelcome" => {
                Err(HookError::new("the disk is full"))
            }
            AgentMessage::User(user) => {
                let text = format!("{}, please", user.content.joined_text());
                Ok(Arc::new(AgentMessage::from(UserMessage {
                    content: text.as_str().into(),
                    ..(**user).clone()
                })))
            }
            AgentMessage::Assistant(response) if response.tool_calls().count() > 1 => {
                let mut response = response.clone();
                Arc::make_mut(&mut response).content.truncate(1);
                Ok(Arc::new(AgentMessage::Assistant(response)))
            }
            _ => Ok(message),
        }
    }
}

#[tokio::test]
async fn a_finished_message_can_be_replaced_and_its_calls_run() {
    let calls = vec![("first", "echo"), ("second", "echo")];
    let session = ScriptedModel::new([ScriptedResponse::Calls(calls)])
        .session_with(vec![TestTool::echo("echo")], RewritingHooks);
    session.run("go").await;
    assert_eq!(
        session.texts()[1..],
        [
            "user: go, please",
            "assistant ToolUse: ",
            "result first: argument",
            "assistant Stop: done"
        ]
    );
}

#[tokio::test]
async fn a_message_that_cannot_be_stored_ends_the_run_and_returns_to_the_queue() {
    let script = ScriptedModel::new([]);
    let session = script.session_with(Vec::new(), RewritingHooks);
    session.run("unwelcome").await;
    assert_eq!(session.texts(), ["assistant Error: "]);
    assert_eq!(session.last_error().as_deref(), Some("the disk is full"));
    assert!(script.requests.lock().unwrap().is_empty());
    let cleared = session.request(Input::ClearQueue).await;
    assert!(matches!(cleared, Reply::Cleared(texts) if texts.steering == ["unwelcome"]));
    session.run("welcome").await;
    assert_eq!(
        session.texts()[1..],
        ["user: welcome, please", "assistant Stop: done"]
    );
}

/// Rejects the first prompt.
#[derive(Default)]
struct CheckingHooks(AtomicUsize);

impl TestHooks for CheckingHooks {
    fn check_prompt<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, Result<(), String>> {
        let is_first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
        Box::pin(async move {
            if is_first {
                Err("no key".to_owned())
            } else {
                Ok(())
            }
        })
    }
}

#[tokio::test]
async fn a_prompt_that_fails_its_check_changes_nothing() {
    let session = ScriptedModel::new([]).session_with(Vec::new(), CheckingHooks::default());
    let input = Input::Prompt(prompt_input("hi".to_owned()));
    let rejected = pi_core::submit(&session, input).reply().await;
    assert_eq!(rejected.reply, Reply::Rejected(Rejection::CheckFailed));
    assert_eq!(rejected.error.as_deref(), Some("no key"));
    assert!(session.lines().is_empty());
    assert!(session.reports().is_empty());
    session.run("hi").await;
    assert_eq!(session.texts(), ["user: hi", "assistant Stop: done"]);
}

/// Wants one more turn, at the end of a turn and before settling.
#[derive(Default)]
struct ContinuingHooks {
    turns: AtomicUsize,
    settles: AtomicUsize,
}

impl TestHooks for ContinuingHooks {
    fn finish_turn<'a>(&'a self, _backend: &'a TestBackend) -> BoxFuture<'a, TurnDecision> {
        let decision = match self.turns.fetch_add(1, Ordering::Relaxed) {
            0 => TurnDecision::Continue,
            _ => TurnDecision::Default,
        };
        Box::pin(std::future::ready(decision))
    }

    fn before_settle<'a>(&'a self, backend: &'a TestBackend) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let proceed = self.settles.fetch_add(1, Ordering::Relaxed) == 0;
            if proceed {
                backend.append(custom_message("not yet")).await.unwrap();
            }
            proceed
        })
    }
}

#[tokio::test]
async fn hooks_can_continue_a_run() {
    let script = ScriptedModel::new([]);
    let session = script.session_with(Vec::new(), ContinuingHooks::default());
    session.run("hi").await;
    assert_eq!(
        session.texts(),
        [
            "user: hi",
            "assistant Stop: done",
            "assistant Stop: done",
            "custom: not yet",
            "assistant Stop: done"
        ]
    );
    assert_eq!(
        session.lines_of("agent_"),
        [
            "agent_start",
            "agent_end",
            "agent_start",
            "agent_end",
            "agent_settled"
        ]
    );
}
