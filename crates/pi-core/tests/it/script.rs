//! A scripted model, a closure-based tool, and a listener that logs events.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pi_core::{
    Agent, AgentEvent, AgentListener, AgentOptions, ExecutionMode, Tool, ToolError, ToolOutput,
    UpdateSink,
};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    AgentMessage, Message, Model, ProviderError, StopReason, Tool as ToolDeclaration, ToolCall,
};
use pi_providers::{AssistantStream, StreamOptions, StreamWriter};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

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
    pub(crate) requests: Mutex<Vec<Arc<[Message]>>>,
    pub(crate) stalled: Notify,
}

impl ScriptedModel {
    pub(crate) fn new(responses: impl IntoIterator<Item = ScriptedResponse>) -> Arc<Self> {
        Arc::new(Self {
            responses: Mutex::new(responses.into_iter().collect()),
            ..Self::default()
        })
    }

    pub(crate) fn agent(self: &Arc<Self>, tools: Vec<Arc<dyn Tool>>) -> Agent {
        self.agent_with(tools, |_| {})
    }

    pub(crate) fn agent_with(
        self: &Arc<Self>,
        tools: Vec<Arc<dyn Tool>>,
        change: impl FnOnce(&mut AgentOptions),
    ) -> Agent {
        let script = Arc::clone(self);
        let models = move |model: Arc<Model>, messages: Arc<[Message]>, options: StreamOptions| {
            script.stream(&model, messages, options)
        };
        let mut options = AgentOptions::new(Arc::new(models), Arc::new(model()));
        options.tools = tools;
        change(&mut options);
        Agent::new(options)
    }

    fn stream(
        self: &Arc<Self>,
        model: &Model,
        messages: Arc<[Message]>,
        options: StreamOptions,
    ) -> AssistantStream {
        self.requests.lock().unwrap().push(messages);
        let response = self
            .responses
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or(ScriptedResponse::Text("done"));
        let script = Arc::clone(self);
        AssistantStream::produce(model, 0, move |writer| async move {
            if options.cancel.is_cancelled() {
                return writer.fail(ProviderError::aborted()).await;
            }
            script.write(response, writer, &options.cancel).await;
        })
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

fn write_text(writer: &mut StreamWriter, text: &str) {
    let block = writer.message().open_text();
    for word in text.split_inclusive(' ') {
        writer.message().append_text(block, word);
    }
    writer.message().close_text(block);
}

pub(crate) fn model() -> Model {
    serde_json::from_value(json!({"id": "m", "name": "m", "api": "a", "provider": "p",
        "baseUrl": "", "reasoning": true, "input": ["text"], "cost": {}, "contextWindow": 1000,
        "maxTokens": 100}))
    .unwrap()
}

type ToolBody = dyn Fn(
        JsonObject,
        UpdateSink,
        CancellationToken,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>>
    + Send
    + Sync;

/// A tool implemented by a closure.
pub(crate) struct TestTool {
    declaration: ToolDeclaration,
    mode: ExecutionMode,
    body: Box<ToolBody>,
}

impl TestTool {
    pub(crate) fn of<Running>(
        name: &str,
        body: impl Fn(JsonObject, UpdateSink, CancellationToken) -> Running + Send + Sync + 'static,
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
            mode: ExecutionMode::Parallel,
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

    fn execution_mode(&self) -> ExecutionMode {
        self.mode
    }

    fn execute<'a>(
        &'a self,
        _call_id: &'a str,
        arguments: JsonObject,
        updates: UpdateSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        (self.body)(arguments, updates, cancel)
    }
}

/// Logs one line per event.
#[derive(Default)]
pub(crate) struct EventLogger(Mutex<Vec<String>>);

impl EventLogger {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// The logged lines of tool events.
    pub(crate) fn tool_lines(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.starts_with("tool_"));
        lines
    }
}

impl AgentListener for EventLogger {
    fn on_event<'a>(
        &'a self,
        event: &'a AgentEvent,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ()> {
        let value = serde_json::to_value(event).unwrap();
        let kind = value["type"].as_str().unwrap_or_default().to_owned();
        let detail = ["toolCallId", "delta"]
            .iter()
            .find_map(|key| value.get(key).or(value["assistantMessageEvent"].get(key)))
            .or(value["message"].get("role"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        self.0
            .lock()
            .unwrap()
            .push(format!("{kind} {detail}").trim_end().to_owned());
        Box::pin(std::future::ready(()))
    }
}

pub(crate) fn texts(messages: &[pi_core::SharedMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|message| match &**message {
            AgentMessage::System(_) => "system".to_owned(),
            AgentMessage::User(user) => format!("user: {}", user.content.joined_text()),
            AgentMessage::Assistant(response) => {
                format!("assistant {:?}: {}", response.stop_reason, response.text())
            }
            AgentMessage::ToolResult(result) => {
                let kind = if result.is_error { "failure" } else { "result" };
                format!(
                    "{kind} {}: {}",
                    result.tool_call_id,
                    pi_protocol::join_text(&result.content)
                )
            }
            _ => "other".to_owned(),
        })
        .collect()
}
