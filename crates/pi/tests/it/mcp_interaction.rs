//! What MCP servers ask and offer besides tools: questions, prompts and resources.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, text_reply, tool_call_reply};
use crate::mcp::Client;

/// Asks a question during a call and returns the answer; has a prompt and resources.
const SERVER: &str = r#"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      printf '%s\n' "$line" >> "$LOG"
      answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"tiny","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer "$id" '{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"prompts/list"'*)
      answer "$id" '{"prompts":[{"name":"welcome","description":"Welcomes","arguments":[{"name":"who","required":true}]}]}' ;;
    *'"method":"prompts/get"'*)
      who=$(printf '%s' "$line" | sed -n 's/.*"who":"\([^"]*\)".*/\1/p')
      answer "$id" '{"messages":[{"role":"user","content":{"type":"text","text":"Welcome '"$who"' warmly"}}]}' ;;
    *'"method":"resources/read"'*)
      answer "$id" '{"contents":[{"uri":"doc://guide","text":"the text of the guide"}]}' ;;
    *'"method":"tools/call"'*)
      printf '%s\n' '{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}'
      read -r reply
      reply=$(printf '%s' "$reply" | tr '"' "'")
      answer "$id" '{"content":[{"type":"text","text":"reply: '"$reply"'"}]}' ;;
  esac
done
"#;

fn write_server(context: &TestContext) -> std::path::PathBuf {
    let script = context.home.path().join("server.sh");
    context.home.write("server.sh", SERVER);
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let log = context.home.path().join("log");
    let entry = json!({"command": script, "env": {"LOG": log}, "exposure": "direct"});
    let config = json!({"mcpServers": {"tiny": entry}});
    context.home.write("agent/mcp.json", config.to_string());
    log
}

/// Returns the body of a request of the model.
fn request(context: &TestContext, index: usize) -> String {
    let requests = context.server.requests();
    String::from_utf8_lossy(&requests[index].body).into_owned()
}

async fn end(client: Client) {
    let Client {
        mut child, input, ..
    } = client;
    drop(input);
    let ended = tokio::time::timeout(crate::harness::TEST_TIMEOUT, child.wait()).await;
    assert_eq!(ended.unwrap().unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_client_answers_a_question_of_a_server() {
    let replies = [
        tool_call_reply("mcp__tiny__ask", &json!({})),
        text_reply("Done."),
    ];
    let context = TestContext::new(replies).await;
    let log = write_server(&context);
    let mut client = Client::start(&context);
    let hello = json!({"type": "hello", "elicitation": true});
    assert_eq!(client.request(hello).await["success"], true);
    client
        .send(json!({"type": "prompt", "message": "go"}))
        .await;
    let is_dialog = |it: &Value| it["type"] == "extension_ui_request" && it["title"].is_string();
    let dialog = client.read_until(is_dialog).await;
    assert_eq!(dialog["method"], "select", "{dialog}");
    assert_eq!(
        dialog["title"],
        "MCP server \"tiny\" asks: Who are you?\n• name (required)"
    );
    let answer = |dialog: &Value, value: &str| json!({"type": "extension_ui_response", "id": dialog["id"], "value": value});
    client.send(answer(&dialog, "Answer")).await;
    let dialog = client.read_until(is_dialog).await;
    assert_eq!(dialog["method"], "input", "{dialog}");
    client.send(answer(&dialog, "Ada")).await;
    client.read_until(|it| it["type"] == "agent_settled").await;
    let body = request(&context, 1);
    assert!(body.contains("'action':'accept'"), "{body}");
    assert!(body.contains("'name':'Ada'"), "{body}");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("\"elicitation\""), "{log}");
    end(client).await;
}

#[tokio::test]
async fn a_server_cannot_ask_where_there_is_no_user() {
    let replies = [
        tool_call_reply("mcp__tiny__ask", &json!({})),
        text_reply("Done."),
    ];
    let context = TestContext::new(replies).await;
    let log = write_server(&context);
    let run = context.run(&["--model", "mock/alpha", "-p", "go"]).await;
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    let body = request(&context, 1);
    assert!(body.contains("-32601"), "{body}");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("elicitation"), "{log}");
}

