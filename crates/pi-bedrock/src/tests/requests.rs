use insta::assert_snapshot;
use pi_env::Env;
use pi_protocol::{CacheRetention, ThinkingLevel, ToolChoice};
use pi_providers::wire::testing::{self, NOW, outline};
use pi_providers::wire::{HttpExchange, HttpProtocol};
use pi_providers::{ModelRequest, StreamOptions};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::BedrockConverse;

const SONNET: &str = "us.anthropic.claude-sonnet-4-5-v1:0";
const OPUS: &str = "us.anthropic.claude-opus-4-8-v1";

fn request(model: Value, messages: Value, options: StreamOptions) -> ModelRequest {
    testing::request(
        testing::model("bedrock-converse-stream", model),
        messages,
        options,
    )
}

async fn exchange(request: &ModelRequest) -> HttpExchange {
    BedrockConverse::default().prepare(request).await.unwrap()
}

/// Builds a request with one short prompt and returns its body.
async fn body(model: Value, options: StreamOptions) -> Value {
    let prompt = json!([
        {"role": "system", "content": "Be brief.", "toolsAdded": [
            {"name": "read", "description": "Reads.", "parameters": {"type": "object",
                "properties": {"path": {"type": "string"}}, "required": ["path"]},
                "constrainedSampling": {"type": "json_schema", "strict": "prefer"}}
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
    let messages = testing::full_conversation("mock", "bedrock-converse-stream", SONNET);
    let exchange = exchange(&request(
        json!({"id": SONNET}),
        messages,
        StreamOptions::default(),
    ))
    .await;
    assert_eq!(
        exchange.url,
        "http://127.0.0.1:9/model/us.anthropic.claude-sonnet-4-5-v1%3A0/converse-stream"
    );
    assert_snapshot!(outline(&exchange.body.into_value()), @r##"
    messages:
      {"role":"user","content":[{"text":"look at this"},{"image":{"source":{"bytes":"PNG"},"format":"png"}}]}
      {"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"two reads","signature":"c2lnbmF0dXJl"}}},{"text":"Reading."},{"toolUse":{"toolUseId":"call_1|fc_1","name":"read","input":{"path":"a"}}},{"toolUse":{"toolUseId":"call_2|fc_2","name":"read","input":{"path":"b","limit":2}}}]}
      {"role":"user","content":[{"toolResult":{"toolUseId":"call_1|fc_1","content":[{"text":"A"},{"image":{"source":{"bytes":"PNG"},"format":"png"}}],"status":"success"}},{"toolResult":{"toolUseId":"call_2|fc_2","content":[{"text":"no such file"}],"status":"error"}},{"text":"and now?"},{"text":"go on"}]}
      {"role":"assistant","content":[{"toolUse":{"toolUseId":"call_3|fc_3","name":"read","input":{"path":"c"}}}]}
      {"role":"user","content":[{"toolResult":{"toolUseId":"call_3|fc_3","content":[{"text":"No result: this call was interrupted, and the tool may not have run."}],"status":"error"}},{"text":"never mind the file"},{"cachePoint":{"type":"default"}}]}
    system:
      {"text":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}
      {"cachePoint":{"type":"default"}}
    inferenceConfig: {"maxTokens":8192}
    toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Reads a file.","inputSchema":{"json":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}}},{"toolSpec":{"name":"patch","description":"Applies a patch.","inputSchema":{"json":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}},{"toolSpec":{"name":"write","description":"Writes a file.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}
    "##);
}

#[tokio::test]
async fn full_conversation_as_hand_off() {
    let messages = testing::full_conversation("elsewhere", "openai-responses", "omega");
    let exchange = exchange(&request(json!({}), messages, StreamOptions::default())).await;
    assert_snapshot!(outline(&exchange.body.into_value()), @r##"
    messages:
      {"role":"user","content":[{"text":"look at this"},{"image":{"source":{"bytes":"PNG"},"format":"png"}}]}
      {"role":"assistant","content":[{"text":"Reading."},{"toolUse":{"toolUseId":"call_1_fc_1","name":"read","input":{"path":"a"}}},{"toolUse":{"toolUseId":"call_2_fc_2","name":"read","input":{"path":"b","limit":2}}}]}
      {"role":"user","content":[{"toolResult":{"toolUseId":"call_1_fc_1","content":[{"text":"A"},{"image":{"source":{"bytes":"PNG"},"format":"png"}}],"status":"success"}},{"toolResult":{"toolUseId":"call_2_fc_2","content":[{"text":"no such file"}],"status":"error"}},{"text":"and now?"},{"text":"go on"}]}
      {"role":"assistant","content":[{"toolUse":{"toolUseId":"call_3_fc_3","name":"read","input":{"path":"c"}}}]}
      {"role":"user","content":[{"toolResult":{"toolUseId":"call_3_fc_3","content":[{"text":"No result: this call was interrupted, and the tool may not have run."}],"status":"error"}},{"text":"never mind the file"}]}
    system:
      {"text":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}
    inferenceConfig: {"maxTokens":8192}
    toolConfig: {"tools":[{"toolSpec":{"name":"read","description":"Reads a file.","inputSchema":{"json":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}}},{"toolSpec":{"name":"patch","description":"Applies a patch.","inputSchema":{"json":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}}},{"toolSpec":{"name":"write","description":"Writes a file.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}
    "##);
}

#[tokio::test]
async fn thinking_settings_depend_on_the_vendor() {
    let beta = json!(["interleaved-thinking-2025-05-14"]);
    let budget = |tokens: u64| {
        json!({"thinking": {"type": "enabled", "budget_tokens": tokens,
        "display": "summarized"}, "anthropic_beta": beta})
    };
    let adaptive = |effort: &str| {
        json!({"thinking": {"type": "adaptive", "display": "summarized",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"}},
        "output_config": {"effort": effort},
        "anthropic_beta": ["thinking-binding-controls-2026-08-01"]})
    };
    let gpt = json!({"id": "openai.gpt-6.1-sol", "thinkingLevelMap": {"max": "xhigh"}});
    let oss = json!({"id": "openai.gpt-oss-120b-1:0", "thinkingLevelMap": {"low": "other"}});
    let sonnet = json!({"id": SONNET, "maxTokens": 32000});
    let opus = json!({"id": OPUS, "maxTokens": 32000});
    let mapped = json!({"id": OPUS, "thinkingLevelMap": {"max": "max"}});
    let cases = [
        (
            json!({"id": "amazon.nova-pro-v1:0"}),
            ThinkingLevel::High,
            Value::Null,
        ),
        (
            json!({"id": "us.anthropic.claude-opus-4-6-v1"}),
            ThinkingLevel::High,
            json!({"thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "high"}}),
        ),
        (
            gpt.clone(),
            ThinkingLevel::Minimal,
            json!({"reasoning": {"effort": "low"}}),
        ),
        (
            gpt,
            ThinkingLevel::Max,
            json!({"reasoning": {"effort": "xhigh"}}),
        ),
        (
            oss.clone(),
            ThinkingLevel::Low,
            json!({"reasoning_effort": "low"}),
        ),
        (oss, ThinkingLevel::Max, json!({"reasoning_effort": "high"})),
        (sonnet.clone(), ThinkingLevel::Off, Value::Null),
        (
            json!({"id": SONNET, "reasoning": false}),
            ThinkingLevel::High,
            Value::Null,
        ),
        (sonnet.clone(), ThinkingLevel::Medium, budget(8192)),
        (sonnet, ThinkingLevel::Max, budget(16384)),
        (opus.clone(), ThinkingLevel::Minimal, adaptive("low")),
        (opus.clone(), ThinkingLevel::Xhigh, adaptive("xhigh")),
        (opus, ThinkingLevel::Max, adaptive("high")),
        (mapped, ThinkingLevel::Max, adaptive("max")),
        (
            json!({"id": "us-gov.anthropic.claude-opus-4-8-v1"}),
            ThinkingLevel::Low,
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        ),
    ];
    for (model, reasoning, expected) in cases {
        let label = format!("{model} {reasoning:?}");
        let options = StreamOptions {
            reasoning,
            temperature: Some(0.5),
            ..StreamOptions::default()
        };
        let body = body(model, options).await;
        let fields = &body["additionalModelRequestFields"];
        assert_eq!(fields, &expected, "{label}");
        let temperature = &body["inferenceConfig"]["temperature"];
        assert_eq!(
            temperature.is_null(),
            !fields["thinking"].is_null(),
            "{label}"
        );
    }
}

#[tokio::test]
async fn images_of_an_error_follow_the_results_for_claude() {
    let call = |id: &str| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {}});
    let result = |id: &str, is_error: bool, content: Value| {
        json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "isError": is_error,
            "content": content, "timestamp": NOW})
    };
    let image = json!({"type": "image", "mimeType": "image/png", "data": "QUJD"});
    let text = json!({"type": "text", "text": "failed"});
    let messages = json!([
        {"role": "user", "content": "hi", "timestamp": NOW},
        {"role": "assistant", "content": [call("c1"), call("c2")], "api": "bedrock-converse-stream",
            "provider": "mock", "model": SONNET, "usage": {}, "stopReason": "toolUse", "timestamp": NOW},
        result("c1", true, json!([text, image, image])),
        result("c2", false, json!([image])),
        {"role": "user", "content": "go on", "timestamp": NOW},
    ]);
    let contents = |model: &str| {
        let request = request(
            json!({"id": model, "input": ["text", "image"]}),
            messages.clone(),
            StreamOptions::default(),
        );
        async move { exchange(&request).await.body.into_value()["messages"][2]["content"].clone() }
    };
    let sent = json!({"image": {"source": {"bytes": "QUJD"}, "format": "png"}});
    let claude = contents(SONNET).await;
    assert_eq!(
        claude[0]["toolResult"]["content"],
        json!([{"text": "failed"}, {"text": "(image attached after the tool results)"}])
    );
    assert_eq!(claude[1]["toolResult"]["content"], json!([sent]));
    assert_eq!(
        claude[2],
        json!({"text": "Images of the failed tool call c1 (read):"})
    );
    assert_eq!((&claude[3], &claude[4]), (&sent, &sent));
    assert_eq!(claude[5]["text"], "go on");
    let other = contents("amazon.nova-pro-v1:0").await;
    assert_eq!(
        other[0]["toolResult"]["content"],
        json!([{"text": "failed"}, sent, sent])
    );
}

#[tokio::test]
async fn preferred_strictness_is_dropped_when_it_exceeds_a_limit() {
    let prompt = json!([
        {"role": "system", "content": "", "toolsAdded": [
            {"name": "read", "description": "Reads.", "parameters": {"type": "object"},
                "constrainedSampling": {"type": "json_schema", "strict": "prefer"}},
        ], "timestamp": NOW},
        {"role": "user", "content": "hi", "timestamp": NOW}
    ]);
    let model = json!({"id": SONNET, "compat": {"supportsStrictMode": true}});
    let request = request(model, prompt, StreamOptions::default());
    let strict = |body: Value| body["toolConfig"]["tools"][0]["toolSpec"]["strict"].clone();
    assert_eq!(strict(exchange(&request).await.body.into_value()), true);
    let head = |status| pi_http::ResponseHead {
        status,
        headers: std::collections::BTreeMap::new(),
    };
    let protocol = BedrockConverse::default();
    let limit = r#"{"message":"Too many strict tools (21)"}"#;
    for (status, body) in [(400, r#"{"message":"other"}"#), (500, limit)] {
        assert!(protocol.fallback(&request, &head(status), body).is_none());
    }
    let (relaxed, diagnostic) = protocol.fallback(&request, &head(400), limit).unwrap();
    assert_eq!(
        strict(exchange(&relaxed).await.body.into_value()),
        Value::Null
    );
    assert_eq!(diagnostic.kind, "bedrock_strict_tools_fallback");
    assert!(protocol.fallback(&relaxed, &head(400), limit).is_none());
}

#[tokio::test]
async fn cache_points_follow_model_and_retention() {
    let point = json!({"cachePoint": {"type": "default"}});
    let long = json!({"cachePoint": {"type": "default", "ttl": "1h"}});
    let cases = [
        (SONNET, None, point),
        (SONNET, Some(CacheRetention::Long), long),
        (SONNET, Some(CacheRetention::None), Value::Null),
        ("amazon.nova-pro-v1:0", None, Value::Null),
    ];
    for (id, cache_retention, expected) in cases {
        let options = StreamOptions {
            cache_retention,
            ..StreamOptions::default()
        };
        let body = body(json!({"id": id}), options).await;
        assert_eq!(body["system"][1], expected, "{id}");
        assert_eq!(body["messages"][0]["content"][1], expected, "{id}");
    }
}

#[tokio::test]
async fn tool_settings_of_the_caller_are_applied() {
    let with = |choice: Value| StreamOptions {
        provider_options: [("toolChoice".to_owned(), choice)].into_iter().collect(),
        ..StreamOptions::default()
    };
    let general = |tool_choice| StreamOptions {
        tool_choice: Some(tool_choice),
        ..StreamOptions::default()
    };
    let forced = json!({"type": "tool", "name": "read"});
    let cases = [
        (StreamOptions::default(), Value::Null),
        (general(ToolChoice::Auto), json!({"auto": {}})),
        (with(json!("any")), json!({"any": {}})),
        (with(forced), json!({"tool": {"name": "read"}})),
    ];
    for (options, choice) in cases {
        let body = body(json!({}), options).await;
        assert_eq!(body["toolConfig"]["toolChoice"], choice);
        assert_eq!(body["toolConfig"]["tools"].as_array().unwrap().len(), 1);
    }
    for options in [general(ToolChoice::None), with(json!("none"))] {
        assert_eq!(body(json!({}), options).await["toolConfig"], Value::Null);
    }
    let strict = body(
        json!({"compat": {"supportsStrictMode": true}}),
        StreamOptions::default(),
    )
    .await;
    assert_eq!(strict["toolConfig"]["tools"][0]["toolSpec"]["strict"], true);
}

#[tokio::test]
async fn a_history_with_calls_keeps_its_tools_declared() {
    let messages = testing::full_conversation("mock", "bedrock-converse-stream", "alpha");
    let options = StreamOptions {
        tool_choice: Some(ToolChoice::None),
        ..StreamOptions::default()
    };
    let body = exchange(&request(json!({}), messages, options))
        .await
        .body
        .into_value();
    assert_eq!(body["toolConfig"]["tools"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn unsupported_content_is_adapted() {
    let assistant = json!({"role": "assistant", "api": "bedrock-converse-stream", "provider": "mock",
        "model": SONNET, "stopReason": "toolUse", "timestamp": NOW, "content": [
            {"type": "text", "text": " "},
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "thinking", "thinking": "", "redacted": true, "thinkingSignature": "b3BhcXVl"},
            {"type": "thinking", "thinking": "", "redacted": true, "thinkingSignature": "not base64"},
            {"type": "toolCall", "id": "a", "name": "read",
                "arguments": {"": 1, "nested": [{"": 2, "kept": null}]}}]});
    let messages = json!([
        {"role": "user", "content": " ", "timestamp": NOW},
        {"role": "user", "content": [], "timestamp": NOW},
        assistant,
        {"role": "toolResult", "toolCallId": "a", "toolName": "read", "content": [],
            "isError": false, "timestamp": NOW},
    ]);
    let options = StreamOptions {
        provider_options: serde_json::from_value(json!({"requestMetadata": {"team": "x"}}))
            .unwrap(),
        cache_retention: Some(CacheRetention::None),
        ..StreamOptions::default()
    };
    let exchange = exchange(&request(json!({"id": SONNET}), messages, options)).await;
    assert_snapshot!(outline(&exchange.body.into_value()), @r##"
    messages:
      {"role":"user","content":[{"text":"<empty>"},{"text":"<empty>"}]}
      {"role":"assistant","content":[{"text":"unsigned"},{"reasoningContent":{"redactedContent":"b3BhcXVl"}},{"toolUse":{"toolUseId":"a","name":"read","input":{"nested":[{"kept":null}]}}}]}
      {"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"<empty>"}],"status":"success"}}]}
    inferenceConfig: {"maxTokens":8192}
    requestMetadata: {"team":"x"}
    "##);
}

#[tokio::test]
async fn an_image_of_an_unknown_type_is_an_error() {
    let messages = json!([{"role": "user", "timestamp": NOW,
        "content": [{"type": "image", "data": "", "mimeType": "image/tiff"}]}]);
    let request = request(json!({}), messages, StreamOptions::default());
    let error = BedrockConverse::default()
        .prepare(&request)
        .await
        .unwrap_err();
    assert_eq!(
        error.message,
        "Bedrock does not support images of type image/tiff"
    );
}

/// Model ID, base URL, variables and expected URL.
type Case<'case> = (
    &'case str,
    &'case str,
    &'case [(&'case str, &'case str)],
    String,
);

#[tokio::test]
async fn region_and_url_follow_the_configuration() {
    let aws = "https://bedrock-runtime.us-east-1.amazonaws.com";
    let regional = |region: &str| format!("https://bedrock-runtime.{region}.amazonaws.com");
    let arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc";
    let home = TempHome::new();
    home.write(
        ".aws/config",
        "[profile team]\nregion = eu-north-1\n[profile bare]\n",
    );
    let at_home = ("HOME", home.path().to_str().unwrap());
    let custom = "https://gateway.example/bedrock";
    let fips = "https://bedrock-runtime-fips.us-west-2.amazonaws.com";
    let cases: [Case<'_>; 11] = [
        ("m", aws, &[], aws.to_owned()),
        ("m", "", &[], aws.to_owned()),
        (
            "m",
            aws,
            &[("AWS_REGION", "eu-west-2")],
            regional("eu-west-2"),
        ),
        (
            "m",
            aws,
            &[("AWS_DEFAULT_REGION", "eu-west-3")],
            regional("eu-west-3"),
        ),
        (
            "m",
            aws,
            &[("AWS_REGION", "cn-north-1")],
            format!("{}.cn", regional("cn-north-1")),
        ),
        (
            arn,
            aws,
            &[("AWS_REGION", "eu-west-2")],
            regional("eu-west-1"),
        ),
        (
            "m",
            custom,
            &[("AWS_REGION", "eu-west-2")],
            custom.to_owned(),
        ),
        ("m", fips, &[], fips.to_owned()),
        ("m", fips, &[("AWS_REGION", "us-west-2")], fips.to_owned()),
        (
            "m",
            aws,
            &[("AWS_PROFILE", "team"), at_home],
            regional("eu-north-1"),
        ),
        (
            "m",
            aws,
            &[("AWS_PROFILE", "bare"), at_home],
            aws.to_owned(),
        ),
    ];
    for (id, base_url, variables, expected) in cases {
        let model = json!({"id": id, "baseUrl": base_url});
        let mut request = request(model, json!([]), StreamOptions::default());
        request.env = Env::fixed(variables.iter().copied());
        let url = exchange(&request).await.url;
        let address = url.split_once("/model/").unwrap().0;
        assert_eq!(address, expected, "{id} {base_url} {variables:?}");
    }
}

#[tokio::test]
async fn an_arn_is_one_segment_of_the_path() {
    let id = "arn:aws:bedrock:eu-west-1:1:application-inference-profile/ä b~c";
    let request = request(json!({"id": id}), json!([]), StreamOptions::default());
    assert_eq!(
        exchange(&request).await.url,
        "http://127.0.0.1:9/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3A\
         application-inference-profile%2F%C3%A4%20b~c/converse-stream"
    );
}
