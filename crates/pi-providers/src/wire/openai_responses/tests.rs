//! Recorded streams and their events, transcripts and their request bodies.

use insta::assert_snapshot;
use pi_protocol::{CacheRetention, Model, ThinkingLevel, ToolChoice, api};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::options::StreamOptions;
use crate::wire::testing::{
    assert_same_events_for_any_split, assert_truncation_is_an_error, decode, full_conversation,
    lines, model, request,
};

/// Every recorded stream of the API.
const FIXTURES: [(&str, &[u8]); 11] = [
    (
        "text",
        include_bytes!("../../../tests/fixtures/openai-responses/text.sse"),
    ),
    (
        "thinking",
        include_bytes!("../../../tests/fixtures/openai-responses/thinking.sse"),
    ),
    (
        "tools",
        include_bytes!("../../../tests/fixtures/openai-responses/tools.sse"),
    ),
    (
        "parallel",
        include_bytes!("../../../tests/fixtures/openai-responses/parallel.sse"),
    ),
    (
        "refusal",
        include_bytes!("../../../tests/fixtures/openai-responses/refusal.sse"),
    ),
    (
        "length",
        include_bytes!("../../../tests/fixtures/openai-responses/length.sse"),
    ),
    (
        "filtered",
        include_bytes!("../../../tests/fixtures/openai-responses/filtered.sse"),
    ),
    (
        "failed",
        include_bytes!("../../../tests/fixtures/openai-responses/failed.sse"),
    ),
    (
        "error_event",
        include_bytes!("../../../tests/fixtures/openai-responses/error_event.sse"),
    ),
    (
        "custom_tool",
        include_bytes!("../../../tests/fixtures/openai-responses/custom_tool.sse"),
    ),
    (
        "late_items",
        include_bytes!("../../../tests/fixtures/openai-responses/late_items.sse"),
    ),
];

/// Streams that end in `done`.
const COMPLETE: [&str; 8] = [
    "text",
    "thinking",
    "tools",
    "parallel",
    "refusal",
    "length",
    "custom_tool",
    "late_items",
];

fn fixture(name: &str) -> &'static [u8] {
    FIXTURES.iter().find(|(known, _)| *known == name).unwrap().1
}

fn reading_request() -> ModelRequest {
    let model = model(
        api::OPENAI_RESPONSES,
        json!({"compat": {"supportsOpenAIGrammarTools": true}}),
    );
    let messages = full_conversation("mock", api::OPENAI_RESPONSES, "alpha");
    request(model, messages, StreamOptions::default())
}

fn events(body: &[u8]) -> String {
    let request = reading_request();
    let events = decode(OpenAiResponses.decoder(&request), &request.model, [body]);
    lines(&events)
}

