//! Recorded responses and their events.

use pi_http::ResponseHead;
use pi_protocol::Model;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::OpenAiCompletions;
use super::{model, options};
use crate::wire::testing::{
    assert_same_events_for_any_split, assert_truncation_is_an_error, decode, lines, request,
};
use crate::wire::{Decoder, HttpProtocol};

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/openai-completions/",
            $name,
            ".sse"
        ))
        .as_slice()
    };
}

/// The recorded responses that complete.
const COMPLETE: [&[u8]; 11] = [
    fixture!("text"),
    fixture!("thinking"),
    fixture!("tool_fragments"),
    fixture!("parallel_tools"),
    fixture!("odd_calls"),
    fixture!("reasoning_details"),
    fixture!("grammar_tool"),
    fixture!("refusal"),
    fixture!("length"),
    fixture!("no_done"),
    fixture!("choice_usage"),
];

/// The recorded responses that end in an error.
const FAILED: [&[u8]; 3] = [
    fixture!("content_filter"),
    fixture!("stream_error"),
    fixture!("cut"),
];

/// A model that supports grammars, so that it fits every recorded response.
fn grammar_model() -> Model {
    model(json!({"compat": {"supportsOpenAIGrammarTools": true}}))
}

fn decoder(model: &Model) -> Box<dyn Decoder> {
    let tool = json!({"name": "patch", "description": "Applies a patch.", "parameters":
        {"type": "object", "properties": {"diff": {"type": "string"}}, "required": ["diff"]},
        "constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "start: /.+/"}}});
    let messages = json!([{"role": "system", "content": "", "toolsAdded": [tool]}]);
    OpenAiCompletions.decoder(&request(model.clone(), messages, options()))
}

fn events(body: &[u8]) -> Vec<Value> {
    let model = grammar_model();
    decode(decoder(&model), &model, [body])
}

fn decoded(body: &[u8]) -> String {
    lines(&events(body))
}

fn last(body: &[u8]) -> Value {
    events(body).pop().unwrap()
}

/// The last event of a response made of chunks.
fn last_event_of(model: &Model, chunks: &[Value]) -> Value {
    let written: Vec<String> = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect();
    let body = written.concat();
    decode(decoder(model), model, [body.as_bytes()])
        .pop()
        .unwrap()
}

fn delta(delta: impl Into<Value>) -> Value {
    let delta = delta.into();
    json!({"choices": [{"delta": delta}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]})
}

#[test]
fn text() {
    insta::assert_snapshot!(decoded(fixture!("text")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Hällo "}
    {"type":"text_delta","contentIndex":0,"delta":"Wörld 😀"}
    {"type":"text_end","contentIndex":0,"content":"Hällo Wörld 😀"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"Hällo Wörld 😀"}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":20,"output":30,"cacheRead":100,"cacheWrite":0,"reasoning":12,"totalTokens":150,"cost":{"input":0.00006,"output":0.00045,"cacheRead":0.000029999999999999997,"cacheWrite":0,"total":0.00054,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"stop","timestamp":1700000000000}}
    "#);
}

#[test]
fn thinking_is_one_block_and_keeps_its_field_name() {
    insta::assert_snapshot!(decoded(fixture!("thinking")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"let "}
    {"type":"thinking_delta","contentIndex":0,"delta":"me see"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"Done."}
    {"type":"thinking_delta","contentIndex":0,"delta":" more"}
    {"type":"thinking_end","contentIndex":0,"content":"let me see more"}
    {"type":"text_end","contentIndex":1,"content":"Done."}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"let me see more","thinkingSignature":"reasoning_content"},{"type":"text","text":"Done."}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":20,"output":30,"cacheRead":100,"cacheWrite":0,"reasoning":12,"totalTokens":150,"cost":{"input":0.00006,"output":0.00045,"cacheRead":0.000029999999999999997,"cacheWrite":0,"total":0.00054,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"stop","timestamp":1700000000000}}
    "#);
}

#[test]
fn tool_calls_arrive_in_fragments() {
    insta::assert_snapshot!(decoded(fixture!("tool_fragments")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Reading."}
    {"type":"toolcall_start","contentIndex":1,"id":"call_1","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":1,"delta":""}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"pa"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"th\":\"a\\n"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"b\"}"}
    {"type":"text_end","contentIndex":0,"content":"Reading."}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a\nb"}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"text","text":"Reading."},{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a\nb"}}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":20,"output":30,"cacheRead":100,"cacheWrite":0,"reasoning":12,"totalTokens":150,"cost":{"input":0.00006,"output":0.00045,"cacheRead":0.000029999999999999997,"cacheWrite":0,"total":0.00054,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"tool_calls","timestamp":1700000000000}}
    "#);
}

#[test]
fn parallel_tool_calls_end_in_their_order() {
    insta::assert_snapshot!(decoded(fixture!("parallel_tools")), @r#"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"call_1","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\"a\"}"}
    {"type":"toolcall_start","contentIndex":1,"id":"call_2","toolName":"bash"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"command\":\"ls\"}"}
    {"type":"toolcall_start","contentIndex":2,"id":"call_3","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":2,"delta":""}
    {"type":"toolcall_delta","contentIndex":2,"delta":"{}"}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a"}}}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call_2","name":"bash","arguments":{"command":"ls"}}}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call_3","name":"read","arguments":{}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"call_2","name":"bash","arguments":{"command":"ls"}},{"type":"toolCall","id":"call_3","name":"read","arguments":{}}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","rawStopReason":"tool_calls","timestamp":1700000000000}}
    "#);
}

