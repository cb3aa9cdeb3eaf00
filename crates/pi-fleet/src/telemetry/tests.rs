//! The spans that a run creates, without an exporter.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use super::*;
use crate::task::parse_tasks;

type Fields = BTreeMap<String, String>;

/// A span that has ended: its name, that of its parent, and its fields.
type EndedSpan = (String, Option<String>, Fields);

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<EndedSpan>>>);

struct FieldVisitor<'fields>(&'fields mut Fields);

impl Visit for FieldVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::new();
        attributes.record(&mut FieldVisitor(&mut fields));
        let span = context.span(id).unwrap();
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        values.record(&mut FieldVisitor(extensions.get_mut().unwrap()));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        let fields = span.extensions().get::<Fields>().unwrap().clone();
        let name = |fields: &Fields, name: &str| {
            let shown = fields.get("otel.name").cloned();
            shown.unwrap_or_else(|| name.to_owned())
        };
        let parent = span.parent().map(|parent| {
            let extensions = parent.extensions();
            name(extensions.get::<Fields>().unwrap(), parent.name())
        });
        let ended = (name(&fields, span.name()), parent, fields);
        self.0.lock().push(ended);
    }
}

/// Returns the spans in the order in which they end.
fn record(observe: impl FnOnce(&RunTrace)) -> Vec<EndedSpan> {
    let recorder = Recorder::default();
    let subscriber = tracing_subscriber::registry().with(recorder.clone());
    tracing::subscriber::with_default(subscriber, || {
        let tasks = parse_tasks("{\"id\":\"t\",\"prompt\":\"x\",\"model\":\"google/gemini\"}");
        let trace = RunTrace::start("b", &tasks.unwrap()[0], "w");
        observe(&trace);
    });
    std::mem::take(&mut *recorder.0.lock())
}

fn tree(spans: &[EndedSpan]) -> Vec<(&str, Option<&str>)> {
    let spans = spans.iter();
    spans
        .map(|(name, parent, _)| (name.as_str(), parent.as_deref()))
        .collect()
}

fn call(trace: &RunTrace, kind: &str, id: &str, caller: Option<&str>) {
    let mut event = json!({"toolCallId": id, "toolName": "bash", "isError": false});
    if let Some(caller) = caller {
        event["parentToolCallId"] = caller.into();
    }
    trace.observe(kind, &event);
}

#[test]
fn requests_and_calls_are_spans_of_their_turn() {
    let spans = record(|trace| {
        trace.observe("turn_start", &json!({}));
        trace.begin_request(Some("google/gemini"));
        trace.observe("message_end", &json!({"message": {"role": "user"}}));
        let usage = json!({"input": 10, "output": 5, "cacheRead": 90, "cacheWrite": 3, "cost": {"total": 0.5}});
        let message = json!({
            "role": "assistant", "model": "gemini", "stopReason": "toolUse", "usage": usage,
            "content": [{"type": "text", "text": "secret"}],
        });
        trace.observe("message_end", &json!({"message": message}));
        call(trace, "tool_execution_start", "1", None);
        call(trace, "tool_execution_start", "1/a", Some("1"));
        call(trace, "tool_execution_end", "1/a", Some("1"));
        call(trace, "tool_execution_end", "1", None);
        trace.observe("turn_end", &json!({}));
        trace.end(&Ok::<_, ()>(RunEnd::OutOfBudget));
    });
    let (run, turn) = ("invoke_agent pi", "turn");
    let expected = [
        ("chat gemini", Some(turn)),
        ("execute_tool bash", Some("execute_tool bash")),
        ("execute_tool bash", Some(turn)),
        (turn, Some(run)),
        (run, None),
    ];
    assert_eq!(tree(&spans), expected);
    let request = &spans[0].2;
    let expected = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "gcp.gemini"),
        ("gen_ai.request.model", "gemini"),
        ("gen_ai.response.model", "gemini"),
        ("gen_ai.usage.cache_creation.input_tokens", "3"),
        ("gen_ai.usage.cache_read.input_tokens", "90"),
        ("gen_ai.usage.input_tokens", "103"),
        ("gen_ai.usage.output_tokens", "5"),
        ("otel.kind", "client"),
        ("otel.name", "chat gemini"),
        ("pi.fleet.cost", "0.5"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(request, &Fields::from(expected));
    assert_eq!(spans[4].2["pi.fleet.status"], "out_of_budget");
    assert!(!format!("{spans:?}").contains("secret"));
}

#[test]
fn what_a_killed_agent_has_not_completed_is_interrupted() {
    let spans = record(|trace| {
        trace.observe("turn_start", &json!({}));
        trace.begin_request(Some("google/gemini"));
        trace.end_agent();
        trace.observe("turn_start", &json!({}));
        call(trace, "tool_execution_start", "1", None);
        trace.end(&Err::<RunEnd, _>(()));
    });
    let kinds: Vec<_> = spans
        .iter()
        .map(|(name, _, fields)| (name.as_str(), fields.get("error.type").map(String::as_str)))
        .collect();
    let interrupted = Some("interrupted");
    assert_eq!(kinds.len(), 5);
    assert!(kinds.contains(&("chat gemini", interrupted)), "{kinds:?}");
    assert!(
        kinds.contains(&("execute_tool bash", interrupted)),
        "{kinds:?}"
    );
}

#[test]
fn a_trace_parent_has_two_ids() {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    assert!(is_trace_parent(&format!("00-{trace}-00f067aa0ba902b7-01")));
    for text in [
        String::new(),
        format!("00-{trace}-00f067aa0ba902b7"),
        format!("01-{trace}-00f067aa0ba902b7-01"),
        format!("00-{trace}-0000000000000000-01"),
        format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
        format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
        format!("00-{trace}-00f067aa0ba902b7-01-x"),
    ] {
        assert!(!is_trace_parent(&text), "{text}");
    }
}