#[test]
fn text() {
    assert_snapshot!(events(fixture("text")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Hel"}
    {"type":"text_delta","contentIndex":0,"delta":"lo, wörld 😀"}
    {"type":"text_end","contentIndex":0,"content":"Hello, wörld 😀"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"Hello, wörld 😀","textSignature":"{\"v\":1,\"id\":\"msg_0\"}"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":20,"output":7,"cacheRead":100,"cacheWrite":0,"reasoning":0,"totalTokens":127,"cost":{"input":0.00006,"output":0.000105,"cacheRead":0.000029999999999999997,"cacheWrite":0,"total":0.000195,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"completed","timestamp":1700000000000}}
    "#);
}

#[test]
fn thinking_is_summarized_and_can_be_replayed() {
    assert_snapshot!(events(fixture("thinking")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"**Plan**"}
    {"type":"thinking_delta","contentIndex":0,"delta":"\n\nlook"}
    {"type":"thinking_delta","contentIndex":0,"delta":"\n\n"}
    {"type":"thinking_delta","contentIndex":0,"delta":"then answer"}
    {"type":"thinking_delta","contentIndex":0,"delta":"\n\n"}
    {"type":"thinking_end","contentIndex":0,"content":"**Plan**\n\nlook\n\nthen answer"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"ok"}
    {"type":"text_end","contentIndex":1,"content":"ok"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"**Plan**\n\nlook\n\nthen answer","thinkingSignature":"{\"id\":\"rs_0\",\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"**Plan**\\n\\nlook\"},{\"type\":\"summary_text\",\"text\":\"then answer\"}],\"encrypted_content\":\"gAAA\"}"},{"type":"text","text":"ok","textSignature":"{\"v\":1,\"id\":\"msg_1\",\"phase\":\"final_answer\"}"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":30,"output":30,"cacheRead":0,"cacheWrite":20,"reasoning":24,"totalTokens":80,"cost":{"input":0.00009,"output":0.00045,"cacheRead":0,"cacheWrite":0.00007500000000000001,"total":0.000615,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"completed","timestamp":1700000000000}}
    "#);
}

#[test]
fn arguments_arrive_in_fragments() {
    assert_snapshot!(events(fixture("tools")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Reading."}
    {"type":"text_end","contentIndex":0,"content":"Reading."}
    {"type":"toolcall_start","contentIndex":1,"id":"call_a|fc_1","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"pa"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"th\":\"a"}
    {"type":"toolcall_delta","contentIndex":1,"delta":".txt\",\"li"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"mit\":"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"3}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call_a|fc_1","name":"read","arguments":{"path":"a.txt","limit":3}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"text","text":"Reading.","textSignature":"{\"v\":1,\"id\":\"msg_0\",\"phase\":\"commentary\"}"},{"type":"toolCall","id":"call_a|fc_1","name":"read","arguments":{"path":"a.txt","limit":3}}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":30,"output":12,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":42,"cost":{"input":0.00009,"output":0.00018,"cacheRead":0,"cacheWrite":0,"total":0.00027,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"completed","timestamp":1700000000000}}
    "#);
}

#[test]
fn parallel_calls_interleave() {
    assert_snapshot!(events(fixture("parallel")), @r#"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"call_a|fc_0","toolName":"read"}
    {"type":"toolcall_start","contentIndex":1,"id":"call_b|fc_1","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{\"path\":\"b\""}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\"a\"}"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call_b|fc_1","name":"read","arguments":{"path":"b"}}}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_a|fc_0","name":"read","arguments":{"path":"a"}}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"call_a|fc_0","name":"read","arguments":{"path":"a"}},{"type":"toolCall","id":"call_b|fc_1","name":"read","arguments":{"path":"b"}}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":30,"output":20,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":50,"cost":{"input":0.00009,"output":0.00030000000000000003,"cacheRead":0,"cacheWrite":0,"total":0.00039000000000000005,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"completed","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_refusal_is_text() {
    assert_snapshot!(events(fixture("refusal")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"I cannot "}
    {"type":"text_delta","contentIndex":0,"delta":"help with that."}
    {"type":"text_end","contentIndex":0,"content":"I cannot help with that."}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"I cannot help with that.","textSignature":"{\"v\":1,\"id\":\"msg_0\"}"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":9,"output":6,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":15,"cost":{"input":0.000027,"output":0.00009,"cacheRead":0,"cacheWrite":0,"total":0.000117,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"completed","timestamp":1700000000000}}
    "#);
}

#[test]
fn the_output_limit_stops_with_length() {
    assert_snapshot!(events(fixture("length")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Once upon"}
    {"type":"text_end","contentIndex":0,"content":"Once upon"}
    {"type":"done","reason":"length","message":{"content":[{"type":"text","text":"Once upon","textSignature":"{\"v\":1,\"id\":\"msg_0\"}"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":10,"output":16,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":26,"cost":{"input":0.00003,"output":0.00024,"cacheRead":0,"cacheWrite":0,"total":0.00027,"totalFromProvider":false}},"stopReason":"length","rawStopReason":"incomplete.max_output_tokens","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_filtered_response_is_an_error() {
    assert_snapshot!(events(fixture("filtered")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Once"}
    {"type":"text_end","contentIndex":0,"content":"Once"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"Once","textSignature":"{\"v\":1,\"id\":\"msg_0\"}"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":10,"output":1,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":11,"cost":{"input":0.00003,"output":0.000015,"cacheRead":0,"cacheWrite":0,"total":0.000045,"totalFromProvider":false}},"stopReason":"error","errorMessage":"The service ended the response early: content_filter","rawStopReason":"incomplete.content_filter","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_failed_response_keeps_the_partial_message() {
    assert_snapshot!(events(fixture("failed")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The service reported an error: server_error: The server had an error.","rawStopReason":"failed","timestamp":1700000000000}}
    "#);
}

#[test]
fn an_error_event_ends_the_response() {
    assert_snapshot!(events(fixture("error_event")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The service reported an error: rate_limit_exceeded: Slow down.","timestamp":1700000000000}}
    "#);
}

#[test]
fn grammar_input_becomes_json_and_the_tier_is_priced() {
    assert_snapshot!(events(fixture("custom_tool")), @r#"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"call_p|ctc_0","toolName":"patch"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"input\":\"*** Begin\\n"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\\\"x\\\""}
    {"type":"toolcall_delta","contentIndex":0,"delta":"\\n\"}"}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"call_p|ctc_0","name":"patch","arguments":{"input":"*** Begin\n\"x\"\n"}}}
    {"type":"toolcall_start","contentIndex":1,"id":"call_n|fc_1","toolName":"search"}
    {"type":"toolcall_delta","contentIndex":1,"delta":"{}"}
    {"type":"toolcall_end","contentIndex":1,"toolCall":{"type":"toolCall","id":"call_n|fc_1","name":"search","arguments":{},"namespace":"crm"}}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"call_p|ctc_0","name":"patch","arguments":{"input":"*** Begin\n\"x\"\n"}},{"type":"toolCall","id":"call_n|fc_1","name":"search","arguments":{},"namespace":"crm"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":5,"output":5,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":10,"cost":{"input":0.00003,"output":0.00015000000000000001,"cacheRead":0,"cacheWrite":0,"total":0.00018,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"completed","timestamp":1700000000000}}
    "#);
}

#[test]
fn items_announced_late_and_reasoning_completed_at_the_end() {
    assert_snapshot!(events(fixture("late_items")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"raw thought"}
    {"type":"thinking_end","contentIndex":0,"content":"raw thought"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_end","contentIndex":1,"content":"late "}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"raw thought","thinkingSignature":"{\"type\":\"reasoning\",\"id\":\"rs1\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"raw thought\"}],\"encrypted_content\":\"late-enc\"}"},{"type":"text","text":"late ","textSignature":"{\"v\":1,\"id\":\"m1\",\"phase\":\"commentary\"}"}],"api":"openai-responses","provider":"mock","model":"alpha","responseId":"resp_x","usage":{"input":15,"output":4,"cacheRead":5,"cacheWrite":0,"reasoning":2,"totalTokens":24,"cost":{"input":0.000045,"output":0.00006,"cacheRead":0.0000015,"cacheWrite":0,"total":0.0001065,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"completed","timestamp":1700000000000}}
    "#);
}

#[test]
fn any_split_yields_the_same_events() {
    let request = reading_request();
    for (_, body) in FIXTURES {
        assert_same_events_for_any_split(
            || OpenAiResponses.decoder(&request),
            &request.model,
            body,
        );
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    let request = reading_request();
    for name in COMPLETE {
        assert_truncation_is_an_error(
            || OpenAiResponses.decoder(&request),
            &request.model,
            fixture(name),
        );
    }
}

fn options(change: impl FnOnce(&mut StreamOptions)) -> StreamOptions {
    let mut options = StreamOptions {
        api_key: Some("sk-test".to_owned().into()),
        session_id: Some("session-1".to_owned()),
        reasoning: ThinkingLevel::Low,
        ..StreamOptions::default()
    };
    change(&mut options);
    options
}

/// Prepares a request, as the transport would.
pub(crate) fn prepared<P: HttpProtocol>(protocol: &P, request: &ModelRequest) -> HttpExchange {
    futures_util::FutureExt::now_or_never(protocol.prepare(request))
        .unwrap()
        .unwrap()
}

/// Formats a body for snapshots: one line per field, input item and tool.
pub(crate) fn body_lines(body: &Value) -> String {
    let mut rendered = Vec::new();
    for (name, value) in body.as_object().unwrap() {
        match value {
            Value::Array(items) if name == "input" || name == "tools" => {
                rendered.push(format!("{name}:"));
                rendered.extend(items.iter().map(|item| format!("  {}", format_value(item))));
            }
            other => rendered.push(format!("{name}: {}", format_value(other))),
        }
    }
    rendered.join("\n")
}

fn format_value(value: &Value) -> String {
    pi_protocol::json::value_to_string(value).replace(crate::wire::testing::PNG, "<png>")
}

fn full_conversation_from(provider: &str, api: &str, model_id: &str, target: Model) -> String {
    let messages = full_conversation(provider, api, model_id);
    let request = request(target, messages, options(|_| {}));
    body_lines(&prepared(&OpenAiResponses, &request).body.into_value())
}

fn capable_model() -> Model {
    model(
        api::OPENAI_RESPONSES,
        json!({"provider": "openai", "compat": {
            "supportsStrictMode": true, "supportsOpenAIGrammarTools": true,
            "supportsMidConvoSystemMessages": true, "supportsAdditionalTools": true
        }}),
    )
}

#[test]
fn full_conversation_as_own_history() {
    let body = full_conversation_from("openai", api::OPENAI_RESPONSES, "alpha", capable_model());
    assert_snapshot!(body, @r#"
    model: "alpha"
    input:
      {"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false},"strict":true},{"type":"custom","name":"patch","description":"Applies a patch.","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}}]}
      {"role":"developer","content":"You are precise.\n\n<cwd>/tmp</cwd>"}
      {"role":"user","content":[{"type":"input_text","text":"look at this"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Reading.","annotations":[]}],"status":"completed","id":"msg_pi_1"}
      {"type":"function_call","id":"fc_1","call_id":"call_1","name":"read","arguments":"{\"path\":\"a\"}"}
      {"type":"function_call","id":"fc_2","call_id":"call_2","name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}
      {"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"A"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"function_call_output","call_id":"call_2","output":"no such file"}
      {"role":"developer","content":"The next tool list adds to the earlier ones. Tools declared before remain available, except for those that were removed; a tool that is declared again replaces its earlier definition and is available."}
      {"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}},"strict":false}]}
      {"role":"developer","content":"Be brief from here.\n\nThe system prompt section \"cwd\" is replaced by:\n\n<cwd>/home</cwd>"}
      {"role":"user","content":[{"type":"input_text","text":"and now?"}]}
      {"role":"user","content":[{"type":"input_text","text":"go on"}]}
      {"type":"function_call","id":"fc_3","call_id":"call_3","name":"read","arguments":"{\"path\":\"c\"}"}
      {"type":"function_call_output","call_id":"call_3","output":"No result: this call was interrupted, and the tool may not have run."}
      {"role":"user","content":[{"type":"input_text","text":"never mind the file"}]}
    stream: true
    prompt_cache_key: "session-1"
    store: false
    max_output_tokens: 8192
    reasoning: {"effort":"low","summary":"auto"}
    include: ["reasoning.encrypted_content"]
    "#);
}

#[test]
fn full_conversation_as_hand_off() {
    let target = model(api::OPENAI_RESPONSES, json!({"provider": "openai"}));
    let body = full_conversation_from("anthropic", api::ANTHROPIC_MESSAGES, "claude", target);
    assert_snapshot!(body, @r#"
    model: "alpha"
    input:
      {"role":"developer","content":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}
      {"role":"user","content":[{"type":"input_text","text":"look at this"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Reading.","annotations":[]}],"status":"completed","id":"msg_pi_1"}
      {"type":"function_call","id":"fc_lxmq3j1alksqn","call_id":"call_1","name":"read","arguments":"{\"path\":\"a\"}"}
      {"type":"function_call","id":"fc_x08lfqt1kfj7","call_id":"call_2","name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}
      {"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"A"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"function_call_output","call_id":"call_2","output":"no such file"}
      {"role":"user","content":[{"type":"input_text","text":"and now?"}]}
      {"role":"user","content":[{"type":"input_text","text":"go on"}]}
      {"type":"function_call","id":"fc_4wq66vwrhs8o","call_id":"call_3","name":"read","arguments":"{\"path\":\"c\"}"}
      {"type":"function_call_output","call_id":"call_3","output":"No result: this call was interrupted, and the tool may not have run."}
      {"role":"user","content":[{"type":"input_text","text":"never mind the file"}]}
    stream: true
    prompt_cache_key: "session-1"
    store: false
    max_output_tokens: 8192
    tools:
      {"type":"function","name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}
      {"type":"function","name":"patch","description":"Applies a patch.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}
      {"type":"function","name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}}}
    reasoning: {"effort":"low","summary":"auto"}
    include: ["reasoning.encrypted_content"]
    "#);
}

#[test]
fn full_conversation_from_another_model_for_a_text_model() {
    let target = model(
        api::OPENAI_RESPONSES,
        json!({"provider": "openai", "input": ["text"], "reasoning": false,
            "compat": {"supportsMidConvoSystemMessages": true, "supportsToolSearch": true}}),
    );
    let body = full_conversation_from("openai", api::OPENAI_RESPONSES, "beta", target);
    assert_snapshot!(body, @r#"
    model: "alpha"
    input:
      {"role":"system","content":"You are precise.\n\n<cwd>/tmp</cwd>"}
      {"role":"user","content":[{"type":"input_text","text":"look at this"},{"type":"input_text","text":"[image omitted: this model does not support images]"}]}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Reading.","annotations":[]}],"status":"completed","id":"msg_pi_1"}
      {"type":"function_call","call_id":"call_1","name":"read","arguments":"{\"path\":\"a\"}"}
      {"type":"function_call","call_id":"call_2","name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}
      {"type":"function_call_output","call_id":"call_1","output":"A\n[tool image omitted: this model does not support images]"}
      {"type":"function_call_output","call_id":"call_2","output":"no such file"}
      {"type":"tool_search_call","call_id":"pi_tool_load_dzbl9a1mhl5qk","execution":"client","status":"completed","arguments":{"query":"write","limit":1}}
      {"type":"tool_search_output","call_id":"pi_tool_load_dzbl9a1mhl5qk","execution":"client","status":"completed","tools":[{"type":"function","name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}},"defer_loading":true}]}
      {"role":"system","content":"Be brief from here.\n\nThe system prompt section \"cwd\" is replaced by:\n\n<cwd>/home</cwd>"}
      {"role":"user","content":[{"type":"input_text","text":"and now?"}]}
      {"role":"user","content":[{"type":"input_text","text":"go on"}]}
      {"type":"function_call","call_id":"call_3","name":"read","arguments":"{\"path\":\"c\"}"}
      {"type":"function_call_output","call_id":"call_3","output":"No result: this call was interrupted, and the tool may not have run."}
      {"role":"user","content":[{"type":"input_text","text":"never mind the file"}]}
    stream: true
    prompt_cache_key: "session-1"
    store: false
    max_output_tokens: 8192
    tools:
      {"type":"function","name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}
      {"type":"function","name":"patch","description":"Applies a patch.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}
    "#);
}

#[test]
fn own_messages_are_replayed_item_by_item() {
    let reasoning = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}"#;
    let long_id = "m".repeat(70);
    let messages = json!([
        {"role": "system", "content": "", "toolsAdded": [
            {"name": "patch", "description": "", "parameters": {"type": "object",
                "properties": {"text": {"type": "string"}}, "required": ["text"]},
                "constrainedSampling": {"type": "grammar", "variants": {"openai_regex": "a+"}}}]},
        {"role": "user", "content": []},
        {"role": "assistant", "provider": "openai", "api": "openai-responses", "model": "alpha",
            "stopReason": "toolUse", "content": [
            {"type": "thinking", "thinking": "", "thinkingSignature": reasoning},
            {"type": "text", "text": "a", "textSignature": "{\"v\":1,\"id\":\"msg_1\",\"phase\":\"commentary\"}"},
            {"type": "text", "text": "b", "textSignature": long_id},
            {"type": "text", "text": "c"},
            {"type": "toolCall", "id": "call_1|ctc_1", "name": "patch", "arguments": {"text": "aaa"}},
            {"type": "toolCall", "id": "call_2|ctc_2", "name": "patch", "arguments": {"other": 1}},
            {"type": "toolCall", "id": "call_3|fc_3", "name": "find", "namespace": "crm", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "call_1|ctc_1", "toolName": "patch", "content": []},
        {"role": "toolResult", "toolCallId": "call_2|ctc_2", "toolName": "patch", "content": "ok"},
        {"role": "toolResult", "toolCallId": "call_3|fc_3", "toolName": "find",
            "content": [{"type": "image", "data": "AA==", "mimeType": "image/gif"}]}
    ]);
    let request = request(capable_model(), messages, options(|_| {}));
    assert_snapshot!(body_lines(&prepared(&OpenAiResponses, &request).body.into_value()), @r#"
    model: "alpha"
    input:
      {"type":"additional_tools","role":"developer","tools":[{"type":"custom","name":"patch","description":"","format":{"type":"grammar","syntax":"regex","definition":"a+"}}]}
      {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}],"status":"completed","id":"msg_1","phase":"commentary"}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]}],"status":"completed","id":"msg_uy8uo3qjyx4c"}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"c","annotations":[]}],"status":"completed","id":"msg_pi_0_2"}
      {"type":"custom_tool_call","id":"ctc_1","call_id":"call_1","name":"patch","input":"aaa"}
      {"type":"custom_tool_call","id":"ctc_2","call_id":"call_2","name":"patch","input":"{\"other\":1}"}
      {"type":"function_call","id":"fc_3","call_id":"call_3","name":"find","arguments":"{}","namespace":"crm"}
      {"type":"custom_tool_call_output","call_id":"call_1","output":"(no tool output)"}
      {"type":"custom_tool_call_output","call_id":"call_2","output":"ok"}
      {"type":"function_call_output","call_id":"call_3","output":[{"type":"input_image","detail":"auto","image_url":"data:image/gif;base64,AA=="}]}
    stream: true
    prompt_cache_key: "session-1"
    store: false
    max_output_tokens: 8192
    reasoning: {"effort":"low","summary":"auto"}
    include: ["reasoning.encrypted_content"]
    "#);
}

/// Returns the fields of a body except input and tools.
fn fields(fields: Value, change: impl FnOnce(&mut StreamOptions)) -> String {
    let model = model(api::OPENAI_RESPONSES, fields);
    let request = request(
        model,
        json!([{"role": "user", "content": "hi"}]),
        options(change),
    );
    let mut body = prepared(&OpenAiResponses, &request).body.into_value();
    let body = body.as_object_mut().unwrap();
    for name in ["input", "model", "stream", "store"] {
        assert!(body.shift_remove(name).is_some(), "{name}");
    }
    format_value(&Value::Object(body.clone()))
}

#[test]
fn compat_flags_and_options_change_the_fields() {
    const KEY: &str = r#""prompt_cache_key":"session-1""#;
    const MAX: &str = r#""max_output_tokens":8192"#;
    const LOW: &str = r#""reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"]"#;
    let long = |options: &mut StreamOptions| options.cache_retention = Some(CacheRetention::Long);
    let none = |options: &mut StreamOptions| options.cache_retention = Some(CacheRetention::None);
    let off = |options: &mut StreamOptions| options.reasoning = ThinkingLevel::Off;
    let with_option = |name: &'static str, value: Value| {
        move |options: &mut StreamOptions| {
            options.provider_options.insert(name.to_owned(), value);
        }
    };
    let compat = |flag: &str, value: bool| json!({"compat": {flag: value}});
    let check = |what: &str, got: String, expected: String| {
        assert_eq!(got, format!("{{{expected}}}"), "{what}");
    };
    check(
        "plain",
        fields(json!({}), |_| {}),
        format!("{KEY},{MAX},{LOW}"),
    );
    check(
        "long retention",
        fields(json!({}), long),
        format!(r#"{KEY},"prompt_cache_retention":"24h",{MAX},{LOW}"#),
    );
    check(
        "no long retention",
        fields(compat("supportsLongCacheRetention", false), long),
        format!("{KEY},{MAX},{LOW}"),
    );
    check(
        "explicit cache, long",
        fields(compat("supportsExplicitPromptCacheMode", true), long),
        format!(r#"{KEY},"prompt_cache_options":{{"ttl":"30m"}},{MAX},{LOW}"#),
    );
    check(
        "explicit cache, none",
        fields(compat("supportsExplicitPromptCacheMode", true), none),
        format!(r#""prompt_cache_options":{{"mode":"explicit"}},{MAX},{LOW}"#),
    );
    check(
        "no caching",
        fields(json!({}), none),
        format!("{MAX},{LOW}"),
    );
    check(
        "no output limit",
        fields(compat("supportsMaxOutputTokens", false), |_| {}),
        format!("{KEY},{LOW}"),
    );
    check(
        "a tiny output limit",
        fields(json!({}), |options| options.max_tokens = Some(3)),
        format!(r#"{KEY},"max_output_tokens":16,{LOW}"#),
    );
    check(
        "off",
        fields(json!({}), off),
        format!(r#"{KEY},{MAX},"reasoning":{{"effort":"none"}}"#),
    );
    check(
        "off in the model's word",
        fields(json!({"thinkingLevelMap": {"off": "minimal"}}), off),
        format!(r#"{KEY},{MAX},"reasoning":{{"effort":"minimal"}}"#),
    );
    check(
        "no off",
        fields(json!({"thinkingLevelMap": {"off": null}}), off),
        format!("{KEY},{MAX}"),
    );
    check(
        "off on copilot",
        fields(json!({"provider": "github-copilot"}), off),
        format!("{KEY},{MAX}"),
    );
    check(
        "off on xai",
        fields(json!({"provider": "xai"}), off),
        format!(
            r#"{KEY},{MAX},"reasoning":{{"effort":"none"}},"include":["reasoning.encrypted_content"]"#
        ),
    );
    check(
        "no reasoning",
        fields(json!({"reasoning": false}), |_| {}),
        format!("{KEY},{MAX}"),
    );
    check(
        "a mapped level",
        fields(
            json!({"thinkingLevelMap": {"low": "tiny"}}),
            with_option("reasoningSummary", "concise".into()),
        ),
        format!(
            r#"{KEY},{MAX},"reasoning":{{"effort":"tiny","summary":"concise"}},"include":["reasoning.encrypted_content"]"#
        ),
    );
    check(
        "service tier",
        fields(
            json!({"reasoning": false}),
            with_option("serviceTier", "flex".into()),
        ),
        format!(r#"{KEY},{MAX},"service_tier":"flex""#),
    );
    check(
        "tool choice",
        fields(json!({"reasoning": false}), |options| {
            options.tool_choice = Some(ToolChoice::None);
        }),
        format!(r#"{KEY},{MAX},"tool_choice":"none""#),
    );
    check(
        "the API's own tool choice",
        fields(
            json!({"reasoning": false}),
            with_option("toolChoice", json!({"type": "function", "name": "read"})),
        ),
        format!(r#"{KEY},{MAX},"tool_choice":{{"type":"function","name":"read"}}"#),
    );
    check(
        "sampling parameters win",
        fields(
            json!({"reasoning": false, "samplingParams": {"top_p": 0.5, "seed": 1}}),
            |options| {
                options.temperature = Some(0.25);
                let params = json!({"seed": 2, "temperature": 1});
                options.sampling_params = params.as_object().cloned();
            },
        ),
        format!(r#"{KEY},{MAX},"temperature":1,"top_p":0.5,"seed":2"#),
    );
    check(
        "a long session id",
        fields(json!({"reasoning": false}), |options| {
            options.session_id = Some("é".repeat(80));
        }),
        format!(r#""prompt_cache_key":"{}",{MAX}"#, "é".repeat(64)),
    );
}

#[test]
fn headers_contain_authorization_and_session() {
    let headers = |fields: Value| {
        let model = model(api::OPENAI_RESPONSES, fields);
        let messages = json!([{"role": "user", "content": "hi"}]);
        let exchange = prepared(&OpenAiResponses, &request(model, messages, options(|_| {})));
        assert_eq!(exchange.url, "http://127.0.0.1:9/responses");
        let headers = exchange.headers.into_iter();
        let rendered: Vec<String> = headers
            .map(|(name, value)| format!("{name}={}", value.unwrap()))
            .collect();
        rendered.join(" ")
    };
    let format = |format: &str| json!({"compat": {"sessionAffinityFormat": format}});
    let key = "authorization=Bearer sk-test";
    let cases = [
        (
            json!({}),
            format!("{key} session_id=session-1 x-client-request-id=session-1"),
        ),
        (
            format("openai"),
            format!("{key} session_id=session-1 x-client-request-id=session-1"),
        ),
        (
            format("openai-nosession"),
            format!("{key} x-client-request-id=session-1"),
        ),
        (
            format("openrouter"),
            format!("{key} x-session-id=session-1"),
        ),
        (
            json!({"provider": "openrouter"}),
            format!("{key} x-session-id=session-1"),
        ),
        (
            json!({"provider": "github-copilot", "baseUrl": "http://127.0.0.1:9/"}),
            format!(
                "Openai-Intent=conversation-edits X-Initiator=user {key} session_id=session-1 x-client-request-id=session-1"
            ),
        ),
    ];
    for (fields, expected) in cases {
        assert_eq!(headers(fields), expected);
    }
}

#[test]
fn a_request_without_credential_is_an_error_unless_headers_authorize() {
    let prepare = |change: fn(&mut StreamOptions)| {
        let model = model(api::OPENAI_RESPONSES, json!({}));
        let mut request = request(model, json!([]), options(|_| {}));
        request.options.api_key = None;
        change(&mut request.options);
        futures_util::FutureExt::now_or_never(OpenAiResponses.prepare(&request)).unwrap()
    };
    let error = prepare(|_| {}).unwrap_err();
    assert_eq!(error.message, "No API key for provider mock");
    let own = |options: &mut StreamOptions| {
        let value = Some("Bearer x".to_owned());
        options
            .headers
            .insert("CF-AIG-Authorization".to_owned(), value);
    };
    assert!(!prepare(own).unwrap().headers.contains_key("authorization"));
}

#[test]
fn failed_responses_are_described_and_classified() {
    use pi_protocol::ErrorClass;
    let limited = ErrorClass::RateLimited {
        retry_after: Some(std::time::Duration::from_secs(2)),
    };
    let cases = [
        (
            400,
            r#"{"error": {"type":"invalid_request_error","code":"bad","message":"bad field"}}"#,
            ErrorClass::InvalidRequest,
            r#"400 Bad Request: {"type":"invalid_request_error","code":"bad","message":"bad field"}"#,
        ),
        (
            400,
            r#"{"error":{"code":"context_length_exceeded"}}"#,
            ErrorClass::ContextOverflow,
            r#"400 Bad Request: {"code":"context_length_exceeded"}"#,
        ),
        (
            429,
            r#"{"error":{"code":"insufficient_quota"}}"#,
            ErrorClass::Quota,
            r#"429 Too Many Requests: {"code":"insufficient_quota"}"#,
        ),
        (
            429,
            r#"{"error":{"code":"rate_limit_exceeded"}}"#,
            limited,
            r#"429 Too Many Requests: {"code":"rate_limit_exceeded"}"#,
        ),
        (
            401,
            r#"{"error":"no"}"#,
            ErrorClass::Auth,
            r#"401 Unauthorized: {"error":"no"}"#,
        ),
        (
            503,
            "<html>",
            ErrorClass::Overloaded,
            "503 Service Unavailable: <html>",
        ),
    ];
    for (status, body, class, message) in cases {
        let head = ResponseHead {
            status,
            headers: [("retry-after".to_owned(), "2".to_owned())].into(),
        };
        let error = OpenAiResponses.error(&head, body);
        assert_eq!((error.class, error.message.as_str()), (class, message));
        assert_eq!(error.status, Some(status));
    }
}

#[test]
fn malformed_events_are_handled() {
    let cases = [
        ("data: {\"type\":\"resp\n\n", "protocol"),
        ("data: null\n\n", "protocol"),
        ("data: {\"error\":{\"message\":\"gone\"}}\n\n", "gone"),
        ("data: {\"type\":\"error\",\"code\":500}\n\n", "500"),
        (
            "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"odd\"}}\n\n",
            "odd",
        ),
        (
            "data: {\"type\":\"response.completed\",\"response\":{\"usage\":3}}\n\n",
            "invalid event",
        ),
        (
            "data: {\"type\":\"response.failed\"}\n\n",
            "without a reason",
        ),
        ("data: [DONE]\n\n", "before the response was complete"),
        (
            "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"odd\"}}",
            "odd",
        ),
        (
            "data: {\"type\":\"error\",\"message\":\"unended\"}",
            "unended",
        ),
        (
            "data: {\"type\":\"response.output_text.delta\",\"delta\":{}}\n\n",
            "before the response",
        ),
    ];
    for (body, expected_text) in cases {
        let events = events(body.as_bytes());
        let last = events.lines().last().unwrap();
        assert!(last.contains("\"type\":\"error\""), "{body}: {last}");
        let expected = if expected_text == "protocol" {
            "invalid event"
        } else {
            expected_text
        };
        assert!(last.contains(expected), "{body}: {last}");
    }
}

#[test]
fn lone_surrogates_are_dropped() {
    let body = br#"data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}

data: {"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"a\ud83d\ude00\udc00"}]}}

data: {"type":"response.completed","response":{"status":"completed"}}

"#;
    let events = events(body);
    assert!(events.contains(r#""delta":"a"}"#), "{events}");
    assert!(events.contains(r#""content":"a😀"}"#), "{events}");
}
