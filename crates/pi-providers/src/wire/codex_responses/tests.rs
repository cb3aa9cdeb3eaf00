//! Recorded streams to events, transcripts to bodies, and the headers of both transports.

mod websocket;

use insta::assert_snapshot;
use pi_protocol::{ThinkingLevel, api};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::options::StreamOptions;
use crate::wire::openai_responses::tests::{body_lines, prepared};
use crate::wire::testing::{
    assert_same_events_for_any_split, assert_truncation_is_an_error, decode, full_conversation,
    lines, model, request as request_of,
};

/// An unsigned token whose claims contain the account `acct_mock`.
const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjdF9tb2NrIn19.sig";

const FIXTURES: [(&str, &[u8]); 4] = [
    (
        "text",
        include_bytes!("../../../tests/fixtures/openai-codex-responses/text.sse"),
    ),
    (
        "tools",
        include_bytes!("../../../tests/fixtures/openai-codex-responses/tools.sse"),
    ),
    (
        "odd_status",
        include_bytes!("../../../tests/fixtures/openai-codex-responses/odd_status.sse"),
    ),
    (
        "usage_limit",
        include_bytes!("../../../tests/fixtures/openai-codex-responses/usage_limit.sse"),
    ),
];

fn options() -> StreamOptions {
    StreamOptions {
        api_key: Some(TOKEN.to_owned().into()),
        session_id: Some("session-1".to_owned()),
        reasoning: ThinkingLevel::Medium,
        ..StreamOptions::default()
    }
}

fn codex_request(fields: Value, messages: Value, options: StreamOptions) -> ModelRequest {
    request_of(
        model(api::OPENAI_CODEX_RESPONSES, fields),
        messages,
        options,
    )
}

fn hello(options: StreamOptions) -> ModelRequest {
    codex_request(
        json!({}),
        json!([{"role": "user", "content": "hi"}]),
        options,
    )
}

fn events(name: &str) -> String {
    let mut options = options();
    options
        .provider_options
        .insert("serviceTier".into(), "priority".into());
    let request = hello(options);
    let body = FIXTURES.iter().find(|(known, _)| *known == name).unwrap().1;
    let decoder = CodexHttp::new(&request).decoder(&request);
    lines(&decode(decoder, &request.model, [body]))
}

#[test]
fn text_ends_the_turn_and_is_priced_by_the_requested_tier() {
    assert_snapshot!(events("text"), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"hi"}
    {"type":"text_end","contentIndex":0,"content":"hi"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"hi","textSignature":"{\"v\":1,\"id\":\"msg_0\"}"}],"api":"openai-codex-responses","provider":"mock","model":"alpha","responseId":"resp_1","usage":{"input":5,"output":2,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":7,"cost":{"input":0.00003,"output":0.00006,"cacheRead":0,"cacheWrite":0,"total":0.00009,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"completed","endTurn":true,"timestamp":1700000000000}}
    "#);
}

