//! Credentials of MCP servers in several processes.
#![cfg(unix)]

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext};
use crate::mcp_http_server::{HttpRequest, HttpResponse, RoutedServer};

/// Whether the response with the new token may be sent.
#[derive(Default)]
struct TokenGate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl TokenGate {
    fn wait(&self) {
        let is_open = self.is_open.lock().unwrap();
        let wait = self
            .opened
            .wait_timeout_while(is_open, TEST_TIMEOUT, |is_open| !*is_open);
        drop(wait.unwrap());
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// An MCP server and its authorization server, whose refresh tokens are used once.
fn respond(request: &HttpRequest, gate: &TokenGate, used: &Mutex<bool>) -> HttpResponse {
    if request.path == "/token" {
        gate.wait();
        if std::mem::replace(&mut *used.lock().unwrap(), true) {
            return HttpResponse::json(400, &json!({"error": "invalid_grant"}));
        }
        let tokens = json!({
            "access_token": "new", "refresh_token": "r2", "token_type": "Bearer",
            "expires_in": 3600,
        });
        return HttpResponse::json(200, &tokens);
    }
    if request.path != "/mcp" {
        return HttpResponse::empty(404);
    }
    if request.header("authorization") != Some("Bearer new") {
        return HttpResponse::empty(401);
    }
    let message = request.message();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "tiny", "version": "1"},
        }),
        Some("tools/list") => json!({"tools": [{"name": "greet", "inputSchema": {}}]}),
        _ => return HttpResponse::empty(202),
    };
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    HttpResponse::json(200, &body)
}

/// Returns the state of the server that `pi mcp list` shows.
fn listed_state(output: std::process::Output) -> Value {
    let output = PiOutput::new(output);
    let list: Value = serde_json::from_str(&output.stdout).unwrap();
    list["servers"][0]["state"].clone()
}

#[tokio::test]
async fn two_processes_refresh_a_token_once() {
    let gate = Arc::new(TokenGate::default());
    let server = {
        let (gate, used) = (Arc::clone(&gate), Mutex::new(false));
        RoutedServer::start(|_| Arc::new(move |request: &_| respond(request, &gate, &used))).await
    };
    let context = TestContext::new([]).await;
    let url = format!("{}/mcp", server.url);
    let config = json!({"mcpServers": {"tiny": {"url": url}}});
    context.home.write("agent/mcp.json", config.to_string());
    let discovery = json!({
        "authorizationServerUrl": server.url,
        "authorizationServerMetadata": {
            "issuer": server.url,
            "authorization_endpoint": format!("{}/authorize", server.url),
            "token_endpoint": format!("{}/token", server.url),
            "response_types_supported": ["code"],
        },
    });
    let state = json!({
        "serverUrl": url,
        "tokens": {"access_token": "old", "refresh_token": "r1", "token_type": "Bearer"},
        "tokensExpireAt": 1,
        "clientInformation": {"client_id": "c", "redirect_uris": ["http://127.0.0.1:1/callback"]},
        "discovery": discovery,
    });
    let states = json!({ format!("mcp__tiny|{url}"): state });
    context
        .home
        .write("agent/mcp-auth.json", states.to_string());

    let list = || {
        let child = context.command(&["mcp", "list", "--json"]).spawn();
        let output = child.unwrap().wait_with_output();
        tokio::spawn(tokio::time::timeout(TEST_TIMEOUT, output))
    };
    let processes = [list(), list()];
    let exchanges = || {
        let requests = server.requests();
        requests.iter().filter(|it| it.path == "/token").count()
    };
    let waiting = async {
        while exchanges() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, waiting).await.unwrap();
    gate.open();
    for process in processes {
        let output = process.await.unwrap().unwrap().unwrap();
        assert_eq!(listed_state(output), "connected");
    }
    assert_eq!(exchanges(), 1);
}

#[tokio::test]
async fn redirects_to_files_and_other_hosts_are_not_followed() {
    for target in ["file:///etc/passwd", "other"] {
        let other = RoutedServer::start(|_| Arc::new(|_: &_| HttpResponse::empty(200))).await;
        let location = match target {
            "other" => format!("{}/mcp", other.url.replace("127.0.0.1", "localhost")),
            file => file.to_owned(),
        };
        let redirect = move |_: &HttpRequest| HttpResponse {
            status: 307,
            headers: vec![("location", location.clone())],
            body: String::new(),
        };
        let server = RoutedServer::start(|_| Arc::new(redirect)).await;
        let context = TestContext::new([]).await;
        let headers = json!({"Authorization": "Bearer secret-0123456789"});
        let entry = json!({"url": server.url, "headers": headers});
        let config = json!({"mcpServers": {"tiny": entry}});
        context.home.write("agent/mcp.json", config.to_string());
        let run = context.run(&["mcp", "list", "--json"]).await;
        let list: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(list["servers"][0]["state"], "failed", "{run:?}");
        assert!(!run.stdout.contains("root:"), "{run:?}");
        assert_eq!(other.requests().len(), 0);
    }
}
