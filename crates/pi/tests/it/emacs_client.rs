//! The contract that the Emacs client relies on: its 15 integration checks, with the same commands and fields.
//!
//! The client is written in Emacs Lisp and its tests need Emacs, so the checks are repeated here over pipes, and through
//! a bridge to the WebSocket of `pi serve`.
#![cfg(unix)]

use std::collections::VecDeque;

use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream, Lines,
};
use tokio::net::TcpStream;
use tokio::process::Child;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::harness::{TEST_TIMEOUT, TestContext, partial_reply, text_reply, tool_call_reply};
use crate::serve::{address, request, token};
use crate::web_ui::{Served, serve};

const EXTENSION: &str = "export default (pi) => pi.registerCommand('test-confirm', { description: 'Confirm', handler: async () => {} });";

/// A client that sends one command at a time and keeps the events it receives meanwhile.
struct LineClient {
    context: TestContext,
    /// The process on the other end, unless that is a bridge.
    child: Option<Child>,
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    events: VecDeque<Value>,
    requests: usize,
}

impl LineClient {
    async fn start(replies: impl IntoIterator<Item = pi_test_support::ScriptedReply>) -> Self {
        let context = TestContext::new(replies).await;
        let extension = context.home.write("extension.ts", EXTENSION);
        let extension = extension.to_string_lossy();
        let arguments = ["--mode", "rpc", "--model", "mock/alpha", "-e", &extension];
        let mut command = context.command(&arguments);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let input = Box::new(child.stdin.take().unwrap());
        let output = Box::new(child.stdout.take().unwrap());
        Self {
            child: Some(child),
            ..Self::over(context, input, output)
        }
    }

    fn over(
        context: TestContext,
        input: Box<dyn AsyncWrite + Send + Unpin>,
        output: Box<dyn AsyncRead + Send + Unpin>,
    ) -> Self {
        Self {
            context,
            child: None,
            input,
            output: BufReader::new(output).lines(),
            events: VecDeque::new(),
            requests: 0,
        }
    }

    /// Connects to a new session of `pi serve` through a bridge.
    async fn over_websocket(
        replies: impl IntoIterator<Item = pi_test_support::ScriptedReply>,
    ) -> (Self, Served) {
        let context = TestContext::new(replies).await;
        context.home.write("agent/extensions/confirm.ts", EXTENSION);
        let served = serve(&context).await;
        let (status, opened) = request(&context, &served, "POST /v1/sessions", &json!({})).await;
        assert_eq!(status, 201, "{opened}");
        let session = opened["session"].as_str().unwrap();
        let address = address(&served);
        let url = format!("ws://{address}/v1/sessions/{session}/socket");
        let mut upgrade = url.into_client_request().unwrap();
        let token = format!("Bearer {}", token(&context)).parse().unwrap();
        upgrade.headers_mut().insert("authorization", token);
        let stream = TcpStream::connect(&address).await.unwrap();
        let (socket, _) = tokio_tungstenite::client_async(upgrade, stream)
            .await
            .unwrap();
        let (near, far) = tokio::io::duplex(1 << 16);
        tokio::spawn(bridge(socket, far));
        let (output, input) = tokio::io::split(near);
        let client = Self::over(context, Box::new(input), Box::new(output));
        (client, served)
    }

    async fn next_line(&mut self) -> Value {
        let line = tokio::time::timeout(TEST_TIMEOUT, self.output.next_line()).await;
        let line = line.expect("no line in time").unwrap();
        serde_json::from_str(&line.expect("pi has ended")).unwrap()
    }

    /// Sends a command and returns its response.
    async fn request(&mut self, mut command: Value) -> Value {
        self.requests += 1;
        let id = json!(format!("req_{}", self.requests));
        command["id"] = id.clone();
        self.input
            .write_all(format!("{command}\n").as_bytes())
            .await
            .unwrap();
        loop {
            let line = self.next_line().await;
            if line["type"] == "response" && line["id"] == id {
                assert_eq!(line["command"], command["type"]);
                return line;
            }
            self.events.push_back(line);
        }
    }

    /// Sends a command that succeeds and returns its data.
    async fn data(&mut self, command: Value) -> Value {
        let mut response = self.request(command).await;
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    async fn state(&mut self) -> Value {
        self.data(json!({"type": "get_state"})).await
    }

    /// Returns the events up to the first of a type, with it.
    async fn events_until(&mut self, kind: &str) -> Vec<Value> {
        let mut seen = Vec::new();
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.next_line().await,
            };
            let is_last = event["type"] == kind;
            seen.push(event);
            if is_last {
                return seen;
            }
        }
    }

    async fn prompt(&mut self, message: &str) {
        self.data(json!({"type": "prompt", "message": message}))
            .await;
    }

    async fn abort(&mut self) {
        self.data(json!({"type": "abort"})).await;
    }
}

