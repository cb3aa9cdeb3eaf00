//! Requests against a real server on the loopback interface.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use pi_http::WebSocketMessage;
use pi_protocol::{AssistantMessage, AssistantMessageEvent, StopReason};
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;
use ruzstd::decoding::StreamingDecoder;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::*;
use crate::wire::codex_responses::socket::{MessageSocket, SocketTarget};

/// The next action of the server on a connection.
enum ServerAction {
    /// Waits for a request and responds with these events.
    Respond(Vec<Value>),
    /// Waits for a request, responds with these events and closes the connection.
    RespondAndClose(Vec<Value>, u16),
    /// Waits for a request and drops the connection.
    Drop,
}

/// An event observed by the server.
#[derive(Debug)]
enum ServerEvent {
    Handshake(BTreeMap<String, String>),
    Request(Value),
    Closed,
}

/// A server that follows one script per connection.
struct WebSocketServer {
    base_url: String,
    seen: mpsc::UnboundedReceiver<(usize, ServerEvent)>,
    _serving: JoinSet<()>,
}

impl WebSocketServer {
    async fn start(connections: Vec<Vec<ServerAction>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let (log, seen) = mpsc::unbounded_channel();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut open = JoinSet::new();
            for (number, actions) in connections.into_iter().enumerate() {
                let (socket, _) = listener.accept().await.unwrap();
                open.spawn(serve(number, socket, actions, log.clone()));
            }
            open.join_all().await;
        });
        Self {
            base_url,
            seen,
            _serving: serving,
        }
    }

    async fn next(&mut self) -> (usize, ServerEvent) {
        self.seen.recv().await.unwrap()
    }

    async fn handshake(&mut self) -> (usize, BTreeMap<String, String>) {
        match self.next().await {
            (number, ServerEvent::Handshake(headers)) => (number, headers),
            other => panic!("expected a handshake, got {other:?}"),
        }
    }

    /// Waits until the client has closed a connection.
    async fn wait_closed(&mut self, connection: usize) {
        while !matches!(self.next().await, (number, ServerEvent::Closed) if number == connection) {}
    }

    async fn request(&mut self) -> (usize, Value) {
        match self.next().await {
            (number, ServerEvent::Request(request)) => (number, request),
            other => panic!("expected a request, got {other:?}"),
        }
    }
}

async fn serve(
    number: usize,
    socket: TcpStream,
    actions: Vec<ServerAction>,
    log: mpsc::UnboundedSender<(usize, ServerEvent)>,
) {
    let log_event = |event| log.send((number, event)).unwrap_or_default();
    #[expect(
        clippy::result_large_err,
        reason = "the callback's type is the library's"
    )]
    let record = |request: &Request, response: Response| {
        let headers = request.headers().iter();
        let headers = headers
            .map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().to_owned()));
        log_event(ServerEvent::Handshake(headers.collect()));
        Ok(response)
    };
    let mut socket = tokio_tungstenite::accept_hdr_async(socket, record)
        .await
        .unwrap();
    for action in actions {
        let Some(Ok(Frame::Text(text))) = socket.next().await else {
            log_event(ServerEvent::Closed);
            return;
        };
        log_event(ServerEvent::Request(
            serde_json::from_str(text.as_str()).unwrap(),
        ));
        match action {
            ServerAction::Respond(events) => send(&mut socket, events).await,
            ServerAction::RespondAndClose(events, code) => {
                send(&mut socket, events).await;
                let reason = "".into();
                let frame = CloseFrame {
                    code: code.into(),
                    reason,
                };
                socket.close(Some(frame)).await.unwrap();
                return;
            }
            ServerAction::Drop => return,
        }
    }
    // The connection stays open until the client closes it.
    while let Some(Ok(_)) = socket.next().await {}
    log_event(ServerEvent::Closed);
}

async fn send(socket: &mut WebSocketStream<TcpStream>, events: Vec<Value>) {
    for event in events {
        socket.send(Frame::text(event.to_string())).await.unwrap();
    }
}

