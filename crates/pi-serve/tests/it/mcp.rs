//! The transport of MCP, with a connection that repeats what it receives.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_providers::FauxProvider;
use pi_serve::{McpConnection, McpEndpoint};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::support::{Answered, TestServer, options};

/// Repeats requests, and what was answered to its question.
struct Repeating {
    answers: mpsc::Sender<Value>,
    answered: Mutex<mpsc::Receiver<Value>>,
}

impl McpConnection for Repeating {
    fn request(
        self: Arc<Self>,
        message: Value,
        output: mpsc::Sender<Value>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut result = message.clone();
            if message["params"]["name"] == "slow" {
                let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress"});
                output.send(progress).await.unwrap_or_default();
                cancel.cancelled().await;
                return;
            }
            if message["params"]["name"] == "ask" {
                let question = json!({"jsonrpc": "2.0", "id": 9, "method": "elicitation/create"});
                output.send(question).await.unwrap_or_default();
                result = self.answered.lock().await.recv().await.unwrap();
            }
            let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
            output.send(answer).await.unwrap_or_default();
        })
    }

    fn response(&self, message: Value) {
        self.answers.try_send(message).unwrap();
    }
}

async fn start() -> TestServer {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(directory.path(), FauxProvider::echo());
    options.mcp = Some(McpEndpoint {
        modern_version: "2026-07-28",
        versions: &["2025-11-25"],
        connect: Box::new(|| {
            let (answers, answered) = mpsc::channel(8);
            Arc::new(Repeating {
                answers,
                answered: Mutex::new(answered),
            })
        }),
    });
    TestServer::run(directory, options).await
}

async fn post(server: &TestServer, client: Option<&str>, message: &Value) -> Answered {
    let token = format!("Bearer {}", server.token);
    let mut headers = vec![
        ("Authorization", token.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    headers.extend(client.map(|client| ("Mcp-Session-Id", client)));
    let body = message.to_string();
    server.send("POST", "/mcp", &headers, &body).await
}

fn call(id: u32, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
}

#[tokio::test]
async fn a_client_introduces_itself_calls_and_ends() {
    let server = start().await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let introduced = post(&server, None, &initialize).await;
    assert_eq!(introduced.status, 200, "{}", introduced.text);
    // Headers are in lower case here; the ID is not.
    let whole = introduced.original_header("mcp-session-id").unwrap();
    let client = Some(whole.as_str());

    let notified = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&server, client, &notified).await.status, 202);
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    assert_eq!(post(&server, client, &ping).await.json()["id"], "p");
    let called = post(&server, client, &call(2, "echo")).await;
    assert_eq!(called.header("content-type"), Some("text/event-stream"));
    assert!(
        called.text.contains("event: message\ndata: {"),
        "{}",
        called.text
    );

    assert_eq!(post(&server, None, &ping).await.status, 400);
    assert_eq!(post(&server, Some("x"), &ping).await.status, 404);
    for invalid in [json!([ping]), json!("x")] {
        assert_eq!(post(&server, client, &invalid).await.status, 400);
    }
    let token = format!("Bearer {}", server.token);
    let authorization = ("Authorization", token.as_str());
    let streaming = server.send("GET", "/mcp", &[authorization], "").await;
    assert_eq!(streaming.status, 405);
    let version = ("MCP-Protocol-Version", "1999-01-01");
    let json = ("Content-Type", "application/json");
    let old = [authorization, json, version];
    let refused = server.send("POST", "/mcp", &old, &ping.to_string()).await;
    assert_eq!(refused.status, 400);

    let headers = [authorization, ("Mcp-Session-Id", whole.as_str())];
    assert_eq!(
        server.send("DELETE", "/mcp", &headers, "").await.status,
        204
    );
    assert_eq!(post(&server, client, &ping).await.status, 404);
}

#[tokio::test]
async fn a_call_is_canceled_by_its_client_only() {
    let server = start().await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"});
    let mut clients = Vec::new();
    for _ in 0..2 {
        let introduced = post(&server, None, &initialize).await;
        clients.push(introduced.original_header("mcp-session-id").unwrap());
    }
    let (first, second) = (clients[0].as_str(), clients[1].as_str());
    let canceled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
    let slow = call(5, "slow");
    let running = post(&server, Some(first), &slow);
    let canceling = async {
        // The other client has a request with the same ID in mind.
        post(&server, Some(second), &canceled).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        loop {
            post(&server, Some(first), &canceled).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = tokio::select! {
        ended = running => ended,
        () = canceling => unreachable!("canceling never ends"),
    };
    assert!(
        ended.text.contains("notifications/progress"),
        "{}",
        ended.text
    );
    assert!(!ended.text.contains("\"result\""), "{}", ended.text);
}

#[tokio::test]
async fn versions_without_a_handshake_need_no_session() {
    let server = start().await;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let list =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let listed = post(&server, None, &list).await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    assert_eq!(listed.header("mcp-session-id"), None);
}

#[tokio::test]
async fn a_client_answers_what_it_is_asked() {
    let server = start().await;
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"});
    let mut clients = Vec::new();
    for _ in 0..2 {
        let introduced = post(&server, None, &initialize).await;
        clients.push(introduced.original_header("mcp-session-id").unwrap());
    }
    let response =
        |text: &str| json!({"jsonrpc": "2.0", "id": 9, "result": {"content": {"value": text}}});
    let ask = call(5, "ask");
    let calling = post(&server, Some(&clients[0]), &ask);
    let answering = async {
        for (client, text) in [(&clients[1], "other"), (&clients[0], "mine")] {
            let posted = post(&server, Some(client), &response(text)).await;
            assert_eq!(posted.status, 202, "{}", posted.text);
        }
    };
    let (called, ()) = tokio::join!(calling, answering);
    assert!(
        called.text.contains("elicitation/create"),
        "{}",
        called.text
    );
    assert!(called.text.contains("\"mine\""), "{}", called.text);
    // A single response has no place for a question.
    let token = format!("Bearer {}", server.token);
    let headers = [
        ("Authorization", token.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json"),
        ("Mcp-Session-Id", clients[0].as_str()),
    ];
    let refused = server
        .send("POST", "/mcp", &headers, &ask.to_string())
        .await;
    let error = &refused.json()["result"]["error"];
    assert_eq!(error["message"], "the client accepts no event stream");
}
