//! `pi serve` with the protocols of other programs: MCP clients on `/mcp`, editors on `/acp`.

use std::path::Path;
use std::process::Stdio;

use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::harness::{TEST_TIMEOUT, TestContext, text_reply};
use crate::web_ui::{Served, serve};

/// Returns the host and port of a server.
pub(crate) fn address(served: &Served) -> String {
    let rest = served.url.strip_prefix("http://").unwrap();
    rest.split('/').next().unwrap().to_owned()
}

pub(crate) fn token(context: &TestContext) -> String {
    let file = context.home.path().join("agent/serve.json");
    let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    file["token"].as_str().unwrap().to_owned()
}

/// Starts a proxy that adds the token to every request, for clients that cannot send one. Returns its port.
pub(crate) async fn authorizing_proxy(context: &TestContext, served: &Served) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (target, token) = (address(served), token(context));
    let server_port = target.rsplit(':').next().unwrap().to_owned();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (target, token) = (target.clone(), token.clone());
            let server_port = server_port.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let Ok(byte) = client.read_u8().await else {
                        return;
                    };
                    head.push(byte);
                }
                let head = String::from_utf8(head).unwrap();
                let head = head.replace(&format!(":{port}"), &format!(":{server_port}"));
                let (request, headers) = head.split_once("\r\n").unwrap();
                let headers: Vec<_> = headers
                    .lines()
                    .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"))
                    .collect();
                let headers = headers.join("\r\n");
                let added = format!("Authorization: Bearer {token}\r\nConnection: close");
                let head = format!("{request}\r\n{added}\r\n{headers}\r\n");
                let mut upstream = TcpStream::connect(&target).await.unwrap();
                upstream.write_all(head.as_bytes()).await.unwrap();
                let copying = tokio::io::copy_bidirectional(&mut client, &mut upstream);
                copying.await.ok();
            });
        }
    });
    port
}

