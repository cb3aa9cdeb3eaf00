//! How far the session got with a request, decided from its entries. Pure.
//!
//! A marker entry precedes the prompt of every request. Messages are stored before they have an effect, so the entries
//! after the marker show what a process that was killed had done.

use std::sync::Arc;

use pi_protocol::{AgentMessage, AssistantBlock, AssistantMessage, Entry, EntryBody, StopReason};
use serde_json::{Value, json};

/// Type of the entry before the prompt of a request.
pub(crate) const REQUEST_MARKER: &str = "pi-mom.request";

/// Type of the entry that counts how often a request was continued by another process.
pub(crate) const RESTART_MARKER: &str = "pi-mom.restart";

/// How far a request got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunStage {
    /// The model has not seen it.
    NotStarted,
    /// The model's response is missing: its request has no effect and may be repeated.
    AwaitsModel { restarts: usize },
    /// Tools were called, and it is unknown which of them ran: they must not be repeated.
    CutInTools { tools: Vec<String>, restarts: usize },
    /// The run is over.
    Answered(String),
    /// The run ended without an answer.
    Failed { is_aborted: bool, reason: String },
}

/// Returns the data of the marker of a request. `cost` is that of the session so far.
pub(crate) fn request_marker(ts: &str, cost: f64) -> Value {
    json!({ "ts": ts, "cost": cost })
}

/// Returns the `ts` of the last request in a branch, and the session's cost before a request.
pub(crate) fn last_request(markers: &[Value]) -> Option<&str> {
    markers.last()?.get("ts")?.as_str()
}

/// Returns the cost of the session before a request.
pub(crate) fn cost_before(markers: &[Value], ts: &str) -> Option<f64> {
    let marker = markers.iter().rev().find(|marker| is_of(marker, ts))?;
    marker.get("cost")?.as_f64()
}

fn is_of(marker: &Value, ts: &str) -> bool {
    marker.get("ts").and_then(Value::as_str) == Some(ts)
}

/// Returns how far a request got in a branch.
pub(crate) fn stage_of(branch: &[Arc<Entry>], ts: &str) -> RunStage {
    let is_marker = |entry: &Arc<Entry>| match &entry.body {
        EntryBody::Custom(custom) => {
            custom.custom_type == REQUEST_MARKER
                && custom.data.as_ref().is_some_and(|data| is_of(data, ts))
        }
        _ => false,
    };
    let Some(marker) = branch.iter().rposition(is_marker) else {
        return RunStage::NotStarted;
    };
    let after = branch.get(marker..).unwrap_or_default();
    let messages: Vec<&AgentMessage> = after
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Message(message) => Some(message),
            _ => None,
        })
        // A system message may precede the prompt.
        .filter(|message| !matches!(message, AgentMessage::System(_)))
        .collect();
    if !messages
        .iter()
        .any(|message| matches!(message, AgentMessage::User(_)))
    {
        return RunStage::NotStarted;
    }
    let restarts = after.iter().filter(|entry| match &entry.body {
        EntryBody::Custom(custom) => custom.custom_type == RESTART_MARKER,
        _ => false,
    });
    let restarts = restarts.count();
    let last = messages
        .iter()
        .rposition(|message| matches!(message, AgentMessage::Assistant(_)));
    let Some((last, AgentMessage::Assistant(response))) =
        last.and_then(|index| Some((index, *messages.get(index)?)))
    else {
        return RunStage::AwaitsModel { restarts };
    };
    let following = messages.get(last + 1..).unwrap_or_default();
    if following
        .iter()
        .any(|message| matches!(message, AgentMessage::User(_)))
    {
        return RunStage::AwaitsModel { restarts };
    }
    let is_missing = |id: &str| {
        !following.iter().any(|message| {
            matches!(message, AgentMessage::ToolResult(result) if result.tool_call_id == id)
        })
    };
    let missing: Vec<String> = response
        .tool_calls()
        .filter(|call| is_missing(&call.id))
        .map(|call| call.name.clone())
        .collect();
    match response.stop_reason {
        StopReason::Error | StopReason::Aborted => RunStage::Failed {
            is_aborted: response.stop_reason == StopReason::Aborted,
            reason: response.error_message.clone().unwrap_or_default(),
        },
        _ if !missing.is_empty() => RunStage::CutInTools {
            tools: missing,
            restarts,
        },
        StopReason::ToolUse | StopReason::Pending | StopReason::Deferred => {
            RunStage::AwaitsModel { restarts }
        }
        StopReason::Stop | StopReason::Length if response.tool_calls().next().is_some() => {
            RunStage::AwaitsModel { restarts }
        }
        StopReason::Stop | StopReason::Length => RunStage::Answered(answer(response)),
    }
}

