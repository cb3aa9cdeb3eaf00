//! Requests against a real server on the loopback interface.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use pi_test_support::{ScriptedServer, ScriptedReply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::*;
use crate::event::AssistantMessageEvent;
use crate::message::AssistantMessage;
use crate::stop_reason::StopReason;
use crate::transport::websocket::Incoming;
use crate::wire::codex_responses::socket::{MessageSocket, SocketTarget};

/// What the server does next on a connection.
enum Step {
    /// Waits for a request and answers with these events.
    Answer(Vec<Value>),
    /// Waits for a request, answers with these events and closes the connection.
    AnswerAndClose(Vec<Value>, u16),
    /// Waits for a request and cuts the connection.
    Cut,
}

/// What the server saw.
#[derive(Debug)]
enum Seen {
    Handshake(BTreeMap<String, String>),
    Request(Value),
    Gone,
}

/// A server that follows one script per connection.
struct Peer {
    base_url: String,
    seen: mpsc::UnboundedReceiver<(usize, Seen)>,
    _serving: JoinSet<()>,
}

impl Peer {
    async fn start(connections: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let (log, seen) = mpsc::unbounded_channel();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut open = JoinSet::new();
            for (number, steps) in connections.into_iter().enumerate() {
                let (socket, _) = listener.accept().await.unwrap();
                open.spawn(serve(number, socket, steps, log.clone()));
            }
            open.join_all().await;
        });
        Self {
            base_url,
            seen,
            _serving: serving,
        }
    }

    async fn next(&mut self) -> (usize, Seen) {
        self.seen.recv().await.unwrap()
    }

    async fn handshake(&mut self) -> (usize, BTreeMap<String, String>) {
        match self.next().await {
            (number, Seen::Handshake(headers)) => (number, headers),
            other => panic!("a handshake, not {other:?}"),
        }
    }

    /// Waits until the client has left a connection.
    async fn gone(&mut self, connection: usize) {
        while !matches!(self.next().await, (number, Seen::Gone) if number == connection) {}
    }

    async fn request(&mut self) -> (usize, Value) {
        match self.next().await {
            (number, Seen::Request(request)) => (number, request),
            other => panic!("a request, not {other:?}"),
        }
    }
}

async fn serve(
    number: usize,
    socket: TcpStream,
    steps: Vec<Step>,
    log: mpsc::UnboundedSender<(usize, Seen)>,
) {
    let tell = |seen| log.send((number, seen)).unwrap_or_default();
    #[expect(
        clippy::result_large_err,
        reason = "the callback's type is the library's"
    )]
    let record = |request: &Request, response: Response| {
        let headers = request.headers().iter();
        let headers = headers
            .map(|(name, value)| (name.as_str().to_owned(), value.to_str().unwrap().to_owned()));
        tell(Seen::Handshake(headers.collect()));
        Ok(response)
    };
    let mut socket = tokio_tungstenite::accept_hdr_async(socket, record)
        .await
        .unwrap();
    for step in steps {
        let Some(Ok(Frame::Text(text))) = socket.next().await else {
            tell(Seen::Gone);
            return;
        };
        tell(Seen::Request(serde_json::from_str(text.as_str()).unwrap()));
        match step {
            Step::Answer(events) => send(&mut socket, events).await,
            Step::AnswerAndClose(events, code) => {
                send(&mut socket, events).await;
                let reason = "".into();
                let frame = CloseFrame {
                    code: code.into(),
                    reason,
                };
                socket.close(Some(frame)).await.unwrap();
                return;
            }
            Step::Cut => return,
        }
    }
    // The connection stays open until the client leaves.
    while let Some(Ok(_)) = socket.next().await {}
    tell(Seen::Gone);
}

async fn send(socket: &mut WebSocketStream<TcpStream>, events: Vec<Value>) {
    for event in events {
        socket.send(Frame::text(event.to_string())).await.unwrap();
    }
}