async fn post_mcp(context: &TestContext, served: &Served, client: &str, message: &Value) -> String {
    let (address, body) = (address(served), message.to_string());
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{client}Content-Length: {}\r\n\r\n{body}",
        token(context),
        body.len(),
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn an_mcp_client_starts_a_session_that_the_server_lists() {
    let context = TestContext::new([text_reply("Done.")]).await;
    let served = serve(&context).await;
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let answer = post_mcp(&context, &served, "", &initialize).await;
    let mut lines = answer.lines();
    let client = lines.find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:"));
    let client = format!("{}\r\n", client.expect("a session ID"));
    let arguments = json!({"prompt": "work"});
    let params = json!({"name": "pi", "arguments": arguments, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = post_mcp(&context, &served, &client, &call).await;
    let data = answer.lines().find_map(|line| line.strip_prefix("data: "));
    let result: Value = serde_json::from_str(data.expect("an event")).unwrap();
    let result = &result["result"]["structuredContent"];
    assert_eq!(result["text"], "Done.", "{answer}");
    // The session belongs to the server: it is not opened a second time.
    let read = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"});
    let listed = post_mcp(&context, &served, &client, &read).await;
    let id = result["sessionId"].as_str().unwrap();
    assert!(listed.contains(&format!("pi://session/{id}")), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_works_over_a_websocket() {
    let context = TestContext::new([text_reply("From the editor.")]).await;
    let served = serve(&context).await;
    let address = address(&served);
    let connect = async |authorization: Option<String>| {
        let mut request = format!("ws://{address}/acp").into_client_request().unwrap();
        if let Some(authorization) = authorization {
            let authorization = authorization.parse().unwrap();
            request.headers_mut().insert("authorization", authorization);
        }
        let stream = TcpStream::connect(&address).await.unwrap();
        tokio_tungstenite::client_async(request, stream).await
    };
    assert!(connect(None).await.is_err(), "no credential");
    let (mut socket, _) = connect(Some(format!("Bearer {}", token(&context))))
        .await
        .unwrap();
    let mut updates = String::new();
    let mut results = Vec::new();
    let project = context.project_dir();
    let mut session = Value::Null;
    for (method, params) in [
        (
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": {}}),
        ),
        ("session/new", json!({"cwd": project, "mcpServers": []})),
        (
            "session/prompt",
            json!({"prompt": [{"type": "text", "text": "hi"}]}),
        ),
    ] {
        let mut params = params;
        if method == "session/prompt" {
            params["sessionId"] = session.clone();
        }
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        let request = Message::text(request.to_string());
        socket.send(request).await.unwrap();
        loop {
            let message = socket.next().await.unwrap().unwrap();
            let line: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
            if line["method"] == "session/update" {
                updates.push_str(&line.to_string());
            }
            if line["id"] == method && line.get("method").is_none() {
                results.push(line["result"].clone());
                break;
            }
        }
        if method == "session/new" {
            session = results[1]["sessionId"].clone();
        }
    }
    assert_eq!(results[0]["protocolVersion"], 1);
    assert_eq!(results[2]["stopReason"], "end_turn");
    assert!(updates.contains("agent_message_chunk"), "{updates}");
    socket.close(None).await.unwrap();
}

/// Two editors whose requests have the same IDs.
#[tokio::test(flavor = "multi_thread")]
async fn editors_of_a_server_do_not_share_request_ids() {
    let replies = [text_reply("Reply."), text_reply("Reply.")];
    let context = TestContext::new(replies).await;
    let served = serve(&context).await;
    let address = address(&served);
    let mut sockets = Vec::new();
    for _ in 0..2 {
        let mut request = format!("ws://{address}/acp").into_client_request().unwrap();
        let authorization = format!("Bearer {}", token(&context)).parse().unwrap();
        request.headers_mut().insert("authorization", authorization);
        let stream = TcpStream::connect(&address).await.unwrap();
        let connected = tokio_tungstenite::client_async(request, stream).await;
        sockets.push((connected.unwrap().0, Value::Null));
    }
    let project = context.project_dir();
    for (id, method, params) in [
        (
            1,
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": {}}),
        ),
        (2, "session/new", json!({"cwd": project, "mcpServers": []})),
        (
            3,
            "session/prompt",
            json!({"prompt": [{"type": "text", "text": "hi"}]}),
        ),
    ] {
        for (socket, session) in &mut sockets {
            let mut params = params.clone();
            if id == 3 {
                params["sessionId"] = session.clone();
            }
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            socket
                .send(Message::text(request.to_string()))
                .await
                .unwrap();
        }
        for (socket, session) in &mut sockets {
            let response = loop {
                let message = socket.next().await.unwrap().unwrap();
                let line: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
                if line["method"] == "session/update" {
                    assert_eq!(line["params"]["sessionId"], *session);
                } else {
                    break line;
                }
            };
            assert_eq!(response["id"], id, "{response}");
            if id == 2 {
                *session = response["result"]["sessionId"].clone();
            }
            if id == 3 {
                assert_eq!(response["result"]["stopReason"], "end_turn");
            }
        }
    }
    assert_ne!(sockets[0].1, sockets[1].1);
}

/// Sends a request with the token, and returns the status and the body.
pub(crate) async fn request(
    context: &TestContext,
    served: &Served,
    line: &str,
    body: &Value,
) -> (u16, Value) {
    let (address, body) = (address(served), body.to_string());
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nX-Pi: 1\r\nContent-Length: {}\r\n\r\n{body}",
        token(context),
        body.len(),
    );
    // A server with too many connections closes further ones.
    stream
        .write_all(request.as_bytes())
        .await
        .unwrap_or_default();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap_or_default();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return (0, Value::Null);
    };
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_two_answers_wins() {
    let context = TestContext::new([]).await;
    context.home.write(
        "agent/extensions/ask.ts",
        "export default (pi) => pi.registerCommand('ask', { description: 'Ask', handler: async (args, ctx) => {
           pi.setSessionName('answer ' + (await ctx.ui.confirm('Sure?', 'Really')));
         } });",
    );
    let served = serve(&context).await;
    let (status, opened) = request(&context, &served, "POST /v1/sessions", &json!({})).await;
    assert_eq!(status, 201, "{opened}");
    let session = format!("/v1/sessions/{}", opened["session"].as_str().unwrap());
    let commands = format!("POST {session}/commands");
    let ask = json!({"type": "prompt", "message": "/ask"});
    let asking = request(&context, &served, &commands, &ask);
    let answering = async {
        let waiting = format!("GET {session}/requests");
        let question = loop {
            let (_, waiting) = request(&context, &served, &waiting, &json!({})).await;
            if let Some(id) = waiting["requests"][0]["id"].as_str() {
                break id.to_owned();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        let answer = format!("POST {session}/requests/{question}");
        let yes = json!({"type": "confirmed", "confirmed": true});
        let no = json!({"type": "confirmed", "confirmed": false});
        tokio::join!(
            request(&context, &served, &answer, &yes),
            request(&context, &served, &answer, &no),
        )
    };
    let (_, ((yes, _), (no, _))) = tokio::join!(asking, answering);
    let won = match (yes, no) {
        (204, 409) => true,
        (409, 204) => false,
        other => panic!("{other:?}"),
    };
    let name = format!("answer {won}");
    let facts = format!("GET {session}");
    let waiting = async {
        loop {
            let (_, facts) = request(&context, &served, &facts, &json!({})).await;
            if facts["name"] == name.as_str() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    let named = tokio::time::timeout(crate::harness::TEST_TIMEOUT, waiting).await;
    assert!(named.is_ok(), "{name}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_sockets_leave_the_server_usable() {
    let context = TestContext::new([]).await;
    let served = serve(&context).await;
    let address = address(&served);
    let mut open = Vec::new();
    for _ in 0..1000 {
        // More than the limit of open files of this process is not an attack.
        if let Ok(stream) = TcpStream::connect(&address).await {
            open.push(stream);
        }
    }
    assert!(open.len() > 500, "{}", open.len());
    let socket = context.home.path().join("serve.sock");
    let mut local = tokio::net::UnixStream::connect(&socket).await.unwrap();
    let health = "GET /v1/health HTTP/1.1\r\nHost: pi\r\nConnection: close\r\n\r\n";
    local.write_all(health.as_bytes()).await.unwrap();
    let mut answer = String::new();
    local.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(open);
    let waiting = async {
        // The connections end one after another.
        while request(&context, &served, "GET /v1/health", &json!({}))
            .await
            .0
            != 200
        {}
    };
    let answered = tokio::time::timeout(crate::harness::TEST_TIMEOUT, waiting).await;
    assert!(answered.is_ok());
}

/// Returns the commands with `curl` of a page of the manual, each of which may continue on further lines.
fn curl_examples(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split_once("```"));
    let commands = blocks.filter(|(block, _)| block.starts_with("curl "));
    commands.map(|(block, _)| block.to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_curl_examples_of_the_manual_work() {
    let has_curl = std::process::Command::new("curl").arg("--version").output();
    if has_curl.is_err() {
        println!("skipped: needs curl");
        return;
    }
    let context = TestContext::new([text_reply("All tests pass.")]).await;
    let served = serve(&context).await;
    let (status, opened) = request(&context, &served, "POST /v1/sessions", &json!({})).await;
    assert_eq!(status, 201, "{opened}");
    let socket = context.home.path().join("serve.sock");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/server.md");
    let examples = curl_examples(&std::fs::read_to_string(page).unwrap());
    let examples = examples.iter().map(|example| {
        example
            .replace("~/.pi/agent/serve.sock", &socket.to_string_lossy())
            .replace(
                "/ID/",
                &format!("/{}/", opened["session"].as_str().unwrap()),
            )
    });
    let (streams, commands): (Vec<_>, Vec<_>) = examples.partition(|it| it.contains("curl -N"));
    assert_eq!((streams.len(), commands.len()), (1, 1));
    let curl = |script: &str| {
        let mut shell = tokio::process::Command::new("sh");
        shell
            .args(["-c", script])
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        shell.spawn().unwrap()
    };
    let mut events = curl(&format!("exec {}", streams[0]));
    let mut lines = BufReader::new(events.stdout.take().unwrap()).lines();
    let mut text = String::new();
    let mut answer = None;
    while !text.contains("All tests pass.") || !text.contains("agent_settled") {
        let line = tokio::time::timeout(TEST_TIMEOUT, lines.next_line()).await;
        text += &line
            .expect("no event in time")
            .unwrap()
            .expect("the end of the stream");
        if answer.is_none() && text.contains("event: snapshot") {
            let prompting = curl(&commands[0]).wait_with_output();
            answer = Some(tokio::time::timeout(TEST_TIMEOUT, prompting).await);
        }
    }
    let answer = answer.unwrap().expect("no answer in time").unwrap();
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(answer["success"], true, "{answer}");
}
