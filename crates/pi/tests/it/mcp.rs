//! MCP servers as child processes: a tiny server in a shell script, which answers with fixed responses.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, text_reply, tool_call_reply};

/// Answers the handshake, lists one tool, and answers its calls. IDs of requests are 1, 2 and so on.
const SERVER: &str = r#"#!/bin/sh
printf '%s\n' "$$" >> "$PIDS"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer "$id" '{"tools":[{"name":"greet","description":"Greets","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      answer "$id" '{"content":[{"type":"text","text":"hello from the server"}]}' ;;
  esac
done
"#;

/// Writes the server and adds to an entry what starts it; returns the file with the processes that were started.
fn write_server(context: &TestContext, entry: &mut Value) -> PathBuf {
    let script = context.home.path().join("server.sh");
    context.home.write("server.sh", SERVER);
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let pids = context.home.path().join("pids");
    entry["command"] = json!(script);
    entry["env"] = json!({ "PIDS": pids });
    pids
}

fn context_with_server(context: &TestContext, entry: Value) -> PathBuf {
    let mut entry = entry;
    let pids = write_server(context, &mut entry);
    let config = json!({"mcpServers": {"tiny": entry}});
    context.home.write("agent/mcp.json", config.to_string());
    pids
}

/// Returns the processes that were started and still exist.
fn running(pids: &std::path::Path) -> Vec<String> {
    let started = std::fs::read_to_string(pids).unwrap_or_default();
    let started = started.lines().map(str::to_owned);
    started
        .filter(|pid| std::path::Path::new("/proc").join(pid).exists())
        .collect()
}

#[tokio::test]
async fn a_direct_tool_is_declared_and_called() {
    let context = TestContext::new([
        tool_call_reply("mcp__tiny__greet", &json!({})),
        text_reply("Done."),
    ])
    .await;
    let pids = context_with_server(&context, json!({"exposure": "direct"}));
    let run = context.run(&["--model", "mock/alpha", "-p", "greet"]).await;
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    let requests = context.server.requests();
    let body: Value = serde_json::from_slice(&requests[1].body).unwrap();
    assert!(body.to_string().contains("hello from the server"), "{body}");
    assert_eq!(running(&pids), Vec::<String>::new());
}

#[tokio::test]
async fn servers_are_listed() {
    let context = TestContext::new([]).await;
    let pids = context_with_server(&context, json!({}));
    let run = context.run(&["mcp", "list", "--json"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(list["servers"][0]["state"], json!("connected"));
    assert_eq!(list["servers"][0]["tools"], json!(["greet"]));
    assert_eq!(running(&pids), Vec::<String>::new());
}

/// Writes an extension that registers the server.
fn context_with_registered_server(context: &TestContext) -> PathBuf {
    let mut entry = json!({"exposure": "direct"});
    let pids = write_server(context, &mut entry);
    let extension = format!("export default (pi) => pi.registerMcpServer(\"tiny\", {entry});\n");
    context.home.write("agent/extensions/tiny.js", extension);
    pids
}

#[tokio::test]
async fn a_server_of_an_extension_is_connected() {
    let context = TestContext::new([
        tool_call_reply("mcp__tiny__greet", &json!({})),
        text_reply("Done."),
    ])
    .await;
    let pids = context_with_registered_server(&context);
    let run = context.run(&["--model", "mock/alpha", "-p", "greet"]).await;
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    let requests = context.server.requests();
    let body: Value = serde_json::from_slice(&requests[1].body).unwrap();
    assert!(body.to_string().contains("hello from the server"), "{body}");
    assert_eq!(running(&pids), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_of_an_extension_is_reported_if_nothing_connects_to_it() {
    let context = TestContext::new([text_reply("Done.")]).await;
    let pids = context_with_registered_server(&context);
    let flags = ["--model", "mock/alpha", "--no-mcp", "-p", "greet"];
    let run = context.run(&flags).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stderr.contains("\"tiny\" is not used"), "{run:?}");
    assert!(!pids.exists());
}
