//! Runs a script: exchanges messages with it, makes its calls, and builds the result.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pi_core::{NestedToolCall, NestedToolResult, RegisteredTool, ToolContext, ToolError};
use pi_ext::{BareScript, ScriptHandle, ScriptLimits, ScriptMessage};
use pi_protocol::json::JsonObject;
use pi_protocol::{InputBlock, ToolOutput, Usage, join_text};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::calls::{CallStatus, ScriptDetails, shown_error};
use crate::declaration::{describe, identifier};
use crate::description::callable_tools;
use crate::discovery::answer;
use crate::messages::{PreludeMessage, rejected, resolved, undefined};
use crate::model_calls::{MAX_TASKS, MODEL_FUNCTIONS, ModelTask, ModelTaskResult};
use crate::output::{DEFAULT_MAX_TOKENS, OutputItem, build_output};
use crate::source::parse_source;
use crate::store::{StoreChanges, read_store, write_store};
use crate::tool::CodemodeOptions;
use crate::workers::{MAX_WAIT, SlotFailure};

const LIMITS: ScriptLimits = ScriptLimits {
    heap: 256 * 1024 * 1024,
    stack: 512 * 1024,
    slice: Duration::from_mins(1),
};

/// Longer than any script runs; a timer needs an end.
const NO_DEADLINE: Duration = Duration::from_hours(24 * 365);

/// Number of calls that are shown as soon as they change. An update lists all of them, so with more of them updates
/// are less frequent.
const PROMPT_UPDATES: usize = 50;
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// How a script ended.
enum ScriptEnd {
    Succeeded(StoreChanges),
    Failed(String),
}

/// What a call returned.
enum CallResult {
    Tool(NestedToolResult),
    Model(ModelTaskResult),
}

/// A call that has ended.
struct EndedCall {
    /// The ID that the script waits for.
    id: u64,
    /// The place of its record.
    place: usize,
    result: CallResult,
    duration: Duration,
    was_canceled: bool,
}

/// Runs a script and returns its result, whether or not it succeeds. Only input that is no script is an error.
pub(crate) async fn run_script(
    cx: ToolContext,
    input: &str,
    options: &CodemodeOptions,
) -> Result<ToolOutput, ToolError> {
    let started = Instant::now();
    let source = parse_source(input).map_err(ToolError::new)?;
    let mut run = ScriptRun::new(cx, options);
    run.publish();
    let timeout = source.options.timeout_ms.map(Duration::from_millis);
    let wait = timeout.map_or(MAX_WAIT, |timeout| timeout.min(MAX_WAIT));
    let permit = match options.workers.acquire(wait, &run.cx.cancel).await {
        Ok(permit) => permit,
        Err(failure) => return Ok(run.not_started(failure, timeout, started)),
    };
    let script = BareScript {
        prelude: include_str!("prelude.js"),
        input: run.input(),
        parameters: "tools, console",
        source: source.code.to_owned(),
        file_name: "codemode.js",
        limits: LIMITS,
    };
    let end = match ScriptHandle::start(script, permit) {
        Ok(mut script) => run.exchange(&mut script, started, timeout).await,
        Err(error) => ScriptEnd::Failed(format!("Script sandbox failed: {error}")),
    };
    let max_tokens = source.options.max_output_tokens;
    Ok(run
        .finish(end, max_tokens.unwrap_or(DEFAULT_MAX_TOKENS), started)
        .await)
}

struct ScriptRun<'a> {
    cx: ToolContext,
    options: &'a CodemodeOptions,
    /// The tools that the script may call.
    tools: Vec<RegisteredTool>,
    details: ScriptDetails,
    output: Vec<OutputItem>,
    calls: FuturesUnordered<BoxFuture<'static, EndedCall>>,
    /// Limits the tasks of models that run at the same time.
    tasks: Arc<Semaphore>,
    /// Tokens used by models.
    usage: Option<Usage>,
    /// Cancels the calls when the script ends.
    ended: CancellationToken,
    /// Whether calls have changed since they were shown.
    has_changed: bool,
    next_update: Instant,
}

