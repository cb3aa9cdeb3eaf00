//! Sessions that another process runs. Here it is another host of the same process, with the same agent directory.
#![cfg(unix)]

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use pi_host::{ClientUi, Host, LiveClients, LiveDirectory, Prompt, SessionOptions, SessionRuntime};
use pi_providers::FauxProvider;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::support::{TestServer, options};

/// Starts a session outside of the server, with one message, and waits until it listens.
async fn start_elsewhere(server: &TestServer) -> (Host, SessionRuntime, String) {
    let other = options(server.directory.path(), FauxProvider::echo());
    let host = Host::new(pi_host::HostOptions {
        live: true,
        ..other.host.options().clone()
    });
    let session = SessionOptions::new(&other.cwd).with_client_ui(ClientUi::default());
    let runtime = host.start(session).await.unwrap();
    let session = runtime.session();
    session.prompt(Prompt::text("first")).await.unwrap();
    session.wait_for_idle().await;
    let id = session.session_id();
    let directory = LiveDirectory::new(host.options().agent_dir.path(), &host.options().env);
    let listening = async {
        while directory.session(&id).await.is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, listening).await.unwrap();
    (host, runtime, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_routes_reach_a_session_of_another_process() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let (_host, runtime, id) = start_elsewhere(&server).await;
    let session = format!("/v1/sessions/{id}");
    let commands = format!("{session}/commands");

    let facts = server.get(&session).await.json();
    assert_eq!(facts["snapshot"]["session"], id.as_str());
    let listed = server.get("/v1/sessions").await.json();
    assert_eq!(
        listed["sessions"][0]["live"],
        json!({"status": {"kind": "idle", "isCompacting": false, "isRetrying": false}, "pending": 0, "cost": null})
    );
    let opened = server
        .call("POST", "/v1/sessions", &json!({"session": id}))
        .await;
    assert_eq!(opened.status, 201, "{}", opened.text);

    let mut events = server
        .events(&format!("{session}/events?entries=2"), None)
        .await;
    let snapshot = events.next().await;
    assert_eq!(snapshot.name, "snapshot");
    assert_eq!(snapshot.data["entries"].as_array().unwrap().len(), 2);
    let prompt = json!({"id": 7, "type": "prompt", "message": "second"});
    let response = server.call("POST", &commands, &prompt).await.json();
    assert_eq!(
        (&response["id"], &response["success"]),
        (&json!(7), &json!(true))
    );
    let settled = events.next_of("agent_settled").await;
    assert_eq!(settled.data["cursor"], Value::Null);
    drop(events);

    // What was missed arrives, and nothing twice.
    server.call("POST", &commands, &prompt).await;
    runtime.session().wait_for_idle().await;
    let path = format!("{session}/events");
    let mut events = server.events(&path, Some(&settled.id)).await;
    let first = loop {
        // The number of clients changes with this one.
        let event = events.next().await;
        if event.data["type"] != "observers_changed" {
            break event;
        }
    };
    assert_eq!(first.data["type"], "agent_start");
    events.next_of("agent_settled").await;

    let page = server
        .get(&format!("{session}/entries?limit=1"))
        .await
        .json();
    let last = page["entries"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(page["hasMore"], true);
    let before = format!("{session}/entries?limit=1&before={last}");
    let older = server.get(&before).await.json();
    let older = older["entries"][0]["id"].as_str().unwrap().to_owned();
    let since = server
        .get(&format!("{session}/entries?since={older}"))
        .await
        .json();
    assert_eq!(since["entries"][0]["id"], last.as_str());
    assert_eq!(
        server
            .get(&format!("{session}/entries?since=x"))
            .await
            .status,
        404
    );

    let named = server
        .call("PATCH", &session, &json!({"name": "theirs"}))
        .await;
    assert_eq!(named.status, 204, "{}", named.text);
    let name = runtime.session().snapshot().name;
    assert_eq!(name.as_deref(), Some("theirs"));

    let waiting = server.get(&format!("{session}/requests")).await.json();
    assert_eq!(waiting, json!({"requests": []}));
    let late = server
        .call(
            "POST",
            &format!("{session}/requests/none"),
            &json!({"type": "cancelled"}),
        )
        .await;
    assert_eq!(late.status, 409, "{}", late.text);

    // None of this opened the file a second time.
    assert_eq!(server.get("/v1/health").await.json()["sessions"], 0);
    runtime.shutdown().await;
    let taken_over = server.call("POST", &commands, &prompt).await;
    assert_eq!(taken_over.json()["success"], true, "{}", taken_over.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_reaches_a_session_of_another_process() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let (_host, runtime, id) = start_elsewhere(&server).await;
    let url = format!("ws://{}/v1/sessions/{id}/socket", server.address);
    let mut request = url.into_client_request().unwrap();
    let token = format!("Bearer {}", server.token).parse().unwrap();
    request.headers_mut().insert("authorization", token);
    let stream = TcpStream::connect(server.address).await.unwrap();
    let connecting = tokio_tungstenite::client_async(request, stream);
    let (mut socket, _) = connecting.await.unwrap();
    // A client that has sent nothing receives events as well.
    let owner = runtime.session();
    let joined = async {
        while LiveClients::of(&owner).count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, joined).await.unwrap();
    owner.prompt(Prompt::text("more")).await.unwrap();
    let mut kinds = Vec::new();
    while kinds.last().is_none_or(|last| last != "agent_settled") {
        let message = socket.next().await.unwrap().unwrap();
        let line: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        kinds.push(line["type"].as_str().unwrap().to_owned());
    }
    assert!(!kinds.contains(&"response".to_owned()), "{kinds:?}");
    let command = json!({"id": "a", "type": "get_state"});
    let command = Message::text(command.to_string());
    socket.send(command).await.unwrap();
    let message = socket.next().await.unwrap().unwrap();
    let line: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
    assert_eq!(
        (&line["id"], &line["type"]),
        (&json!("a"), &json!("response"))
    );
    socket.close(None).await.unwrap();
    runtime.shutdown().await;
}
