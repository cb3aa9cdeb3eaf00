//! Recorded responses and their events; a complete request, and single rules.

use pi_http::ResponseHead;
use pi_protocol::{CacheRetention, ErrorClass, Model, ThinkingLevel, ToolChoice, api};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::MistralConversations;
use super::decode::MistralDecoder;
use crate::options::{ModelRequest, StreamOptions};
use crate::wire::testing::{
    self, assert_same_events_for_any_split, assert_truncation_is_an_error, decode,
    full_conversation, lines, outline, request,
};
use crate::wire::{Decoder, HttpExchange, HttpProtocol};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/mistral-conversations/",
            $name,
            ".sse"
        ))
        .as_slice()
    };
}

/// The recorded responses that complete.
const COMPLETE: [&[u8]; 5] = [
    fixture!("text"),
    fixture!("thinking"),
    fixture!("tool_fragments"),
    fixture!("parallel_tools"),
    fixture!("length"),
];

/// The recorded responses that end in an error.
const FAILED: [&[u8]; 3] = [
    fixture!("refusal"),
    fixture!("stream_error"),
    fixture!("cut"),
];

fn model(fields: Value) -> Model {
    testing::model(api::MISTRAL_CONVERSATIONS, fields)
}

fn decoder() -> Box<dyn Decoder> {
    Box::new(MistralDecoder::default())
}

fn events(body: &[u8]) -> Vec<Value> {
    decode(decoder(), &model(json!({})), [body])
}

fn decoded(body: &[u8]) -> String {
    lines(&events(body))
}

/// The last event of a response made of chunks.
fn last_event_of(chunks: &[Value]) -> Value {
    let written: Vec<String> = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    let body = written.concat();
    events(body.as_bytes()).pop().unwrap()
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]})
}

