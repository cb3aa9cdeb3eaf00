//! The mapping of events to updates.

use std::path::Path;
use std::sync::Arc;

use pi_protocol::{StopReason, ToolCall};
use pretty_assertions::assert_eq;

use super::*;

fn mapper(cwd: &Path) -> UpdateMapper {
    UpdateMapper::new(cwd.to_owned(), false)
}

fn response(stop_reason: StopReason) -> AgentEvent {
    let message = AssistantMessage {
        stop_reason,
        ..AssistantMessage::default()
    };
    AgentEvent::MessageEnd {
        message: Arc::new(AgentMessage::Assistant(Arc::new(message))),
    }
}

fn streamed(event: AssistantMessageEvent) -> AgentEvent {
    AgentEvent::MessageUpdate {
        usage: Arc::default(),
        assistant_message_event: event,
        live: None,
    }
}

fn call(id: &str, tool: &str, args: Value) -> AgentEvent {
    AgentEvent::ToolExecutionStart {
        tool_call_id: id.to_owned(),
        tool_name: tool.to_owned(),
        args,
        parent_tool_call_id: None,
    }
}

fn result(id: &str, tool: &str, text: &str, is_error: bool) -> AgentEvent {
    AgentEvent::ToolExecutionEnd {
        tool_call_id: id.to_owned(),
        tool_name: tool.to_owned(),
        result: Box::new(ToolOutput::text(text)),
        is_error,
        duration_ms: None,
        parent_tool_call_id: None,
    }
}

#[test]
fn a_list_in_a_result_becomes_a_plan() {
    let mut mapper = mapper(Path::new("/p"));
    mapper.agent_event(&call("c", "todo", json!({})));
    let mut ended = result("c", "todo", "added", false);
    if let AgentEvent::ToolExecutionEnd { result, .. } = &mut ended {
        result.details = Some(json!({"todos": [{"text": "Read", "done": true}]}));
    }
    let updates = mapper.agent_event(&ended);
    assert_eq!(updates[0]["status"], "completed");
    assert_eq!(
        updates[1],
        json!({"sessionUpdate": "plan", "entries": [{"content": "Read", "priority": "medium", "status": "completed"}]})
    );
}

#[test]
fn arguments_that_arrive_update_the_title() {
    let mut mapper = mapper(Path::new("/p"));
    let started = mapper.agent_event(&streamed(AssistantMessageEvent::ToolCallStart {
        content_index: 0,
        id: "c".to_owned(),
        tool_name: "write".to_owned(),
    }));
    assert_eq!(started[0]["title"], json!("Writing a file…"));
    assert_eq!(started[0]["status"], json!("pending"));
    let mut titles = Vec::new();
    for delta in [
        "{\"pa",
        "th\": \"src/",
        "x.rs\", \"content\": \"",
        "\\\"path\\\"",
    ] {
        let updates = mapper.agent_event(&streamed(AssistantMessageEvent::ToolCallDelta {
            content_index: 0,
            delta: delta.to_owned(),
        }));
        titles.extend(updates.into_iter().map(|update| update["title"].clone()));
    }
    assert_eq!(titles, [json!("Writing src/x.rs…")]);
    let ended = mapper.agent_event(&streamed(AssistantMessageEvent::ToolCallEnd {
        content_index: 0,
        tool_call: Box::new(ToolCall {
            id: "c".to_owned(),
            name: "write".to_owned(),
            arguments: json!({"path": "src/x.rs"}).as_object().unwrap().clone(),
            ..ToolCall::default()
        }),
    }));
    assert_eq!(ended[0]["title"], json!("Write src/x.rs"));
    assert_eq!(ended[0]["locations"], json!([{"path": "/p/src/x.rs"}]));
    // The call is known, so it is updated when it starts.
    let running = mapper.agent_event(&call("c", "write", json!({"path": "src/x.rs"})));
    assert_eq!(running[0]["sessionUpdate"], json!("tool_call_update"));
    assert_eq!(running[0]["status"], json!("in_progress"));
}

#[test]
fn calls_that_never_run_end_as_failed() {
    let mut mapper = mapper(Path::new("/p"));
    for (index, id) in ["a", "b"].into_iter().enumerate() {
        mapper.agent_event(&streamed(AssistantMessageEvent::ToolCallStart {
            content_index: index,
            id: id.to_owned(),
            tool_name: "bash".to_owned(),
        }));
    }
    mapper.agent_event(&streamed(AssistantMessageEvent::ToolCallEnd {
        content_index: 0,
        tool_call: Box::default(),
    }));
    let failed = mapper.agent_event(&response(StopReason::Aborted));
    assert_eq!(failed, [failed_call("b")]);
    assert_eq!(mapper.settle(), [failed_call("a")]);
    assert!(mapper.settle().is_empty());
}

#[test]
fn output_of_a_command_is_a_terminal_where_the_client_shows_one() {
    let mut mapper = UpdateMapper::new("/p".into(), true);
    let started = mapper.agent_event(&call("c", "bash", json!({"command": "make"})));
    assert_eq!(
        started[0]["content"],
        json!([{"type": "terminal", "terminalId": "c"}])
    );
    let mut data = Vec::new();
    for text in ["a\n", "a\nb\n"] {
        let updates = mapper.agent_event(&AgentEvent::ToolExecutionUpdate {
            tool_call_id: "c".to_owned(),
            tool_name: "bash".to_owned(),
            args: Value::Null,
            partial_result: Box::new(ToolOutput::text(text)),
            parent_tool_call_id: None,
        });
        data.push(updates[0]["_meta"]["terminal_output"]["data"].clone());
    }
    assert_eq!(data, [json!("a\n"), json!("b\n")]);
    let text = "a\nb\n\n\nCommand exited with code 2";
    let ended = mapper.agent_event(&result("c", "bash", text, true));
    assert_eq!(ended[0]["status"], json!("failed"));
    assert_eq!(ended[0]["_meta"]["terminal_exit"]["exit_code"], json!(2));
}

#[test]
fn a_change_is_shown_as_a_diff() {
    let directory = std::env::temp_dir().join(format!("pi-acp-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir(&directory).unwrap();
    let file = directory.join("a.txt");
    let write = |text: &str| {
        use std::io::Write as _;
        std::fs::File::create(&file)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    };
    let mut mapper = mapper(&directory);
    mapper.agent_event(&call("new", "write", json!({"path": "a.txt"})));
    write("one\ntwo\n");
    let created = mapper.agent_event(&result("new", "write", "done", false));
    assert_eq!(
        created[0]["content"],
        json!([tool_call::diff(&file, None, "one\ntwo\n")])
    );
    mapper.agent_event(&call("edit", "edit", json!({"path": "a.txt"})));
    write("one\n2\n");
    let edited = mapper.agent_event(&result("edit", "edit", "done", false));
    assert_eq!(
        edited[0]["content"],
        json!([tool_call::diff(&file, Some("one\ntwo\n"), "one\n2\n")])
    );
    assert_eq!(edited[0]["locations"], json!([{"path": file, "line": 2}]));
    std::fs::remove_dir_all(&directory).unwrap();
}
