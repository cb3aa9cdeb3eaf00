use insta::assert_snapshot;
use pi_auth::AnthropicFederation;
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{CacheRetention, ErrorClass, ThinkingLevel, ToolChoice};
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::super::AnthropicMessages;
use crate::options::{ModelRequest, StreamOptions};
use crate::wire::testing::{self, NOW, outline};
use crate::wire::{HttpExchange, HttpProtocol};

fn options() -> StreamOptions {
    StreamOptions {
        api_key: Some(SecretString::from("key")),
        ..StreamOptions::default()
    }
}

fn request(model: Value, messages: Value, options: StreamOptions) -> ModelRequest {
    testing::request(
        testing::model("anthropic-messages", model),
        messages,
        options,
    )
}

async fn exchange(request: &ModelRequest) -> HttpExchange {
    AnthropicMessages::default().prepare(request).await.unwrap()
}

/// Builds a request with one short prompt and returns its body.
async fn body(model: Value, options: StreamOptions) -> Value {
    let prompt = json!([
        {"role": "system", "content": "Be brief.", "toolsAdded": [
            {"name": "read", "description": "Reads.", "parameters": {"type": "object",
                "properties": {"path": {"$ref": "#/$defs/path"}}, "required": ["path"],
                "$defs": {"path": {"type": "string"}}, "$schema": "s", "additionalProperties": false},
                "constrainedSampling": {"type": "json_schema", "strict": "prefer"}},
            {"name": "now", "description": "Tells the time.", "parameters": {"type": "object"}}
        ], "timestamp": NOW},
        {"role": "user", "content": "hi", "timestamp": NOW}
    ]);
    exchange(&request(model, prompt, options))
        .await
        .body
        .into_value()
}

