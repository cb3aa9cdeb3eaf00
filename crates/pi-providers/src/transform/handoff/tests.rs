use pi_protocol::api;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::tool_ids;
use super::*;
use crate::wire::testing::{NOW, model};

/// Hands a transcript off to an Anthropic model called `alpha`.
fn hand_off_to_alpha(messages: &Value) -> Vec<Value> {
    let messages: Vec<Message> = serde_json::from_value(messages.clone()).unwrap();
    let target = model(api::ANTHROPIC_MESSAGES, json!({"input": ["text"]}));
    let borrowed = messages.iter().map(Cow::Borrowed).collect();
    hand_off(borrowed, &target, &|id, _| tool_ids::anthropic(id), NOW)
        .iter()
        .map(|message| summarize(message))
        .collect()
}

/// Reduces a message to the parts that the hand-off changes.
fn summarize(message: &Message) -> Value {
    match message {
        Message::System(system) => json!({"system": system.content}),
        Message::User(user) => json!({"user": user.content}),
        Message::Assistant(assistant) => json!({"assistant": assistant.content}),
        Message::ToolResult(result) if result.is_error => {
            assert_eq!(result.timestamp, NOW);
            json!({"missing": [result.tool_call_id, result.tool_name]})
        }
        Message::ToolResult(result) => json!({"result": [result.tool_call_id, result.tool_name]}),
    }
}

fn other_model(content: &Value) -> Value {
    json!({"role": "assistant", "content": content, "api": "openai-responses", "provider": "openai",
        "model": "beta", "stopReason": "toolUse"})
}

fn same_model(content: &Value) -> Value {
    json!({"role": "assistant", "content": content, "api": "anthropic-messages",
        "provider": "mock", "model": "alpha", "stopReason": "toolUse"})
}

fn call(id: &str) -> Value {
    json!({"type": "toolCall", "id": id, "name": "run", "arguments": {}})
}