#[test]
fn text_is_a_string_or_a_list() {
    insta::assert_snapshot!(decoded(fixture!("text")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Hällo "}
    {"type":"text_delta","contentIndex":0,"delta":"Wörld 😀"}
    {"type":"text_end","contentIndex":0,"content":"Hällo Wörld 😀"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"Hällo Wörld 😀"}],"api":"mistral-conversations","provider":"mock","model":"alpha","responseId":"cmpl-1","usage":{"input":20,"output":30,"cacheRead":100,"cacheWrite":0,"totalTokens":150,"cost":{"input":0.00006,"output":0.00045,"cacheRead":0.000029999999999999997,"cacheWrite":0,"total":0.00054,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"stop","timestamp":1700000000000}}
    "#);
}

#[test]
fn thinking_and_text_keep_their_order() {
    insta::assert_snapshot!(decoded(fixture!("thinking")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"let me"}
    {"type":"thinking_delta","contentIndex":0,"delta":" see"}
    {"type":"thinking_end","contentIndex":0,"content":"let me see"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"Done."}
    {"type":"text_delta","contentIndex":1,"delta":"!"}
    {"type":"text_end","contentIndex":1,"content":"Done.!"}
    {"type":"thinking_start","contentIndex":2}
    {"type":"thinking_delta","contentIndex":2,"delta":"again"}
    {"type":"thinking_end","contentIndex":2,"content":"again"}
    {"type":"text_start","contentIndex":3}
    {"type":"text_delta","contentIndex":3,"delta":"End"}
    {"type":"text_end","contentIndex":3,"content":"End"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"let me see"},{"type":"text","text":"Done.!"},{"type":"thinking","thinking":"again"},{"type":"text","text":"End"}],"api":"mistral-conversations","provider":"mock","model":"alpha","responseId":"cmpl-1","usage":{"input":20,"output":30,"cacheRead":100,"cacheWrite":0,"totalTokens":150,"cost":{"input":0.00006,"output":0.00045,"cacheRead":0.000029999999999999997,"cacheWrite":0,"total":0.00054,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"stop","timestamp":1700000000000}}
    "#);
}

#[test]
fn tool_calls_arrive_in_fragments() {
    insta::assert_snapshot!(decoded(fixture!("tool_fragments")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Reading."}
    {"type":"text_end","contentIndex":0,"content":"Reading."}
    {"type":"toolcall_start","contentIndex":1,"id":"AbCdEf123","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":1,"delta":""}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"pa"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"th\":\"a\"}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"AbCdEf123","name":"read","arguments":{"path":"a"}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"text","text":"Reading."},{"type":"toolCall","id":"AbCdEf123","name":"read","arguments":{"path":"a"}}],"api":"mistral-conversations","provider":"mock","model":"alpha","responseId":"cmpl-1","usage":{"input":20,"output":30,"cacheRead":100,"cacheWrite":0,"totalTokens":150,"cost":{"input":0.00006,"output":0.00045,"cacheRead":0.000029999999999999997,"cacheWrite":0,"total":0.00054,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"tool_calls","timestamp":1700000000000}}
    "#);
}

#[test]
fn parallel_tool_calls_may_lack_ids_and_repeat_an_index() {
    insta::assert_snapshot!(decoded(fixture!("parallel_tools")), @r#"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"AbCdEf123","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":\"a\"}"}
    {"type":"toolcall_start","contentIndex":1,"id":"AbCdEf456","toolName":"bash"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"command\":\"ls\"}"}
    {"type":"toolcall_start","contentIndex":2,"id":"9blfkqg7f","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":2,"delta":"{}"}
    {"type":"toolcall_start","contentIndex":3,"id":"1x3o0hku5","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":3,"delta":"{}"}
    {"type":"toolcall_start","contentIndex":4,"id":"AbCdEf789","toolName":"ls"}
    {"type":"toolcall_delta","contentIndex":4,"delta":"{}"}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"AbCdEf123","name":"read","arguments":{"path":"a"}}}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"AbCdEf456","name":"bash","arguments":{"command":"ls"}}}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"9blfkqg7f","name":"read","arguments":{}}}
    {"type":"toolcall_end","contentIndex":3,"toolCall":{"type":"toolCall","id":"1x3o0hku5","name":"read","arguments":{}}}
    {"type":"toolcall_end","contentIndex":4,"toolCall":{"type":"toolCall","id":"AbCdEf789","name":"ls","arguments":{}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"AbCdEf123","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"AbCdEf456","name":"bash","arguments":{"command":"ls"}},{"type":"toolCall","id":"9blfkqg7f","name":"read","arguments":{}},{"type":"toolCall","id":"1x3o0hku5","name":"read","arguments":{}},{"type":"toolCall","id":"AbCdEf789","name":"ls","arguments":{}}],"api":"mistral-conversations","provider":"mock","model":"alpha","responseId":"cmpl-1","usage":{"input":20,"output":30,"cacheRead":100,"cacheWrite":0,"totalTokens":150,"cost":{"input":0.00006,"output":0.00045,"cacheRead":0.000029999999999999997,"cacheWrite":0,"total":0.00054,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"tool_calls","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_filtered_response_is_an_error() {
    insta::assert_snapshot!(decoded(fixture!("refusal")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"I cannot help with that."}
    {"type":"text_end","contentIndex":0,"content":"I cannot help with that."}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"I cannot help with that."}],"api":"mistral-conversations","provider":"mock","model":"alpha","responseId":"cmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The service ended the response with finish_reason: content_filter","rawStopReason":"content_filter","timestamp":1700000000000}}
    "#);
}

#[test]
fn the_output_limit_is_reported() {
    insta::assert_snapshot!(decoded(fixture!("length")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"cut sho"}
    {"type":"text_end","contentIndex":0,"content":"cut sho"}
    {"type":"done","reason":"length","message":{"content":[{"type":"text","text":"cut sho"}],"api":"mistral-conversations","provider":"mock","model":"alpha","responseId":"cmpl-1","usage":{"input":10,"output":4,"cacheRead":0,"cacheWrite":0,"totalTokens":14,"cost":{"input":0.00003,"output":0.00006,"cacheRead":0,"cacheWrite":0,"total":0.00009,"totalFromProvider":false}},"stopReason":"length","rawStopReason":"model_length","timestamp":1700000000000}}
    "#);
}

#[test]
fn an_error_in_the_stream_ends_the_response() {
    insta::assert_snapshot!(decoded(fixture!("stream_error")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"mistral-conversations","provider":"mock","model":"alpha","responseId":"cmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Service overloaded","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_lost_connection_keeps_the_partial_message() {
    insta::assert_snapshot!(decoded(fixture!("cut")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"hm"}
    {"type":"thinking_end","contentIndex":0,"content":"hm"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"par"}
    {"type":"text_end","contentIndex":1,"content":"par"}
    {"type":"toolcall_start","contentIndex":2,"id":"AbCdEf123","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":\"a"}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"AbCdEf123","name":"read","arguments":{"path":"a"}}}
    {"type":"error","reason":"error","error":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"par"},{"type":"toolCall","id":"AbCdEf123","name":"read","arguments":{"path":"a"}}],"api":"mistral-conversations","provider":"mock","model":"alpha","responseId":"cmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The stream ended without a finish reason","timestamp":1700000000000}}
    "#);
}

