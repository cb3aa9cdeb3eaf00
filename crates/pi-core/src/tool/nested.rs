//! Calls of other tools that a tool makes while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pi_protocol::json::JsonObject;
use pi_protocol::{NestedCall, NestedCallStatus, NestedCalls, ToolCall, ToolOutput, Usage};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{CallId, Progress};
use crate::driver::elapsed_ms;

/// Number of calls that a result records.
const MAX_CALLS: usize = 256;
/// Bytes of JSON that the arguments of a recorded call may have.
const MAX_ARGUMENT_BYTES: usize = 8 * 1024;
/// Bytes of JSON that the arguments of all recorded calls may have.
const MAX_TOTAL_ARGUMENT_BYTES: usize = 32 * 1024;
/// UTF-16 code units of a recorded error, as the TypeScript pi counts them.
const MAX_ERROR_UNITS: usize = 500;

/// A call of another tool that a running call makes.
#[derive(Debug, Clone)]
pub struct NestedToolCall {
    pub name: String,
    pub arguments: JsonObject,
    /// Receives the partial results of the called tool.
    pub updates: Progress,
    /// Cancels this call. The cancellation of the call that makes it applies, too.
    pub cancel: CancellationToken,
}

impl NestedToolCall {
    pub fn new(name: impl Into<String>, arguments: JsonObject) -> Self {
        Self {
            name: name.into(),
            arguments,
            updates: Progress::default(),
            cancel: CancellationToken::new(),
        }
    }
}

/// What became of a nested call. A failure is a result, as for calls of the model.
#[derive(Debug, Clone)]
pub struct NestedToolResult {
    pub call: ToolCall,
    pub output: ToolOutput,
    pub is_error: bool,
    /// How long the tool ran; `None` if it did not.
    pub duration_ms: Option<u64>,
}

impl NestedToolResult {
    /// Creates the result of a call that was not run.
    pub fn refused(call: ToolCall, reason: impl Into<String>) -> Self {
        Self {
            call,
            output: ToolOutput::failure(reason),
            is_error: true,
            duration_ms: None,
        }
    }
}

/// The nested calls of one call, as its result records them, and the tokens they used.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NestedSummary {
    pub calls: Option<NestedCalls>,
    pub usage: Option<Usage>,
}

/// Numbers and records the nested calls of a call. Clones refer to the same call.
#[derive(Clone, Default)]
pub struct NestedScope(Arc<ScopeState>);

#[derive(Default)]
struct ScopeState {
    made: AtomicU64,
    /// Shared by all calls below the model's call.
    record: Arc<Mutex<NestedRecord>>,
    /// Whether a call above this one runs alone; a call below it must not wait for it.
    is_exclusive: bool,
}

#[derive(Default)]
struct NestedRecord {
    calls: Vec<NestedCall>,
    argument_bytes: usize,
    is_incomplete: bool,
    usage: Option<Usage>,
}

impl std::fmt::Debug for NestedScope {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("NestedScope")
    }
}

/// A nested call in progress.
pub(crate) struct RecordedCall {
    /// `None` if the record is full.
    place: Option<usize>,
    started: Instant,
}

impl NestedScope {
    fn record(&self) -> MutexGuard<'_, NestedRecord> {
        self.0.record.lock()
    }

    /// Returns the ID of the next nested call.
    pub(crate) fn next_id(&self, caller: &CallId) -> String {
        let number = self.0.made.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{caller}/{number}")
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.0.is_exclusive
    }

    /// Returns the scope of a nested call.
    pub(crate) fn below(&self, is_exclusive: bool) -> Self {
        Self(Arc::new(ScopeState {
            made: AtomicU64::new(0),
            record: Arc::clone(&self.0.record),
            is_exclusive: is_exclusive || self.0.is_exclusive,
        }))
    }

    pub(crate) fn start(&self, call: &ToolCall) -> RecordedCall {
        let started = Instant::now();
        let mut record = self.record();
        if record.calls.len() >= MAX_CALLS {
            record.is_incomplete = true;
            let place = None;
            return RecordedCall { place, started };
        }
        let bytes = serde_json::to_string(&call.arguments).map_or(0, |json| json.len());
        let is_kept = bytes <= MAX_ARGUMENT_BYTES
            && record.argument_bytes.saturating_add(bytes) <= MAX_TOTAL_ARGUMENT_BYTES;
        if is_kept {
            record.argument_bytes += bytes;
        } else {
            record.is_incomplete = true;
        }
        record.calls.push(NestedCall {
            id: call.id.clone(),
            name: call.name.clone(),
            status: NestedCallStatus::Unfinished,
            arguments: is_kept.then(|| call.arguments.clone()),
            arguments_bytes: (!is_kept).then(|| u64::try_from(bytes).unwrap_or(u64::MAX)),
            duration_ms: None,
            error: None,
        });
        RecordedCall {
            place: Some(record.calls.len() - 1),
            started,
        }
    }

    pub(crate) fn finish(&self, recorded: &RecordedCall, output: &ToolOutput, is_error: bool) {
        let mut record = self.record();
        if let Some(usage) = &output.usage {
            let total = record.usage.as_ref().map(|total| total.plus(usage));
            record.usage = Some(total.unwrap_or_else(|| usage.clone()));
        }
        let Some(call) = recorded.place.and_then(|place| record.calls.get_mut(place)) else {
            return;
        };
        call.status = if is_error {
            NestedCallStatus::Error
        } else {
            NestedCallStatus::Ok
        };
        call.duration_ms = Some(elapsed_ms(recorded.started));
        call.error = is_error
            .then(|| first_units(&pi_protocol::join_text(&output.content)))
            .filter(|error| !error.is_empty());
    }

    /// Returns the record so far.
    pub(crate) fn summary(&self) -> NestedSummary {
        let record = self.record();
        let calls = (!record.calls.is_empty()).then(|| NestedCalls {
            complete: !record.is_incomplete
                && record
                    .calls
                    .iter()
                    .all(|call| call.status != NestedCallStatus::Unfinished),
            calls: record.calls.clone(),
        });
        NestedSummary {
            calls,
            usage: record.usage.clone(),
        }
    }
}

