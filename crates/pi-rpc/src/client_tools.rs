//! Tools that the client implements.
//!
//! A client declares them with `register_tools`. A call becomes a `tool_call_request` line, and the call waits for the
//! `tool_call_result` with the same ID; `tool_call_update` shows partial results. These lines are an addition to the
//! protocol of the TypeScript pi: a client that sends none of them never receives one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_host::{
    ExecutionMode, LineSink, Progress, RegisteredTool, RejectedLine, Tool, ToolContext, ToolError,
    ToolRegistry, ToolSource, failure_line, success_line,
};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

/// Maximum number of tools of a client.
const MAX_TOOLS: usize = 512;

const REGISTER: &str = "register_tools";
const UPDATE: &str = "tool_call_update";
const RESULT: &str = "tool_call_result";

/// The tools of a client; cheap to clone.
#[derive(Clone, Default)]
pub struct ClientTools(Arc<ClientToolsInner>);

#[derive(Default)]
struct ClientToolsInner {
    registry: ToolRegistry,
    names: Mutex<Vec<String>>,
    calls: PendingCalls,
}

/// The lines to the client, and the calls that wait for it.
#[derive(Clone, Default)]
struct PendingCalls(Arc<PendingCallsInner>);

#[derive(Default)]
struct PendingCallsInner {
    sink: OnceLock<LineSink>,
    waiting: Mutex<HashMap<String, PendingCall>>,
    last_id: AtomicU64,
}

struct PendingCall {
    progress: Progress,
    result: oneshot::Sender<Result<ToolOutput, ToolError>>,
}

/// A tool as the client declares it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientToolSpec {
    name: String,
    #[serde(default)]
    label: Option<String>,
    description: String,
    parameters: Value,
    #[serde(default)]
    prompt_snippet: Option<String>,
    #[serde(default)]
    prompt_guidelines: Vec<String>,
    #[serde(default)]
    execution_mode: ExecutionMode,
}

#[derive(Deserialize)]
struct RegisterTools {
    tools: Vec<ClientToolSpec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallUpdate {
    id: String,
    partial_result: ToolOutput,
}

#[derive(Deserialize)]
struct CallResult {
    id: String,
    #[serde(default)]
    result: Option<ToolOutput>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Serialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
enum ToolCallLine<'a> {
    ToolCallRequest {
        id: &'a str,
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: JsonObject,
    },
    ToolCallCancelled {
        id: &'a str,
    },
}

impl std::fmt::Debug for ClientTools {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ClientTools")
    }
}

impl ToolSource for ClientTools {
    fn tools(&self) -> watch::Receiver<Vec<RegisteredTool>> {
        self.0.registry.tools()
    }
}

impl ClientTools {
    /// Attaches the client: it receives the calls of its tools.
    pub(crate) fn attach(&self, sink: LineSink) {
        // Attached once; a second client would have its own runtime.
        self.0.calls.0.sink.set(sink).ok();
    }

    /// Handles a line about the tools of the client. Returns the response, if the line gets one; `Err` if the line is
    /// about something else.
    pub(crate) fn receive(&self, line: &str) -> Result<Option<String>, NotAboutTools> {
        // Other lines are not parsed twice.
        if ![REGISTER, UPDATE, RESULT]
            .iter()
            .any(|it| line.contains(it))
        {
            return Err(NotAboutTools);
        }
        let Ok(Value::Object(object)) = pi_protocol::json::from_str_lenient(line) else {
            return Err(NotAboutTools);
        };
        let kind = object.get("type").and_then(Value::as_str);
        match kind {
            Some(REGISTER) => Ok(Some(self.register(object))),
            Some(UPDATE) => Ok(self.0.calls.update(object).err()),
            Some(RESULT) => Ok(self.0.calls.finish(object).err()),
            _ => Err(NotAboutTools),
        }
    }

    /// Replaces the tools of the client. Returns the response.
    fn register(&self, object: JsonObject) -> String {
        let id = object.get("id").cloned();
        let specs = match RegisterTools::deserialize(Value::Object(object)) {
            Ok(command) => command.tools,
            Err(error) => return rejection(id, REGISTER, &error.to_string()),
        };
        if let Some(reason) = invalid_list(&specs) {
            return rejection(id, REGISTER, &reason);
        }
        let mut names = self.0.names.lock();
        for name in std::mem::take(&mut *names) {
            if !specs.iter().any(|spec| spec.name == name) {
                self.0.registry.remove(&name);
            }
        }
        for spec in specs {
            names.push(spec.name.clone());
            self.0.registry.add(spec.into_tool(&self.0.calls));
        }
        success_line(id.as_ref(), REGISTER, None)
    }
}

/// The line is not about the tools of the client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAboutTools;