/// The events of a complete response.
fn response_events(id: &str, text: &str) -> Vec<Value> {
    let mut events = partial_response_events(id, text);
    let message = json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant",
        "content": [{"type": "output_text", "text": text}]});
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": message}));
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    events.push(json!({"type": "response.completed",
        "response": {"id": id, "status": "completed", "usage": usage}}));
    events
}

/// The events of a response that has started.
fn partial_response_events(id: &str, text: &str) -> Vec<Value> {
    vec![
        json!({"type": "response.created", "response": {"id": id}}),
        json!({"type": "response.output_item.added", "output_index": 0,
            "item": {"type": "message", "id": format!("msg_{id}"), "content": []}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}),
    ]
}

fn failure(code: &str) -> Vec<Value> {
    vec![json!({"type": "error", "error": {"code": code, "message": "no"}})]
}

fn sse(events: &[Value]) -> ScriptedReply {
    let chunks = events.iter().map(|event| format!("data: {event}\n\n"));
    ScriptedReply::event_stream().chunk(chunks.collect::<String>())
}

/// A conversation with a server.
struct TestConversation {
    codex: CodexResponses,
    base_url: String,
    messages: Vec<Value>,
    options: StreamOptions,
}

impl TestConversation {
    fn with(base_url: &str, transport: TransportPreference) -> Self {
        Self {
            codex: CodexResponses::default(),
            base_url: base_url.to_owned(),
            messages: vec![json!({"role": "system", "content": "Be brief."})],
            options: StreamOptions {
                transport,
                ..options()
            },
        }
    }

    fn send_prompt(&mut self, text: &str) -> AssistantStream {
        self.messages.push(json!({"role": "user", "content": text}));
        let fields = json!({"baseUrl": self.base_url});
        let messages = Value::Array(self.messages.clone());
        let request = codex_request(fields, messages, self.options.clone());
        self.codex.stream(request, HttpClient::new())
    }

