//! Spans of runs: run → turn → request or tool call, with the attribute names of the `OpenTelemetry` conventions for
//! generative AI.
//!
//! The spans are always created; without a subscriber that costs next to nothing. The feature `otel` exports them.
//! They contain names, counts and costs, but no text of prompts, responses or calls.

#[cfg(feature = "otel")]
mod export;
#[cfg(not(feature = "otel"))]
mod no_export;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tracing::Span;
use tracing::field::Empty;

use crate::driver::RunEnd;
use crate::run_result::{RunResult, RunStatus};
use crate::task::FleetTask;

#[cfg(feature = "otel")]
use export as exporter;
#[cfg(not(feature = "otel"))]
use no_export as exporter;

pub(crate) use exporter::Exporter;

/// Environment variable with the trace context of a process (W3C Trace Context).
const TRACE_PARENT_VARIABLE: &str = "TRACEPARENT";

/// Environment variables that may contain a credential of the receiver of spans.
const HEADER_VARIABLES: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
];

/// Target of the spans.
const TARGET: &str = "pi_fleet::telemetry";

/// The name of the agent in spans.
const AGENT: &str = "pi";

/// Providers whose name in the conventions differs from that of pi.
const PROVIDERS: [(&str, &str); 8] = [
    ("amazon-bedrock", "aws.bedrock"),
    ("azure-openai-responses", "azure.ai.openai"),
    ("google", "gcp.gemini"),
    ("google-vertex", "gcp.vertex_ai"),
    ("mistral", "mistral_ai"),
    ("moonshotai", "moonshot_ai"),
    ("openai-codex", "openai"),
    ("xai", "x_ai"),
];

/// The spans of a run while this worker drives it.
pub(crate) struct RunTrace {
    run: Span,
    parent: Option<String>,
    open: Mutex<OpenSpans>,
}

#[derive(Default)]
struct OpenSpans {
    /// Number of turns since the agent started.
    turns: u64,
    turn: Option<Span>,
    request: Option<Span>,
    /// By the ID of the call.
    calls: HashMap<String, Span>,
}

impl RunTrace {
    pub(crate) fn start(batch: &str, task: &FleetTask, worker: &str) -> Self {
        let run = tracing::info_span!(
            target: TARGET,
            parent: None,
            "run",
            otel.name = %format_args!("invoke_agent {AGENT}"),
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = AGENT,
            gen_ai.conversation.id = Empty,
            gen_ai.request.model = task.model,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            pi.fleet.batch = batch,
            pi.fleet.task = task.id,
            pi.fleet.worker = worker,
            pi.fleet.attempts = Empty,
            pi.fleet.turns = Empty,
            pi.fleet.cost = Empty,
            pi.fleet.status = Empty,
            error.type = Empty,
            otel.status_code = Empty,
        );
        if let Some(parent) = &task.traceparent {
            exporter::set_parent(&run, parent);
        }
        Self {
            run,
            parent: task.traceparent.clone(),
            open: Mutex::default(),
        }
    }

