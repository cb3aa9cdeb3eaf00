//! The JSON form of every event.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::{AssistantMessageEvent, MessageBuilder, Model};

fn json_of(event: &SessionEvent, form: UpdateFormat) -> Value {
    let line = event.to_compatible_json(form).unwrap().unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn events_have_the_protocol_fields_and_omit_absent_ones() {
    let cases = [
        (
            SessionEvent::AgentSettled { aborted: true },
            json!({"type": "agent_settled", "aborted": true}),
        ),
        (
            SessionEvent::Agent(AgentEvent::TurnStart),
            json!({"type": "turn_start"}),
        ),
        (
            SessionEvent::AgentEnd {
                messages: Vec::new(),
                will_retry: true,
            },
            json!({"type": "agent_end", "messages": [], "willRetry": true}),
        ),
        (
            SessionEvent::QueueUpdate {
                steering: vec!["a".to_owned()],
                follow_up: Vec::new(),
            },
            json!({"type": "queue_update", "steering": ["a"], "followUp": []}),
        ),
        (
            SessionEvent::SessionInfoChanged { name: None },
            json!({"type": "session_info_changed"}),
        ),
        (
            SessionEvent::ThinkingLevelChanged {
                level: ThinkingLevel::High,
            },
            json!({"type": "thinking_level_changed", "level": "high"}),
        ),
        (
            SessionEvent::CompactionEnd {
                reason: CompactionReason::Overflow,
                result: None,
                aborted: true,
                will_retry: false,
                error_message: None,
            },
            json!({"type": "compaction_end", "reason": "overflow", "aborted": true, "willRetry": false}),
        ),
        (
            SessionEvent::SummarizationRetryAttemptStart {
                source: SummarySource::Compaction {
                    reason: CompactionReason::Manual,
                },
            },
            json!({"type": "summarization_retry_attempt_start", "source": "compaction", "reason": "manual"}),
        ),
        (
            SessionEvent::SummarizationRetryAttemptStart {
                source: SummarySource::BranchSummary,
            },
            json!({"type": "summarization_retry_attempt_start", "source": "branchSummary"}),
        ),
        (
            SessionEvent::BashExecutionUpdate {
                id: Some(json!("r1")),
                delta: "x".to_owned(),
            },
            json!({"type": "bash_execution_update", "id": "r1", "delta": "x"}),
        ),
    ];
    for (event, expected) in cases {
        assert_eq!(json_of(&event, UpdateFormat::Delta), expected);
    }
}

#[test]
fn an_update_carries_the_delta_and_on_request_the_full_message() {
    let mut builder = MessageBuilder::new(&Model::unknown(), 7);
    let block = builder.open_text();
    builder.append_text(block, "hel");
    builder.append_text(block, "lo");
    let event = SessionEvent::Agent(AgentEvent::message_update(
        builder.live(),
        AssistantMessageEvent::TextDelta {
            content_index: 0,
            delta: "lo".to_owned(),
        },
    ));
    let delta = json_of(&event, UpdateFormat::Delta);
    let names: Vec<_> = delta.as_object().unwrap().keys().collect();
    assert_eq!(names, ["type", "usage", "assistantMessageEvent"]);
    let inner = json!({"type": "text_delta", "contentIndex": 0, "delta": "lo"});
    assert_eq!(delta["assistantMessageEvent"], inner);

    let full = json_of(&event, UpdateFormat::Full);
    assert_eq!(full["message"]["role"], "assistant");
    assert_eq!(full["message"]["content"][0]["text"], "hello");
    assert_eq!(full["assistantMessageEvent"]["delta"], "lo");
    assert_eq!(full["assistantMessageEvent"]["partial"], full["message"]);
}

const USAGE: &str = r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0,"output":0.000021,"cacheRead":0,"cacheWrite":0,"total":0.000021}}"#;
const USER: &str = r#"{"role":"user","content":"hi","timestamp":1}"#;
const RESULT: &str = r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"details":null,"isError":false,"timestamp":1}"#;
const ENTRY: &str = r#"{"type":"label","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","targetId":"00000000","label":"here"}"#;

