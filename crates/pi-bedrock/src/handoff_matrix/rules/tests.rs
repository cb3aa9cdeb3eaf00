use serde_json::json;

use super::*;

/// Every check must accept a valid history and reject each invalid one.
fn assert_accepts_and_rejects(check: fn(&Value) -> RuleResult, valid: &Value, invalid: &[Value]) {
    assert_eq!(check(valid), Ok(()));
    for body in invalid {
        assert!(check(body).is_err(), "accepted {body}");
    }
}

#[test]
fn anthropic_histories_are_checked() {
    let with = |messages: Value| json!({"model": "m", "max_tokens": 1, "messages": messages});
    let user = json!({"role": "user", "content": "q"});
    let call = json!({"type": "tool_use", "id": "a", "name": "n", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": []});
    let message = |role: &str, block: &Value| json!({"role": role, "content": [block]});
    let text = json!({"type": "text", "text": "t"});
    assert_accepts_and_rejects(
        anthropic,
        &with(
            json!([user, message("assistant", &call), {"role": "user", "content": [result, text]}]),
        ),
        &[
            json!({"messages": [user]}),
            with(json!([])),
            with(json!([user, message("assistant", &text)])),
            with(json!([user, message("assistant", &call), user])),
            with(
                json!([user, message("assistant", &call), {"role": "user", "content": [text, result]}]),
            ),
            with(json!([message("user", &result)])),
            with(
                json!([user, message("assistant", &call), {"role": "user", "content": [result, result]}]),
            ),
            with(json!([message(
                "user",
                &json!({"type": "text", "text": " "})
            )])),
            with(json!([
                user,
                message(
                    "assistant",
                    &json!({"type": "thinking", "thinking": "t",
                "signature": ""})
                ),
                user
            ])),
            with(json!([
                user,
                message(
                    "assistant",
                    &json!({"type": "tool_use", "id": "a|b",
                "input": {}})
                ),
                user
            ])),
        ],
    );
}

#[test]
fn chat_histories_are_checked() {
    let with = |messages: Value| json!({"model": "m", "messages": messages});
    let call = |id: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function",
            "function": {"name": "n", "arguments": "{}"}}]})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "r"});
    let id = "abcdefgh1";
    let invalid = [
        with(json!([call(id)])),
        with(json!([result(id)])),
        with(json!([call(id), result(id), result(id)])),
        with(json!([call(id), result(id), call(id), result(id)])),
        with(json!([call(id), {"role": "user", "content": "q"}, result(id)])),
        with(json!([{"role": "user", "content": ""}])),
        with(json!([{"role": "assistant", "content": null}])),
        with(json!([call(&"x".repeat(41)), result(&"x".repeat(41))])),
    ];
    let valid = with(
        json!([{"role": "system", "content": "s"}, {"role": "user", "content": "q"},
        call(id), result(id)]),
    );
    assert_accepts_and_rejects(completions, &valid, &invalid);
    assert_accepts_and_rejects(mistral, &valid, &invalid);
    assert!(mistral(&with(json!([call("call_1234"), result("call_1234")]))).is_err());
    let with_image = with(json!([call(id), {"role": "tool", "tool_call_id": id,
        "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]));
    assert_eq!(mistral(&with_image), Ok(()));
    assert!(completions(&with_image).is_err());
}

#[test]
fn responses_histories_are_checked() {
    let with = |input: Value| json!({"model": "m", "input": input});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c", "name": "n"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "o"});
    let user = json!({"role": "user", "content": [{"type": "input_text", "text": "q"}]});
    let reasoning = json!({"type": "reasoning", "id": "rs_1"});
    assert_accepts_and_rejects(
        responses,
        &with(json!([user, reasoning, call, output])),
        &[
            with(json!([call])),
            with(json!([output])),
            with(json!([call, user, output])),
            with(json!([user, reasoning])),
            with(json!([user, reasoning, user])),
            with(json!([call, {"type": "custom_tool_call_output", "call_id": "c"}])),
            with(
                json!([{"type": "custom_tool_call", "id": "fc_1", "call_id": "c"},
                {"type": "custom_tool_call_output", "call_id": "c"}]),
            ),
            with(json!([{"type": "function_call", "call_id": "c|d"},
                {"type": "function_call_output", "call_id": "c|d"}])),
            with(json!([{"type": "message", "role": "assistant", "id": "x",
                "content": [{"type": "output_text", "text": "t"}]}])),
            with(json!([{"role": "user", "content": [{"type": "input_text", "text": ""}]}])),
        ],
    );
}

#[test]
fn google_histories_are_checked() {
    let with = |contents: Value| json!({"contents": contents});
    let user = json!({"role": "user", "parts": [{"text": "q"}]});
    let call = json!({"role": "model", "parts": [{"functionCall": {"name": "n", "id": "a"}}]});
    let result = |id: &str| json!({"role": "user", "parts": [{"functionResponse": {"name": "n", "id": id}}]});
    assert_accepts_and_rejects(
        google,
        &with(json!([user, call, result("a"), user])),
        &[
            with(json!([call, result("a")])),
            with(json!([user, call])),
            with(json!([user, call, result("b")])),
            with(json!([user, call, call, result("a")])),
            with(json!([user, {"role": "model", "parts": []}])),
            with(json!([{"role": "user", "parts": [{"text": ""}]}])),
        ],
    );
}

#[test]
fn bedrock_histories_are_checked() {
    let with = |messages: Value| json!({"messages": messages});
    let user = json!({"role": "user", "content": [{"text": "q"}]});
    let call =
        json!({"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "input": {}}}]});
    let result = json!({"role": "user", "content": [{"toolResult": {"toolUseId": "a",
        "content": [{"text": "r"}]}}]});
    assert_accepts_and_rejects(
        bedrock,
        &with(json!([user, call, result])),
        &[
            with(json!([user, call])),
            with(json!([user, call, user])),
            with(json!([{"role": "user", "content": []}])),
            with(json!([{"role": "user", "content": [{"text": ""}]}])),
            with(
                json!([user, call, {"role": "user", "content": [{"toolResult":
                {"toolUseId": "a", "content": []}}]}]),
            ),
        ],
    );
}

#[test]
fn bedrock_turns_are_checked() {
    let turns = |roles: &[&str]| {
        let messages: Vec<Value> = roles.iter().map(|role| json!({"role": role})).collect();
        json!({"messages": messages})
    };
    assert_accepts_and_rejects(
        bedrock_turns,
        &turns(&["user", "assistant", "user"]),
        &[
            turns(&["user", "user"]),
            turns(&["user", "assistant", "assistant"]),
        ],
    );
}

#[test]
fn gateway_histories_are_checked() {
    let user = json!({"role": "user", "content": "q", "timestamp": 1});
    assert_accepts_and_rejects(
        pi,
        &json!({"context": {"messages": [user]}}),
        &[
            json!({"context": {"messages": []}}),
            json!({"context": {"messages": [{"role": "unknown"}]}}),
        ],
    );
}