/// Sends lines as messages and messages as lines, until one side ends.
async fn bridge(socket: tokio_tungstenite::WebSocketStream<TcpStream>, pipe: DuplexStream) {
    let (mut sink, mut messages) = socket.split();
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = BufReader::new(reader).lines();
    let sending = async {
        while let Ok(Some(line)) = lines.next_line().await {
            if sink.send(Message::text(line)).await.is_err() {
                return;
            }
        }
    };
    let receiving = async {
        while let Some(Ok(message)) = messages.next().await {
            let line = format!("{}\n", message.to_text().unwrap_or_default());
            if writer.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = sending => {}
        () = receiving => {}
    }
}

fn has(events: &[Value], kind: &str, update: Option<&str>) -> bool {
    events.iter().any(|event| {
        event["type"] == kind
            && update.is_none_or(|update| event["assistantMessageEvent"]["type"] == update)
    })
}

#[tokio::test]
async fn the_process_starts_and_stays_alive() {
    let mut client = LineClient::start([]).await;
    client.state().await;
    assert_eq!(client.child.unwrap().try_wait().unwrap(), None);
}

#[tokio::test]
async fn the_process_ends_without_a_question() {
    let mut client = LineClient::start([]).await;
    client.state().await;
    drop(client.input);
    let ended = tokio::time::timeout(TEST_TIMEOUT, client.child.as_mut().unwrap().wait()).await;
    assert!(ended.expect("pi still runs").unwrap().success());
}

#[tokio::test]
async fn get_state_succeeds() {
    let mut client = LineClient::start([]).await;
    assert!(client.state().await.is_object());
}

#[tokio::test]
async fn get_state_has_a_model() {
    let mut client = LineClient::start([]).await;
    assert_eq!(client.state().await["model"]["id"], "alpha");
}

#[tokio::test]
async fn get_state_has_a_thinking_level() {
    let mut client = LineClient::start([]).await;
    assert!(client.state().await["thinkingLevel"].is_string());
}

#[tokio::test]
async fn get_commands_succeeds() {
    let mut client = LineClient::start([]).await;
    let data = client.data(json!({"type": "get_commands"})).await;
    assert!(data.is_object(), "{data}");
}

#[tokio::test]
async fn commands_have_a_name_and_a_source() {
    let mut client = LineClient::start([]).await;
    let data = client.data(json!({"type": "get_commands"})).await;
    let commands = data["commands"].as_array().unwrap();
    let confirm = commands.iter().find(|it| it["name"] == "test-confirm");
    assert_eq!(confirm.unwrap()["source"], "extension");
    assert!(commands.iter().all(|it| it["source"].is_string()));
}

#[tokio::test]
async fn commands_have_the_scope_of_their_source() {
    let mut client = LineClient::start([]).await;
    let data = client.data(json!({"type": "get_commands"})).await;
    let commands = data["commands"].as_array().unwrap();
    assert!(
        commands
            .iter()
            .all(|it| it["sourceInfo"]["scope"].is_string()),
        "{commands:?}"
    );
}

#[tokio::test]
async fn a_new_session_has_no_messages() {
    let mut client = LineClient::start([]).await;
    assert_eq!(client.state().await["messageCount"], 0);
    let created = client.data(json!({"type": "new_session"})).await;
    assert_eq!(created["cancelled"], false);
    assert_eq!(client.state().await["messageCount"], 0);
}

#[tokio::test]
async fn fork_messages_have_entry_ids() {
    let mut client = LineClient::start([text_reply("answer")]).await;
    client.prompt("question").await;
    client.events_until("agent_settled").await;
    let data = client.data(json!({"type": "get_fork_messages"})).await;
    let messages = data["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1);
    assert!(messages[0]["entryId"].is_string());
    assert_eq!(messages[0].get("entryIndex"), None);
}

#[tokio::test]
async fn a_prompt_runs_from_start_to_end() {
    let mut client = LineClient::start([text_reply("answer")]).await;
    let before = client.state().await["messageCount"].as_u64();
    client.prompt("question").await;
    let events = client.events_until("agent_settled").await;
    assert!(has(&events, "agent_start", None));
    assert!(has(&events, "message_update", Some("text_delta")));
    for kind in ["message_start", "message_end"] {
        let is_assistant = |it: &Value| it["type"] == kind && it["message"]["role"] == "assistant";
        assert!(events.iter().any(is_assistant), "{kind}");
    }
    let state = client.state().await;
    assert_eq!(state["isStreaming"], false);
    assert!(state["messageCount"].as_u64() > before);
}

#[tokio::test]
async fn abort_stops_streaming() {
    let mut client = LineClient::start([partial_reply("never ends").stall()]).await;
    client.prompt("question").await;
    client.events_until("agent_start").await;
    client.abort().await;
    client.events_until("agent_settled").await;
    assert_eq!(client.state().await["isStreaming"], false);
}

#[tokio::test]
async fn a_session_name_is_saved() {
    let mut client = LineClient::start([text_reply("answer")]).await;
    client.prompt("question").await;
    client.events_until("agent_settled").await;
    let file = client.state().await["sessionFile"].clone();
    client
        .data(json!({"type": "set_session_name", "name": "Integration"}))
        .await;
    let state = client.state().await;
    assert_eq!(
        (&state["sessionFile"], &state["sessionName"]),
        (&file, &json!("Integration"))
    );
    let text = std::fs::read_to_string(file.as_str().unwrap()).unwrap();
    assert!(text.contains("session_info") && text.contains("Integration"));
}

#[tokio::test]
async fn a_steering_message_is_queued_and_delivered() {
    let slow = tool_call_reply("bash", &json!({"command": "sleep 1"}));
    let mut client = LineClient::start([slow, partial_reply("second").stall()]).await;
    client.prompt("first").await;
    client.events_until("agent_start").await;
    client
        .data(json!({"type": "steer", "message": "queued-steer-test"}))
        .await;
    let mut messages = Vec::new();
    while messages.len() < 2 {
        let events = client.events_until("message_start").await;
        let message = &events.last().unwrap()["message"];
        if message["role"] == "user" {
            messages.push(message.to_string());
        }
    }
    assert!(messages[1].contains("queued-steer-test"), "{messages:?}");
    client.abort().await;
    client.events_until("agent_settled").await;
    assert_eq!(client.state().await["isStreaming"], false);
}

#[tokio::test]
async fn a_tool_call_is_reported_with_its_arguments_and_result() {
    let path = "marker.txt";
    let call = tool_call_reply("read", &json!({"path": path}));
    let mut client = LineClient::start([call, text_reply("done")]).await;
    client.context.home.write("project/marker.txt", "MARKER\n");
    client.prompt("read it").await;
    let events = client.events_until("tool_execution_end").await;
    assert!(has(&events, "message_update", Some("toolcall_start")));
    let start = events
        .iter()
        .find(|it| it["type"] == "tool_execution_start");
    let start = start.unwrap();
    assert_eq!(
        (&start["toolName"], &start["args"]["path"]),
        (&json!("read"), &json!(path))
    );
    let text = events.last().unwrap()["result"]["content"][0]["text"].as_str();
    assert!(text.unwrap().contains("MARKER"), "{text:?}");
    client.events_until("agent_settled").await;
    assert_eq!(client.state().await["isStreaming"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_works_through_a_bridge_to_a_websocket() {
    let (mut client, _served) = LineClient::over_websocket([
        text_reply("answer"),
        tool_call_reply("read", &json!({"path": "marker.txt"})),
        text_reply("done"),
        tool_call_reply("bash", &json!({"command": "sleep 1"})),
        partial_reply("never ends").stall(),
    ])
    .await;
    client.context.home.write("project/marker.txt", "MARKER\n");
    let state = client.state().await;
    assert_eq!(
        (&state["model"]["id"], &state["messageCount"]),
        (&json!("alpha"), &json!(0))
    );
    let data = client.data(json!({"type": "get_commands"})).await;
    let mut commands = data["commands"].as_array().unwrap().iter();
    assert!(commands.any(|it| it["name"] == "test-confirm" && it["source"] == "extension"));

    client.prompt("question").await;
    let events = client.events_until("agent_settled").await;
    assert!(has(&events, "agent_start", None));
    assert!(has(&events, "message_update", Some("text_delta")));
    let data = client.data(json!({"type": "get_fork_messages"})).await;
    assert!(data["messages"][0]["entryId"].is_string(), "{data}");
    client
        .data(json!({"type": "set_session_name", "name": "Bridged"}))
        .await;
    assert_eq!(client.state().await["sessionName"], "Bridged");

    client.prompt("read it").await;
    let events = client.events_until("tool_execution_end").await;
    let text = events.last().unwrap()["result"]["content"][0]["text"].as_str();
    assert!(text.unwrap().contains("MARKER"), "{text:?}");
    client.events_until("agent_settled").await;

    client.prompt("first").await;
    client.events_until("agent_start").await;
    client
        .data(json!({"type": "steer", "message": "queued"}))
        .await;
    loop {
        let events = client.events_until("message_start").await;
        let message = &events.last().unwrap()["message"];
        if message["role"] == "user" && message.to_string().contains("queued") {
            break;
        }
    }
    client.abort().await;
    client.events_until("agent_settled").await;
    assert_eq!(client.state().await["isStreaming"], false);
}
