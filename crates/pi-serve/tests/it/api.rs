//! The routes, and their description.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use pi_providers::{FauxProvider, FauxResponse};
use pi_serve::ROUTES;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::support::TestServer;

/// Returns the part of the description for a route.
fn operation<'document>(document: &'document Value, path: &str, method: &str) -> &'document Value {
    &document["paths"][path][method.to_ascii_lowercase()]
}

/// Compiles the schema of a response and validates a body.
fn assert_valid(document: &Value, path: &str, method: &str, status: u16, body: &Value) {
    let responses = &operation(document, path, method)["responses"];
    let media = match status {
        200..=299 => &responses[status.to_string()]["content"]["application/json"],
        _ => &responses["default"]["content"]["application/problem+json"],
    };
    assert!(
        media.is_object(),
        "{method} {path} {status} is not described"
    );
    let mut schema = media["schema"].clone();
    schema["components"] = document["components"].clone();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("http://pi/schema", schema).unwrap();
    let index = compiler.compile("http://pi/schema", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(body, index) {
        panic!("{method} {path} {status}: {error:#}\n{body}");
    }
}

#[tokio::test]
async fn every_route_is_described_and_answers_as_described() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let document = server.get("/v1/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    for row in &ROUTES {
        let described = operation(&document, row.path, row.method.as_str());
        assert!(described.is_object(), "{} {}", row.method, row.path);
    }
    let described = document["paths"].as_object().unwrap().values();
    let described: usize = described.map(|path| path.as_object().unwrap().len()).sum();
    assert_eq!(described, ROUTES.len());

    let id = server.open_session().await;
    let session = format!("/v1/sessions/{id}");
    let commands = format!("{session}/commands");
    let prompt = json!({"type": "prompt", "message": "hi", "id": 1});
    let name = json!({"name": "n"});
    let nothing = Value::Null;
    for (path, method, uri, body, status) in [
        ("/v1/health", "GET", "/v1/health", &nothing, 200),
        ("/v1/theme", "GET", "/v1/theme", &nothing, 200),
        ("/v1/devices", "GET", "/v1/devices", &nothing, 200),
        (
            "/v1/devices/{device}",
            "DELETE",
            "/v1/devices/x",
            &nothing,
            404,
        ),
        ("/v1/pair", "POST", "/v1/pair", &json!({}), 200),
        (
            "/v1/login",
            "POST",
            "/v1/login",
            &json!({"token": server.token}),
            200,
        ),
        ("/v1/login", "POST", "/v1/login", &json!({"code": "x"}), 401),
        ("/v1/login", "POST", "/v1/login", &json!({}), 400),
        (
            "/v1/sessions",
            "POST",
            "/v1/sessions",
            &json!({"cwd": "x"}),
            400,
        ),
        (
            "/v1/sessions",
            "POST",
            "/v1/sessions",
            &json!({"session": "x"}),
            404,
        ),
        (
            "/v1/sessions/{id}/commands",
            "POST",
            &commands,
            &prompt,
            200,
        ),
        (
            "/v1/sessions/{id}/commands",
            "POST",
            &commands,
            &json!({"type": "x"}),
            200,
        ),
        ("/v1/sessions/{id}", "PATCH", &session, &name, 204),
        ("/v1/sessions/{id}", "PATCH", &session, &json!({}), 400),
        ("/v1/sessions/{id}", "GET", &session, &nothing, 200),
        ("/v1/sessions/{id}", "GET", "/v1/sessions/x", &nothing, 404),
        ("/v1/sessions", "GET", "/v1/sessions?limit=1", &nothing, 200),
        ("/v1/sessions", "GET", "/v1/sessions?limit=x", &nothing, 400),
        (
            "/v1/sessions/{id}/entries",
            "GET",
            &format!("{session}/entries"),
            &nothing,
            200,
        ),
        (
            "/v1/sessions/{id}/entries",
            "GET",
            &format!("{session}/entries?before=x"),
            &nothing,
            404,
        ),
        (
            "/v1/sessions/{id}/requests",
            "GET",
            &format!("{session}/requests"),
            &nothing,
            200,
        ),
        (
            "/v1/sessions/{id}/requests/{request}",
            "POST",
            &format!("{session}/requests/x"),
            &json!({"type": "allow"}),
            409,
        ),
        (
            "/v1/search",
            "GET",
            "/v1/search?q=h&incomplete=true",
            &nothing,
            200,
        ),
        ("/v1/search", "GET", "/v1/search?q=", &nothing, 400),
        ("/v1/search", "GET", "/v1/search?q=x&cwd=x", &nothing, 400),
        ("/v1/files", "GET", "/v1/files?q=x", &nothing, 200),
        ("/v1/files", "GET", "/v1/files?cwd=/", &nothing, 403),
    ] {
        let answered = server.call(method, uri, body).await;
        assert_eq!(answered.status, status, "{method} {uri}: {}", answered.text);
        if status != 204 {
            assert_valid(&document, path, method, status, &answered.json());
        }
    }
    let wrong = server.call("PUT", &session, &json!({})).await;
    assert_eq!(wrong.status, 405);
    assert_eq!(server.get("/v1/nothing").await.status, 404);
}