impl<'a> ScriptRun<'a> {
    fn new(cx: ToolContext, options: &'a CodemodeOptions) -> Self {
        let tools = callable_tools(&cx.session.callable_tools())
            .cloned()
            .collect();
        Self {
            cx,
            options,
            tools,
            details: ScriptDetails::default(),
            output: Vec::new(),
            calls: FuturesUnordered::new(),
            tasks: Arc::new(Semaphore::new(MAX_TASKS)),
            usage: None,
            ended: CancellationToken::new(),
            has_changed: false,
            next_update: Instant::now(),
        }
    }

    /// Shows the calls so far.
    fn publish(&mut self) {
        self.has_changed = false;
        if self.details.calls.len() > PROMPT_UPDATES {
            self.next_update = Instant::now() + UPDATE_INTERVAL;
        }
        self.cx.progress.send(ToolOutput {
            details: Some(self.details.to_value()),
            ..ToolOutput::default()
        });
    }

    /// Returns the input of the prelude.
    fn input(&self) -> String {
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|tool| {
                let id = identifier(tool.name());
                json!({ "name": tool.name(), "id": id, "description": describe(tool) })
            })
            .collect();
        let input = json!({
            "tools": tools,
            "models": MODEL_FUNCTIONS,
            "store": read_store(&self.cx),
        });
        input.to_string()
    }

    /// Answers the script until it ends, is canceled or reaches its deadline.
    async fn exchange(
        &mut self,
        script: &mut ScriptHandle,
        started: Instant,
        timeout: Option<Duration>,
    ) -> ScriptEnd {
        let deadline = tokio::time::sleep_until(started + timeout.unwrap_or(NO_DEADLINE));
        let mut deadline = std::pin::pin!(deadline);
        let cancel = self.cx.cancel.clone();
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    return ScriptEnd::Failed("Script aborted: the run was interrupted".to_owned());
                }
                () = &mut deadline => {
                    let ms = timeout.unwrap_or(NO_DEADLINE).as_millis();
                    return ScriptEnd::Failed(format!("Script timed out: no end after {ms} ms"));
                }
                message = script.next() => {
                    if let Some(end) = self.handle(script, message) {
                        return end;
                    }
                }
                Some(ended) = self.calls.next() => {
                    let reply = self.end_call(&ended);
                    script.send(reply);
                }
                // Last, so that calls that start together are shown together.
                () = tokio::time::sleep_until(self.next_update), if self.has_changed => self.publish(),
            }
        }
    }

    /// Handles a message; returns how the script has ended.
    fn handle(
        &mut self,
        script: &ScriptHandle,
        message: Option<ScriptMessage>,
    ) -> Option<ScriptEnd> {
        let text = match message {
            Some(ScriptMessage::Sent(text)) => text,
            Some(ScriptMessage::Invalid(exception)) => {
                let stack = exception.stack.as_deref().unwrap_or_default().trim_end();
                let error = format!("{}: {}\n{stack}", exception.name, exception.message);
                return Some(ScriptEnd::Failed(error));
            }
            Some(ScriptMessage::Failed(failure)) => {
                let error = format!("Script sandbox failed: {failure}");
                return Some(ScriptEnd::Failed(error));
            }
            None => {
                let error = "Script sandbox failed: the script ended without a result";
                return Some(ScriptEnd::Failed(error.to_owned()));
            }
        };
        let message = match serde_json::from_str(&text) {
            Ok(message) => message,
            Err(error) => {
                // Such as a value that is nested too deeply.
                let error = format!("Script sandbox failed: a value cannot be read: {error}");
                return Some(ScriptEnd::Failed(error));
            }
        };
        match message {
            PreludeMessage::Text { text } => self.output.push(OutputItem::Text(text)),
            PreludeMessage::Console { text } => self.output.push(OutputItem::Console(text)),
            PreludeMessage::Image { text, mime_type } => self.output.push(OutputItem::Image {
                data: text,
                mime_type,
            }),
            PreludeMessage::Call {
                id,
                name,
                arguments,
            } => match arguments.unwrap_or_else(|| json!({})) {
                Value::Object(arguments) => self.start_call(id, name, arguments),
                _ => script.send(rejected(
                    id,
                    &format!("{name} takes an object with its arguments"),
                )),
            },
            PreludeMessage::Ask {
                id,
                name,
                arguments,
            } => {
                let models = self.options.models.as_deref();
                let task = ModelTask::read(&name, &arguments, self.ended.child_token());
                if let Some(task) = task {
                    if let Err(error) = self.start_task(id, &name, task) {
                        script.send(rejected(id, &error));
                    }
                    return None;
                }
                script.send(match answer(&name, &arguments, &self.tools, models) {
                    Ok(Some(value)) => resolved(id, &value),
                    Ok(None) => undefined(id),
                    Err(error) => rejected(id, &error),
                });
            }
            PreludeMessage::Succeeded { value, writes } => {
                self.output.extend(value.map(OutputItem::Text));
                return Some(ScriptEnd::Succeeded(StoreChanges::of(writes)));
            }
            PreludeMessage::Failed { error } => return Some(ScriptEnd::Failed(error)),
        }
        None
    }

    fn start_call(&mut self, id: u64, name: String, arguments: JsonObject) {
        let place = self.details.start(self.cx.call.as_str(), &name, &arguments);
        self.has_changed = true;
        let cx = self.cx.clone();
        let cancel = self.ended.clone();
        self.calls.push(Box::pin(async move {
            let started = Instant::now();
            let nested = NestedToolCall {
                cancel: cancel.clone(),
                ..NestedToolCall::new(name, arguments)
            };
            let result = cx.execute_tool(nested).await;
            EndedCall {
                id,
                place,
                result: CallResult::Tool(result),
                duration: started.elapsed(),
                was_canceled: cancel.is_cancelled() || cx.cancel.is_cancelled(),
            }
        }));
    }

    fn start_task(
        &mut self,
        id: u64,
        name: &str,
        task: Result<ModelTask, String>,
    ) -> Result<(), String> {
        let task = task?;
        let directory = self.options.models.as_deref();
        let directory = directory.ok_or_else(|| format!("{name}() is not available"))?;
        let model = format!("{}/{}", task.provider, task.id);
        let cancel = task.cancel.clone();
        let work = directory.prepare(task)?;
        let place = self.details.start_task(self.cx.call.as_str(), name, &model);
        self.has_changed = true;
        let tasks = Arc::clone(&self.tasks);
        self.calls.push(Box::pin(async move {
            // The semaphore is never closed.
            let _permit = tasks.acquire_owned().await.ok();
            let started = Instant::now();
            let result = work.await;
            EndedCall {
                id,
                place,
                result: CallResult::Model(result),
                duration: started.elapsed(),
                was_canceled: cancel.is_cancelled(),
            }
        }));
        Ok(())
    }

    /// Records the end of a call and returns the message for the script.
    fn end_call(&mut self, ended: &EndedCall) -> String {
        self.has_changed = true;
        let (error, reply) = match &ended.result {
            CallResult::Tool(result) => self.tool_reply(ended.id, result),
            CallResult::Model(result) => {
                if let Some(usage) = &result.usage {
                    let total = self.usage.take();
                    self.usage = Some(total.map_or_else(|| usage.clone(), |it| it.plus(usage)));
                }
                (result.error.clone(), resolved(ended.id, &result.value))
            }
        };
        if let Some(record) = self.details.calls.get_mut(ended.place) {
            match &ended.result {
                CallResult::Tool(result) => record.id.clone_from(&result.call.id),
                CallResult::Model(result) => {
                    record.cost = result.usage.as_ref().map(|usage| usage.cost.total);
                }
            }
            record.duration_ms =
                Some(u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX));
            record.status = match (&error, ended.was_canceled) {
                (None, _) => CallStatus::Ok,
                (Some(_), true) => CallStatus::Cancelled,
                (Some(_), false) => CallStatus::Error,
            };
            record.error = error.as_deref().map(shown_error);
        }
        reply
    }

    /// Returns the error of a tool, and the message for the script.
    fn tool_reply(&self, id: u64, result: &NestedToolResult) -> (Option<String>, String) {
        let name = &result.call.name;
        let text = join_text(&result.output.content).into_owned();
        let error = result.is_error.then(|| match text.as_str() {
            "" => format!("{name} failed"),
            text => text.to_owned(),
        });
        let has_schema = self
            .tools
            .iter()
            .any(|tool| tool.name() == name && tool.metadata.output_schema.is_some());
        let reply = match (&result.output.structured_content, &error) {
            (Some(value), _) if has_schema => resolved(id, value),
            (_, Some(error)) => rejected(id, error),
            (_, None) => resolved(id, &Value::from(text)),
        };
        (error, reply)
    }

    /// Ends the calls that the script did not wait for, stores what it keeps and builds the result.
    async fn finish(mut self, end: ScriptEnd, max_tokens: u64, started: Instant) -> ToolOutput {
        if self.has_changed {
            self.publish();
        }
        self.ended.cancel();
        self.details.cancel_running();
        let mut calls = std::mem::take(&mut self.calls);
        if !calls.is_empty() {
            // They clean up and end soon; the result does not wait for them.
            tokio::spawn(async move { while calls.next().await.is_some() {} });
        }
        let error = match end {
            ScriptEnd::Succeeded(changes) => {
                let stored = write_store(&self.cx, &changes).await;
                stored
                    .err()
                    .map(|error| format!("Error: stored values are lost: {error}"))
            }
            ScriptEnd::Failed(error) => Some(error),
        };
        let is_error = error.is_some();
        let summary = self.call_summary();
        let error = error.map(|error| format!("Script error:\n{error}\n\n{summary}"));
        let items = std::mem::take(&mut self.output);
        let directory = self.options.directory.clone();
        let built =
            tokio::task::spawn_blocking(move || build_output(items, error, max_tokens, &directory));
        let content = match built.await {
            Ok(output) => {
                self.details.full_output_path = output.full_output_path;
                output.content
            }
            Err(error) => vec![InputBlock::text(format!("The output is lost: {error}"))],
        };
        self.result(is_error, content, started)
    }

    fn call_summary(&self) -> String {
        if self.details.calls.is_empty() {
            return "No tools were called.".to_owned();
        }
        let calls = self.details.calls.iter();
        let calls: Vec<String> = calls
            .map(|call| format!("{} ({})", call.name, call.status.as_str()))
            .collect();
        format!(
            "Calls before the failure, which are not undone: {}",
            calls.join(", ")
        )
    }

    fn result(&self, is_error: bool, content: Vec<InputBlock>, started: Instant) -> ToolOutput {
        let outcome = if is_error { "failed" } else { "completed" };
        let seconds = started.elapsed().as_secs_f64();
        let header = format!("Script {outcome}\nWall time {seconds:.1} seconds\nOutput:\n");
        let mut blocks = vec![InputBlock::text(header)];
        blocks.extend(content);
        ToolOutput {
            content: blocks,
            details: Some(self.details.to_value()),
            is_error: is_error.then_some(true),
            usage: self.usage.clone(),
            ..ToolOutput::default()
        }
    }

    /// Returns the result of a script that got no worker.
    fn not_started(
        &self,
        failure: SlotFailure,
        timeout: Option<Duration>,
        started: Instant,
    ) -> ToolOutput {
        let reason = match (failure, timeout) {
            (SlotFailure::Aborted, _) => "Script aborted: the run was interrupted".to_owned(),
            (SlotFailure::TimedOut, Some(timeout)) if timeout <= MAX_WAIT => {
                let ms = timeout.as_millis();
                format!("Script timed out: other scripts were running for {ms} ms")
            }
            (SlotFailure::TimedOut, _) => format!(
                "Script not started: {} other scripts of this process did not end within {} s. Try again later.",
                self.options.workers.count,
                MAX_WAIT.as_secs()
            ),
        };
        let text = format!("Script error:\n{reason}\n\nThe script did not start.");
        self.result(true, vec![InputBlock::text(text)], started)
    }
}
