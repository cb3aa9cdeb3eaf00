use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn model() -> Model {
    serde_json::from_value(json!({"id": "m", "name": "m", "api": "a", "provider": "p",
        "baseUrl": "", "reasoning": false, "input": ["text"], "cost": {}, "contextWindow": 1,
        "maxTokens": 1}))
    .unwrap()
}

/// Returns the arguments error of a call, and the arguments that could be parsed.
fn streamed_call(text: &str, ended: bool, reason: StopReason) -> (Option<String>, JsonObject) {
    let mut message = MessageBuilder::new(&model(), 0);
    let index = message.open_tool_call(ToolCall::default());
    message.append_arguments(index, text);
    if ended {
        message.close_tool_call(index);
    }
    message.stop(reason, None);
    message.complete();
    let snapshot = message.live().snapshot();
    let call = snapshot.tool_calls().next().unwrap();
    (
        call.arguments_error().map(str::to_owned),
        call.arguments.clone(),
    )
}

#[test]
fn a_call_with_incomplete_arguments_has_an_error() {
    for text in [
        r#"{"command": "rm -rf /home/user"#,
        r#"{"command": "echo "quoted" > file"}"#,
        r#"{"command": "ls", "#,
        r#"{"command": "ls", path: 1}"#,
        "{'command': 'ls'}",
        r#"["ls"]"#,
        r#""ls""#,
        "ls",
    ] {
        for ended in [true, false] {
            let (error, _) = streamed_call(text, ended, StopReason::ToolUse);
            assert_eq!(
                error.as_deref(),
                Some(INCOMPLETE_ARGUMENTS),
                "{text} {ended}"
            );
        }
    }
}

/// Ends only if the cost per call does not grow with their number.
#[test]
fn a_hundred_thousand_open_calls_with_one_id_are_distinct() {
    const CALLS: usize = 100_000;
    let mut message = MessageBuilder::new(&model(), 0);
    for _ in 0..CALLS {
        message.open_tool_call(ToolCall {
            id: "same".to_owned(),
            ..ToolCall::default()
        });
    }
    for index in 0..CALLS {
        message.append_arguments(index, "{}");
    }
    for index in 0..CALLS {
        message.close_tool_call(index);
    }
    let ids: std::collections::HashSet<String> =
        message.read(|message| message.tool_calls().map(|call| call.id.clone()).collect());
    assert_eq!(ids.len(), CALLS);
}

#[test]
fn an_id_that_is_set_later_is_not_used_again() {
    let mut message = MessageBuilder::new(&model(), 0);
    let first = message.open_tool_call(ToolCall::default());
    message.with_tool_call(first, |call| call.id = "late".to_owned());
    let second = message.open_tool_call(ToolCall {
        id: "late".to_owned(),
        ..ToolCall::default()
    });
    let id = message.with_tool_call(second, |call| call.id.clone());
    assert_ne!(id.as_deref(), Some("late"));
}

#[test]
fn duplicate_call_ids_are_replaced() {
    let mut message = MessageBuilder::new(&model(), 0);
    let call = |id: &str| ToolCall {
        id: id.to_owned(),
        ..ToolCall::default()
    };
    for id in ["same", "same", "other", "same", "", ""] {
        message.open_tool_call(call(id));
    }
    let ids: Vec<String> =
        message.read(|message| message.tool_calls().map(|call| call.id.clone()).collect());
    assert_eq!((ids[0].as_str(), ids[2].as_str()), ("same", "other"));
    assert_eq!((ids[4].as_str(), ids[5].as_str()), ("", ""));
    let replaced = [&ids[1], &ids[3]];
    assert_ne!(replaced[0], replaced[1]);
    for id in replaced {
        // The format that the strictest service accepts.
        assert!(
            id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
            "{id}"
        );
    }
    let emitted = message
        .take_events()
        .into_iter()
        .filter_map(|event| match event {
            AssistantMessageEvent::ToolCallStart { id, .. } => Some(id),
            _ => None,
        });
    assert_eq!(emitted.collect::<Vec<_>>(), ids);
}

#[test]
fn common_json_mistakes_of_models_are_accepted() {
    for (text, expected) in [
        ("{}", json!({})),
        ("null", json!({})),
        ("", json!({})),
        ("{\"a\": \"line\nbreak\"}", json!({"a": "line\nbreak"})),
        (r#"{"a": "C:\q",}"#, json!({"a": "C:\\q"})),
        (r#"{"a": "\u0072\u006d"}"#, json!({"a": "rm"})),
        (r#"{"a": 1} done"#, json!({"a": 1})),
    ] {
        for ended in [true, false] {
            let (error, arguments) = streamed_call(text, ended, StopReason::ToolUse);
            assert_eq!(error, None, "{text}");
            assert_eq!(serde_json::Value::from(arguments), expected, "{text}");
        }
    }
}

#[test]
fn a_response_cut_by_the_length_limit_has_no_arguments_error() {
    let (error, arguments) = streamed_call(r#"{"a": "b"#, true, StopReason::Length);
    assert_eq!(error, None);
    assert_eq!(serde_json::Value::from(arguments), json!({"a": "b"}));
}
