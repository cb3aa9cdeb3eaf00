//! What MCP servers ask and offer besides tools: questions, prompts and resources.
#![cfg(unix)]

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
    let script = context.home.write_program("server.sh", SERVER);
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