#[test]
fn fragments_without_index_id_or_name_are_matched() {
    insta::assert_snapshot!(decoded(fixture!("odd_calls")), @r#"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"call_a","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\"a\""}
    {"type":"toolcall_delta","contentIndex":0,"delta":"}"}
    {"type":"toolcall_start","contentIndex":1,"id":"call_b","toolName":"bash"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"command\":\"one\"}"}
    {"type":"toolcall_start","contentIndex":2,"id":"call_c","toolName":"bash"}
    {"type":"toolcall_delta","contentIndex":2,"delta":"{\"command\":\"two\"}"}
    {"type":"toolcall_start","contentIndex":3,"id":"","toolName":""}
    {"type":"toolcall_delta","contentIndex":3,"delta":""}
    {"type":"toolcall_delta","contentIndex":3,"delta":"{\"x\":1}"}
    {"type":"toolcall_start","contentIndex":4,"id":"","toolName":"ls"}
    {"type":"toolcall_delta","contentIndex":4,"delta":"{\"path\":\".\"}"}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_a","name":"read","arguments":{"path":"a"}}}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call_b","name":"bash","arguments":{"command":"one"}}}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call_c","name":"bash","arguments":{"command":"two"}}}
    {"type":"toolcall_end","contentIndex":3,"toolCall":{"type":"toolCall","id":"call_d","name":"write","arguments":{"x":1}}}
    {"type":"toolcall_end","contentIndex":4,"toolCall":{"type":"toolCall","id":"call_nz5q9js0exzv","name":"ls","arguments":{"path":"."}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"call_a","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"call_b","name":"bash","arguments":{"command":"one"}},{"type":"toolCall","id":"call_c","name":"bash","arguments":{"command":"two"}},{"type":"toolCall","id":"call_d","name":"write","arguments":{"x":1}},{"type":"toolCall","id":"call_nz5q9js0exzv","name":"ls","arguments":{"path":"."}}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","rawStopReason":"tool_calls","timestamp":1700000000000}}
    "#);
}

#[test]
fn reasoning_details_become_the_signature() {
    insta::assert_snapshot!(decoded(fixture!("reasoning_details")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"d1"}
    {"type":"thinking_delta","contentIndex":0,"delta":"d2"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"ok"}
    {"type":"thinking_end","contentIndex":0,"content":"d1d2"}
    {"type":"text_end","contentIndex":1,"content":"ok"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"d1d2","thinkingSignature":"[{\"type\":\"reasoning.text\",\"text\":\"d1d2\",\"signature\":\"sig\",\"format\":\"anthropic-claude-v1\",\"index\":0},{\"type\":\"reasoning.summary\",\"summary\":\"s1s2\",\"id\":\"r1\"},{\"type\":\"reasoning.encrypted\",\"data\":\"AAA\",\"id\":\"e1\"},{\"type\":\"reasoning.encrypted\",\"data\":\"BBB\"}]"},{"type":"text","text":"ok"}],"api":"openai-completions","provider":"mock","model":"alpha","responseModel":"vendor/alpha-2","responseId":"chatcmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","rawStopReason":"stop","timestamp":1700000000000}}
    "#);
}