#[tokio::test]
async fn full_conversation_as_own_history() {
    let messages = testing::full_conversation("mock", "anthropic-messages", "alpha");
    let exchange = exchange(&request(json!({}), messages, options())).await;
    assert_eq!(exchange.url, "http://127.0.0.1:9/v1/messages?beta=true");
    assert_snapshot!(outline(&exchange.body.into_value()), @r##"
    model: "alpha"
    messages:
      {"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PNG"}}]}
      {"role":"assistant","content":[{"type":"thinking","thinking":"two reads","signature":"c2lnbmF0dXJl"},{"type":"text","text":"Reading."},{"type":"tool_use","id":"call_1|fc_1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"call_2|fc_2","name":"read","input":{"path":"b","limit":2}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1|fc_1","content":[{"type":"text","text":"A"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PNG"}}],"is_error":false},{"type":"tool_result","tool_use_id":"call_2|fc_2","content":"no such file","is_error":true}]}
      {"role":"user","content":"and now?"}
      {"role":"user","content":"go on"}
      {"role":"assistant","content":[{"type":"tool_use","id":"call_3|fc_3","name":"read","input":{"path":"c"}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_3|fc_3","content":"No result: this call was interrupted, and the tool may not have run.","is_error":true}]}
      {"role":"user","content":[{"type":"text","text":"never mind the file","cache_control":{"type":"ephemeral"}}]}
    max_tokens: 8192
    stream: true
    system:
      {"type":"text","text":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>","cache_control":{"type":"ephemeral"}}
    tools:
      {"name":"read","description":"Reads a file.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}
      {"name":"patch","description":"Applies a patch.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}
      {"name":"write","description":"Writes a file.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{},"required":[]},"cache_control":{"type":"ephemeral"}}
    thinking: {"type":"disabled"}
    "##);
}

#[tokio::test]
async fn full_conversation_as_hand_off() {
    let messages = testing::full_conversation("elsewhere", "openai-responses", "omega");
    let handed = exchange(&request(json!({}), messages, options()))
        .await
        .body
        .into_value();
    assert_snapshot!(outline(&handed), @r##"
    model: "alpha"
    messages:
      {"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PNG"}}]}
      {"role":"assistant","content":[{"type":"text","text":"Reading."},{"type":"tool_use","id":"call_1_fc_1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"call_2_fc_2","name":"read","input":{"path":"b","limit":2}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_fc_1","content":[{"type":"text","text":"A"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PNG"}}],"is_error":false},{"type":"tool_result","tool_use_id":"call_2_fc_2","content":"no such file","is_error":true}]}
      {"role":"user","content":"and now?"}
      {"role":"user","content":"go on"}
      {"role":"assistant","content":[{"type":"tool_use","id":"call_3_fc_3","name":"read","input":{"path":"c"}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_3_fc_3","content":"No result: this call was interrupted, and the tool may not have run.","is_error":true}]}
      {"role":"user","content":[{"type":"text","text":"never mind the file","cache_control":{"type":"ephemeral"}}]}
    max_tokens: 8192
    stream: true
    system:
      {"type":"text","text":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>","cache_control":{"type":"ephemeral"}}
    tools:
      {"name":"read","description":"Reads a file.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}
      {"name":"patch","description":"Applies a patch.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}
      {"name":"write","description":"Writes a file.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{},"required":[]},"cache_control":{"type":"ephemeral"}}
    thinking: {"type":"disabled"}
    "##);
}

#[tokio::test]
async fn prompt_and_tool_changes_are_sent_in_the_conversation() {
    let compat = json!({"compat": {"supportsMidConvoSystemMessages": true,
        "supportsMidConvoToolChanges": true}});
    let messages = json!([
        {"role": "system", "content": "Be brief.", "toolsAdded": [
            {"name": "read", "description": "Reads.", "parameters": {}}], "timestamp": NOW},
        {"role": "user", "content": "hi", "timestamp": NOW},
        {"role": "assistant", "content": [{"type": "text", "text": "hello"}], "timestamp": NOW,
            "stopReason": "stop"},
        {"role": "system", "content": "Be long.", "toolsAdded": [
            {"name": "write", "description": "Writes.", "parameters": {}}],
            "toolsRemoved": [{"name": "read"}], "timestamp": NOW},
        {"role": "user", "content": "go", "timestamp": NOW}
    ]);
    let exchange = exchange(&request(compat, messages, options())).await;
    assert_eq!(
        exchange.headers["anthropic-beta"].as_deref(),
        Some("inline-tools-2026-09-15")
    );
    assert_snapshot!(outline(&exchange.body.into_value()), @r##"
    model: "alpha"
    messages:
      {"role":"user","content":"hi"}
      {"role":"assistant","content":[{"type":"text","text":"hello"}]}
      {"role":"user","content":"go"}
      {"role":"system","content":[{"type":"text","text":"Be long."},{"type":"tool_removal","tool":{"type":"tool_reference","name":"read"}},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"write","description":"Writes.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{},"required":[]}}},"cache_control":{"type":"ephemeral"}}]}
    max_tokens: 8192
    stream: true
    system:
      {"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}
    tools:
      {"name":"read","description":"Reads.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{},"required":[]},"cache_control":{"type":"ephemeral"}}
      {"name":"__pi_deferred_placeholder__","description":"Placeholder that is never available. Do not call it.","input_schema":{"type":"object","properties":{},"required":[]},"defer_loading":true}
    thinking: {"type":"disabled"}
    "##);
}

#[tokio::test]
async fn a_redefined_tool_is_replaced_in_place() {
    let compat = json!({"compat": {"supportsMidConvoSystemMessages": true,
        "supportsMidConvoToolChanges": true}});
    let tool = |description: &str| {
        json!({"name": "read", "description": description,
        "parameters": {}})
    };
    let messages = json!([
        {"role": "system", "content": "", "toolsAdded": [tool("Reads.")], "timestamp": NOW},
        {"role": "user", "content": "hi", "timestamp": NOW},
        {"role": "system", "content": "", "toolsAdded": [tool("Reads well.")], "timestamp": NOW}
    ]);
    let exchange = exchange(&request(compat, messages, options())).await;
    let body = exchange.body.into_value();
    assert_eq!(body["tools"][0]["description"], "Reads.");
    let changes = body["messages"][1]["content"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "no removal: {changes:?}");
    assert_eq!(
        changes[0]["tool"]["definition"]["description"],
        "Reads well."
    );
}

#[tokio::test]
async fn the_effort_can_be_part_of_the_history() {
    let model = json!({"compat": {"supportsMidConvoEffort": true, "forceAdaptiveThinking": true},
        "thinkingLevelMap": {"off": null, "xhigh": "xhigh"}});
    let answer = |provider: &str, level: &str| {
        json!({"role": "assistant", "content": [{"type": "text", "text": level}],
            "api": "anthropic-messages", "provider": provider, "model": "alpha",
            "providerThinkingLevel": level, "stopReason": "stop", "timestamp": NOW})
    };
    let messages = json!([
        {"role": "user", "content": "1", "timestamp": NOW}, answer("mock", "low"),
        {"role": "user", "content": "2", "timestamp": NOW}, answer("elsewhere", "medium"),
        {"role": "user", "content": "3", "timestamp": NOW}, answer("mock", "unheard-of"),
        {"role": "user", "content": "4", "timestamp": NOW}
    ]);
    let options = StreamOptions {
        reasoning: ThinkingLevel::Xhigh,
        temperature: Some(0.5),
        ..options()
    };
    let exchange = exchange(&request(model, messages, options)).await;
    assert_eq!(
        exchange.headers["anthropic-beta"].as_deref(),
        Some("mid-conversation-output-config-2026-07-01,thinking-binding-controls-2026-08-01")
    );
    assert_snapshot!(outline(&exchange.body.into_value()), @r##"
    model: "alpha"
    messages:
      {"role":"user","content":"1"}
      {"role":"system","content":[],"output_config":{"effort":"low"}}
      {"role":"assistant","content":[{"type":"text","text":"low"}]}
      {"role":"user","content":"2"}
      {"role":"assistant","content":[{"type":"text","text":"medium"}]}
      {"role":"user","content":"3"}
      {"role":"assistant","content":[{"type":"text","text":"unheard-of"}]}
      {"role":"user","content":[{"type":"text","text":"4","cache_control":{"type":"ephemeral"}}]}
      {"role":"system","content":[],"output_config":{"effort":"xhigh"}}
    max_tokens: 8192
    stream: true
    thinking: {"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}
    output_config: {"effort":"low"}
    "##);
}

#[tokio::test]
async fn effort_is_not_part_of_the_history_while_thinking_is_off() {
    let model = json!({"compat": {"supportsMidConvoEffort": true, "forceAdaptiveThinking": true}});
    let messages = json!([{"role": "user", "content": "1", "timestamp": NOW}]);
    let body = exchange(&request(model, messages, options()))
        .await
        .body
        .into_value();
    assert_eq!(body["thinking"], json!({"type": "disabled"}));
    assert_eq!(body.get("output_config"), None);
    assert_eq!(body["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn images_of_an_error_follow_the_results() {
    let image = json!({"type": "image", "data": "PNG", "mimeType": "image/png"});
    let result = |id: &str, is_error: bool| {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "shot", "isError": is_error,
            "content": [{"type": "text", "text": id}, image], "timestamp": NOW})
    };
    let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "shot", "arguments": {}});
    let messages = json!([
        {"role": "assistant", "content": [call("a"), call("b")], "stopReason": "toolUse",
            "timestamp": NOW},
        result("a", true),
        result("b", false),
    ]);
    let body = exchange(&request(json!({}), messages, options()))
        .await
        .body
        .into_value();
    let blocks = body["messages"][1]["content"].as_array().unwrap();
    let kinds: Vec<&str> = blocks
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text", "image"]);
    assert_eq!(
        blocks[0]["content"],
        "a\n(image attached after the tool results)"
    );
    assert_eq!(blocks[1]["content"][1]["type"], "image");
    assert_eq!(
        blocks[2]["text"],
        "Images of the failed tool call a (shot):"
    );
}

#[tokio::test]
async fn a_schema_that_the_service_rejects_is_not_strict() {
    let tool = |name: &str, property: Value| {
        json!({"name": name, "description": "", "parameters": {"type": "object",
            "properties": {"minimum": property}, "required": ["minimum"]},
            "constrainedSampling": {"type": "json_schema", "strict": "prefer"}})
    };
    let messages = json!([{"role": "system", "content": "", "timestamp": NOW, "toolsAdded": [
        tool("plain", json!({"type": "string", "format": "date"})),
        tool("bounded", json!({"type": "number", "minimum": 1})),
        tool("listed", json!({"type": "array", "items": {"type": "string"}, "minItems": 2})),
        tool("formatted", json!({"type": "string", "format": "color"})),
    ]}]);
    let model = json!({"compat": {"supportsStrictTools": true}});
    let body = exchange(&request(model, messages, options()))
        .await
        .body
        .into_value();
    let strict: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool.get("strict").is_some())
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(strict, ["plain"]);
}

#[tokio::test]
async fn thinking_follows_level_map_and_flags() {
    let adaptive = |effort: &str| {
        json!({"thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": effort}})
    };
    let enabled = |budget: u64| {
        json!({"thinking": {"type": "enabled", "budget_tokens": budget,
        "display": "summarized"}})
    };
    let adaptive_flag = json!({"forceAdaptiveThinking": true});
    let mapped = json!({"thinkingLevelMap": {"xhigh": "xhigh", "minimal": "tiny"},
        "compat": adaptive_flag});
    let large = json!({"maxTokens": 64000});
    let cases = [
        (json!({"reasoning": false}), ThinkingLevel::Off, json!({})),
        (
            json!({}),
            ThinkingLevel::Off,
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            json!({"thinkingLevelMap": {"off": null}}),
            ThinkingLevel::Off,
            json!({}),
        ),
        (large.clone(), ThinkingLevel::Minimal, enabled(1024)),
        (large.clone(), ThinkingLevel::Medium, enabled(8192)),
        (large, ThinkingLevel::Max, enabled(16384)),
        (json!({}), ThinkingLevel::Medium, enabled(7168)),
        (
            json!({"compat": adaptive_flag}),
            ThinkingLevel::Minimal,
            adaptive("low"),
        ),
        (
            json!({"compat": adaptive_flag}),
            ThinkingLevel::Medium,
            adaptive("medium"),
        ),
        (
            json!({"compat": adaptive_flag}),
            ThinkingLevel::Max,
            adaptive("high"),
        ),
        (mapped.clone(), ThinkingLevel::Xhigh, adaptive("xhigh")),
        (mapped, ThinkingLevel::Minimal, adaptive("tiny")),
    ];
    for (model, reasoning, expected) in cases {
        let label = format!("{model} {reasoning:?}");
        let options = StreamOptions {
            reasoning,
            ..options()
        };
        let body = body(model, options).await;
        let error: Vec<_> = ["thinking", "output_config"]
            .into_iter()
            .filter_map(|field| Some((field.to_owned(), body.get(field)?.clone())))
            .collect();
        assert_eq!(
            Value::Object(error.into_iter().collect()),
            expected,
            "{label}"
        );
    }
}

#[tokio::test]
async fn compat_flags_change_the_tools() {
    let plain = body(json!({}), options()).await;
    assert_snapshot!(outline(&json!({"tools": plain["tools"]})), @r##"
    tools:
      {"name":"read","description":"Reads.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{"path":{"$ref":"#/$defs/path"}},"required":["path"],"$defs":{"path":{"type":"string"}}}}
      {"name":"now","description":"Tells the time.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{},"required":[]},"cache_control":{"type":"ephemeral"}}
    "##);
    let cases = [
        (
            "supportsEagerToolInputStreaming",
            false,
            0,
            "eager_input_streaming",
            Value::Null,
        ),
        (
            "supportsCacheControlOnTools",
            false,
            1,
            "cache_control",
            Value::Null,
        ),
        ("supportsStrictTools", true, 1, "strict", Value::Null),
    ];
    for (flag, value, tool, field, expected) in cases {
        let body = body(json!({"compat": {flag: value}}), options()).await;
        assert_eq!(body["tools"][tool][field], expected, "{flag}");
    }
}

#[tokio::test]
async fn strict_tools_keep_all_schema_keywords() {
    let messages = testing::full_conversation("mock", "anthropic-messages", "alpha");
    let strict = json!({"compat": {"supportsStrictTools": true}});
    let body = exchange(&request(strict, messages, options()))
        .await
        .body
        .into_value();
    assert_snapshot!(outline(&json!({"tools": body["tools"]})), @r##"
    tools:
      {"name":"read","description":"Reads a file.","eager_input_streaming":true,"strict":true,"input_schema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false}}
      {"name":"patch","description":"Applies a patch.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}
      {"name":"write","description":"Writes a file.","eager_input_streaming":true,"input_schema":{"type":"object","properties":{},"required":[]},"cache_control":{"type":"ephemeral"}}
    "##);
}

#[tokio::test]
async fn cache_markers_follow_the_retention() {
    let short = json!({"type": "ephemeral"});
    let long = json!({"type": "ephemeral", "ttl": "1h"});
    let no_long = json!({"compat": {"supportsLongCacheRetention": false}});
    let cases = [
        (json!({}), None, short.clone()),
        (json!({}), Some(CacheRetention::Short), short.clone()),
        (json!({}), Some(CacheRetention::Long), long),
        (no_long, Some(CacheRetention::Long), short),
        (json!({}), Some(CacheRetention::None), Value::Null),
    ];
    for (model, cache_retention, marker) in cases {
        let options = StreamOptions {
            cache_retention,
            ..options()
        };
        let body = body(model, options).await;
        assert_eq!(body["system"][0]["cache_control"], marker);
        assert_eq!(body["tools"][1]["cache_control"], marker);
        assert_eq!(body["tools"][0]["cache_control"], Value::Null);
        let last = &body["messages"][0]["content"];
        assert_eq!(last[0]["cache_control"], marker, "{cache_retention:?}");
    }
}

#[tokio::test]
async fn temperature_is_omitted_if_unsupported() {
    let cases = [
        (json!({}), ThinkingLevel::Off, json!(0.5)),
        (json!({}), ThinkingLevel::Low, Value::Null),
        (
            json!({"compat": {"supportsTemperature": false}}),
            ThinkingLevel::Off,
            Value::Null,
        ),
    ];
    for (model, reasoning, expected) in cases {
        let options = StreamOptions {
            reasoning,
            temperature: Some(0.5),
            ..options()
        };
        assert_eq!(body(model, options).await["temperature"], expected);
    }
}

#[tokio::test]
async fn options_of_the_caller_reach_the_body() {
    let caller_options = StreamOptions {
        metadata: serde_json::from_value(json!({"user_id": "u", "other": 1})).unwrap(),
        tool_choice: Some(ToolChoice::None),
        max_tokens: Some(100),
        ..options()
    };
    let model =
        json!({"compat": {"allowedFallbackModels": [{"provider": "mock", "model": "beta"}]}});
    let body_one = body(model, caller_options).await;
    assert_eq!(body_one["metadata"], json!({"user_id": "u"}));
    assert_eq!(body_one["tool_choice"], json!({"type": "none"}));
    assert_eq!(body_one["max_tokens"], 100);
    assert_eq!(body_one["fallbacks"], json!([{"model": "beta"}]));

    let forced = StreamOptions {
        provider_options: serde_json::from_value(
            json!({"toolChoice": {"type": "tool", "name": "read"}, "thinkingDisplay": "omitted",
                "thinkingBudgetTokens": 3000}),
        )
        .unwrap(),
        reasoning: ThinkingLevel::Low,
        ..options()
    };
    let body_two = body(json!({}), forced).await;
    assert_eq!(
        body_two["tool_choice"],
        json!({"type": "tool", "name": "read"})
    );
    assert_eq!(
        body_two["thinking"],
        json!({"type": "enabled", "budget_tokens": 3000, "display": "omitted"})
    );
}

#[tokio::test]
async fn blank_content_is_dropped_and_images_get_a_text() {
    let image = json!({"type": "image", "data": "x", "mimeType": "image/png"});
    let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {}});
    let result = |id: &str, content: Value| {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": content,
            "isError": false, "timestamp": NOW})
    };
    let messages = json!([
        {"role": "user", "content": "  ", "timestamp": NOW},
        {"role": "user", "content": [{"type": "text", "text": "\n"}], "timestamp": NOW},
        {"role": "user", "content": [{"type": "text", "text": " "}, image], "timestamp": NOW},
        {"role": "assistant", "api": "anthropic-messages", "provider": "mock", "model": "alpha",
            "stopReason": "toolUse", "timestamp": NOW, "content": [
                {"type": "text", "text": " "},
                {"type": "thinking", "thinking": ""},
                {"type": "thinking", "thinking": "unsigned", "thinkingSignature": " "},
                {"type": "thinking", "thinking": "", "thinkingSignature": "sig"},
                {"type": "thinking", "thinking": "", "redacted": true, "thinkingSignature": "data"},
                call("a"), call("b")]},
        result("a", json!([image])),
        result("b", json!([])),
        {"role": "user", "content": "next", "timestamp": NOW}
    ]);
    let body_of = async |compat: Value| {
        let request = request(json!({"compat": compat}), messages.clone(), options());
        exchange(&request).await.body.into_value()
    };
    assert_snapshot!(outline(&body_of(json!({})).await), @r##"
    model: "alpha"
    messages:
      {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"x"}}]}
      {"role":"assistant","content":[{"type":"text","text":"unsigned"},{"type":"thinking","thinking":"","signature":"sig"},{"type":"redacted_thinking","data":"data"},{"type":"tool_use","id":"a","name":"read","input":{}},{"type":"tool_use","id":"b","name":"read","input":{}}]}
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"(see attached image)"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"x"}}],"is_error":false},{"type":"tool_result","tool_use_id":"b","content":"","is_error":false}]}
      {"role":"user","content":[{"type":"text","text":"next","cache_control":{"type":"ephemeral"}}]}
    max_tokens: 8192
    stream: true
    thinking: {"type":"disabled"}
    "##);
    let lenient = body_of(json!({"allowEmptySignature": true})).await;
    assert_eq!(
        lenient["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "unsigned", "signature": ""})
    );
}

/// Returns the headers of a request as `name: value` lines.
async fn header_lines(model: Value, options: StreamOptions) -> Vec<String> {
    let messages = json!([{"role": "user", "content": "hi", "timestamp": NOW}]);
    let headers = exchange(&request(model, messages, options)).await.headers;
    headers
        .into_iter()
        .filter(|(name, _)| name != "accept" && name != "anthropic-version")
        .map(|(name, value)| format!("{name}: {}", value.unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn headers_authenticate_and_route() {
    let with_key = |key: &str| StreamOptions {
        api_key: Some(SecretString::from(key)),
        session_id: Some("s1".to_owned()),
        ..StreamOptions::default()
    };
    let uncached = StreamOptions {
        cache_retention: Some(CacheRetention::None),
        ..with_key("k")
    };
    let by_header = StreamOptions {
        headers: [("Authorization".to_owned(), Some("Bearer t".to_owned()))].into(),
        ..StreamOptions::default()
    };
    let affinity = json!({"compat": {"sendSessionAffinityHeaders": true}});
    let openrouter = json!({"baseUrl": "https://openrouter.ai/api"});
    let cases: [(Value, StreamOptions, &[&str]); 8] = [
        (json!({}), with_key("k"), &["x-api-key: k"]),
        (
            json!({}),
            with_key("sk-ant-oat-1"),
            &[
                "anthropic-beta: oauth-2025-04-20",
                "authorization: Bearer sk-ant-oat-1",
            ],
        ),
        (
            json!({"provider": "github-copilot"}),
            with_key("tid"),
            &[
                "Openai-Intent: conversation-edits",
                "X-Initiator: user",
                "authorization: Bearer tid",
            ],
        ),
        (json!({}), by_header, &[]),
        (
            affinity.clone(),
            with_key("k"),
            &["x-api-key: k", "x-session-affinity: s1"],
        ),
        (
            openrouter.clone(),
            with_key("k"),
            &["x-api-key: k", "x-session-id: s1"],
        ),
        (openrouter, uncached.clone(), &["x-api-key: k"]),
        (affinity, uncached, &["x-api-key: k"]),
    ];
    for (model, options, expected) in cases {
        let label = format!("{model}");
        assert_eq!(header_lines(model, options).await, expected, "{label}");
    }
}

#[tokio::test]
async fn a_beta_header_of_the_user_replaces_ours() {
    let thinking = |headers: Value, interleaved: bool| StreamOptions {
        reasoning: ThinkingLevel::Low,
        headers: serde_json::from_value(headers).unwrap(),
        provider_options: serde_json::from_value(json!({"interleavedThinking": interleaved}))
            .unwrap(),
        ..options()
    };
    let default_beta = "anthropic-beta: interleaved-thinking-2025-05-14";
    let key = "x-api-key: key";
    let by_model = json!({"headers": {"anthropic-beta": "theirs"}});
    let cases: [(Value, StreamOptions, &[&str]); 5] = [
        (json!({}), thinking(json!({}), true), &[default_beta, key]),
        (json!({}), thinking(json!({}), false), &[key]),
        (
            json!({}),
            thinking(json!({"Anthropic-Beta": "theirs"}), true),
            &[key],
        ),
        (
            json!({}),
            thinking(json!({"anthropic-beta": null}), true),
            &[key],
        ),
        (by_model, thinking(json!({}), true), &[key]),
    ];
    for (model, options, expected) in cases {
        assert_eq!(header_lines(model, options).await, expected);
    }
}

#[tokio::test]
async fn a_request_without_a_credential_is_an_error() {
    let request_without_credential = request(json!({}), json!([]), StreamOptions::default());
    let error = AnthropicMessages::default()
        .prepare(&request_without_credential)
        .await
        .unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert_eq!(error.message, "No API key for provider mock");
}

#[tokio::test]
async fn a_federated_token_authenticates_requests_to_anthropic_only() {
    let home = pi_test_support::TempHome::new();
    let identity = home.write("identity", "identity");
    let token = json!({"access_token": "federated-token", "expires_in": 600}).to_string();
    let reply = pi_test_support::ScriptedReply::full(200, &[], token);
    let service = pi_test_support::ScriptedServer::start([reply]).await;
    let protocol = AnthropicMessages::new(AnthropicFederation::new(HttpClient::new()));
    let workload = |provider: &str, api_key: Option<&str>| {
        let model = json!({"provider": provider, "baseUrl": service.url()});
        let options = StreamOptions {
            api_key: api_key.map(Into::into),
            ..StreamOptions::default()
        };
        let variables = [
            ("ANTHROPIC_FEDERATION_RULE_ID", "rule"),
            ("ANTHROPIC_ORGANIZATION_ID", "org"),
            ("ANTHROPIC_IDENTITY_TOKEN_FILE", identity.to_str().unwrap()),
        ];
        ModelRequest {
            env: Env::fixed(variables),
            ..request(model, json!([]), options)
        }
    };
    let exchange = protocol
        .prepare(&workload("anthropic", None))
        .await
        .unwrap();
    let header = |name: &str| exchange.headers[name].clone().unwrap();
    assert_eq!(header("authorization"), "Bearer federated-token");
    assert_eq!(header("anthropic-beta"), "oauth-2025-04-20");
    assert!(protocol.prepare(&workload("other", None)).await.is_err());
    let keyed = workload("anthropic", Some("key"));
    let keyed = protocol.prepare(&keyed).await.unwrap();
    assert!(!keyed.headers.contains_key("authorization"));
    assert_eq!(service.requests().len(), 1);
}
