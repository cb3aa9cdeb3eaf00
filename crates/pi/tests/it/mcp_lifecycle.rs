//! How connections to MCP servers start, and when: with and without a handshake, at the start of a session or on first use.
#![cfg(unix)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, text_reply, tool_call_reply};
use crate::mcp::Client;
use crate::mcp_http_server::{HttpRequest, HttpResponse, RoutedServer};

/// Speaks only 2026-07-28: requests state the version, and a call needs an answer of the user. Logs every message.
const MODERN_SERVER: &str = r#"#!/bin/sh
printf 'start\n' >> "$LOG"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while read -r line; do
  printf '%s\n' "$line" >> "$LOG"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}\n' "$id" ;;
    *'"method":"server/discover"'*)
      answer "$id" '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"instructions":"Be kind."}' ;;
    *'"method":"tools/list"'*)
      answer "$id" '{"resultType":"complete","ttlMs":0,"tools":[{"name":"greet","inputSchema":{"type":"object"}}]}' ;;
    *'"inputResponses"'*)
      answer "$id" '{"resultType":"complete","content":[{"type":"text","text":"hello at last"}]}' ;;
    *'"method":"tools/call"'*)
      if [ -n "$ASKS" ]; then
        answer "$id" '{"resultType":"input_required","requestState":"s1","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}}}'
      else
        answer "$id" '{"resultType":"complete","content":[{"type":"text","text":"hello from 2026"}]}'
      fi ;;
  esac
done
"#;