    /// Sends a prompt and adds the response to the conversation.
    async fn prompt(&mut self, text: &str) -> Arc<AssistantMessage> {
        let response_events = self.send_prompt(text).result().await;
        let mut message = serde_json::to_value(&*response_events).unwrap();
        message["role"] = "assistant".into();
        self.messages.push(message);
        response_events
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn assistant(id: &str, text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "status": "completed", "id": format!("msg_{id}"),
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

#[tokio::test]
async fn plain_websocket_sends_everything_on_one_connection() {
    let actions = vec![
        ServerAction::Respond(response_events("r1", "1")),
        ServerAction::Respond(response_events("r2", "2")),
    ];
    let mut server = WebSocketServer::start(vec![actions]).await;
    let mut conversation = TestConversation::with(&server.base_url, TransportPreference::Websocket);
    assert_eq!(conversation.prompt("one").await.text(), "1");
    assert_eq!(conversation.prompt("two").await.text(), "2");

    let (_, headers) = server.handshake().await;
    let named = |name: &str| headers.get(name).map(String::as_str);
    assert_eq!(named("chatgpt-account-id"), Some("acct_mock"));
    assert_eq!(named("originator"), Some("pi"));
    assert_eq!(
        named("openai-beta"),
        Some("responses_websockets=2026-02-06")
    );
    assert_eq!(named("session-id"), Some("session-1"));
    assert_eq!(named("content-type"), None);
    let (_, first) = server.request().await;
    assert_eq!(first["type"], "response.create");
    assert_eq!(first["instructions"], "Be brief.");
    assert_eq!(first["input"], json!([user("one")]));
    let (connection, second) = server.request().await;
    assert_eq!(connection, 0);
    assert_eq!(
        second["input"],
        json!([user("one"), assistant("r1", "1"), user("two")])
    );
    assert_eq!(second.get("previous_response_id"), None);
}

#[tokio::test]
async fn a_continued_conversation_sends_only_new_items() {
    let actions =
        (1..=4).map(|number| ServerAction::Respond(response_events(&format!("r{number}"), "ok")));
    let mut server = WebSocketServer::start(vec![actions.collect()]).await;
    let mut conversation = TestConversation::with(&server.base_url, TransportPreference::Auto);
    conversation.prompt("one").await;
    conversation.prompt("two").await;
    // The user goes back and sends another prompt.
    conversation.messages.truncate(3);
    conversation.prompt("other").await;
    conversation.prompt("more").await;

    server.handshake().await;
    let (_, first) = server.request().await;
    assert_eq!(first.get("previous_response_id"), None);
    let (_, second) = server.request().await;
    assert_eq!(second["previous_response_id"], "r1");
    assert_eq!(second["input"], json!([user("two")]));
    let (_, third) = server.request().await;
    assert_eq!(third.get("previous_response_id"), None);
    assert_eq!(
        third["input"],
        json!([user("one"), assistant("r1", "ok"), user("other")])
    );
    let (connection, fourth) = server.request().await;
    assert_eq!(fourth["previous_response_id"], "r3");
    assert_eq!(connection, 0);
}

#[tokio::test]
async fn a_lost_continuation_is_resent_in_full_on_a_new_connection() {
    let first = vec![
        ServerAction::Respond(response_events("r1", "1")),
        ServerAction::Respond(failure("previous_response_not_found")),
    ];
    let second = vec![
        ServerAction::Respond(response_events("r2", "2")),
        ServerAction::Respond(failure("usage_limit_reached")),
    ];
    let mut server = WebSocketServer::start(vec![first, second]).await;
    let mut conversation =
        TestConversation::with(&server.base_url, TransportPreference::WebsocketCached);
    conversation.prompt("one").await;
    let response_started = conversation.prompt("two").await;
    assert_eq!(
        (
            response_started.text().as_str(),
            &response_started.diagnostics
        ),
        ("2", &None)
    );

    server.handshake().await;
    server.request().await;
    let (_, delta) = server.request().await;
    assert_eq!(delta["previous_response_id"], "r1");
    let mut seen = vec![
        server.next().await,
        server.next().await,
        server.next().await,
    ];
    seen.sort_by_key(|(connection, _)| *connection);
    assert!(
        matches!(seen.remove(0), (0, ServerEvent::Closed)),
        "the old connection is let go"
    );
    let Some((1, ServerEvent::Request(whole))) = seen.pop() else {
        panic!("expected a request on the new connection");
    };
    assert_eq!(
        whole["input"],
        json!([user("one"), assistant("r1", "1"), user("two")])
    );

    let failed = conversation.prompt("three").await;
    assert_eq!(failed.stop_reason, StopReason::Error);
    let text = failed.error_message.as_deref().unwrap();
    assert!(text.contains("usage_limit_reached"), "{text}");
    assert_eq!(
        failed.diagnostics, None,
        "the service said no, the connection did not fail"
    );
    let (_, delta) = server.request().await;
    assert_eq!(delta["previous_response_id"], "r2");
}

#[tokio::test]
async fn a_dead_pooled_connection_is_replaced() {
    let first = vec![
        ServerAction::Respond(response_events("r1", "1")),
        ServerAction::Drop,
    ];
    let mut server = WebSocketServer::start(vec![
        first,
        vec![ServerAction::Respond(response_events("r2", "2"))],
    ])
    .await;
    let mut conversation = TestConversation::with(&server.base_url, TransportPreference::Auto);
    conversation.prompt("one").await;
    let response_started = conversation.prompt("two").await;
    assert_eq!(
        (
            response_started.text().as_str(),
            &response_started.diagnostics
        ),
        ("2", &None)
    );
    server.handshake().await;
    server.request().await;
    assert_eq!(server.request().await.1["previous_response_id"], "r1");
    assert_eq!(server.handshake().await.0, 1);
    assert_eq!(server.request().await.1.get("previous_response_id"), None);
}

#[tokio::test]
async fn a_connection_broken_during_the_response_is_an_error() {
    let actions = vec![ServerAction::RespondAndClose(
        partial_response_events("r1", "half"),
        1011,
    )];
    let server = WebSocketServer::start(vec![actions]).await;
    let mut conversation = TestConversation::with(&server.base_url, TransportPreference::Auto);
    let failed = conversation.prompt("one").await;
    assert_eq!(
        (failed.stop_reason, failed.text().as_str()),
        (StopReason::Error, "half")
    );
    assert_eq!(failed.response_id.as_deref(), Some("r1"));
    let text = failed.error_message.as_deref().unwrap();
    assert!(
        text.starts_with("WebSocket closed") && text.contains("1011"),
        "{text}"
    );
    let diagnostic = &failed.diagnostics.as_ref().unwrap()[0];
    assert_eq!(diagnostic.error.as_ref().unwrap().code, Some(json!(1011)));
    let details = diagnostic.details.as_ref().unwrap();
    assert_eq!(details["eventsEmitted"], true);
    assert_eq!(details.get("fallbackTransport"), None);
    assert!(
        conversation
            .codex
            .uses_http(&hello(conversation.options.clone()))
    );
}

#[tokio::test]
async fn an_abort_ends_the_response_and_the_connection() {
    let first = vec![ServerAction::Respond(partial_response_events("r1", "half"))];
    let mut server = WebSocketServer::start(vec![
        first,
        vec![ServerAction::Respond(response_events("r2", "2"))],
    ])
    .await;
    let mut conversation = TestConversation::with(&server.base_url, TransportPreference::Auto);
    let cancel = conversation.options.cancel.clone();
    let mut stream = conversation.send_prompt("one");
    let mut last = None;
    while let Some(event) = stream.next().await {
        if matches!(event, AssistantMessageEvent::TextDelta { .. }) {
            cancel.cancel();
        }
        last = Some(event);
    }
    let aborted = last.unwrap().final_message().cloned().unwrap();
    assert_eq!(
        (aborted.stop_reason, aborted.text().as_str()),
        (StopReason::Aborted, "half")
    );
    assert_eq!(aborted.diagnostics, None);
    server.handshake().await;
    server.request().await;
    assert!(matches!(server.next().await, (0, ServerEvent::Closed)));

    conversation.options.cancel = tokio_util::sync::CancellationToken::new();
    assert_eq!(conversation.prompt("two").await.text(), "2");
    assert_eq!(server.handshake().await.0, 1);
}

#[tokio::test]
async fn concurrent_requests_of_a_session_use_separate_connections() {
    let first = vec![ServerAction::Respond(partial_response_events("r1", "slow"))];
    let second = vec![ServerAction::Respond(response_events("r2", "fast"))];
    let mut server = WebSocketServer::start(vec![first, second]).await;
    let mut conversation = TestConversation::with(&server.base_url, TransportPreference::Auto);
    let mut slow = conversation.send_prompt("one");
    while !matches!(
        slow.next().await,
        Some(AssistantMessageEvent::TextDelta { .. })
    ) {}
    assert_eq!(conversation.prompt("two").await.text(), "fast");
    server.wait_closed(1).await;
    drop(slow);
    server.wait_closed(0).await;
}

#[tokio::test]
async fn a_rejected_upgrade_pins_the_session_to_http() {
    let replies = [
        ScriptedReply::full(426, &[], "upgrade refused"),
        sse(&response_events("r1", "1")),
        sse(&response_events("r2", "2")),
    ];
    let server = ScriptedServer::start(replies).await;
    let mut conversation = TestConversation::with(&server.url(), TransportPreference::Auto);
    let payloads = Arc::new(CountedPayloads::default());
    conversation.options.hooks = Some(payloads.clone());
    let first = conversation.prompt("one").await;
    assert_eq!(
        (first.text().as_str(), first.stop_reason),
        ("1", StopReason::Stop)
    );
    let details = first.diagnostics.as_ref().unwrap()[0]
        .details
        .as_ref()
        .unwrap();
    assert_eq!(details["configuredTransport"], "auto");
    assert_eq!(details["fallbackTransport"], "sse");
    assert_eq!(details["phase"], "before_message_stream_start");
    assert_eq!(payloads.0.load(Ordering::Relaxed), 1);

    let second = conversation.prompt("two").await;
    assert_eq!((second.text().as_str(), &second.diagnostics), ("2", &None));
    let methods: Vec<String> = server
        .requests()
        .into_iter()
        .map(|request| request.method)
        .collect();
    assert_eq!(methods, ["GET", "POST", "POST"]);
}

#[derive(Debug, Default)]
struct CountedPayloads(AtomicUsize);

impl RequestHooks for CountedPayloads {
    fn on_payload<'a>(&'a self, payload: Value, _model: &'a Model) -> BoxFuture<'a, Value> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(payload))
    }
}

#[tokio::test]
async fn http_is_used_on_request() {
    let server = ScriptedServer::start([sse(&response_events("r1", "1"))]).await;
    let mut conversation = TestConversation::with(&server.url(), TransportPreference::Sse);
    assert_eq!(conversation.prompt("one").await.text(), "1");
    let request = server.wait_for_request(0).await;
    assert_eq!(request.target, "/codex/responses");
    let mut decoder = StreamingDecoder::new(request.body.as_slice()).unwrap();
    let mut body = String::new();
    decoder.read_to_string(&mut body).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["input"], json!([user("one")]));
}

