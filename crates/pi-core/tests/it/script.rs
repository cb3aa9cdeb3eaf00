//! A scripted model and a tool implemented by a closure.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_core::{Progress, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    Message, Model, ProviderError, StopReason, Tool as ToolDeclaration, ToolCall, ToolOutput,
};
use pi_stream::{AssistantStream, StreamWriter};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::backend::{NoHooks, TestBackend, TestHooks, TestModel};

pub(crate) enum ScriptedResponse {
    Text(&'static str),
    Calls(Vec<(&'static str, &'static str)>),
    /// A tool call with this text as its arguments.
    Written(&'static str, &'static str),
    /// Some text, then a stall until the request is canceled.
    Stall(&'static str),
    Fail(&'static str),
}

/// A model that records its requests and replays scripted responses.
#[derive(Default)]
pub(crate) struct ScriptedModel {
    responses: Mutex<VecDeque<ScriptedResponse>>,
    pub(crate) requests: Mutex<Vec<Vec<Message>>>,
    pub(crate) stalled: Notify,
}

impl ScriptedModel {
    pub(crate) fn new(responses: impl IntoIterator<Item = ScriptedResponse>) -> Arc<Self> {
        Arc::new(Self {
            responses: Mutex::new(responses.into_iter().collect()),
            ..Self::default()
        })
    }

    pub(crate) fn session(self: &Arc<Self>, tools: Vec<Arc<dyn Tool>>) -> TestBackend {
        self.session_with(tools, NoHooks)
    }

    pub(crate) fn session_with(
        self: &Arc<Self>,
        tools: Vec<Arc<dyn Tool>>,
        hooks: impl TestHooks,
    ) -> TestBackend {
        let script = Arc::clone(self);
        TestBackend::new(Arc::new(ScriptHandle(script)), tools, Arc::new(hooks))
    }

    async fn write(
        &self,
        response: ScriptedResponse,
        mut writer: StreamWriter,
        cancel: &CancellationToken,
    ) {
        writer.message().start();
        match response {
            ScriptedResponse::Text(text) => write_text(&mut writer, text),
            ScriptedResponse::Calls(calls) => {
                for (id, name) in calls {
                    let call = ToolCall {
                        id: id.into(),
                        name: name.into(),
                        ..ToolCall::default()
                    };
                    let block = writer.message().open_tool_call(call);
                    writer
                        .message()
                        .append_arguments(block, r#"{"text": "argument"}"#);
                    writer.message().close_tool_call(block);
                }
                writer.message().stop(StopReason::ToolUse, None);
            }
            ScriptedResponse::Written(name, arguments) => {
                let block = writer.message().open_tool_call(ToolCall {
                    id: "1".into(),
                    name: name.into(),
                    ..ToolCall::default()
                });
                writer.message().append_arguments(block, arguments);
                writer.message().close_tool_call(block);
                writer.message().stop(StopReason::ToolUse, None);
            }
            ScriptedResponse::Stall(text) => {
                write_text(&mut writer, text);
                writer.flush().await;
                self.stalled.notify_one();
                cancel.cancelled().await;
                return writer.fail(ProviderError::aborted()).await;
            }
            ScriptedResponse::Fail(text) => return writer.fail(ProviderError::network(text)).await,
        }
        writer.complete().await;
    }
}

/// A [`ScriptedModel`] that its responses share.
struct ScriptHandle(Arc<ScriptedModel>);

impl TestModel for ScriptHandle {
    fn stream(&self, messages: Vec<Message>, cancel: CancellationToken) -> AssistantStream {
        self.0.requests.lock().unwrap().push(messages);
        let next = self.0.responses.lock().unwrap().pop_front();
        let response = next.unwrap_or(ScriptedResponse::Text("done"));
        let script = Arc::clone(&self.0);
        AssistantStream::produce(&model(), 0, move |writer| async move {
            if cancel.is_cancelled() {
                return writer.fail(ProviderError::aborted()).await;
            }
            script.write(response, writer, &cancel).await;
        })
    }
}

fn write_text(writer: &mut StreamWriter, text: &str) {
    let block = writer.message().open_text();
    for word in text.split_inclusive(' ') {
        writer.message().append_text(block, word);
    }
    writer.message().close_text(block);
}

fn model() -> Model {
    serde_json::from_value(json!({"id": "m", "name": "m", "api": "a", "provider": "p",
        "baseUrl": "", "reasoning": true, "input": ["text"], "cost": {}, "contextWindow": 1000,
        "maxTokens": 100}))
    .unwrap()
}

type ToolBody = dyn Fn(JsonObject, Progress, CancellationToken) -> BoxFuture<'static, Result<ToolOutput, ToolError>>
    + Send
    + Sync;

/// A tool implemented by a closure.
pub(crate) struct TestTool {
    declaration: ToolDeclaration,
    body: Box<ToolBody>,
}

impl TestTool {
    pub(crate) fn of<Running>(
        name: &str,
        body: impl Fn(JsonObject, Progress, CancellationToken) -> Running + Send + Sync + 'static,
    ) -> Arc<dyn Tool>
    where
        Running: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        Arc::new(Self {
            declaration: ToolDeclaration {
                name: name.into(),
                description: "For tests.".into(),
                parameters: json!({"type": "object", "required": ["text"],
                    "properties": {"text": {"type": "string"}}}),
                constrained_sampling: None,
                extra: pi_protocol::json::JsonObject::new(),
            },
            body: Box::new(move |arguments, updates, cancel| {
                Box::pin(body(arguments, updates, cancel))
            }),
        })
    }

    pub(crate) fn echo(name: &str) -> Arc<dyn Tool> {
        Self::of(name, |arguments, _, _| async move {
            Ok(ToolOutput::text(
                arguments
                    .get("text")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            ))
        })
    }
}

impl Tool for TestTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        (self.body)(arguments, cx.progress, cx.cancel)
    }
}