fn first_units(text: &str) -> String {
    let mut units = 0;
    let kept = text.chars().take_while(|character| {
        units += character.len_utf16();
        units <= MAX_ERROR_UNITS
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use pi_protocol::InputBlock;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn call(scope: &NestedScope, argument_bytes: usize) -> (ToolCall, RecordedCall) {
        let mut call = ToolCall {
            id: scope.next_id(&CallId::from("a")),
            ..ToolCall::default()
        };
        // `{"x":"…"}`
        let text = "x".repeat(argument_bytes - 8);
        call.arguments.insert("x".to_owned(), json!(text));
        let recorded = scope.start(&call);
        (call, recorded)
    }

    #[test]
    fn large_arguments_are_left_out_by_call_and_in_total() {
        let scope = NestedScope::default();
        for bytes in [8 * 1024, 8 * 1024 + 1, 8 * 1024, 8 * 1024, 8 * 1024, 9] {
            let (_, recorded) = call(&scope, bytes);
            scope.finish(&recorded, &ToolOutput::text("ok"), false);
        }
        let summary = scope.summary().calls.unwrap();
        let sizes: Vec<_> = summary.calls.iter().map(|it| it.arguments_bytes).collect();
        let expected = [None, Some(8 * 1024 + 1), None, None, None, Some(9)];
        assert_eq!(sizes, expected);
        assert!(!summary.complete);
    }

    #[test]
    fn calls_beyond_the_limit_are_dropped_and_still_count_their_usage() {
        let scope = NestedScope::default();
        for _ in 0..=MAX_CALLS {
            let (_, recorded) = call(&scope, 9);
            let output = ToolOutput {
                usage: Some(Usage {
                    input: 1,
                    ..Usage::default()
                }),
                ..ToolOutput::text("ok")
            };
            scope.finish(&recorded, &output, false);
        }
        let summary = scope.summary();
        let calls = summary.calls.unwrap();
        assert_eq!((calls.calls.len(), calls.complete), (MAX_CALLS, false));
        assert_eq!(summary.usage.unwrap().input, 257);
    }

    #[test]
    fn errors_are_cut_and_open_calls_make_the_record_incomplete() {
        let scope = NestedScope::default();
        let (_, failed) = call(&scope, 9);
        let output = ToolOutput {
            content: vec![InputBlock::text("😀".repeat(400))],
            ..ToolOutput::default()
        };
        scope.finish(&failed, &output, true);
        let complete = scope.summary().calls.unwrap();
        assert!(complete.complete);
        let error = complete.calls[0].error.clone().unwrap();
        assert_eq!(error.chars().count(), MAX_ERROR_UNITS / 2);
        let below = scope.below(false);
        call(&below, 9);
        let summary = scope.summary().calls.unwrap();
        assert_eq!(summary.calls[1].status, NestedCallStatus::Unfinished);
        assert!(!summary.complete);
    }

    #[test]
    fn nested_calls_are_numbered_below_their_caller() {
        let scope = NestedScope::default();
        let caller = CallId::from("call");
        assert_eq!(scope.next_id(&caller), "call/1");
        let second = scope.next_id(&caller);
        assert_eq!(second, "call/2");
        let below = scope.below(true);
        assert_eq!(below.next_id(&CallId::from(&*second)), "call/2/1");
        assert!(below.is_exclusive() && below.below(false).is_exclusive());
    }
}