#[tokio::test]
async fn an_invalid_token_fails_before_connecting() {
    let mut conversation = TestConversation::with("http://127.0.0.1:9", TransportPreference::Auto);
    conversation.options.api_key = Some("not-a-jwt".to_owned().into());
    let failed = conversation.prompt("one").await;
    assert_eq!(failed.stop_reason, StopReason::Error);
    assert_eq!(failed.diagnostics, None);
}

/// Opens sockets that replay scripted messages, without a network.
#[derive(Debug, Default)]
struct ScriptedSockets(Mutex<Vec<Vec<WebSocketMessage>>>);

#[derive(Debug)]
struct ScriptedSocket(Vec<WebSocketMessage>);

impl SocketOpener for ScriptedSockets {
    type Socket = ScriptedSocket;

    async fn open(
        &self,
        _http: &HttpClient,
        _target: SocketTarget<'_>,
        _env: &Env,
    ) -> Result<ScriptedSocket, ProviderError> {
        let next = self.0.lock().pop();
        next.map(ScriptedSocket)
            .ok_or_else(|| ProviderError::network("The connection timed out"))
    }
}

impl MessageSocket for ScriptedSocket {
    async fn send(&mut self, _text: String) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn receive(
        &mut self,
        _limit: Option<Duration>,
    ) -> Result<WebSocketMessage, ProviderError> {
        if self.0.is_empty() {
            std::future::pending::<()>().await;
        }
        Ok(self.0.remove(0))
    }