/// Events that clients of the TypeScript pi do not receive.
const OWN_EVENTS: [&str; 16] = [
    r#"{"type":"model_changed","provider":"p","modelId":"m"}"#,
    r#"{"type":"label_changed","targetId":"a","label":"here"}"#,
    r#"{"type":"label_changed","targetId":"a"}"#,
    r#"{"type":"leaf_moved","leafId":"a"}"#,
    r#"{"type":"leaf_moved"}"#,
    r#"{"type":"observers_changed","count":2}"#,
    r#"{"type":"active_tools_changed","tools":["read"]}"#,
    r#"{"type":"queue_modes_changed","steeringMode":"all","followUpMode":"one-at-a-time"}"#,
    r#"{"type":"bash_execution_start","id":"r1","command":"ls","excludeFromContext":true}"#,
    r#"{"type":"bash_execution_start","command":"ls","excludeFromContext":false}"#,
    r#"{"type":"bash_execution_end","id":"r1","exitCode":0,"cancelled":false}"#,
    r#"{"type":"bash_execution_end","cancelled":false,"errorMessage":"e"}"#,
    r#"{"type":"dialog_requested","request":{"id":"1","method":"confirm","title":"t","message":"m"}}"#,
    r#"{"type":"dialog_resolved","request":"1","answer":{"type":"confirmed","confirmed":true}}"#,
    r#"{"type":"mcp_status","servers":[{"name":"s","scope":"global","source":"f","enabled":true,"exposure":"direct","transport":"c","state":"connected","tools":["t"]}]}"#,
    r#"{"type":"session_replaced","session":"s2","reason":"fork"}"#,
];

fn response() -> String {
    format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"hi"}}],"api":"a","provider":"p","model":"m","usage":{USAGE},"stopReason":"stop","timestamp":1}}"#
    )
}

