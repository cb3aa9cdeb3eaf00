//! MCP servers as child processes: a tiny server in a shell script, which answers with fixed responses.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use crate::harness::{TEST_TIMEOUT, TestContext, text_reply, tool_call_reply};

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

/// Announces another tool during the first call, and answers the call when the new list has been read.
const GROWING_SERVER: &str = r#"#!/bin/sh
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
tool() { printf '{"name":"%s","inputSchema":{"type":"object"}}' "$1"; }
tools=$(tool greet)
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      answer "$id" '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"tiny","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer "$id" "{\"tools\":[$tools]}"
      if [ -n "$call" ]; then answer "$call" '{"content":[]}'; call=; fi ;;
    *'"method":"tools/call"'*)
      if [ "$tools" = "$(tool greet)" ]; then
        tools="$tools,$(tool bloom)"; call=$id
        printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
      else
        answer "$id" '{"content":[]}'
      fi ;;
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
async fn a_tool_announced_during_a_call_is_declared_one_request_later() {
    let context = TestContext::new([
        tool_call_reply("mcp__tiny__greet", &json!({})),
        tool_call_reply("mcp__tiny__greet", &json!({})),
        text_reply("Done."),
    ])
    .await;
    context_with_server(&context, json!({"exposure": "direct"}));
    context.home.write("server.sh", GROWING_SERVER);
    let run = context.run(&["--model", "mock/alpha", "-p", "greet"]).await;
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    let requests = context.server.requests();
    let declares = requests.iter().map(|request| {
        let body = String::from_utf8_lossy(&request.body);
        body.contains("mcp__tiny__bloom")
    });
    assert_eq!(declares.collect::<Vec<_>>(), [false, false, true]);
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

/// A client of RPC mode.
struct Client {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn start(context: &TestContext) -> Self {
        let mut command = context.command(&["--model", "mock/alpha", "--mode", "rpc"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    async fn send(&mut self, command: Value) {
        let line = format!("{command}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Reads until a line matches.
    async fn read_until(&mut self, matches: impl Fn(&Value) -> bool) -> Value {
        let reading = async {
            loop {
                let line = self.output.next_line().await.unwrap();
                let record: Value = serde_json::from_str(&line.expect("pi ended")).unwrap();
                if matches(&record) {
                    return record;
                }
            }
        };
        tokio::time::timeout(TEST_TIMEOUT, reading).await.unwrap()
    }

    /// Sends a command and returns its response.
    async fn request(&mut self, command: Value) -> Value {
        self.send(command).await;
        self.read_until(|record| record["type"] == "response").await
    }
}

fn is_status(record: &Value, state: &str) -> bool {
    record["type"] == "mcp_status" && record["servers"][0]["state"] == state
}

#[tokio::test]
async fn a_client_follows_and_changes_the_servers() {
    let context = TestContext::new([]).await;
    let pids = context_with_server(&context, json!({}));
    let mut client = Client::start(&context);
    let listed = client.request(json!({"type": "get_mcp_servers"})).await;
    let server = &listed["data"]["servers"][0];
    assert_eq!(server["name"], json!("tiny"), "{listed}");
    if server["state"] != "connected" {
        client.read_until(|it| is_status(it, "connected")).await;
    }
    let action = |server: &str, action: &str| json!({"type": "mcp_action", "server": server, "action": action});
    client.send(action("tiny", "disconnect")).await;
    client.read_until(|it| is_status(it, "disabled")).await;
    client.send(action("tiny", "connect")).await;
    let status = client.read_until(|it| is_status(it, "connected")).await;
    assert_eq!(status["servers"][0]["tools"], json!(["greet"]));
    for (server, wrong) in [("other", "connect"), ("tiny", "login"), ("tiny", "fly")] {
        client.send(action(server, wrong)).await;
        let failed = |it: &Value| it["command"] == "mcp_action" && it["success"] == false;
        client.read_until(failed).await;
    }
    drop(client.input);
    let status = tokio::time::timeout(TEST_TIMEOUT, client.child.wait()).await;
    assert_eq!(status.unwrap().unwrap().code(), Some(0));
    assert_eq!(running(&pids), Vec::<String>::new());
}

#[tokio::test]
async fn a_client_that_does_not_ask_for_servers_gets_no_events_about_them() {
    let context = TestContext::new([]).await;
    let pids = context_with_server(&context, json!({}));
    let mut client = Client::start(&context);
    // Waits until the server is connected.
    client
        .send(json!({"type": "prompt", "message": "/mcp", "id": "p"}))
        .await;
    let mut kinds = Vec::new();
    loop {
        let record = client.read_until(|_| true).await;
        kinds.push(record["type"].clone());
        if record["id"] == "p" {
            break;
        }
    }
    assert!(!kinds.contains(&json!("mcp_status")), "{kinds:?}");
    drop(client.input);
    tokio::time::timeout(TEST_TIMEOUT, client.child.wait())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(running(&pids), Vec::<String>::new());
}