fn answer(response: &AssistantMessage) -> String {
    let texts = response.content.iter().filter_map(AssistantBlock::as_text);
    texts.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn branch(lines: &[Value]) -> Vec<Arc<Entry>> {
        let entries = lines.iter().enumerate().map(|(index, line)| {
            let mut line = line.clone();
            line["id"] = index.to_string().into();
            line["timestamp"] = "2026-01-01T00:00:00.000Z".into();
            Arc::new(serde_json::from_value(line).unwrap())
        });
        entries.collect()
    }

    fn marker(ts: &str) -> Value {
        json!({"type": "custom", "customType": REQUEST_MARKER, "data": request_marker(ts, 0.5)})
    }

    fn user() -> Value {
        json!({"type": "message", "message": {"role": "user", "content": "hi", "timestamp": 1}})
    }

    fn response(content: &Value, reason: &str) -> Value {
        json!({"type": "message", "message": {
            "role": "assistant", "content": content, "stopReason": reason, "timestamp": 1,
        }})
    }

    fn calls() -> Value {
        json!([
            {"type": "toolCall", "id": "a", "name": "bash", "arguments": {}},
            {"type": "toolCall", "id": "b", "name": "attach", "arguments": {}},
        ])
    }

    fn result(id: &str) -> Value {
        json!({"type": "message", "message": {
            "role": "toolResult", "toolCallId": id, "toolName": "t", "content": [], "isError": false, "timestamp": 1,
        }})
    }

    #[test]
    fn every_step_of_a_run_is_recognized() {
        let text = json!([{"type": "text", "text": " done "}]);
        let restart = json!({"type": "custom", "customType": RESTART_MARKER});
        let cut = |tools: &[&str], restarts| RunStage::CutInTools {
            tools: tools.iter().map(ToString::to_string).collect(),
            restarts,
        };
        let awaits = |restarts| RunStage::AwaitsModel { restarts };
        for (lines, stage) in [
            (vec![], RunStage::NotStarted),
            (
                vec![marker("1"), user(), response(&text, "stop")],
                RunStage::NotStarted,
            ),
            (vec![marker("2")], RunStage::NotStarted),
            (vec![marker("2"), user()], awaits(0)),
            (vec![marker("2"), user(), restart.clone()], awaits(1)),
            (
                vec![marker("2"), user(), response(&calls(), "toolUse")],
                cut(&["bash", "attach"], 0),
            ),
            (
                vec![
                    marker("2"),
                    user(),
                    response(&calls(), "toolUse"),
                    result("a"),
                    restart.clone(),
                ],
                cut(&["attach"], 1),
            ),
            (
                vec![
                    marker("2"),
                    user(),
                    response(&calls(), "toolUse"),
                    result("a"),
                    result("b"),
                ],
                awaits(0),
            ),
            (
                vec![
                    marker("2"),
                    user(),
                    response(&calls(), "toolUse"),
                    restart,
                    user(),
                ],
                awaits(1),
            ),
            (
                vec![marker("2"), user(), response(&text, "stop")],
                RunStage::Answered("done".to_owned()),
            ),
            (
                vec![marker("2"), user(), response(&json!([]), "aborted")],
                RunStage::Failed {
                    is_aborted: true,
                    reason: String::new(),
                },
            ),
        ] {
            assert_eq!(stage_of(&branch(&lines), "2"), stage, "{lines:?}");
        }
    }

    #[test]
    fn markers_have_the_cost_before_a_request() {
        let markers = [request_marker("1", 0.5), request_marker("2", 0.75)];
        assert_eq!(last_request(&markers), Some("2"));
        assert_eq!(cost_before(&markers, "1"), Some(0.5));
        assert_eq!(cost_before(&markers, "3"), None);
    }
}