#[test]
fn an_unknown_status_is_ignored() {
    assert_snapshot!(events("odd_status"), @r#"
    {"type":"start"}
    {"type":"done","reason":"stop","message":{"content":[],"api":"openai-codex-responses","provider":"mock","model":"alpha","responseId":"r1","usage":{"input":5,"output":2,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":7,"cost":{"input":0.00003,"output":0.00006,"cacheRead":0,"cacheWrite":0,"total":0.00009,"totalFromProvider":false}},"stopReason":"stop","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_limit_reported_in_the_stream_is_an_error() {
    assert_snapshot!(events("usage_limit"), @r#"
    {"type":"start"}
    {"type":"error","reason":"error","error":{"content":[],"api":"openai-codex-responses","provider":"mock","model":"alpha","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The service reported an error: usage_limit_reached: The usage limit has been reached","timestamp":1700000000000}}
    "#);
}

#[test]
fn splits_and_truncations_are_handled() {
    let request = hello(options());
    let new_decoder = || CodexHttp::new(&request).decoder(&request);
    for (name, body) in FIXTURES {
        assert_same_events_for_any_split(new_decoder, &request.model, body);
        if name != "usage_limit" {
            assert_truncation_is_an_error(new_decoder, &request.model, body);
        }
    }
}

#[test]
fn full_conversation_as_own_history() {
    let compat = json!({"supportsOpenAIGrammarTools": true, "supportsToolSearch": true,
        "supportsMidConvoSystemMessages": true});
    let messages = full_conversation("openai-codex", api::OPENAI_CODEX_RESPONSES, "alpha");
    let fields = json!({"provider": "openai-codex", "compat": compat});
    let request = codex_request(fields, messages, options());
    let exchange = prepared(&CodexHttp::new(&request), &request);
    assert_eq!(exchange.encoding, BodyEncoding::Zstd);
    assert_snapshot!(body_lines(&exchange.body.into_value()), @r#"
    model: "alpha"
    store: false
    stream: true
    instructions: "You are precise.\n\n<cwd>/tmp</cwd>"
    input:
      {"role":"user","content":[{"type":"input_text","text":"look at this"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Reading.","annotations":[]}],"status":"completed","id":"msg_pi_1"}
      {"type":"function_call","id":"fc_1","call_id":"call_1","name":"read","arguments":"{\"path\":\"a\"}"}
      {"type":"function_call","id":"fc_2","call_id":"call_2","name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}
      {"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"A"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"function_call_output","call_id":"call_2","output":"no such file"}
      {"type":"tool_search_call","call_id":"pi_tool_load_dzbl9a1mhl5qk","execution":"client","status":"completed","arguments":{"query":"write","limit":1}}
      {"type":"tool_search_output","call_id":"pi_tool_load_dzbl9a1mhl5qk","execution":"client","status":"completed","tools":[{"type":"function","name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}},"strict":null,"defer_loading":true}]}
      {"role":"developer","content":"Be brief from here.\n\nThe system prompt section \"cwd\" is replaced by:\n\n<cwd>/home</cwd>"}
      {"role":"user","content":[{"type":"input_text","text":"and now?"}]}
      {"role":"user","content":[{"type":"input_text","text":"go on"}]}
      {"type":"function_call","id":"fc_3","call_id":"call_3","name":"read","arguments":"{\"path\":\"c\"}"}
      {"type":"function_call_output","call_id":"call_3","output":"No result: this call was interrupted, and the tool may not have run."}
      {"role":"user","content":[{"type":"input_text","text":"never mind the file"}]}
    text: {"verbosity":"low"}
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    tool_choice: "auto"
    parallel_tool_calls: true
    tools:
      {"type":"function","name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false},"strict":true}
      {"type":"custom","name":"patch","description":"Applies a patch.","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}}
    reasoning: {"effort":"medium","summary":"auto"}
    "#);
}

#[test]
fn full_conversation_as_hand_off() {
    let messages = full_conversation("openai", api::OPENAI_RESPONSES, "beta");
    let fields = json!({"provider": "openai-codex", "thinkingLevelMap": {"off": null}});
    let mut options = options();
    options.reasoning = ThinkingLevel::Off;
    options
        .provider_options
        .insert("textVerbosity".into(), "high".into());
    let request = codex_request(fields, messages, options);
    let exchange = prepared(&CodexHttp::new(&request), &request);
    assert_snapshot!(body_lines(&exchange.body.into_value()), @r#"
    model: "alpha"
    store: false
    stream: true
    instructions: "You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"
    input:
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
    text: {"verbosity":"high"}
    include: ["reasoning.encrypted_content"]
    prompt_cache_key: "session-1"
    tool_choice: "auto"
    parallel_tool_calls: true
    tools:
      {"type":"function","name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false},"strict":true}
      {"type":"function","name":"patch","description":"Applies a patch.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]},"strict":null}
      {"type":"function","name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}},"strict":null}
    "#);
}

#[test]
fn urls_are_completed() {
    let cases = [
        ("", "https://chatgpt.com/backend-api/codex/responses"),
        (
            "http://a/backend-api/",
            "http://a/backend-api/codex/responses",
        ),
        ("http://a/codex", "http://a/codex/responses"),
        ("http://a/codex/responses", "http://a/codex/responses"),
    ];
    for (base, url) in cases {
        assert_eq!(request::url(base), url);
    }
    assert_eq!(request::websocket_url("http://a"), "ws://a/codex/responses");
    assert_eq!(
        request::websocket_url("https://a"),
        "wss://a/codex/responses"
    );
}

fn header_lines(headers: HeaderOverrides) -> String {
    let headers = headers.into_iter();
    let rendered: Vec<String> = headers
        .map(|(name, value)| format!("{name}: {}", value.unwrap()))
        .collect();
    rendered.join("\n").replace(TOKEN, "<token>")
}

#[test]
fn headers_contain_account_and_session() {
    let request = hello(options());
    let account = CodexAccount::resolve(&request).unwrap();
    assert_snapshot!(header_lines(request::http_headers(&request, &account)), @r#"
    accept: text/event-stream
    authorization: Bearer <token>
    chatgpt-account-id: acct_mock
    openai-beta: responses=experimental
    originator: pi
    session-id: session-1
    x-client-request-id: session-1
    "#);
    assert_snapshot!(header_lines(request::websocket_headers(&request, &account)), @r#"
    authorization: Bearer <token>
    chatgpt-account-id: acct_mock
    openai-beta: responses_websockets=2026-02-06
    originator: pi
    session-id: session-1
    x-client-request-id: session-1
    "#);

    let mut no_session = hello(options());
    no_session.options.session_id = None;
    let headers = request::websocket_headers(&no_session, &account);
    assert_eq!(headers["session-id"], headers["x-client-request-id"]);
    let headers = request::http_headers(&no_session, &account);
    assert!(!headers.contains_key("session-id"));
}

#[test]
fn the_account_comes_from_option_header_or_token() {
    let account = |change: fn(&mut StreamOptions)| {
        let mut options = options();
        change(&mut options);
        CodexAccount::resolve(&hello(options)).map(|account| account.id)
    };
    assert_eq!(account(|_| {}).unwrap(), "acct_mock");
    let option = |options: &mut StreamOptions| {
        options
            .provider_options
            .insert("accountId".into(), "acct_option".into());
    };
    assert_eq!(account(option).unwrap(), "acct_option");
    let header = |options: &mut StreamOptions| {
        options.api_key = Some("opaque".to_owned().into());
        let value = Some("acct_header".to_owned());
        options
            .headers
            .insert("ChatGPT-Account-Id".to_owned(), value);
    };
    assert_eq!(account(header).unwrap(), "acct_header");
    for token in ["not-a-jwt", "a.b.c", "a.e30.c", "a.b.c.d"] {
        let mut options = options();
        options.api_key = Some(token.to_owned().into());
        let error = CodexAccount::resolve(&hello(options))
            .map(|account| account.id)
            .unwrap_err();
        assert!(
            error.message.contains("contains no account"),
            "{}",
            error.message
        );
    }
}
