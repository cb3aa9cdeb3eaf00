//! A complete request, then one rule at a time.

use pi_http::HeaderOverrides;
use pi_protocol::{CacheRetention, ThinkingLevel, ToolChoice, api};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::OpenAiCompletions;
use super::{body, exchange, hello, model, options};
use crate::options::StreamOptions;
use crate::wire::HttpProtocol;
use crate::wire::testing::{full_conversation, outline, request};

fn full_conversation_body(compat: &Value, source_model: &str) -> Value {
    let model = model(json!({"compat": compat}));
    let history = full_conversation("mock", api::OPENAI_COMPLETIONS, source_model);
    let options = StreamOptions {
        reasoning: ThinkingLevel::Medium,
        temperature: Some(0.5),
        tool_choice: Some(ToolChoice::Auto),
        ..options()
    };
    exchange(&request(model, history, options))
        .body
        .into_value()
}

#[test]
fn full_conversation_as_own_history() {
    let compat = json!({"supportsStrictMode": true, "supportsOpenAIGrammarTools": true,
        "supportsMidConvoSystemMessages": true, "supportsMidConvoToolAdditions": true});
    insta::assert_snapshot!(outline(&full_conversation_body(&compat, "alpha")), @r#"
    model: "alpha"
    messages:
      {"role":"developer","content":"You are precise.\n\n<cwd>/tmp</cwd>"}
      {"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image_url","image_url":{"url":"data:image/png;base64,PNG"}}]}
      {"role":"assistant","content":"Reading.","tool_calls":[{"id":"call_1|fc_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"call_2|fc_2","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}}]}
      {"role":"tool","content":"A","tool_call_id":"call_1|fc_1"}
      {"role":"tool","content":"no such file","tool_call_id":"call_2|fc_2"}
      {"role":"user","content":[{"type":"text","text":"Tool result images:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,PNG"}}]}
      {"role":"system","tools":[{"type":"function","function":{"name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}},"strict":false}}]}
      {"role":"developer","content":"Be brief from here.\n\nThe system prompt section \"cwd\" is replaced by:\n\n<cwd>/home</cwd>"}
      {"role":"user","content":"and now?"}
      {"role":"user","content":"go on"}
      {"role":"assistant","content":null,"tool_calls":[{"id":"call_3|fc_3","type":"function","function":{"name":"read","arguments":"{\"path\":\"c\"}"}}]}
      {"role":"tool","content":"No result: this call was interrupted, and the tool may not have run.","tool_call_id":"call_3|fc_3"}
      {"role":"user","content":"never mind the file"}
    stream: true
    stream_options: {"include_usage":true}
    store: false
    max_completion_tokens: 8192
    temperature: 0.5
    tools:
      {"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false},"strict":true}}
      {"type":"custom","custom":{"name":"patch","description":"Applies a patch.","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: /.+/"}}}}
    tool_choice: "auto"
    reasoning_effort: "medium"
    "#);
}

#[test]
fn full_conversation_as_hand_off() {
    insta::assert_snapshot!(outline(&full_conversation_body(&json!({}), "another")), @r#"
    model: "alpha"
    messages:
      {"role":"developer","content":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}
      {"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image_url","image_url":{"url":"data:image/png;base64,PNG"}}]}
      {"role":"assistant","content":"Reading.","tool_calls":[{"id":"call_1_fc_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"call_2_fc_2","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}}]}
      {"role":"tool","content":"A","tool_call_id":"call_1_fc_1"}
      {"role":"tool","content":"no such file","tool_call_id":"call_2_fc_2"}
      {"role":"user","content":[{"type":"text","text":"Tool result images:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,PNG"}}]}
      {"role":"user","content":"and now?"}
      {"role":"user","content":"go on"}
      {"role":"assistant","content":null,"tool_calls":[{"id":"call_3_fc_3","type":"function","function":{"name":"read","arguments":"{\"path\":\"c\"}"}}]}
      {"role":"tool","content":"No result: this call was interrupted, and the tool may not have run.","tool_call_id":"call_3_fc_3"}
      {"role":"user","content":"never mind the file"}
    stream: true
    stream_options: {"include_usage":true}
    store: false
    max_completion_tokens: 8192
    temperature: 0.5
    tools:
      {"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}}
      {"type":"function","function":{"name":"patch","description":"Applies a patch.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}
      {"type":"function","function":{"name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}}}}
    tool_choice: "auto"
    reasoning_effort: "medium"
    "#);
}

#[test]
fn full_conversation_for_a_legacy_service() {
    let compat = json!({"requiresToolResultName": true, "requiresAssistantAfterToolResult": true,
        "requiresThinkingAsText": true, "supportsDeveloperRole": false, "supportsStore": false,
        "supportsUsageInStreaming": false, "maxTokensField": "max_tokens",
        "cacheControlFormat": "anthropic", "requiresReasoningContentOnAssistantMessages": true});
    insta::assert_snapshot!(outline(&full_conversation_body(&compat, "alpha")), @r#"
    model: "alpha"
    messages:
      {"role":"system","content":[{"type":"text","text":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>","cache_control":{"type":"ephemeral"}}]}
      {"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image_url","image_url":{"url":"data:image/png;base64,PNG"}}]}
      {"role":"assistant","content":[{"type":"text","text":"two reads"},{"type":"text","text":"Reading."}],"reasoning_content":"","tool_calls":[{"id":"call_1|fc_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"call_2|fc_2","type":"function","function":{"name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}}]}
      {"role":"tool","content":"A","tool_call_id":"call_1|fc_1","name":"read"}
      {"role":"tool","content":"no such file","tool_call_id":"call_2|fc_2","name":"read"}
      {"role":"assistant","content":"Tool results received."}
      {"role":"user","content":[{"type":"text","text":"Tool result images:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,PNG"}}]}
      {"role":"user","content":"and now?"}
      {"role":"user","content":"go on"}
      {"role":"assistant","content":"","reasoning_content":"","tool_calls":[{"id":"call_3|fc_3","type":"function","function":{"name":"read","arguments":"{\"path\":\"c\"}"}}]}
      {"role":"tool","content":"No result: this call was interrupted, and the tool may not have run.","tool_call_id":"call_3|fc_3","name":"read"}
      {"role":"assistant","content":"Tool results received."}
      {"role":"user","content":[{"type":"text","text":"never mind the file","cache_control":{"type":"ephemeral"}}]}
    stream: true
    max_tokens: 8192
    temperature: 0.5
    tools:
      {"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}}
      {"type":"function","function":{"name":"patch","description":"Applies a patch.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}
      {"type":"function","function":{"name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}}},"cache_control":{"type":"ephemeral"}}
    tool_choice: "auto"
    reasoning_effort: "medium"
    "#);
}

/// The messages of a conversation, without its instructions.
fn messages(model_fields: Value, conversation: Value) -> Value {
    let sent = exchange(&request(model(model_fields), conversation, options()))
        .body
        .into_value();
    sent["messages"].clone()
}

fn assistant(content: impl Into<Value>) -> Value {
    let content = content.into();
    json!({"role": "assistant", "content": content, "api": api::OPENAI_COMPLETIONS,
        "provider": "mock", "model": "alpha", "stopReason": "stop"})
}

#[test]
fn thinking_is_replayed_under_its_original_field() {
    let thinking = |signature: Value| {
        json!([
            {"type": "thinking", "thinking": "one", "thinkingSignature": signature},
            {"type": "thinking", "thinking": "two"},
            {"type": "text", "text": "said"}
        ])
    };
    let details = json!([{"type": "reasoning.text", "text": "one", "kept": true}]);
    let rows = [
        (json!("reasoning"), json!({"reasoning": "one\ntwo"})),
        (
            json!("reasoning_content"),
            json!({"reasoning_content": "one\ntwo"}),
        ),
        (
            json!("reasoning_text"),
            json!({"reasoning_text": "one\ntwo"}),
        ),
        (json!("c2lnbmF0dXJl"), json!({})),
        (
            json!(details.to_string()),
            json!({"reasoning_details": details}),
        ),
        (json!(r#"[{"type":"bogus"}]"#), json!({})),
        (json!("[]"), json!({})),
    ];
    for (signature, fields) in rows {
        let sent = messages(json!({}), json!([assistant(thinking(signature.clone()))]));
        let mut expected = json!({"role": "assistant", "content": "said"});
        expected
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        assert_eq!(sent, json!([expected]), "{signature}");
    }
}

#[test]
fn encrypted_details_of_older_sessions_are_replayed() {
    let encrypted = json!({"type": "reasoning.encrypted", "id": "e1", "data": "AAA"});
    let call = |signature: Value| {
        json!({"type": "toolCall", "id": "c1", "name": "read", "arguments": {},
            "thoughtSignature": signature.to_string()})
    };
    let sent = messages(
        json!({}),
        json!([assistant(json!([call(encrypted.clone())]))]),
    );
    assert_eq!(sent[0]["reasoning_details"], json!([encrypted]));
    let nameless = json!({"type": "reasoning.encrypted", "data": "AAA"});
    let sent = messages(json!({}), json!([assistant(json!([call(nameless)]))]));
    assert_eq!(sent[0].get("reasoning_details"), None);
}

#[test]
fn open_code_go_accepts_reasoning_content_only() {
    let mut turn = assistant(json!([
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning"},
        {"type": "text", "text": "said"}
    ]));
    turn["provider"] = "opencode-go".into();
    let sent = messages(json!({"provider": "opencode-go"}), json!([turn]));
    assert_eq!(
        sent,
        json!([{"role": "assistant", "content": "said", "reasoning_content": "hm"}])
    );
}

#[test]
fn messages_without_content_are_dropped() {
    let sent = messages(
        json!({}),
        json!([
            {"role": "system", "content": ""},
            {"role": "user", "content": [{"type": "text", "text": ""}]},
            assistant(json!([{"type": "text", "text": " \n"}])),
            {"role": "user", "content": [{"type": "unheard", "of": 1}, {"type": "text", "text": "x"}]}
        ]),
    );
    assert_eq!(
        sent,
        json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}])
    );
}

#[test]
fn results_without_text_get_a_placeholder() {
    let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {}});
    let result = |id: &str, content: Value| {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": content,
            "isError": false})
    };
    let image = json!({"type": "image", "data": "AA", "mimeType": "image/png"});
    let conversation = json!([
        assistant(json!([call("a"), call("b")])),
        result("a", json!([])),
        result("b", json!([image]))
    ]);
    let sent = messages(json!({}), conversation);
    let images = json!([
        {"type": "text", "text": "Tool result images:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    ]);
    assert_eq!(
        sent.as_array().unwrap()[1..],
        [
            json!({"role": "tool", "content": "(no tool output)", "tool_call_id": "a"}),
            json!({"role": "tool", "content": "(see attached image)",
                "tool_call_id": "b"}),
            json!({"role": "user", "content": images}),
        ]
    );
}

#[test]
fn a_history_with_calls_always_has_a_tool_list() {
    let call = json!({"type": "toolCall", "id": "a", "name": "read", "arguments": {}});
    let sent = exchange(&request(
        model(json!({})),
        json!([assistant(json!([call]))]),
        options(),
    ));
    assert_eq!(sent.body.into_value()["tools"], json!([]));
    let plain = json!([{"role": "user", "content": "hi"}]);
    let sent = exchange(&request(model(json!({})), plain, options()));
    assert_eq!(sent.body.into_value().get("tools"), None);
}

#[test]
fn caching_depends_on_the_service_and_the_retention() {
    use CacheRetention::{Long, None, Short};
    let openai = json!({"baseUrl": "https://api.openai.com/v1"});
    let no_long = json!({"compat": {"supportsLongCacheRetention": false}});
    let rows = [
        (&openai, None, false, false),
        (&openai, Short, true, false),
        (&openai, Long, true, true),
        (&json!({}), Short, false, false),
        (&json!({}), Long, true, true),
        (&no_long, Long, false, false),
    ];
    for (fields, retention, has_key, is_long) in rows {
        let options = StreamOptions {
            cache_retention: Some(retention),
            session_id: Some("s".repeat(70)),
            ..options()
        };
        let body = body(model(fields.clone()), options);
        let key = body.get("prompt_cache_key").and_then(Value::as_str);
        assert_eq!(
            key,
            has_key.then_some(&*"s".repeat(64)),
            "{fields} {retention:?}"
        );
        let retention_field = body.get("prompt_cache_retention").and_then(Value::as_str);
        assert_eq!(
            retention_field,
            is_long.then_some("24h"),
            "{fields} {retention:?}"
        );
    }
}

#[test]
fn cache_markers_are_on_prompt_tools_and_the_last_text() {
    let marking = |retention, compat: Value| {
        let options = StreamOptions {
            cache_retention: Some(retention),
            ..options()
        };
        let body = body(model(json!({"compat": compat})), options);
        [
            body["messages"][0]["content"][0]["cache_control"].clone(),
            body["tools"][0]["cache_control"].clone(),
            body["messages"][1]["content"][0]["cache_control"].clone(),
        ]
    };
    let anthropic = json!({"cacheControlFormat": "anthropic"});
    let short = json!({"type": "ephemeral"});
    let long = json!({"type": "ephemeral", "ttl": "1h"});
    let three_times = |mark: &Value| [mark.clone(), mark.clone(), mark.clone()];
    assert_eq!(
        marking(CacheRetention::Short, anthropic.clone()),
        three_times(&short)
    );
    assert_eq!(
        marking(CacheRetention::Long, anthropic.clone()),
        three_times(&long)
    );
    assert_eq!(
        marking(CacheRetention::None, anthropic),
        three_times(&Value::Null)
    );
    assert_eq!(
        marking(CacheRetention::Short, json!({})),
        three_times(&Value::Null)
    );
}

fn sent_headers(fields: Value, options: StreamOptions) -> HeaderOverrides {
    exchange(&hello(model(fields), options)).headers
}

fn header_names(fields: Value, options: StreamOptions) -> Vec<String> {
    sent_headers(fields, options).into_keys().collect()
}

#[test]
fn the_session_is_sent_in_the_headers_of_the_service() {
    let sending = |format: Value| json!({"compat": {"sendSessionAffinityHeaders": true, "sessionAffinityFormat": format}});
    let rows: [(Value, &[&str]); 7] = [
        (json!({}), &["authorization"]),
        (
            sending(json!("openai")),
            &[
                "authorization",
                "session_id",
                "x-client-request-id",
                "x-session-affinity",
            ],
        ),
        (
            sending(json!("openai-nosession")),
            &["authorization", "x-client-request-id", "x-session-affinity"],
        ),
        (
            sending(json!("openrouter")),
            &["authorization", "x-session-id"],
        ),
        (
            json!({"provider": "openrouter"}),
            &["authorization", "x-session-id"],
        ),
        (
            json!({"provider": "opencode"}),
            &["authorization", "x-opencode-session"],
        ),
        (
            json!({"provider": "opencode-go"}),
            &["authorization", "x-opencode-session"],
        ),
    ];
    for (fields, expected) in rows {
        assert_eq!(
            header_names(fields.clone(), options()),
            expected,
            "{fields}"
        );
    }
    let uncached = || StreamOptions {
        cache_retention: Some(CacheRetention::None),
        ..options()
    };
    assert_eq!(
        header_names(sending(json!("openai")), uncached()),
        ["authorization"]
    );
    assert_eq!(
        header_names(json!({"provider": "opencode"}), uncached()),
        ["authorization", "x-opencode-session"]
    );
}

#[test]
fn copilot_gets_its_headers() {
    let headers = sent_headers(json!({"provider": "github-copilot"}), options());
    let initiator = headers.get("X-Initiator").cloned().flatten();
    assert_eq!(initiator.as_deref(), Some("user"));
    assert!(!sent_headers(json!({}), options()).contains_key("X-Initiator"));
}

#[test]
fn a_key_is_required_unless_a_header_authorizes() {
    let bearer = sent_headers(json!({}), options());
    assert_eq!(bearer["authorization"].as_deref(), Some("Bearer key"));
    let keyless = |headers: &[(&str, Option<&str>)]| StreamOptions {
        api_key: None,
        session_id: None,
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
            .collect(),
        ..options()
    };
    let refused = |options: StreamOptions| {
        let prepared = hello(model(json!({})), options);
        let mut future = std::pin::pin!(OpenAiCompletions.prepare(&prepared));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(Err(error)) => Some(error.message),
            _ => None,
        }
    };
    let decoded = Some("No API key for provider mock".to_owned());
    assert_eq!(refused(keyless(&[])), decoded);
    assert_eq!(refused(keyless(&[("Authorization", None)])), decoded);
    assert_eq!(refused(keyless(&[("Authorization", Some(" "))])), decoded);
    assert_eq!(
        refused(keyless(&[("Authorization", Some("Basic x"))])),
        None
    );
    assert_eq!(
        refused(keyless(&[("cf-aig-authorization", Some("Bearer x"))])),
        None
    );
    let by_model = json!({"headers": {"Authorization": "Basic x"}});
    assert_eq!(header_names(by_model, keyless(&[])), Vec::<String>::new());
}

#[test]
fn the_url_ends_with_the_endpoint() {
    for (base, expected) in [
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
    ] {
        let request = hello(model(json!({"baseUrl": base})), options());
        assert_eq!(exchange(&request).url, expected);
    }
}

#[test]
fn flags_add_their_fields() {
    let rows = [
        (
            json!({"openRouterRouting": {"only": ["x"]}}),
            "provider",
            json!({"only": ["x"]}),
        ),
        (json!({"openRouterRouting": {}}), "provider", json!({})),
        (
            json!({"vercelGatewayRouting": {"only": ["x"], "order": ["y"], "sort": 1}}),
            "providerOptions",
            json!({"gateway": {"only": ["x"], "order": ["y"]}}),
        ),
        (
            json!({"vercelGatewayRouting": {}}),
            "providerOptions",
            Value::Null,
        ),
        (json!({"zaiToolStream": true}), "tool_stream", json!(true)),
        (json!({"vllmPriority": -2}), "priority", json!(-2)),
        (json!({}), "store", json!(false)),
        (json!({"supportsStore": false}), "store", Value::Null),
        (json!({}), "stream_options", json!({"include_usage": true})),
        (
            json!({"supportsUsageInStreaming": false}),
            "stream_options",
            Value::Null,
        ),
        (
            json!({"maxTokensField": "max_tokens"}),
            "max_tokens",
            json!(8192),
        ),
        (
            json!({"maxTokensField": "max_tokens"}),
            "max_completion_tokens",
            Value::Null,
        ),
    ];
    for (compat, field, expected) in rows {
        let body = body(model(json!({"compat": compat})), options());
        assert_eq!(body[field], expected, "{compat} {field}");
    }
    for (compat, expected) in [
        (json!({}), Value::Null),
        (json!({"supportsStrictMode": true}), json!(false)),
    ] {
        let body = body(model(json!({"compat": compat})), options());
        assert_eq!(body["tools"][0]["function"]["strict"], expected, "{compat}");
    }
}

#[test]
fn the_tool_choice_option_of_the_api_wins() {
    let choice = json!({"type": "function", "function": {"name": "read"}});
    let mut options = StreamOptions {
        tool_choice: Some(ToolChoice::None),
        ..options()
    };
    assert_eq!(
        body(model(json!({})), options.clone())["tool_choice"],
        "none"
    );
    options
        .provider_options
        .insert("toolChoice".into(), choice.clone());
    assert_eq!(body(model(json!({})), options)["tool_choice"], choice);
}

#[test]
fn sampling_parameters_override_everything() {
    let model = model(json!({"samplingParams": {"top_p": 0.1, "top_k": 5, "store": true}}));
    let sampling = json!({"top_p": 0.9, "temperature": 0.2});
    let options = StreamOptions {
        temperature: Some(1.0),
        sampling_params: sampling.as_object().cloned(),
        ..options()
    };
    let body = body(model, options);
    assert_eq!(body["top_p"], 0.9);
    assert_eq!(body["top_k"], 5);
    assert_eq!(body["store"], true);
    assert_eq!(body["temperature"], 0.2);
}