fn result(id: &str) -> Value {
    json!({"role": "toolResult", "toolCallId": id, "toolName": "run", "content": [],
        "isError": false})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

#[test]
fn ids_of_other_models_are_rewritten_with_their_results() {
    assert_eq!(
        hand_off_to_alpha(&json!([
            other_model(&json!([call("call_1|fc_1"), call("call_2|fc_2")])),
            result("call_2|fc_2"),
            result("call_1|fc_1"),
            same_model(&json!([call("own|id")])),
            result("own|id"),
        ])),
        [
            json!({"assistant": [call("call_1_fc_1"), call("call_2_fc_2")]}),
            json!({"result": ["call_2_fc_2", "run"]}),
            json!({"result": ["call_1_fc_1", "run"]}),
            json!({"assistant": [call("own|id")]}),
            json!({"result": ["own|id", "run"]}),
        ]
    );
}

#[test]
fn no_two_calls_share_an_id() {
    assert_eq!(
        hand_off_to_alpha(&json!([
            other_model(&json!([call("call.0"), call("call:0"), call("call.0")])),
            result("call.0"),
            result("call:0"),
            result("call.0"),
            same_model(&json!([call("2_call_0")])),
            result("2_call_0"),
            other_model(&json!([call("")])),
            result(""),
        ])),
        [
            json!({"assistant": [call("call_0"), call("1_call_0"), call("3_call_0")]}),
            json!({"result": ["call_0", "run"]}),
            json!({"result": ["1_call_0", "run"]}),
            json!({"result": ["3_call_0", "run"]}),
            json!({"assistant": [call("2_call_0")]}),
            json!({"result": ["2_call_0", "run"]}),
            json!({"assistant": [call("1_")]}),
            json!({"result": ["1_", "run"]}),
        ]
    );
}

#[test]
fn calls_of_one_message_are_unique_for_the_same_model_too() {
    assert_eq!(
        hand_off_to_alpha(&json!([
            same_model(&json!([call("same"), call("same"), call("1_same")])),
            result("same"),
            result("same"),
            result("1_same"),
            same_model(&json!([call("same")])),
            result("same"),
        ])),
        [
            json!({"assistant": [call("same"), call("2_same"), call("1_same")]}),
            json!({"result": ["same", "run"]}),
            json!({"result": ["2_same", "run"]}),
            json!({"result": ["1_same", "run"]}),
            json!({"assistant": [call("same")]}),
            json!({"result": ["same", "run"]}),
        ]
    );
}

#[test]
fn calls_of_a_responses_api_have_unique_call_parts() {
    let messages: Vec<Message> = serde_json::from_value(json!([
        other_model(&json!([call("call_a|fc_1"), call("call_a|fc_2")])),
        result("call_a|fc_2"),
        result("call_a|fc_1"),
    ]))
    .unwrap();
    let target = model(
        api::OPENAI_CODEX_RESPONSES,
        json!({"provider": "openai-codex"}),
    );
    let rule = |id: &str, source: &AssistantMessage| tool_ids::responses(id, source, &target);
    let borrowed = messages.iter().map(Cow::Borrowed).collect();
    let hand_off_to_alpha = hand_off(borrowed, &target, &rule, NOW);
    let ids: Vec<&str> = hand_off_to_alpha
        .iter()
        .flat_map(|message| match message.as_ref() {
            Message::Assistant(assistant) => assistant
                .tool_calls()
                .map(|call| call.id.as_str())
                .collect(),
            Message::ToolResult(result) => vec![result.tool_call_id.as_str()],
            Message::System(_) | Message::User(_) => Vec::new(),
        })
        .collect();
    let [first, second, answers_second, answers_first] = ids[..] else {
        panic!("expected two calls and two results: {ids:?}");
    };
    assert!(first.starts_with("call_a|fc_"), "{first}");
    assert!(second.starts_with("1_call_a|fc_"), "{second}");
    assert_eq!((answers_second, answers_first), (second, first));
}

#[test]
fn calls_without_a_result_get_one() {
    assert_eq!(
        hand_off_to_alpha(&json!([
            same_model(&json!([call("a"), call("b")])),
            result("b"),
            user("continue"),
            same_model(&json!([call("c")])),
            same_model(&json!([call("d")])),
        ])),
        [
            json!({"assistant": [call("a"), call("b")]}),
            json!({"result": ["b", "run"]}),
            json!({"missing": ["a", "run"]}),
            json!({"user": "continue"}),
            json!({"assistant": [call("c")]}),
            json!({"missing": ["c", "run"]}),
            json!({"assistant": [call("d")]}),
            json!({"missing": ["d", "run"]}),
        ]
    );
}

#[test]
fn results_directly_follow_their_calls() {
    assert_eq!(
        hand_off_to_alpha(&json!([
            system("prompt"),
            same_model(&json!([call("a"), call("b")])),
            system("while a runs"),
            result("a"),
            user("while b runs"),
            result("b"),
            system("after"),
        ])),
        [
            json!({"system": "prompt"}),
            json!({"assistant": [call("a"), call("b")]}),
            json!({"result": ["a", "run"]}),
            json!({"result": ["b", "run"]}),
            json!({"system": "while a runs"}),
            json!({"user": "while b runs"}),
            json!({"system": "after"}),
        ]
    );
}

#[test]
fn failed_turns_and_results_without_a_call_are_dropped() {
    let mut failed = same_model(&json!([{"type": "text", "text": "half"}, call("x")]));
    for reason in ["error", "aborted"] {
        failed["stopReason"] = json!(reason);
        assert_eq!(
            hand_off_to_alpha(&json!([
                user("q"),
                failed,
                result("x"),
                same_model(&json!([call("y")])),
                result("y"),
                result("y"),
                result("z")
            ])),
            [
                json!({"user": "q"}),
                json!({"assistant": [call("y")]}),
                json!({"result": ["y", "run"]}),
            ]
        );
    }
}

#[test]
fn a_message_without_content_is_dropped() {
    let hidden = json!([{"type": "thinking", "thinking": "", "thinkingSignature": "secret"}]);
    assert_eq!(
        hand_off_to_alpha(&json!([
            other_model(&hidden),
            same_model(&hidden),
            same_model(&json!(null))
        ])),
        [json!({"assistant": hidden})]
    );
}

#[test]
fn text_models_get_placeholders_for_images() {
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let hand_off_to_alpha = hand_off_to_alpha(&json!([
        {"role": "user", "content": [{"type": "text", "text": "look"}, image, image]},
        {"role": "user", "content": "plain"},
    ]));
    assert_eq!(hand_off_to_alpha[0]["user"].as_array().unwrap().len(), 2);
    assert_eq!(hand_off_to_alpha[0]["user"][0]["text"], "look");
    assert!(
        hand_off_to_alpha[0]["user"][1]["text"]
            .as_str()
            .unwrap()
            .contains("image")
    );
    assert_eq!(hand_off_to_alpha[1], json!({"user": "plain"}));
}

#[test]
fn untouched_messages_are_not_copied() {
    let messages: Vec<Message> = serde_json::from_value(json!([
        system("prompt"),
        user("q"),
        other_model(&json!([{"type": "text", "text": "a"}, call("toolu_1")])),
        result("toolu_1"),
        same_model(
            &json!([{"type": "thinking", "thinking": "t", "thinkingSignature": "s"}, call("b|c")])
        ),
        result("b|c"),
    ]))
    .unwrap();
    let target = model(api::ANTHROPIC_MESSAGES, json!({}));
    let borrowed = messages.iter().map(Cow::Borrowed).collect();
    let hand_off_to_alpha = hand_off(borrowed, &target, &|id, _| tool_ids::anthropic(id), NOW);
    assert_eq!(hand_off_to_alpha.len(), messages.len());
    for (message, original) in hand_off_to_alpha.iter().zip(&messages) {
        assert!(
            matches!(message, Cow::Borrowed(message) if std::ptr::eq(*message, original)),
            "{message:?} was copied"
        );
    }
}