#[test]
fn the_input_of_a_grammar_tool_becomes_json() {
    insta::assert_snapshot!(decoded(fixture!("grammar_tool")), @r#"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"call_1","toolName":"patch"}
    {"type":"toolcall_delta","contentIndex":0,"delta":""}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"diff\":\"say \\\"hi\\\"\\n"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\\\\ end"}
    {"type":"toolcall_start","contentIndex":1,"id":"call_2","toolName":"unknown"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"input\":\"x"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\"}"}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_1","name":"patch","arguments":{"diff":"say \"hi\"\n\\ end"}}}
    {"type":"toolcall_delta","contentIndex":1,"delta":"\"}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call_2","name":"unknown","arguments":{"input":"x"}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"call_1","name":"patch","arguments":{"diff":"say \"hi\"\n\\ end"}},{"type":"toolCall","id":"call_2","name":"unknown","arguments":{"input":"x"}}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"toolUse","rawStopReason":"tool_calls","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_refusal_is_text() {
    insta::assert_snapshot!(decoded(fixture!("refusal")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"I cannot "}
    {"type":"text_delta","contentIndex":0,"delta":"help with that."}
    {"type":"text_end","contentIndex":0,"content":"I cannot help with that."}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"I cannot help with that."}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","rawStopReason":"stop","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_filtered_response_is_an_error() {
    insta::assert_snapshot!(decoded(fixture!("content_filter")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"text_end","contentIndex":0,"content":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The service ended the response with finish_reason: content_filter","rawStopReason":"content_filter","timestamp":1700000000000}}
    "#);
}

#[test]
fn the_output_limit_is_reported() {
    insta::assert_snapshot!(decoded(fixture!("length")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"cut sho"}
    {"type":"text_end","contentIndex":0,"content":"cut sho"}
    {"type":"done","reason":"length","message":{"content":[{"type":"text","text":"cut sho"}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":10,"output":4,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":14,"cost":{"input":0.00003,"output":0.00006,"cacheRead":0,"cacheWrite":0,"total":0.00009,"totalFromProvider":false}},"stopReason":"length","rawStopReason":"length","timestamp":1700000000000}}
    "#);
}

#[test]
fn an_error_in_the_stream_ends_the_response() {
    insta::assert_snapshot!(decoded(fixture!("stream_error")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"Provider returned error\nupstream is busy","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_lost_connection_keeps_the_partial_message() {
    insta::assert_snapshot!(decoded(fixture!("cut")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"hm"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"par"}
    {"type":"toolcall_start","contentIndex":2,"id":"call_1","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":\"a"}
    {"type":"thinking_end","contentIndex":0,"content":"hm"}
    {"type":"text_end","contentIndex":1,"content":"par"}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a"}}}
    {"type":"error","reason":"error","error":{"content":[{"type":"thinking","thinking":"hm","thinkingSignature":"reasoning_content"},{"type":"text","text":"par"},{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a"}}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The stream ended without a finish reason","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_response_can_end_without_a_done_event() {
    insta::assert_snapshot!(decoded(fixture!("no_done")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"whole"}
    {"type":"text_end","contentIndex":0,"content":"whole"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"whole"}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":2,"output":2,"cacheRead":3,"cacheWrite":0,"reasoning":0,"totalTokens":7,"cost":{"input":0.000006,"output":0.00003,"cacheRead":9e-7,"cacheWrite":0,"total":0.0000369,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"stop","timestamp":1700000000000}}
    "#);
}

#[test]
fn usage_can_be_in_the_choice() {
    insta::assert_snapshot!(decoded(fixture!("choice_usage")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"a"}
    {"type":"text_end","contentIndex":0,"content":"a"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"a"}],"api":"openai-completions","provider":"mock","model":"alpha","responseId":"chatcmpl-1","usage":{"input":10,"output":3,"cacheRead":1,"cacheWrite":0,"reasoning":0,"totalTokens":14,"cost":{"input":0.00003,"output":0.000045,"cacheRead":3e-7,"cacheWrite":0,"total":0.0000753,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"end","timestamp":1700000000000}}
    "#);
}

#[test]
fn any_split_yields_the_same_events() {
    let model = grammar_model();
    for body in COMPLETE.iter().chain(&FAILED) {
        assert_same_events_for_any_split(|| decoder(&model), &model, body);
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    let model = grammar_model();
    // One of each kind of block and outcome: the work grows with the square of the length.
    for body in [
        fixture!("text"),
        fixture!("parallel_tools"),
        fixture!("grammar_tool"),
        fixture!("refusal"),
        fixture!("no_done"),
    ] {
        assert_truncation_is_an_error(|| decoder(&model), &model, body);
    }
}

#[test]
fn finish_reasons_are_mapped() {
    for (reason, expected) in [
        ("stop", "stop"),
        ("end", "stop"),
        ("length", "length"),
        ("tool_calls", "toolUse"),
        ("function_call", "toolUse"),
    ] {
        let last = last_event_of(&model(json!({})), &[finish(reason)]);
        assert_eq!(last["reason"], expected, "{reason}");
        assert_eq!(last["message"]["rawStopReason"], reason);
    }
    for reason in ["content_filter", "network_error", "error", "eos"] {
        let last = last_event_of(&model(json!({})), &[finish(reason)]);
        let decoded = last["error"]["errorMessage"].as_str().unwrap();
        assert!(decoded.ends_with(reason), "{decoded}");
        assert_eq!(last["error"]["rawStopReason"], reason);
    }
}

#[test]
fn a_service_without_finish_reasons_is_accepted() {
    let silent = model(json!({"compat": {"supportsFinishReason": false}}));
    let text = delta(json!({"content": "hi"}));
    let call = delta(json!({"tool_calls":
        [{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{}"}}]}));
    assert_eq!(
        last_event_of(&silent, std::slice::from_ref(&text))["reason"],
        "stop"
    );
    assert_eq!(last_event_of(&silent, &[text, call])["reason"], "toolUse");
}

#[test]
fn usage_is_parsed_in_every_format() {
    let cases = [
        (
            json!({"prompt_tokens": 100, "completion_tokens": 7}),
            [100, 7, 0, 0, 0],
        ),
        (
            json!({"prompt_tokens": 100, "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
                "completion_tokens_details": {"reasoning_tokens": 5}}),
            [10, 7, 60, 30, 5],
        ),
        (
            json!({"prompt_tokens": 100, "prompt_cache_hit_tokens": 40, "completion_tokens": null}),
            [60, 0, 40, 0, 0],
        ),
        (
            json!({"prompt_tokens": 100, "cached_tokens": 30}),
            [70, 0, 30, 0, 0],
        ),
        (
            json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 60}}),
            [0, 0, 60, 0, 0],
        ),
    ];
    for (report, [input, output, cache_read, cache_write, reasoning]) in cases {
        let chunk = json!({"choices": [], "usage": report});
        let last = last_event_of(&model(json!({})), &[finish("stop"), chunk]);
        let mut usage = last["message"]["usage"].clone();
        usage.as_object_mut().unwrap().shift_remove("cost");
        let expected = json!({"input": input, "output": output, "cacheRead": cache_read,
            "cacheWrite": cache_write, "reasoning": reasoning,
            "totalTokens": input + output + cache_read + cache_write});
        assert_eq!(usage, expected, "{report}");
    }
}

#[test]
fn errors_in_a_stream_use_the_message_of_the_service() {
    let cases = [
        (
            json!({"error": {"message": "Overloaded", "type": "overloaded_error"}}),
            "Overloaded",
        ),
        (json!({"error": {"code": 502}}), r#"{"code":502}"#),
        (json!({"error": "out of memory"}), "out of memory"),
        (
            json!({"object": "error", "message": "too long", "code": 400}),
            "too long",
        ),
        (
            json!({"error": {"message": "Provider returned error", "metadata": {"raw": "busy"}}}),
            "Provider returned error\nbusy",
        ),
    ];
    for (event, expected) in cases {
        let last = last_event_of(&model(json!({})), &[event]);
        assert_eq!(last["error"]["errorMessage"], expected);
    }
    let named = b"event: error\ndata: {\"message\": \"gone\"}\n\n";
    assert_eq!(last(named)["error"]["errorMessage"], "gone");
    let plain = b"event: error\ndata: gone away\n\n";
    assert_eq!(last(plain)["error"]["errorMessage"], "gone away");
    let broken = b"data: {\"choices\": [}\n\ndata: [DONE]\n\n";
    let decoded = last(broken)["error"]["errorMessage"].to_string();
    assert!(decoded.contains("invalid event"), "{decoded}");
}

#[test]
fn fields_of_other_types_are_ignored() {
    let chunks = [
        json!({"error": null, "choices": null, "usage": null}),
        json!({"error": false, "choices": [], "model": "", "usage": {"prompt_tokens": "many"}}),
        delta(json!({"tool_calls": [{"index": "0", "id": "c", "function": {"name": "read"}}]})),
        delta(json!({"content": ["parts"], "reasoning": {"a": 1}, "refusal": null})),
        delta(json!({"content": "ok", "reasoning_details": "none", "tool_calls": []})),
        json!({"choices": [{"delta": null, "finish_reason": ""}]}),
        json!({"choices": [{"finish_reason": "stop"}]}),
    ];
    let last = last_event_of(&model(json!({})), &chunks);
    assert_eq!(
        last["message"]["content"],
        json!([{"type": "toolCall", "id": "c", "name": "read", "arguments": {}},
            {"type": "text", "text": "ok"}])
    );
    assert_eq!(last["message"].get("responseModel"), None);
}

#[test]
fn lone_surrogates_are_dropped() {
    let body = concat!(
        r#"data: {"choices":[{"delta":{"content":"a\ud83db \ud83d\ude00 \\ud83d \ude00"}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        "\n\n"
    );
    let last = last(body.as_bytes());
    assert_eq!(last["message"]["content"][0]["text"], "ab 😀 \\ud83d ");
}

#[test]
fn open_code_go_replays_thinking_under_another_field() {
    let model = model(json!({"provider": "opencode-go"}));
    let chunks = [delta(json!({"reasoning": "hm"})), finish("stop")];
    let last = last_event_of(&model, &chunks);
    assert_eq!(
        last["message"]["content"][0]["thinkingSignature"],
        "reasoning_content"
    );
}

#[test]
fn failed_responses_contain_status_and_error_object() {
    use pi_protocol::ErrorClass;
    let cases = [
        (
            400,
            r#"{"error": {"message": "bad field", "code": 400}}"#,
            r#"400 Bad Request: {"message":"bad field","code":400}"#,
            ErrorClass::InvalidRequest,
        ),
        (
            429,
            r#"{"error": {"message": "pay", "type": "insufficient_quota"}}"#,
            r#"429 Too Many Requests: {"message":"pay","type":"insufficient_quota"}"#,
            ErrorClass::Quota,
        ),
        (
            400,
            r#"{"error": {"message": "long", "code": "context_length_exceeded"}}"#,
            r#"400 Bad Request: {"message":"long","code":"context_length_exceeded"}"#,
            ErrorClass::ContextOverflow,
        ),
        (
            502,
            "<html>bad gateway</html>",
            "502 Bad Gateway: <html>bad gateway</html>",
            ErrorClass::Overloaded,
        ),
        (401, "", "401 Unauthorized (no body)", ErrorClass::Auth),
        (
            503,
            r#"{"error": {"message": "x", "metadata": {"raw": "{\"y\":1}"}}}"#,
            "503 Service Unavailable: {\"message\":\"x\",\"metadata\":{\"raw\":\"{\\\"y\\\":1}\"}}\n{\"y\":1}",
            ErrorClass::Overloaded,
        ),
    ];
    for (status, body, message, class) in cases {
        let head = ResponseHead {
            status,
            headers: std::collections::BTreeMap::new(),
        };
        let error = OpenAiCompletions.error(&head, body);
        assert_eq!(error.message, message);
        assert_eq!(error.class, class, "{message}");
        assert_eq!(error.status, Some(status));
    }
}