/// Knows only the handshake, with an older version; ignores what it does not know. May use the model.
const LEGACY_SERVER: &str = r#"#!/bin/sh
printf 'start\n' >> "$LOG"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while read -r line; do
  printf '%s\n' "$line" >> "$LOG"
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"protocolVersion":"2025-11-25"'*)
      if [ -n "$OLD" ]; then
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2025-06-18"]}}}\n' "$id"
      else
        answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}'
      fi ;;
    *'"protocolVersion":"2025-06-18"'*)
      answer "$id" '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer "$id" '{"tools":[{"name":"greet","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      if [ -n "$SAMPLES" ]; then
        printf '%s\n' '{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"systemPrompt":"Be brief.","maxTokens":50,"messages":[{"role":"user","content":{"type":"text","text":"a question of the server"}}]}}'
        read -r reply
        reply=$(printf '%s' "$reply" | tr '"' "'")
        answer "$id" '{"content":[{"type":"text","text":"reply: '"$reply"'"}]}'
      else
        answer "$id" '{"content":[{"type":"text","text":"hello from before"}]}'
      fi ;;
  esac
done
"#;

/// Configures a server; returns its log.
fn configure(context: &TestContext, script: &str, mut entry: Value) -> PathBuf {
    let file = context.home.write_program("server.sh", script);
    let log = context.home.path().join("log");
    entry["command"] = json!(file);
    entry["env"]["LOG"] = json!(log);
    entry["exposure"] = json!("direct");
    let config = json!({"mcpServers": {"tiny": entry}});
    context.home.write("agent/mcp.json", config.to_string());
    log
}

/// Returns the methods that a server received, and its starts.
fn methods(log: &std::path::Path) -> Vec<String> {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let methods = log.lines().map(|line| {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        message["method"].as_str().unwrap_or(line).to_owned()
    });
    methods.collect()
}

/// Calls the tool in a separate session; returns what the model received as its result.
async fn call(context: &TestContext) -> String {
    let before = context.server.requests().len();
    let run = context.run(&["--model", "mock/alpha", "-p", "greet"]).await;
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    let requests = context.server.requests();
    String::from_utf8_lossy(&requests[before + 1].body).into_owned()
}

/// Replies of a model that calls the tool in each of several sessions.
fn calls(sessions: usize) -> Vec<pi_test_support::ScriptedReply> {
    let session = || {
        [
            tool_call_reply("mcp__tiny__greet", &json!({})),
            text_reply("Done."),
        ]
    };
    (0..sessions).flat_map(|_| session()).collect()
}

#[tokio::test]
async fn a_server_that_rejects_the_handshake_is_used_without_one_and_remembered() {
    let context = TestContext::new(calls(2)).await;
    let log = configure(&context, MODERN_SERVER, json!({}));
    let result = call(&context).await;
    assert!(result.contains("hello from 2026"), "{result}");
    let first = methods(&log);
    let expected = [
        "start",
        "initialize",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
        "tools/call",
    ];
    assert_eq!(
        sorted(first.clone()),
        sorted(expected.map(str::to_owned).into())
    );
    assert_eq!(first[1..3], ["initialize", "server/discover"]);
    let message = std::fs::read_to_string(&log).unwrap();
    let message = message.lines().find(|line| line.contains("tools/call"));
    let message: Value = serde_json::from_str(message.unwrap()).unwrap();
    let meta = &message["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "pi");
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({"roots": {}})
    );
    assert!(meta["progressToken"].is_number(), "{message}");

    std::fs::remove_file(&log).unwrap();
    call(&context).await;
    let second = methods(&log);
    assert_eq!(second[..2], ["start", "server/discover"]);
    assert!(!second.contains(&"initialize".to_owned()), "{second:?}");
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

#[tokio::test]
async fn a_call_is_sent_again_with_the_answers_of_the_user() {
    let context = TestContext::new(calls(1)).await;
    let entry = json!({"protocol": "2026-07-28", "env": {"ASKS": "1"}});
    let log = configure(&context, MODERN_SERVER, entry);
    let mut client = Client::start(&context);
    client
        .request(json!({"type": "hello", "elicitation": true}))
        .await;
    client
        .send(json!({"type": "prompt", "message": "go"}))
        .await;
    let is_dialog = |it: &Value| it["type"] == "extension_ui_request" && it["title"].is_string();
    for value in ["Answer", "Ada"] {
        let dialog = client.read_until(is_dialog).await;
        let answer = json!({"type": "extension_ui_response", "id": dialog["id"], "value": value});
        client.send(answer).await;
    }
    client.read_until(|it| it["type"] == "agent_settled").await;
    let requests = context.server.requests();
    let body = String::from_utf8_lossy(&requests[1].body);
    assert!(body.contains("hello at last"), "{body}");
    let log = std::fs::read_to_string(&log).unwrap();
    let retried = log.lines().find(|line| line.contains("inputResponses"));
    let retried: Value = serde_json::from_str(retried.unwrap()).unwrap();
    let params = &retried["params"];
    assert_eq!(params["requestState"], "s1");
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    assert_eq!(params["inputResponses"]["who"], answer);
    assert_eq!(params["name"], "greet");
}

#[tokio::test]
async fn a_server_that_ignores_discovery_gets_a_handshake() {
    let context = TestContext::new(calls(1)).await;
    let log = configure(&context, LEGACY_SERVER, json!({"protocol": "2026-07-28"}));
    let result = call(&context).await;
    assert!(result.contains("hello from before"), "{result}");
    assert_eq!(methods(&log)[1..3], ["server/discover", "initialize"]);
}

#[tokio::test]
async fn a_version_that_the_server_names_is_used() {
    let context = TestContext::new(calls(1)).await;
    let entry = json!({"protocol": "legacy", "env": {"OLD": "1"}});
    let log = configure(&context, LEGACY_SERVER, entry);
    let result = call(&context).await;
    assert!(result.contains("hello from before"), "{result}");
    assert_eq!(methods(&log)[1..3], ["initialize", "initialize"]);
}

/// Answers like an HTTP server of 2026-07-28, which checks headers.
fn modern_http(request: &HttpRequest) -> HttpResponse {
    let message = request.message();
    let method = message["method"].as_str().unwrap_or_default();
    let meta = &message["params"]["_meta"];
    let version = &meta["io.modelcontextprotocol/protocolVersion"];
    if version != "2026-07-28" {
        let error = json!({"code": -32022, "message": "unsupported", "data": {"supported": ["2026-07-28"]}});
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
        return HttpResponse::json(400, &body);
    }
    let name = message["params"]["name"].as_str();
    let expected = [
        ("mcp-protocol-version", Some("2026-07-28")),
        ("mcp-method", Some(method)),
        ("mcp-name", name),
        ("mcp-session-id", None),
    ];
    for (header, value) in expected {
        if request.header(header) != value {
            let error = json!({"code": -32020, "message": format!("wrong {header}")});
            let body = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            return HttpResponse::json(400, &body);
        }
    }
    let result = match method {
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
        }),
        "tools/list" => json!({"resultType": "complete", "tools": [
            {"name": "greet", "inputSchema": {"type": "object"}},
        ]}),
        "tools/call" => json!({"resultType": "complete", "content": [
            {"type": "text", "text": "hello over HTTP"},
        ]}),
        _ => {
            let error = json!({"code": -32601, "message": "unknown method"});
            let body = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            return HttpResponse::json(404, &body);
        }
    };
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    HttpResponse::json(200, &body)
}

#[tokio::test]
async fn an_http_server_without_handshake_gets_headers_with_every_request() {
    for protocol in ["auto", "2026-07-28"] {
        let server = RoutedServer::start(|_| Arc::new(modern_http)).await;
        let context = TestContext::new(calls(1)).await;
        let entry = json!({"url": server.url, "exposure": "direct", "protocol": protocol});
        let config = json!({"mcpServers": {"tiny": entry}});
        context.home.write("agent/mcp.json", config.to_string());
        let result = call(&context).await;
        assert!(result.contains("hello over HTTP"), "{result}");
        let first = server.requests()[0].message();
        let starts_modern = first["method"] == "server/discover";
        assert_eq!(starts_modern, protocol == "2026-07-28");
    }
}

/// Answers like an HTTP server with a handshake, whose message stream opens late.
fn late_stream(
    request: &HttpRequest,
    lists: &Mutex<Receiver<()>>,
    early_calls: &AtomicUsize,
) -> HttpResponse {
    let message = request.message();
    let result = match message["method"].as_str() {
        None => {
            // What must not arrive before the answer to the request for the stream.
            let early = lists
                .lock()
                .unwrap()
                .recv_timeout(Duration::from_millis(300));
            early_calls.fetch_add(usize::from(early.is_ok()), Ordering::Relaxed);
            return HttpResponse::empty(405);
        }
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "late", "version": "1"},
        }),
        Some("tools/list") => {
            json!({"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]})
        }
        Some("tools/call") => json!({"content": [{"type": "text", "text": "hello over HTTP"}]}),
        Some(_) => return HttpResponse::empty(202),
    };
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    HttpResponse::json(200, &body)
}

#[tokio::test]
async fn requests_wait_until_the_message_stream_of_an_http_server_is_open() {
    let (sender, receiver) = channel();
    let early_calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&early_calls);
    let lists = Mutex::new(receiver);
    let sender = Mutex::new(sender);
    let server = RoutedServer::start(|_| {
        Arc::new(move |request: &HttpRequest| {
            let method = request.message()["method"].clone();
            if method == "tools/list" {
                sender.lock().unwrap().send(()).unwrap();
            }
            late_stream(request, &lists, &counter)
        })
    })
    .await;
    let context = TestContext::new(calls(1)).await;
    let entry = json!({"url": server.url, "exposure": "direct", "protocol": "legacy"});
    let config = json!({"mcpServers": {"tiny": entry}});
    context.home.write("agent/mcp.json", config.to_string());
    let result = call(&context).await;
    assert!(result.contains("hello over HTTP"), "{result}");
    assert_eq!(early_calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_lazy_server_starts_when_it_is_used() {
    let replies = [text_reply("1"), text_reply("2")];
    let context = TestContext::new(replies.into_iter().chain(calls(1))).await;
    let log = configure(&context, LEGACY_SERVER, json!({"start": "lazy"}));
    let starts = || methods(&log).iter().filter(|it| *it == "start").count();
    // The first contact learns the tools.
    for expected in [1, 1] {
        let run = context.run(&["--model", "mock/alpha", "-p", "hello"]).await;
        assert_eq!((run.code, starts()), (Some(0), expected), "{run:?}");
        let requests = context.server.requests();
        let body = String::from_utf8_lossy(&requests.last().unwrap().body).into_owned();
        assert!(body.contains("mcp__tiny__greet"), "{body}");
    }
    let result = call(&context).await;
    assert!(result.contains("hello from before"), "{result}");
    assert_eq!(starts(), 2);
}

#[tokio::test]
async fn an_idle_lazy_server_is_stopped_and_started_again() {
    let context = TestContext::new(calls(2)).await;
    let entry = json!({"start": "lazy", "idleMinutes": 0.005});
    let log = configure(&context, LEGACY_SERVER, entry);
    let mut client = Client::start(&context);
    for expected in [1, 2] {
        client
            .send(json!({"type": "prompt", "message": "go"}))
            .await;
        client.read_until(|it| it["type"] == "agent_settled").await;
        let starts = methods(&log);
        let starts = starts.iter().filter(|it| *it == "start").count();
        assert!(starts >= expected, "{starts}");
        let state = |it: &Value| it["servers"][0]["state"] == "disconnected";
        let servers = client.request(json!({"type": "get_mcp_servers"})).await;
        if !state(&servers["data"]) {
            client
                .read_until(|it| it["type"] == "mcp_status" && state(it))
                .await;
        }
    }
    let requests = context.server.requests();
    for index in [1, 3] {
        let body = String::from_utf8_lossy(&requests[index].body).into_owned();
        assert!(body.contains("hello from before"), "{body}");
    }
}

#[tokio::test]
async fn a_server_uses_the_model_only_if_the_user_allows_it() {
    let replies = [
        tool_call_reply("mcp__tiny__greet", &json!({})),
        text_reply("an answer of the model"),
        text_reply("Done."),
    ];
    let context = TestContext::new(replies).await;
    let entry = json!({"sampling": true, "env": {"SAMPLES": "1"}});
    let log = configure(&context, LEGACY_SERVER, entry);
    let run = context.run(&["--model", "mock/alpha", "-p", "greet"]).await;
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    let requests = context.server.requests();
    let sampled = String::from_utf8_lossy(&requests[1].body).into_owned();
    assert!(sampled.contains("a question of the server"), "{sampled}");
    assert!(sampled.contains("Be brief."), "{sampled}");
    assert!(!sampled.contains("mcp__tiny__greet"), "{sampled}");
    let result = String::from_utf8_lossy(&requests[2].body).into_owned();
    assert!(result.contains("an answer of the model"), "{result}");
    let handshake = std::fs::read_to_string(log).unwrap();
    assert!(handshake.contains("\"sampling\":{}"), "{handshake}");

    let context = TestContext::new(calls(1)).await;
    let log = configure(&context, LEGACY_SERVER, json!({"env": {"SAMPLES": "1"}}));
    let result = call(&context).await;
    assert!(result.contains("-32601"), "{result}");
    let handshake = std::fs::read_to_string(log).unwrap();
    assert!(!handshake.contains("\"sampling\":{}"), "{handshake}");
}