    /// Returns the environment variables that processes of the run get: its trace context, and no credentials of the
    /// receiver of spans.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let exported = exporter::trace_parent(&self.run);
        let mut variables = Vec::new();
        if exported.is_some() {
            let hidden = HEADER_VARIABLES.map(|name| (name.to_owned(), String::new()));
            variables.extend(hidden);
        }
        let parent = exported.or_else(|| self.parent.clone());
        variables.extend(parent.map(|parent| (TRACE_PARENT_VARIABLE.to_owned(), parent)));
        variables
    }

    pub(crate) fn set_session(&self, id: &str) {
        self.run.record("gen_ai.conversation.id", id);
    }

    /// A request to a model, as `provider/model`, begins.
    pub(crate) fn begin_request(&self, model: Option<&str>) {
        let (provider, model) = model.and_then(|model| model.split_once('/')).unzip();
        let known = PROVIDERS.iter().find(|(name, _)| Some(*name) == provider);
        let mut open = self.open();
        let request = tracing::info_span!(
            target: TARGET,
            parent: open.turn.as_ref().unwrap_or(&self.run),
            "request",
            otel.name = %format_args!("chat {}", model.unwrap_or_default()),
            otel.kind = "client",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = known.map(|(_, name)| *name).or(provider),
            gen_ai.request.model = model,
            gen_ai.response.model = Empty,
            gen_ai.response.id = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            pi.fleet.cost = Empty,
            error.type = Empty,
            otel.status_code = Empty,
        );
        open.request = Some(request);
    }

    /// Follows the events of the agent.
    pub(crate) fn observe(&self, kind: &str, event: &Value) {
        match kind {
            "turn_start" => self.begin_turn(),
            "turn_end" => self.open().turn = None,
            "message_end" => self.end_request(event.get("message").unwrap_or(&Value::Null)),
            "tool_execution_start" => self.begin_call(event),
            "tool_execution_end" => self.end_call(event),
            _ => {}
        }
    }

    fn begin_turn(&self) {
        let mut open = self.open();
        open.turns += 1;
        open.turn = Some(tracing::info_span!(
            target: TARGET,
            parent: &self.run,
            "turn",
            pi.fleet.turn = open.turns,
            error.type = Empty,
            otel.status_code = Empty,
        ));
    }

    fn end_request(&self, message: &Value) {
        let text = |name: &str| message.get(name).and_then(Value::as_str);
        if text("role") != Some("assistant") {
            return;
        }
        let Some(request) = self.open().request.take() else {
            return;
        };
        let usage = |name: &str| {
            let usage = message.get("usage").and_then(|usage| usage.get(name));
            usage.and_then(Value::as_u64).unwrap_or_default()
        };
        let (read, written) = (usage("cacheRead"), usage("cacheWrite"));
        // The conventions count cached tokens as input.
        request.record("gen_ai.usage.input_tokens", usage("input") + read + written);
        request.record("gen_ai.usage.output_tokens", usage("output"));
        request.record("gen_ai.usage.cache_read.input_tokens", read);
        request.record("gen_ai.usage.cache_creation.input_tokens", written);
        let cost = message.pointer("/usage/cost/total").and_then(Value::as_f64);
        request.record("pi.fleet.cost", cost);
        request.record("gen_ai.response.id", text("responseId"));
        let model = text("responseModel").or(text("model"));
        request.record("gen_ai.response.model", model);
        let reason = text("stopReason").map(finish_reason);
        if let Some(reason) = reason {
            exporter::set_finish_reasons(&request, reason);
        }
        if matches!(reason, Some("error" | "aborted")) {
            set_error(&request, reason.unwrap_or_default());
        }
    }

    fn begin_call(&self, event: &Value) {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        let Some(id) = text("toolCallId") else {
            return;
        };
        let name = text("toolName").unwrap_or_default();
        let mut open = self.open();
        let caller = text("parentToolCallId").and_then(|caller| open.calls.get(caller));
        let call = tracing::info_span!(
            target: TARGET,
            parent: caller.or(open.turn.as_ref()).unwrap_or(&self.run),
            "tool",
            otel.name = %format_args!("execute_tool {name}"),
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = name,
            gen_ai.tool.type = "function",
            gen_ai.tool.call.id = id,
            error.type = Empty,
            otel.status_code = Empty,
        );
        open.calls.insert(id.to_owned(), call);
    }

    fn end_call(&self, event: &Value) {
        let id = event.get("toolCallId").and_then(Value::as_str);
        let Some(call) = id.and_then(|id| self.open().calls.remove(id)) else {
            return;
        };
        if event.get("isError").and_then(Value::as_bool) == Some(true) {
            set_error(&call, "tool_error");
        }
    }

    /// Ends what the agent has not completed.
    pub(crate) fn end_agent(&self) {
        let open = std::mem::take(&mut *self.open());
        for span in open.calls.values().chain(&open.request) {
            set_error(span, "interrupted");
        }
    }

    /// Records how the run has ended, or that it is no longer driven by this worker.
    pub(crate) fn end<E>(&self, end: &Result<RunEnd, E>) {
        self.end_agent();
        let status = match end {
            Ok(RunEnd::Finished(result)) => {
                self.record_result(result);
                return;
            }
            Ok(RunEnd::Released(_)) => "released",
            Ok(RunEnd::OutOfBudget) => "out_of_budget",
            Err(_error) => "not_driven",
        };
        self.run.record("pi.fleet.status", status);
    }

    fn record_result(&self, result: &RunResult) {
        let usage = &result.usage;
        let input = usage.input + usage.cache_read;
        self.run.record("gen_ai.usage.input_tokens", input);
        self.run.record("gen_ai.usage.output_tokens", usage.output);
        let read = usage.cache_read;
        self.run
            .record("gen_ai.usage.cache_read.input_tokens", read);
        self.run.record("pi.fleet.attempts", result.attempts);
        self.run.record("pi.fleet.turns", result.turns);
        self.run.record("pi.fleet.cost", result.cost);
        self.run.record("pi.fleet.status", result.status.as_str());
        if result.status != RunStatus::Done {
            set_error(&self.run, result.status.as_str());
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenSpans> {
        self.open.lock()
    }
}

fn set_error(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "error");
}

/// Returns a stop reason of pi as the conventions name it.
fn finish_reason(reason: &str) -> &str {
    match reason {
        "toolUse" => "tool_calls",
        reason => reason,
    }
}

/// Whether a text is a `traceparent` (W3C Trace Context) of version 00.
pub(crate) fn is_trace_parent(text: &str) -> bool {
    let is_hex = |part: &str, length: usize| {
        let is_lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        part.len() == length && part.bytes().all(is_lower_hex)
    };
    let is_id = |part: &str, length| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        ["00", trace, span, flags] => is_id(trace, 32) && is_id(span, 16) && is_hex(flags, 2),
        _ => false,
    }
}