#[tokio::test]
async fn the_text_of_sessions_is_found() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let id = server.open_session().await;
    let handle = format!("/v1/sessions/{id}/commands");
    let prompt = json!({"type": "prompt", "message": "where do the roses grow", "id": 1});
    let (_snapshot, mut events) = server.follow(&id).await;
    assert_eq!(server.call("POST", &handle, &prompt).await.status, 200);
    events.next_of("agent_settled").await;
    for (query, count) in [
        ("q=ros&incomplete=true", 2),
        ("q=ros", 0),
        ("q=roses&limit=1", 1),
        ("q=%22the+roses%22&cwd=/", 2),
        ("q=roses&cwd=/dev", 0),
    ] {
        let found = server.get(&format!("/v1/search?{query}")).await.json();
        let hits = found["hits"].as_array().unwrap();
        assert_eq!(hits.len(), count, "{query}: {found}");
        for hit in hits {
            assert_eq!(hit["sessionId"], id.as_str());
            let parts = hit["snippet"].as_array().unwrap();
            assert!(parts.iter().any(|part| part["match"] == true), "{hit}");
        }
    }
}

#[tokio::test]
async fn a_browser_signs_in_once_and_is_signed_out() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let page = server.send("GET", "/", &[], "").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<!doctype html>"), "{}", page.text);
    let etag = page.header("etag").unwrap().to_owned();
    assert!(
        page.header("content-security-policy")
            .unwrap()
            .contains("default-src 'none'")
    );
    let known = server
        .send("GET", "/", &[("If-None-Match", &etag)], "")
        .await;
    assert_eq!(known.status, 304);

    let json_headers = [("Content-Type", "application/json"), ("X-Pi", "1")];
    let code = json!({"code": server.code, "name": "phone"}).to_string();
    let signed_in = server.send("POST", "/v1/login", &json_headers, &code).await;
    assert_eq!(signed_in.status, 200);
    let cookie = signed_in.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("; httponly; samesite=strict"), "{cookie}");
    let again = server.send("POST", "/v1/login", &json_headers, &code).await;
    assert_eq!(again.status, 401);

    // Headers are compared in lower case above; the secret is not.
    let bytes = server
        .raw(
            format!(
                "POST /v1/login HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nX-Pi: 1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                server.address,
                json!({"token": server.token}).to_string().len(),
                json!({"token": server.token})
            )
            .as_bytes(),
        )
        .await;
    let text = String::from_utf8(bytes).unwrap();
    let (_, cookie) = text.split_once("set-cookie: ").unwrap();
    let (cookie, _) = cookie.split_once(';').unwrap();
    let with_cookie = [("Cookie", cookie)];
    let devices = server.send("GET", "/v1/devices", &with_cookie, "").await;
    assert_eq!(devices.status, 200);
    let devices = devices.json();
    let names: Vec<_> = devices["devices"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 2);
    assert_eq!(names[0]["name"], "phone");
    assert_eq!(names[1]["current"], true);

    // A browser cannot add further ones.
    let all = [with_cookie[0], json_headers[0], json_headers[1]];
    assert_eq!(
        server.send("POST", "/v1/pair", &all, "{}").await.status,
        403
    );
    assert_eq!(
        server.send("DELETE", "/v1/login", &all, "").await.status,
        204
    );
    let after = server.send("GET", "/v1/devices", &with_cookie, "").await;
    assert_eq!(after.status, 401);
}