fn read(line: &str) -> SessionEvent {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// One line or more for every variant of an event.
fn event_lines() -> Vec<String> {
    let response = response();
    let mut lines = vec![
        r#"{"type":"agent_start"}"#.to_owned(),
        format!(r#"{{"type":"agent_end","messages":[{USER},{response}],"willRetry":true}}"#),
        r#"{"type":"turn_start"}"#.to_owned(),
        format!(r#"{{"type":"turn_end","message":{response},"toolResults":[{RESULT}]}}"#),
        format!(r#"{{"type":"message_start","message":{response}}}"#),
        format!(r#"{{"type":"message_end","message":{response}}}"#),
        r#"{"type":"tool_execution_start","toolCallId":"c","toolName":"t","args":{"b":1,"a":null}}"#.to_owned(),
        r#"{"type":"tool_execution_start","toolCallId":"c","toolName":"t","args":null}"#.to_owned(),
        r#"{"type":"tool_execution_start","toolCallId":"c/1","toolName":"t","args":{},"parentToolCallId":"c"}"#.to_owned(),
        r#"{"type":"tool_execution_update","toolCallId":"c/1","toolName":"t","args":{},"partialResult":{"content":[]},"parentToolCallId":"c"}"#.to_owned(),
        r#"{"type":"tool_execution_end","toolCallId":"c/1","toolName":"t","result":{"content":[],"structuredContent":null,"isError":true},"isError":true,"durationMs":12,"parentToolCallId":"c"}"#.to_owned(),
        r#"{"type":"tool_execution_update","toolCallId":"c","toolName":"t","args":{},"partialResult":{"content":[],"details":null}}"#.to_owned(),
        format!(r#"{{"type":"tool_execution_end","toolCallId":"c","toolName":"t","result":{{"content":[{{"type":"image","data":"AA","mimeType":"image/png"}},{{"type":"later","z":1}}],"details":{{}},"usage":{USAGE},"terminate":true}},"isError":false}}"#),
        r#"{"type":"agent_settled","aborted":false}"#.to_owned(),
        r#"{"type":"queue_update","steering":["a"],"followUp":[]}"#.to_owned(),
        format!(r#"{{"type":"entry_appended","entry":{ENTRY}}}"#),
        r#"{"type":"session_info_changed","name":"n"}"#.to_owned(),
        r#"{"type":"session_info_changed"}"#.to_owned(),
        r#"{"type":"thinking_level_changed","level":"xhigh"}"#.to_owned(),
        r#"{"type":"compaction_start","reason":"threshold"}"#.to_owned(),
        format!(r#"{{"type":"compaction_end","reason":"manual","result":{{"summary":"s","firstKeptEntryId":null,"tokensBefore":5,"estimatedTokensAfter":2,"usage":{USAGE},"details":null}},"aborted":false,"willRetry":true}}"#),
        r#"{"type":"compaction_end","reason":"overflow","aborted":true,"willRetry":false,"errorMessage":"e"}"#.to_owned(),
        r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"e"}"#.to_owned(),
        r#"{"type":"auto_retry_end","success":false,"attempt":3,"finalError":"e"}"#.to_owned(),
        r#"{"type":"auto_retry_end","success":true,"attempt":1}"#.to_owned(),
        r#"{"type":"summarization_retry_scheduled","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"e"}"#.to_owned(),
        r#"{"type":"summarization_retry_attempt_start","source":"compaction","reason":"overflow"}"#.to_owned(),
        r#"{"type":"summarization_retry_attempt_start","source":"branchSummary"}"#.to_owned(),
        r#"{"type":"summarization_retry_finished"}"#.to_owned(),
        r#"{"type":"bash_execution_update","id":{"any":1},"delta":"x"}"#.to_owned(),
        r#"{"type":"bash_execution_update","id":null,"delta":"x"}"#.to_owned(),
        r#"{"type":"bash_execution_update","delta":"x"}"#.to_owned(),
        r#"{"type":"approval_requested","request":{"id":"1","call":"c","method":"approval","toolName":"bash","args":{"command":"ls"},"reason":"r"}}"#.to_owned(),
        r#"{"type":"approval_resolved","request":"1","answer":{"type":"deny","reason":"no"}}"#.to_owned(),
        r#"{"type":"session_warning","message":"m"}"#.to_owned(),
        r#"{"type":"task_update","task":{"id":"task-1","agent":"general","title":"t","toolCallId":"c","state":"running","tool":"bash","turns":2,"tokens":30,"cost":0.5,"background":false,"sessionFile":"/s/session.jsonl"}}"#.to_owned(),
    ];
    lines.extend(OWN_EVENTS.iter().map(|line| (*line).to_owned()));
    let updates = [
        r#"{"type":"start"}"#.to_owned(),
        r#"{"type":"text_start","contentIndex":0}"#.to_owned(),
        r#"{"type":"text_delta","contentIndex":0,"delta":"d"}"#.to_owned(),
        r#"{"type":"text_end","contentIndex":0,"content":"c","contentSignature":"s"}"#.to_owned(),
        r#"{"type":"thinking_start","contentIndex":1}"#.to_owned(),
        r#"{"type":"thinking_delta","contentIndex":1,"delta":"d"}"#.to_owned(),
        r#"{"type":"thinking_end","contentIndex":1,"content":"c","contentSignature":"s","redacted":true}"#.to_owned(),
        r#"{"type":"toolcall_start","contentIndex":2,"id":"i","toolName":"t"}"#.to_owned(),
        r#"{"type":"toolcall_delta","contentIndex":2,"delta":"{"}"#.to_owned(),
        r#"{"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"i","name":"t","arguments":{"p":1.5},"argumentsError":"e"}}"#.to_owned(),
        format!(r#"{{"type":"done","reason":"stop","message":{}}}"#, response.replace(r#""role":"assistant","#, "")),
        format!(r#"{{"type":"error","reason":"aborted","error":{}}}"#, response.replace(r#""role":"assistant","#, "")),
    ];
    lines.extend(updates.iter().map(|update| {
        format!(r#"{{"type":"message_update","usage":{USAGE},"assistantMessageEvent":{update}}}"#)
    }));
    lines
}

#[test]
fn every_event_round_trips_byte_for_byte() {
    for line in event_lines() {
        assert_eq!(crate::json::to_string(&read(&line)).unwrap(), line);
    }
}

#[test]
fn the_compatibility_wire_omits_only_events_of_our_own() {
    for line in event_lines() {
        let is_ours = OWN_EVENTS.contains(&line.as_str());
        let expected = (!is_ours).then_some(line.clone());
        for form in [UpdateFormat::Delta, UpdateFormat::Full] {
            assert_eq!(read(&line).to_compatible_json(form).unwrap(), expected);
        }
    }
}

#[test]
fn an_envelope_round_trips_byte_for_byte() {
    for line in event_lines() {
        let line = format!(r#"{{"session":"s","seq":7,"at":1767225600000,"event":{line}}}"#);
        let envelope: crate::Envelope = serde_json::from_str(&line).unwrap();
        assert_eq!(crate::json::to_string(&envelope).unwrap(), line);
    }
}

/// Each delta moves through several queues, so the size of an event is part of its cost.
#[test]
fn events_are_small() {
    assert!(size_of::<AssistantMessageEvent>() <= 72);
    assert!(size_of::<SessionEvent>() <= 192);
}