#[tokio::test]
async fn prompts_are_commands_and_resources_are_attached() {
    let context = TestContext::new(["1", "2"].map(text_reply)).await;
    write_server(&context);
    let mut client = Client::start(&context);
    client
        .send(json!({"type": "prompt", "message": "/mcp:tiny:welcome Ada"}))
        .await;
    client.read_until(|it| it["type"] == "agent_settled").await;
    let body = request(&context, 0);
    assert!(body.contains("Welcome Ada warmly"), "{body}");
    let commands = client.request(json!({"type": "get_commands"})).await;
    let commands = commands["data"]["commands"].as_array().unwrap().clone();
    let command = commands
        .iter()
        .find(|command| command["name"] == "mcp:tiny:welcome");
    assert_eq!(command.unwrap()["description"], "<who> · Welcomes");

    let message = "Summarize @tiny:doc://guide, please";
    client
        .send(json!({"type": "prompt", "message": message}))
        .await;
    client.read_until(|it| it["type"] == "agent_settled").await;
    let body = request(&context, 1);
    assert!(body.contains("the text of the guide"), "{body}");

    client
        .send(json!({"type": "prompt", "message": "/mcp:tiny:welcome"}))
        .await;
    let notice = client
        .read_until(|it| it["method"] == "notify" && it["notifyType"] == "error")
        .await;
    let text = notice["message"].as_str().unwrap();
    assert!(text.contains("Usage: /mcp:tiny:welcome <who>"), "{text}");
    assert_eq!(context.server.requests().len(), 2);
    end(client).await;
}

/// Configures pi itself as an MCP server.
fn serve_pi(context: &TestContext) {
    let entry = json!({
        "command": crate::harness::pi_binary().to_string_lossy(),
        "args": ["mcp", "serve"],
        "exposure": "direct",
    });
    let config = json!({"mcpServers": {"agent": entry}});
    context.home.write("agent/mcp.json", config.to_string());
}

#[tokio::test]
async fn pi_is_a_server_whose_sessions_are_continued() {
    let outer =
        |tool: &str, arguments: Value| tool_call_reply(&format!("mcp__agent__{tool}"), &arguments);
    let replies = [
        outer(
            "pi",
            json!({"prompt": "write a file", "model": "mock/alpha", "tools": ["write"]}),
        ),
        tool_call_reply("write", &json!({"path": "made.txt", "content": "x"})),
        text_reply("The file exists."),
        text_reply("Done."),
    ];
    let context = TestContext::new(replies).await;
    serve_pi(&context);
    let run = context.run(&["--model", "mock/alpha", "-p", "go"]).await;
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    assert!(context.project_dir().join("made.txt").exists());
    let inner = request(&context, 1);
    assert!(inner.contains("write a file"), "{inner}");
    assert!(!inner.contains("mcp__agent__pi"), "{inner}");
    let last = request(&context, 3);
    assert!(last.contains("The file exists."), "{last}");
}

/// A client of `pi mcp serve` that writes and reads lines.
struct LineClient {
    child: tokio::process::Child,
    input: tokio::process::ChildStdin,
    output: tokio::io::Lines<tokio::io::BufReader<tokio::process::ChildStdout>>,
}

impl LineClient {
    fn start(context: &TestContext) -> Self {
        let mut command = context.command(&["mcp", "serve"]);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let output = tokio::io::BufReader::new(child.stdout.take().unwrap());
        Self {
            input: child.stdin.take().unwrap(),
            output: tokio::io::AsyncBufReadExt::lines(output),
            child,
        }
    }

    async fn write(&mut self, line: &str) {
        use tokio::io::AsyncWriteExt as _;
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(crate::harness::TEST_TIMEOUT, self.output.next_line());
        let line = line.await.unwrap().unwrap().expect("pi ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Reads until a message has this ID; returns it and the messages before it.
    async fn read_answer(&mut self, id: u64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.read().await;
            if message["id"] == id {
                return (message, before);
            }
            before.push(message);
        }
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) -> (Value, Vec<Value>) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&message.to_string()).await;
        self.read_answer(id).await
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}});
        let (answer, before) = self.request(id, "tools/call", params).await;
        assert!(
            before
                .iter()
                .all(|it| it["method"] == "notifications/progress"),
            "{before:?}"
        );
        answer["result"].clone()
    }
}