#[tokio::test]
async fn events_continue_after_a_lost_connection() {
    let faux = FauxProvider::new();
    faux.push(FauxResponse::text("one"));
    faux.push(FauxResponse::text("two"));
    let server = TestServer::start(faux).await;
    let id = server.open_session().await;
    let path = format!("/v1/sessions/{id}/events");
    let commands = format!("/v1/sessions/{id}/commands");
    let (snapshot, mut events) = server.follow(&id).await;
    assert_eq!(snapshot.data["session"], id.as_str());
    let prompt = |text: &str| json!({"type": "prompt", "message": text});
    server.call("POST", &commands, &prompt("1")).await;
    let settled = events.next_of("agent_settled").await;
    drop(events);
    server.call("POST", &commands, &prompt("2")).await;
    let mut events = server.events(&path, Some(&settled.id)).await;
    let first = events.next().await;
    assert_eq!(
        (first.name.as_str(), &first.data["type"]),
        ("", &json!("agent_start"))
    );
    let end = loop {
        let end = events.next_of("message_end").await;
        if end.data["message"]["role"] == "assistant" {
            break end;
        }
    };
    assert_eq!(end.data["message"]["content"][0]["text"], "two");
    let entry = end.data["entryId"].as_str().unwrap();
    let entries = server
        .get(&format!("/v1/sessions/{id}/entries?limit=1"))
        .await
        .json();
    assert_eq!(entries["entries"][0]["id"], entry);
    assert_eq!(entries["hasMore"], true);
    // A cursor of another log.
    let mut other = server.events(&path, Some("1-1")).await;
    let snapshot = other.next().await;
    assert_eq!(snapshot.name, "snapshot");
    let last = snapshot.data["entries"].as_array().unwrap().last().unwrap();
    assert_eq!(last["id"], entry);

    let mut host = server.events("/v1/events", None).await;
    let sessions = host.next().await;
    assert_eq!(sessions.data["sessions"][0]["id"], id.as_str());
    let deleted = server
        .call("DELETE", &format!("/v1/sessions/{id}"), &Value::Null)
        .await;
    assert_eq!(deleted.status, 204, "{}", deleted.text);
    assert_eq!(host.next_of("session_closed").await.data["id"], id.as_str());
    let closed = loop {
        let event = other.next().await;
        if event.name == "closed" {
            break event;
        }
    };
    assert_eq!(closed.data, json!({}));
}