    async fn close(self) {}
}

#[tokio::test]
async fn a_failing_connection_falls_back_to_http() {
    let full =
        || WebSocketMessage::Text(failure("websocket_connection_limit_reached")[0].to_string());
    let too_big = WebSocketMessage::Closed {
        code: 1009,
        reason: String::new(),
    };
    let cases = [
        (vec![], None),
        (vec![vec![too_big]], Some(json!(1009))),
        (
            vec![vec![full()], vec![full()]],
            Some(json!("websocket_connection_limit_reached")),
        ),
    ];
    for (sockets, code) in cases {
        let server = ScriptedServer::start([sse(&response_events("r1", "1"))]).await;
        let codex = CodexResponses::with_opener(ScriptedSockets(Mutex::new(sockets)));
        let fields = json!({"baseUrl": server.url()});
        let messages = json!([{"role": "user", "content": "hi"}]);
        let request = codex_request(fields, messages, options());
        let message = codex.stream(request, HttpClient::new()).result().await;
        assert_eq!(
            (message.text().as_str(), message.stop_reason),
            ("1", StopReason::Stop)
        );
        let diagnostics = message.diagnostics.as_ref().unwrap();
        assert_eq!(diagnostics.len(), 1);
        assert_eq!(diagnostics[0].error.as_ref().unwrap().code, code);
        assert_eq!(server.requests().len(), 1);
    }
}
