//! Hooks: their inputs, and how they change or block the loop.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{
    AgentHooks, FinishedToolCall, HookError, LoopContext, LoopUpdate, PendingToolCall,
    SharedMessage, ToolCallVerdict, ToolResultUpdate,
};
use pi_protocol::{AgentMessage, CustomMessage, InputBlock, Message, UserMessage};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use crate::script::{ScriptedModel, ScriptedResponse, TestTool, texts};

struct BlockingHooks;

impl AgentHooks for BlockingHooks {
    fn before_tool_call<'a>(
        &'a self,
        mut call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolCallVerdict, HookError>> {
        Box::pin(async move {
            match call.call.id.as_str() {
                "blocked" => Ok(ToolCallVerdict::Block {
                    reason: Some("not here".into()),
                    terminate: false,
                }),
                "broken" => Err(HookError::new("the hook failed")),
                _ => {
                    call.arguments.insert("text".into(), "changed".into());
                    Ok(ToolCallVerdict::Run(call.arguments))
                }
            }
        })
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        let text = format!("{}!", pi_protocol::join_text(&call.output.content));
        Box::pin(async move {
            Ok(ToolResultUpdate {
                content: Some(vec![InputBlock::text(text)]),
                ..ToolResultUpdate::default()
            })
        })
    }
}

#[tokio::test]
async fn calls_can_be_blocked_changed_and_reworded() {
    let calls = vec![("blocked", "echo"), ("broken", "echo"), ("runs", "echo")];
    let agent = ScriptedModel::new([ScriptedResponse::Calls(calls)]).agent_with(
        vec![TestTool::echo("echo")],
        |options| {
            options.hooks = Arc::new(BlockingHooks);
        },
    );
    agent.prompt_text("go", Vec::new()).await.unwrap();
    assert_eq!(
        texts(&agent.state().messages)[3..6],
        [
            "failure blocked: not here",
            "failure broken: the hook failed",
            "result runs: changed!"
        ]
    );
}

struct CompactingHooks;

impl AgentHooks for CompactingHooks {
    fn prepare_request<'a>(
        &'a self,
        context: LoopContext,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LoopUpdate, HookError>> {
        Box::pin(async move {
            let last = context.messages.last().cloned();
            Ok(LoopUpdate {
                transcript: Some(last.into_iter().collect()),
                ..LoopUpdate::default()
            })
        })
    }

    fn convert_to_model(
        &self,
        messages: Vec<SharedMessage>,
    ) -> BoxFuture<'_, Result<Vec<Message>, HookError>> {
        Box::pin(async move {
            Ok(messages
                .iter()
                .filter_map(|message| match &**message {
                    AgentMessage::Custom(custom) => Some(Message::from(UserMessage {
                        content: custom.content.clone(),
                        ..UserMessage::default()
                    })),
                    other => pi_core::model_message(other),
                })
                .collect())
        })
    }
}

#[tokio::test]
async fn application_roles_are_converted_for_the_model() {
    let script = ScriptedModel::new([]);
    let agent = script.agent_with(Vec::new(), |options| {
        options.hooks = Arc::new(CompactingHooks);
    });
    let custom = AgentMessage::Custom(CustomMessage {
        custom_type: "note".into(),
        content: "from an extension".into(),
        ..CustomMessage::default()
    });
    agent
        .prompt(vec![agent.user_message("dropped", Vec::new()), custom])
        .await
        .unwrap();
    let requests = script.requests.lock().unwrap();
    let [Message::User(user)] = &*requests[0] else {
        panic!("one user message")
    };
    assert_eq!(user.content.joined_text(), "from an extension");
    assert_eq!(
        texts(&agent.state().messages),
        ["other", "assistant Stop: done"]
    );
}

struct FailingHooks;

impl AgentHooks for FailingHooks {
    fn transform_context<'a>(
        &'a self,
        _messages: Vec<SharedMessage>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        Box::pin(async { Err(HookError::new("context lost")) })
    }
}

#[tokio::test]
async fn a_failing_hook_ends_the_run_with_a_message() {
    let agent = ScriptedModel::new([])
        .agent_with(Vec::new(), |options| options.hooks = Arc::new(FailingHooks));
    agent.prompt_text("hi", Vec::new()).await.unwrap();
    assert_eq!(
        texts(&agent.state().messages),
        ["user: hi", "assistant Error: "]
    );
    assert_eq!(agent.state().error_message.as_deref(), Some("context lost"));
    assert!(!agent.state().is_running);
}

/// Rewrites user messages, drops the second tool call of a response, and fails for one text.
struct RewritingHooks;

impl AgentHooks for RewritingHooks {
    fn finish_message<'a>(
        &'a self,
        message: SharedMessage,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<SharedMessage, HookError>> {
        Box::pin(async move {
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
        })
    }
}

#[tokio::test]
async fn a_finished_message_can_be_replaced_and_its_calls_run() {
    let calls = vec![("first", "echo"), ("second", "echo")];
    let agent = ScriptedModel::new([ScriptedResponse::Calls(calls)]).agent_with(
        vec![TestTool::echo("echo")],
        |options| {
            options.hooks = Arc::new(RewritingHooks);
        },
    );
    agent.prompt_text("go", Vec::new()).await.unwrap();
    let messages = texts(&agent.state().messages);
    assert!(
        messages.contains(&"user: go, please".to_owned()),
        "{messages:?}"
    );
    let results = messages.iter().filter(|line| line.starts_with("result"));
    assert_eq!(results.collect::<Vec<_>>().len(), 1, "{messages:?}");
}

#[tokio::test]
async fn a_message_that_cannot_be_finished_ends_the_run_and_is_removed() {
    let script = ScriptedModel::new([]);
    let agent = script.agent_with(Vec::new(), |options| {
        options.hooks = Arc::new(RewritingHooks);
    });
    agent.prompt_text("unwelcome", Vec::new()).await.unwrap();
    assert_eq!(texts(&agent.state().messages), ["assistant Error: "]);
    let error = agent.state().error_message;
    assert_eq!(error.as_deref(), Some("the disk is full"));
    assert!(script.requests.lock().unwrap().is_empty());
}