#[tokio::test]
async fn a_websocket_carries_the_lines_of_rpc() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let id = server.open_session().await;
    let url = format!("ws://{}/v1/sessions/{id}/socket", server.address);
    let mut request = url.into_client_request().unwrap();
    let token = format!("Bearer {}", server.token).parse().unwrap();
    request.headers_mut().insert("authorization", token);
    let stream = TcpStream::connect(server.address).await.unwrap();
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream)
        .await
        .unwrap();
    let command = json!({"id": "a", "type": "prompt", "message": "hi"});
    socket
        .send(Message::text(command.to_string()))
        .await
        .unwrap();
    let mut kinds = Vec::new();
    while let Some(message) = socket.next().await {
        let line: Value = serde_json::from_str(message.unwrap().to_text().unwrap()).unwrap();
        kinds.push(line["type"].as_str().unwrap().to_owned());
        if line["type"] == "agent_settled" {
            break;
        }
    }
    assert_eq!(kinds[..2], ["response", "agent_start"]);
    assert!(!kinds.contains(&"snapshot".to_owned()));
    let hello = json!({"type": "hello", "protocol": 1});
    socket.send(Message::text(hello.to_string())).await.unwrap();
    let mut kinds = Vec::new();
    for _ in 0..2 {
        let message = socket.next().await.unwrap().unwrap();
        let line: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        kinds.push(line["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(kinds, ["response", "snapshot"]);
    socket.close(None).await.unwrap();
    server.stop.cancel();
    server.running.await.unwrap();
    assert!(!server.socket.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn the_bridge_prints_what_arrives_after_the_end_of_its_input() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let bridge = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/bridge.py");
    let mut command = tokio::process::Command::new("python3");
    command
        .args([bridge, server.socket.to_str().unwrap()])
        .current_dir(server.directory.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true);
    let Ok(mut running) = command.spawn() else {
        eprintln!("skipped: python3 is not installed");
        return;
    };
    let mut input = running.stdin.take().unwrap();
    let lines = concat!(
        r#"{"id":"1","type":"bash","command":"echo late"}"#,
        "\n",
        r#"{"id":"2","type":"get_state"}"#,
        "\n",
    );
    input.write_all(lines.as_bytes()).await.unwrap();
    drop(input);
    let output = running.wait_with_output().await.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let answers = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let answers: Vec<Value> = answers
        .filter(|line: &Value| line["type"] == "response")
        .collect();
    let answer = |id: &str| answers.iter().find(|line| line["id"] == id);
    assert!(answer("2").is_some(), "{printed}");
    let late = answer("1").unwrap_or_else(|| panic!("{printed}"));
    assert_eq!(late["data"]["output"], "late\n", "{printed}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_rust_works() {
    let faux = FauxProvider::new();
    faux.push(FauxResponse::text("from Rust"));
    let server = TestServer::start(faux).await;
    let socket = server.socket.clone();
    let running = tokio::task::spawn_blocking(move || crate::client_example::run(&socket, "hi"));
    assert_eq!(running.await.unwrap().unwrap(), "from Rust");
}

#[tokio::test]
async fn a_body_that_arrives_late_costs_no_reply() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let common = format!(
        "Host: {}\r\nAuthorization: Bearer {}\r\nX-Pi: 1\r\nContent-Type: application/json\r\n",
        server.address, server.token
    );
    let request = format!("POST /v1/pair HTTP/1.1\r\n{common}Content-Length: 2\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    // The server has the head of the request before its body.
    let mut early = [0];
    let waited =
        tokio::time::timeout(Duration::from_millis(200), stream.read_exact(&mut early)).await;
    assert!(waited.is_err(), "answered before the body was sent");
    let next = format!("{{}}GET /v1/health HTTP/1.1\r\n{common}Connection: close\r\n\r\n");
    stream.write_all(next.as_bytes()).await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
}

// Other systems have no such names.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn sessions_are_listed_in_a_directory_that_is_not_utf8() {
    use std::os::unix::ffi::OsStrExt as _;

    let directory = tempfile::tempdir().unwrap();
    let mut options = crate::support::options(directory.path(), FauxProvider::echo());
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    options.cwd = directory.path().join(name);
    std::fs::create_dir(&options.cwd).unwrap();
    let server = TestServer::run(directory, options).await;
    server.open_session().await;
    let listed = server.get("/v1/sessions").await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    let cwd = listed.json()["cwd"].as_str().unwrap().to_owned();
    assert!(cwd.ends_with("caf\u{fffd}"), "{cwd}");
}