/// The events of a whole answer.
fn answer(id: &str, text: &str) -> Vec<Value> {
    let mut events = beginning(id, text);
    let message = json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant",
        "content": [{"type": "output_text", "text": text}]});
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": message}));
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    events.push(json!({"type": "response.completed",
        "response": {"id": id, "status": "completed", "usage": usage}}));
    events
}

/// The events of an answer that has begun.
fn beginning(id: &str, text: &str) -> Vec<Value> {
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
struct Talk {
    codex: CodexResponses,
    base_url: String,
    messages: Vec<Value>,
    options: StreamOptions,
}

impl Talk {
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

    fn ask(&mut self, text: &str) -> AssistantStream {
        self.messages.push(json!({"role": "user", "content": text}));
        let fields = json!({"baseUrl": self.base_url});
        let messages = Value::Array(self.messages.clone());
        let request = codex_request(fields, messages, self.options.clone());
        self.codex.stream(request, HttpClient::new())
    }

    /// Asks and takes the answer into the conversation.
    async fn say(&mut self, text: &str) -> Arc<AssistantMessage> {
        let answer = self.ask(text).result().await;
        let mut message = serde_json::to_value(&*answer).unwrap();
        message["role"] = "assistant".into();
        self.messages.push(message);
        answer
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
    let steps = vec![
        Step::Answer(answer("r1", "1")),
        Step::Answer(answer("r2", "2")),
    ];
    let mut peer = Peer::start(vec![steps]).await;
    let mut talk = Talk::with(&peer.base_url, TransportPreference::Websocket);
    assert_eq!(talk.say("one").await.text(), "1");
    assert_eq!(talk.say("two").await.text(), "2");

    let (_, headers) = peer.handshake().await;
    let named = |name: &str| headers.get(name).map(String::as_str);
    assert_eq!(named("chatgpt-account-id"), Some("acct_mock"));
    assert_eq!(named("originator"), Some("pi"));
    assert_eq!(
        named("openai-beta"),
        Some("responses_websockets=2026-02-06")
    );
    assert_eq!(named("session-id"), Some("session-1"));
    assert_eq!(named("content-type"), None);
    let (_, first) = peer.request().await;
    assert_eq!(first["type"], "response.create");
    assert_eq!(first["instructions"], "Be brief.");
    assert_eq!(first["input"], json!([user("one")]));
    let (connection, second) = peer.request().await;
    assert_eq!(connection, 0);
    assert_eq!(
        second["input"],
        json!([user("one"), assistant("r1", "1"), user("two")])
    );
    assert_eq!(second.get("previous_response_id"), None);
}

#[tokio::test]
async fn a_conversation_that_goes_on_sends_only_what_is_new() {
    let steps = (1..=4).map(|number| Step::Answer(answer(&format!("r{number}"), "ok")));
    let mut peer = Peer::start(vec![steps.collect()]).await;
    let mut talk = Talk::with(&peer.base_url, TransportPreference::Auto);
    talk.say("one").await;
    talk.say("two").await;
    // The user goes back and asks something else.
    talk.messages.truncate(3);
    talk.say("other").await;
    talk.say("more").await;

    peer.handshake().await;
    let (_, first) = peer.request().await;
    assert_eq!(first.get("previous_response_id"), None);
    let (_, second) = peer.request().await;
    assert_eq!(second["previous_response_id"], "r1");
    assert_eq!(second["input"], json!([user("two")]));
    let (_, third) = peer.request().await;
    assert_eq!(third.get("previous_response_id"), None);
    assert_eq!(
        third["input"],
        json!([user("one"), assistant("r1", "ok"), user("other")])
    );
    let (connection, fourth) = peer.request().await;
    assert_eq!(fourth["previous_response_id"], "r3");
    assert_eq!(connection, 0);
}

#[tokio::test]
async fn a_lost_continuation_is_sent_whole_on_a_new_connection() {
    let first = vec![
        Step::Answer(answer("r1", "1")),
        Step::Answer(failure("previous_response_not_found")),
    ];
    let second = vec![
        Step::Answer(answer("r2", "2")),
        Step::Answer(failure("usage_limit_reached")),
    ];
    let mut peer = Peer::start(vec![first, second]).await;
    let mut talk = Talk::with(&peer.base_url, TransportPreference::WebsocketCached);
    talk.say("one").await;
    let answered = talk.say("two").await;
    assert_eq!(
        (answered.text().as_str(), &answered.diagnostics),
        ("2", &None)
    );

    peer.handshake().await;
    peer.request().await;
    let (_, delta) = peer.request().await;
    assert_eq!(delta["previous_response_id"], "r1");
    let mut seen = vec![peer.next().await, peer.next().await, peer.next().await];
    seen.sort_by_key(|(connection, _)| *connection);
    assert!(
        matches!(seen.remove(0), (0, Seen::Gone)),
        "the old connection is let go"
    );
    let Some((1, Seen::Request(whole))) = seen.pop() else {
        panic!("a request on the new connection");
    };
    assert_eq!(
        whole["input"],
        json!([user("one"), assistant("r1", "1"), user("two")])
    );

    let failed = talk.say("three").await;
    assert_eq!(failed.stop_reason, StopReason::Error);
    let words = failed.error_message.as_deref().unwrap();
    assert!(words.contains("usage_limit_reached"), "{words}");
    assert_eq!(
        failed.diagnostics, None,
        "the service said no, the connection did not fail"
    );
    let (_, delta) = peer.request().await;
    assert_eq!(delta["previous_response_id"], "r2");
}

#[tokio::test]
async fn a_kept_connection_that_died_is_replaced() {
    let first = vec![Step::Answer(answer("r1", "1")), Step::Cut];
    let mut peer = Peer::start(vec![first, vec![Step::Answer(answer("r2", "2"))]]).await;
    let mut talk = Talk::with(&peer.base_url, TransportPreference::Auto);
    talk.say("one").await;
    let answered = talk.say("two").await;
    assert_eq!(
        (answered.text().as_str(), &answered.diagnostics),
        ("2", &None)
    );
    peer.handshake().await;
    peer.request().await;
    assert_eq!(peer.request().await.1["previous_response_id"], "r1");
    assert_eq!(peer.handshake().await.0, 1);
    assert_eq!(peer.request().await.1.get("previous_response_id"), None);
}

#[tokio::test]
async fn a_connection_broken_in_the_middle_fails_the_answer() {
    let steps = vec![Step::AnswerAndClose(beginning("r1", "half"), 1011)];
    let peer = Peer::start(vec![steps]).await;
    let mut talk = Talk::with(&peer.base_url, TransportPreference::Auto);
    let failed = talk.say("one").await;
    assert_eq!(
        (failed.stop_reason, failed.text().as_str()),
        (StopReason::Error, "half")
    );
    assert_eq!(failed.response_id.as_deref(), Some("r1"));
    let words = failed.error_message.as_deref().unwrap();
    assert!(
        words.starts_with("WebSocket closed") && words.contains("1011"),
        "{words}"
    );
    let diagnostic = &failed.diagnostics.as_ref().unwrap()[0];
    assert_eq!(diagnostic.error.as_ref().unwrap().code, Some(json!(1011)));
    let details = diagnostic.details.as_ref().unwrap();
    assert_eq!(details["eventsEmitted"], true);
    assert_eq!(details.get("fallbackTransport"), None);
    assert!(talk.codex.goes_over_http(&hello(talk.options.clone())));
}

#[tokio::test]
async fn an_abort_ends_the_answer_and_the_connection() {
    let first = vec![Step::Answer(beginning("r1", "half"))];
    let mut peer = Peer::start(vec![first, vec![Step::Answer(answer("r2", "2"))]]).await;
    let mut talk = Talk::with(&peer.base_url, TransportPreference::Auto);
    let cancel = talk.options.cancel.clone();
    let mut stream = talk.ask("one");
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
    peer.handshake().await;
    peer.request().await;
    assert!(matches!(peer.next().await, (0, Seen::Gone)));

    talk.options.cancel = tokio_util::sync::CancellationToken::new();
    assert_eq!(talk.say("two").await.text(), "2");
    assert_eq!(peer.handshake().await.0, 1);
}

#[tokio::test]
async fn two_requests_of_a_session_at_once_have_a_connection_each() {
    let first = vec![Step::Answer(beginning("r1", "slow"))];
    let second = vec![Step::Answer(answer("r2", "fast"))];
    let mut peer = Peer::start(vec![first, second]).await;
    let mut talk = Talk::with(&peer.base_url, TransportPreference::Auto);
    let mut slow = talk.ask("one");
    while !matches!(
        slow.next().await,
        Some(AssistantMessageEvent::TextDelta { .. })
    ) {}
    assert_eq!(talk.say("two").await.text(), "fast");
    peer.gone(1).await;
    drop(slow);
    peer.gone(0).await;
}

#[tokio::test]
async fn a_refused_upgrade_goes_over_http_from_then_on() {
    let replies = [
        ScriptedReply::full(426, &[], "upgrade refused"),
        sse(&answer("r1", "1")),
        sse(&answer("r2", "2")),
    ];
    let server = ScriptedServer::start(replies).await;
    let mut talk = Talk::with(&server.url(), TransportPreference::Auto);
    let payloads = Arc::new(CountedPayloads::default());
    talk.options.hooks = Some(payloads.clone());
    let first = talk.say("one").await;
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

    let second = talk.say("two").await;
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
async fn http_is_used_when_asked_for() {
    let server = ScriptedServer::start([sse(&answer("r1", "1"))]).await;
    let mut talk = Talk::with(&server.url(), TransportPreference::Sse);
    assert_eq!(talk.say("one").await.text(), "1");
    let request = server.wait_for_request(0).await;
    assert_eq!(request.target, "/codex/responses");
    let body = zstd::decode_all(request.body.as_slice()).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["input"], json!([user("one")]));
}

#[tokio::test]
async fn an_unreadable_token_fails_before_any_connection() {
    let mut talk = Talk::with("http://127.0.0.1:9", TransportPreference::Auto);
    talk.options.api_key = Some("not-a-jwt".to_owned().into());
    let failed = talk.say("one").await;
    assert_eq!(failed.stop_reason, StopReason::Error);
    assert_eq!(failed.diagnostics, None);
}

/// Opens sockets that say what the test wrote, without a network.
#[derive(Debug, Default)]
struct ScriptedSockets(Mutex<Vec<Vec<Incoming>>>);

#[derive(Debug)]
struct ScriptedSocket(Vec<Incoming>);

impl SocketOpener for ScriptedSockets {
    type Socket = ScriptedSocket;

    async fn open(
        &self,
        _http: &HttpClient,
        _target: SocketTarget<'_>,
        _env: &Env,
    ) -> Result<ScriptedSocket, ProviderError> {
        let next = self.0.lock().unwrap().pop();
        next.map(ScriptedSocket)
            .ok_or_else(|| ProviderError::network("The connection timed out"))
    }
}

impl MessageSocket for ScriptedSocket {
    async fn send(&mut self, _text: String) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn receive(&mut self, _limit: Option<Duration>) -> Result<Incoming, ProviderError> {
        if self.0.is_empty() {
            std::future::pending::<()>().await;
        }
        Ok(self.0.remove(0))
    }

    async fn close(self) {}
}

#[tokio::test]
async fn a_connection_that_gets_nowhere_is_answered_over_http() {
    let full = || Incoming::Text(failure("websocket_connection_limit_reached")[0].to_string());
    let too_big = Incoming::Closed {
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
        let server = ScriptedServer::start([sse(&answer("r1", "1"))]).await;
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