fn rejection(id: Option<Value>, kind: &str, error: &str) -> String {
    failure_line(&RejectedLine {
        id,
        command: Some(kind.to_owned()),
        error: format!("Invalid {kind} command: {error}"),
    })
}

/// Returns what is wrong with a list of tools.
fn invalid_list(specs: &[ClientToolSpec]) -> Option<String> {
    if specs.len() > MAX_TOOLS {
        return Some(format!("more than {MAX_TOOLS} tools"));
    }
    for (index, spec) in specs.iter().enumerate() {
        if spec.name.is_empty() {
            return Some("a tool has no name".to_owned());
        }
        if !spec.parameters.is_object() {
            return Some(format!(
                "the parameters of {} must be a JSON schema",
                spec.name
            ));
        }
        let mut earlier = specs.iter().take(index);
        if earlier.any(|other| other.name == spec.name) {
            return Some(format!("two tools are named {}", spec.name));
        }
    }
    None
}

impl ClientToolSpec {
    fn into_tool(self, calls: &PendingCalls) -> RegisteredTool {
        let tool = ClientTool {
            label: self.label.unwrap_or_else(|| self.name.clone()),
            declaration: ToolDeclaration {
                name: self.name,
                description: self.description,
                parameters: self.parameters,
                constrained_sampling: None,
                extra: JsonObject::new(),
            },
            execution_mode: self.execution_mode,
            calls: calls.clone(),
        };
        RegisteredTool {
            snippet: self.prompt_snippet,
            guidelines: self.prompt_guidelines,
            ..RegisteredTool::new(Arc::new(tool))
        }
    }
}

impl PendingCalls {
    fn update(&self, object: JsonObject) -> Result<(), String> {
        let id = object.get("id").cloned();
        let update = CallUpdate::deserialize(Value::Object(object))
            .map_err(|error| rejection(id, UPDATE, &error.to_string()))?;
        // A late update has no effect.
        if let Some(call) = self.waiting().get(&update.id) {
            call.progress.send(update.partial_result);
        }
        Ok(())
    }

    fn finish(&self, object: JsonObject) -> Result<(), String> {
        let id = object.get("id").cloned();
        let reject = |error: &str| rejection(id.clone(), RESULT, error);
        let answer = CallResult::deserialize(Value::Object(object))
            .map_err(|error| reject(&error.to_string()))?;
        let result = match (answer.result, answer.error) {
            (_, Some(error)) => Err(ToolError::new(error)),
            (Some(result), None) => Ok(result),
            (None, None) => return Err(reject("missing field `result` or `error`")),
        };
        // A late result has no effect.
        if let Some(call) = self.waiting().remove(&answer.id) {
            call.result.send(result).ok();
        }
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, PendingCall>> {
        self.0.waiting.lock()
    }

    async fn send(&self, line: ToolCallLine<'_>) -> Result<(), ToolError> {
        let gone = || ToolError::new("The program that implements this tool is not connected");
        let line = pi_protocol::json::to_string(&line)
            .map_err(|error| ToolError::new(format!("cannot serialize the call: {error}")))?;
        let sink = self.0.sink.get().ok_or_else(gone)?;
        sink.send(line).await.map_err(|_closed| gone())
    }

    async fn call(
        &self,
        name: &str,
        cx: ToolContext,
        args: JsonObject,
    ) -> Result<ToolOutput, ToolError> {
        let id = self.0.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("tool-{id}");
        let (sender, receiver) = oneshot::channel();
        let call = PendingCall {
            progress: cx.progress.clone(),
            result: sender,
        };
        self.waiting().insert(id.clone(), call);
        let request = ToolCallLine::ToolCallRequest {
            id: &id,
            tool_call_id: cx.call.as_str(),
            tool_name: name,
            args,
        };
        let waiting = async {
            self.send(request).await?;
            let aborted = |_closed| Err(ToolError::new("Operation aborted"));
            receiver.await.unwrap_or_else(aborted)
        };
        let result = tokio::select! {
            result = waiting => Some(result),
            () = cx.cancel.cancelled() => None,
        };
        self.waiting().remove(&id);
        if let Some(result) = result {
            return result;
        }
        self.send(ToolCallLine::ToolCallCancelled { id: &id })
            .await?;
        Err(ToolError::new("Operation aborted"))
    }
}

/// A tool that the client runs.
struct ClientTool {
    declaration: ToolDeclaration,
    label: String,
    execution_mode: ExecutionMode,
    calls: PendingCalls,
}

impl Tool for ClientTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn execution_mode(&self) -> ExecutionMode {
        self.execution_mode
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.calls.call(&self.declaration.name, cx, arguments))
    }
}

#[cfg(test)]
mod tests;