#[test]
fn any_split_yields_the_same_events() {
    for body in COMPLETE.iter().chain(&FAILED) {
        assert_same_events_for_any_split(decoder, &model(json!({})), body);
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    for body in COMPLETE {
        assert_truncation_is_an_error(decoder, &model(json!({})), body);
    }
}

#[test]
fn finish_reasons_are_mapped() {
    for (reason, expected) in [
        ("stop", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("tool_calls", "toolUse"),
    ] {
        let last = last_event_of(&[finish(reason)]);
        assert_eq!(last["reason"], expected, "{reason}");
        assert_eq!(last["message"]["rawStopReason"], reason);
    }
    for (reason, end) in [
        // The words make the error retryable.
        ("error", "error (server error)"),
        ("content_filter", "content_filter"),
        ("eos", "eos"),
    ] {
        let last = last_event_of(&[finish(reason)]);
        let decoded = last["error"]["errorMessage"].as_str().unwrap();
        assert!(decoded.ends_with(end), "{decoded}");
        assert_eq!(last["error"]["rawStopReason"], reason);
    }
}

#[test]
fn cache_reads_are_reported_under_several_names() {
    for details in [
        json!({"prompt_tokens_details": {"cached_tokens": 30}}),
        json!({"prompt_token_details": {"cached_tokens": 30}}),
        json!({"num_cached_tokens": 30}),
    ] {
        let mut usage = json!({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105});
        usage
            .as_object_mut()
            .unwrap()
            .extend(details.as_object().unwrap().clone());
        let chunk = json!({"choices": [], "usage": usage});
        let decoded = last_event_of(&[finish("stop"), chunk])["message"]["usage"].clone();
        assert_eq!(decoded["input"], 70, "{details}");
        assert_eq!(decoded["cacheRead"], 30, "{details}");
        assert_eq!(decoded["totalTokens"], 105, "{details}");
    }
}

fn options() -> StreamOptions {
    StreamOptions {
        api_key: Some("key".into()),
        session_id: Some("session-1".into()),
        ..StreamOptions::default()
    }
}

fn exchange(request: &ModelRequest) -> HttpExchange {
    super::request::build(request).unwrap()
}

fn hello(model: Model, options: StreamOptions) -> ModelRequest {
    request(model, json!([{"role": "user", "content": "hi"}]), options)
}

fn full_conversation_body(fields: Value, source_model: &str) -> Value {
    let history = full_conversation("mock", api::MISTRAL_CONVERSATIONS, source_model);
    let options = StreamOptions {
        reasoning: ThinkingLevel::Medium,
        temperature: Some(0.5),
        tool_choice: Some(ToolChoice::Auto),
        ..options()
    };
    exchange(&request(model(fields), history, options))
        .body
        .into_value()
}

#[test]
fn full_conversation_as_own_history() {
    let fields = json!({"compat": {"supportsMidConvoSystemMessages": true}});
    insta::assert_snapshot!(outline(&full_conversation_body(fields, "alpha")), @r#"
    model: "alpha"
    stream: true
    messages:
      {"role":"system","content":"You are precise.\n\n<cwd>/tmp</cwd>"}
      {"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image_url","image_url":"data:image/png;base64,PNG"}]}
      {"role":"assistant","prefix":false,"content":[{"type":"thinking","thinking":[{"type":"text","text":"two reads"}]},{"type":"text","text":"Reading."}],"tool_calls":[{"id":"call_1|fc_1","type":"function","index":0,"function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"call_2|fc_2","type":"function","index":0,"function":{"name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}}]}
      {"role":"tool","tool_call_id":"call_1|fc_1","name":"read","content":[{"type":"text","text":"A"},{"type":"image_url","image_url":"data:image/png;base64,PNG"}]}
      {"role":"tool","tool_call_id":"call_2|fc_2","name":"read","content":[{"type":"text","text":"Error: no such file"}]}
      {"role":"system","content":"Be brief from here.\n\nThe system prompt section \"cwd\" is replaced by:\n\n<cwd>/home</cwd>"}
      {"role":"user","content":"and now?"}
      {"role":"user","content":"go on"}
      {"role":"assistant","prefix":false,"tool_calls":[{"id":"call_3|fc_3","type":"function","index":0,"function":{"name":"read","arguments":"{\"path\":\"c\"}"}}]}
      {"role":"tool","tool_call_id":"call_3|fc_3","name":"read","content":[{"type":"text","text":"Error: No result: this call was interrupted, and the tool may not have run."}]}
      {"role":"user","content":"never mind the file"}
    tools:
      {"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false},"strict":true}}
      {"type":"function","function":{"name":"patch","description":"Applies a patch.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]},"strict":false}}
      {"type":"function","function":{"name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}},"strict":false}}
    temperature: 0.5
    max_tokens: 8192
    tool_choice: "auto"
    prompt_mode: "reasoning"
    prompt_cache_key: "session-1"
    "#);
}

#[test]
fn full_conversation_as_hand_off() {
    insta::assert_snapshot!(outline(&full_conversation_body(json!({}), "another")), @r#"
    model: "alpha"
    stream: true
    messages:
      {"role":"system","content":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}
      {"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image_url","image_url":"data:image/png;base64,PNG"}]}
      {"role":"assistant","prefix":false,"content":[{"type":"text","text":"Reading."}],"tool_calls":[{"id":"198dty0p9","type":"function","index":0,"function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"3mm42617e","type":"function","index":0,"function":{"name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}}]}
      {"role":"tool","tool_call_id":"198dty0p9","name":"read","content":[{"type":"text","text":"A"},{"type":"image_url","image_url":"data:image/png;base64,PNG"}]}
      {"role":"tool","tool_call_id":"3mm42617e","name":"read","content":[{"type":"text","text":"Error: no such file"}]}
      {"role":"user","content":"and now?"}
      {"role":"user","content":"go on"}
      {"role":"assistant","prefix":false,"tool_calls":[{"id":"hahztvppw","type":"function","index":0,"function":{"name":"read","arguments":"{\"path\":\"c\"}"}}]}
      {"role":"tool","tool_call_id":"hahztvppw","name":"read","content":[{"type":"text","text":"Error: No result: this call was interrupted, and the tool may not have run."}]}
      {"role":"user","content":"never mind the file"}
    tools:
      {"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false},"strict":true}}
      {"type":"function","function":{"name":"patch","description":"Applies a patch.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]},"strict":false}}
      {"type":"function","function":{"name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}},"strict":false}}
    temperature: 0.5
    max_tokens: 8192
    tool_choice: "auto"
    prompt_mode: "reasoning"
    prompt_cache_key: "session-1"
    "#);
}

#[test]
fn a_text_model_gets_placeholders_for_images() {
    let body = full_conversation_body(json!({"input": ["text"]}), "alpha");
    let text = body["messages"].to_string();
    assert!(!text.contains("image_url"), "{text}");
    assert!(text.contains("image"), "{text}");
}

#[test]
fn thinking_uses_effort_or_prompt_mode() {
    use ThinkingLevel::{High, Low, Off};
    let effort = |level: &str| json!({"reasoning_effort": level});
    let mode = || json!({"prompt_mode": "reasoning"});
    let rows = [
        ("mistral-small-2603", json!({}), Low, effort("high")),
        (
            "mistral-small-latest",
            json!({"off": "none"}),
            Off,
            effort("none"),
        ),
        (
            "mistral-medium-3-5",
            json!({"low": "some"}),
            Low,
            effort("some"),
        ),
        (
            "zai-glm-5-2",
            json!({"low": null, "medium": null}),
            Low,
            effort("high"),
        ),
        ("mistral-small-latest", json!({}), Off, json!({})),
        ("mistral-small-latest", json!({"off": null}), Off, json!({})),
        ("magistral-medium-latest", json!(null), Low, mode()),
        ("magistral-medium-latest", json!(null), High, mode()),
        ("magistral-medium-latest", json!(null), Off, json!({})),
    ];
    for (id, map, level, expected) in rows {
        let options = StreamOptions {
            reasoning: level,
            ..options()
        };
        let model = model(json!({"id": id, "thinkingLevelMap": map}));
        assert_eq!(
            thinking_fields(model, options),
            expected,
            "{id} {level:?} {map}"
        );
    }
    let options = || StreamOptions {
        reasoning: High,
        ..options()
    };
    let silent = model(json!({"reasoning": false}));
    assert_eq!(thinking_fields(silent, options()), json!({}));
    let mut own = options();
    own.provider_options
        .insert("reasoningEffort".into(), "none".into());
    assert_eq!(thinking_fields(model(json!({})), own), effort("none"));
}

fn thinking_fields(model: Model, options: StreamOptions) -> Value {
    let body = exchange(&hello(model, options)).body.into_value();
    let fields = ["prompt_mode", "reasoning_effort"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), body.get(name)?.clone())));
    Value::Object(fields.collect())
}

#[test]
fn the_session_is_sent_if_prompts_are_cached() {
    let decoded = |retention| {
        let options = StreamOptions {
            cache_retention: Some(retention),
            ..options()
        };
        let sent = exchange(&hello(model(json!({})), options));
        let header = sent.headers.get("x-affinity").cloned().flatten();
        (header, sent.body.into_value()["prompt_cache_key"].clone())
    };
    for retention in [CacheRetention::Short, CacheRetention::Long] {
        let session = (Some("session-1".to_owned()), json!("session-1"));
        assert_eq!(decoded(retention), session);
    }
    assert_eq!(decoded(CacheRetention::None), (None, Value::Null));
}

#[test]
fn the_tool_choice_option_of_the_api_wins() {
    let mut options = StreamOptions {
        tool_choice: Some(ToolChoice::None),
        ..options()
    };
    let choice = |options| {
        exchange(&hello(model(json!({})), options))
            .body
            .into_value()["tool_choice"]
            .clone()
    };
    assert_eq!(choice(options.clone()), "none");
    options
        .provider_options
        .insert("toolChoice".into(), "any".into());
    assert_eq!(choice(options), "any");
}

#[test]
fn the_request_has_url_and_authorization() {
    let sent = exchange(&hello(
        model(json!({"baseUrl": "http://h/base/"})),
        options(),
    ));
    assert_eq!(sent.url, "http://h/base/v1/chat/completions");
    assert_eq!(sent.headers["authorization"].as_deref(), Some("Bearer key"));
    let keyless = hello(model(json!({})), StreamOptions::default());
    let error = super::request::build(&keyless).unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    assert_eq!(error.message, "No API key for provider mock");
}

#[test]
fn failed_and_empty_results_are_marked() {
    let result = |content: Value, is_error: bool| {
        let history = json!([
            {"role": "assistant", "stopReason": "toolUse", "content":
                [{"type": "toolCall", "id": "abcdefghi", "name": "read", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "abcdefghi", "toolName": "read",
                "content": content, "isError": is_error}
        ]);
        let body = exchange(&request(model(json!({})), history, options()))
            .body
            .into_value();
        body["messages"][1]["content"][0]["text"].clone()
    };
    let text = || json!([{"type": "text", "text": " no such file\n"}]);
    let image = || json!([{"type": "image", "data": "AA", "mimeType": "image/png"}]);
    assert_eq!(result(text(), false), "no such file");
    assert_eq!(result(text(), true), "Error: no such file");
    assert_eq!(result(json!([]), false), "(no tool output)");
    assert_eq!(result(json!([]), true), "Error: (no tool output)");
    assert_eq!(result(image(), false), "(see attached image)");
}

#[test]
fn failed_responses_contain_status_and_body() {
    let head = ResponseHead {
        status: 422,
        headers: std::collections::BTreeMap::new(),
    };
    let error = MistralConversations.error(&head, r#"{"detail": "bad"}"#);
    assert_eq!(
        error.message,
        r#"422 Unprocessable Entity: {"detail": "bad"}"#
    );
    assert_eq!(error.class, ErrorClass::InvalidRequest);
}
