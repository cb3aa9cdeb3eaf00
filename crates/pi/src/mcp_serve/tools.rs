//! The tools that clients call, and the progress of their calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pi_protocol::{JsonRpcError, JsonRpcMessage};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::questions::AskUser;
use super::sessions::{ServedSessions, SessionStartArguments};

/// What belongs to a call in addition to its arguments.
pub(super) struct CallContext {
    pub(super) progress: Arc<Progress>,
    /// Asks the user of the client, if it shows forms.
    pub(super) asker: Option<Arc<dyn AskUser>>,
    pub(super) cancel: CancellationToken,
}

/// Reports steps of a call to the client.
#[derive(Default)]
pub(super) struct Progress {
    /// The token of the client, and the output of its request.
    target: Mutex<Option<(Value, mpsc::Sender<Value>)>>,
    steps: AtomicU64,
}

impl Progress {
    pub(super) fn new(target: Option<(Value, mpsc::Sender<Value>)>) -> Self {
        Self {
            target: Mutex::new(target),
            steps: AtomicU64::new(0),
        }
    }

    /// Reports the steps from now on to another request.
    pub(super) fn redirect(&self, target: Option<(Value, mpsc::Sender<Value>)>) {
        *self.target.lock() = target;
    }

    /// Reports a step. A client that reads slowly misses some.
    pub(super) fn report(&self, message: &str) {
        let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let target = self.target.lock();
        if let Some((token, output)) = &*target {
            let params = json!({"progressToken": token, "progress": step, "message": message});
            let message = JsonRpcMessage::notification("notifications/progress", Some(params));
            output.try_send(message).ok();
        }
    }
}

/// Returns the tools as `tools/list` does.
pub(super) fn declarations() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let output = json!({
        "type": "object",
        "properties": {
            "sessionId": {"type": "string"},
            "text": {"type": "string"},
            "usage": {
                "type": "object",
                "properties": {
                    "input": {"type": "number"},
                    "output": {"type": "number"},
                    "cacheRead": {"type": "number"},
                    "cacheWrite": {"type": "number"},
                    "total": {"type": "number"},
                    "cost": {"type": "number"},
                },
            },
            "changedFiles": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["sessionId", "text", "usage", "changedFiles"],
    });
    let session = || text("The sessionId that the tool pi returned");
    json!([
        {
            "name": "pi",
            "title": "Start a coding agent",
            "description": "Starts a session of the coding agent pi with a task. The agent reads and changes files and runs commands in a directory, and returns its answer, the session ID, its usage and the files it changed.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "prompt": text("The task"),
                    "cwd": text("The directory to work in, absolute or relative to that of the server"),
                    "model": text("The model: PROVIDER/ID, or a part of it"),
                    "thinking": text("The reasoning effort: off, minimal, low, medium, high, xhigh or max"),
                    "tools": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "The tools that the agent may use, such as read, grep, find and ls for work without changes",
                    },
                },
                "required": ["prompt"],
                "additionalProperties": false,
            },
            "outputSchema": output,
            "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true},
        },
        {
            "name": "pi-reply",
            "title": "Continue a session",
            "description": "Sends another prompt to a session of the coding agent pi.",
            "inputSchema": {
                "type": "object",
                "properties": {"sessionId": session(), "prompt": text("The prompt")},
                "required": ["sessionId", "prompt"],
                "additionalProperties": false,
            },
            "outputSchema": output,
            "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true},
        },
        {
            "name": "pi-sessions",
            "title": "List sessions",
            "description": "Lists the sessions of pi in all directories, newest first.",
            "inputSchema": {
                "type": "object",
                "properties": {"limit": {"type": "integer", "minimum": 1, "description": "How many sessions to list, 20 by default"}},
                "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true},
        },
        {
            "name": "pi-read",
            "title": "Read a session",
            "description": "Returns the entries of a session of pi, one JSON object per line.",
            "inputSchema": {
                "type": "object",
                "properties": {"sessionId": session()},
                "required": ["sessionId"],
                "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true},
        },
    ])
}

/// Calls a tool. What goes wrong during a call is a result that the model sees.
pub(super) async fn call(
    sessions: &ServedSessions,
    params: &Value,
    context: CallContext,
) -> Result<Value, JsonRpcError> {
    let invalid = |message: &str| JsonRpcError::new(JsonRpcError::INVALID_PARAMS, message);
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| invalid("name must be a string"))?;
    let arguments = params.get("arguments").cloned().unwrap_or_default();
    let text = |key: &str| match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(&format!("{key} must be a string"))),
    };
    let required = |key: &str| text(key)?.ok_or_else(|| invalid(&format!("{key} is required")));
    let outcome = match name {
        "pi" => {
            let tools = match arguments.get("tools") {
                None | Some(Value::Null) => None,
                Some(tools) => Some(
                    names(tools)
                        .ok_or_else(|| invalid("tools must be a list of names without commas"))?,
                ),
            };
            let options = SessionStartArguments {
                cwd: text("cwd")?.map(PathBuf::from),
                model: text("model")?,
                thinking: text("thinking")?,
                tools,
            };
            let prompt = required("prompt")?;
            let started = Box::pin(sessions.start(options, context.asker.is_some())).await;
            match started {
                Ok(session) => sessions.prompt(&session, prompt, &context).await,
                Err(problem) => Err(problem),
            }
        }
        "pi-reply" => {
            let (id, prompt) = (required("sessionId")?, required("prompt")?);
            match Box::pin(sessions.resume(&id, context.asker.is_some())).await {
                Ok(session) => sessions.prompt(&session, prompt, &context).await,
                Err(problem) => Err(problem),
            }
        }
        "pi-sessions" => {
            let limit = arguments.get("limit").and_then(Value::as_u64);
            let limit = limit.map_or(20, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
            sessions.list(limit).await
        }
        "pi-read" => {
            let read = sessions.entries(&required("sessionId")?).await;
            read.map(|text| json!({"content": [{"type": "text", "text": text}]}))
        }
        other => return Err(invalid(&format!("unknown tool: {other}"))),
    };
    Ok(outcome.unwrap_or_else(
        |problem| json!({"content": [{"type": "text", "text": problem}], "isError": true}),
    ))
}

fn names(tools: &Value) -> Option<Vec<String>> {
    let tools = tools.as_array()?.iter().map(|tool| {
        let name = tool.as_str()?;
        let is_name = !name.is_empty() && !name.contains(',') && !name.starts_with('-');
        is_name.then(|| name.to_owned())
    });
    tools.collect()
}