#[tokio::test]
async fn a_client_uses_the_tools_of_the_server() {
    let replies = [
        tool_call_reply("write", &json!({"path": "made.txt", "content": "x"})),
        text_reply("First."),
        text_reply("Second."),
    ];
    let context = TestContext::new(replies).await;
    let mut client = LineClient::start(&context);
    let version = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (answer, _) = client.request(1, "initialize", version).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    client
        .write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let (answer, _) = client.request(2, "tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["pi", "pi-reply", "pi-sessions", "pi-read"]);

    let arguments = json!({"prompt": "hello", "model": "mock/alpha"});
    let result = client.call(3, "pi", arguments).await;
    let structured = &result["structuredContent"];
    assert_eq!(structured["text"], "First.", "{result}");
    assert_eq!(structured["changedFiles"], json!(["made.txt"]));
    let id = structured["sessionId"].clone();
    let arguments = json!({"sessionId": id, "prompt": "more"});
    let result = client.call(4, "pi-reply", arguments).await;
    assert_eq!(result["structuredContent"]["text"], "Second.", "{result}");
    assert_eq!(result["structuredContent"]["sessionId"], id);
    let result = client.call(5, "pi-sessions", json!({})).await;
    assert_eq!(result["structuredContent"]["sessions"][0]["sessionId"], id);
    let result = client.call(6, "pi-read", json!({ "sessionId": id })).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Second."), "{text}");
    let uri = format!("pi://session/{}", id.as_str().unwrap());
    let (answer, _) = client
        .request(7, "resources/read", json!({ "uri": uri }))
        .await;
    assert_eq!(answer["result"]["contents"][0]["text"], text);

    // What is wrong is reported, and the server continues.
    let result = client
        .call(8, "pi", json!({"prompt": "x", "cwd": "nowhere"}))
        .await;
    assert_eq!(result["isError"], true, "{result}");
    for (id, method, params, code) in [
        (9, "tools/call", json!({"name": "other"}), -32602),
        (
            10,
            "tools/call",
            json!({"name": "pi", "arguments": {}}),
            -32602,
        ),
        (
            11,
            "resources/read",
            json!({"uri": "file:///etc/passwd"}),
            -32002,
        ),
        (12, "server/unknown", json!({}), -32601),
        (
            13,
            "tools/list",
            json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}}),
            -32022,
        ),
    ] {
        let (answer, _) = client.request(id, method, params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let (answer, _) = client
        .request(14, "server/discover", json!({"_meta": meta.clone()}))
        .await;
    assert_eq!(answer["result"]["supportedVersions"], json!(["2026-07-28"]));
    let (answer, _) = client
        .request(15, "tools/list", json!({ "_meta": meta }))
        .await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 4);
    client.write("nonsense").await;
    assert_eq!(client.read().await["error"]["code"], -32700);
    drop(client.input);
    let ended = tokio::time::timeout(crate::harness::TEST_TIMEOUT, client.child.wait()).await;
    assert_eq!(ended.unwrap().unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_canceled_call_of_the_server_interrupts_the_agent() {
    let replies = [
        crate::harness::partial_reply("thinking").stall(),
        text_reply("Later."),
    ];
    let context = TestContext::new(replies).await;
    let mut client = LineClient::start(&context);
    let version = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    client.request(1, "initialize", version).await;
    let arguments = json!({"prompt": "hello", "model": "mock/alpha"});
    let params = json!({"name": "pi", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    client.write(&call.to_string()).await;
    context.server.wait_for_request(0).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2, "reason": "enough"}});
    client.write(&cancel.to_string()).await;
    // The model is no longer waited for, the canceled call gets no answer, and the server continues.
    let disconnected = context.server.wait_for_disconnect(0);
    let timeout = crate::harness::TEST_TIMEOUT;
    tokio::time::timeout(timeout, disconnected).await.unwrap();
    let result = client.call(3, "pi", arguments).await;
    assert_eq!(result["structuredContent"]["text"], "Later.", "{result}");
    let (answer, before) = client.request(4, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    assert!(before.iter().all(|it| it["id"] != 2), "{before:?}");
    drop(client.input);
    let ended = tokio::time::timeout(timeout, client.child.wait()).await;
    assert_eq!(ended.unwrap().unwrap().code(), Some(0));
}
