//! A Slack on loopback: the Web API and the socket of socket mode. It can close sockets, repeat envelopes, limit requests
//! and hold calls, before or after their effect.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::tungstenite::Message;

/// User ID of the bot.
pub(crate) const BOT: &str = "UBOT";

/// When a held call stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    BeforeEffect,
    AfterEffect,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct StoredMessage {
    pub(crate) channel: String,
    pub(crate) ts: String,
    pub(crate) user: String,
    pub(crate) text: String,
    pub(crate) thread: Option<String>,
    pub(crate) blocks: Value,
    metadata: Value,
    files: Value,
    pub(crate) edits: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UploadedFile {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) channel: String,
}

#[derive(Default)]
struct State {
    clock: u64,
    messages: Vec<StoredMessage>,
    /// Envelopes without an acknowledgment, which every new socket receives.
    unacknowledged: Vec<(String, String)>,
    sockets: Vec<mpsc::UnboundedSender<Option<String>>>,
    calls: Vec<String>,
    limits: HashMap<String, u32>,
    holds: VecDeque<(String, String, Hold)>,
    repeats: bool,
    files: HashMap<String, Vec<u8>>,
    uploads: Vec<UploadedFile>,
    /// Authorization of every call.
    tokens: Vec<String>,
}

#[derive(Clone)]
pub(crate) struct LoopbackSlack {
    state: Arc<Mutex<State>>,
    changes: watch::Sender<u64>,
    url: String,
}

impl LoopbackSlack {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let slack = Self {
            state: Arc::default(),
            changes: watch::Sender::new(0),
            url: format!("http://{}", listener.local_addr().unwrap()),
        };
        let server = slack.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move { server.connection(stream).await });
            }
        });
        slack
    }

    pub(crate) fn api_url(&self) -> String {
        format!("{}/api/", self.url)
    }

    pub(crate) fn file_url(&self, name: &str, bytes: &[u8]) -> String {
        let path = format!("/files/{name}");
        self.change(|state| state.files.insert(path.clone(), bytes.to_vec()));
        format!("{}{path}", self.url)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state.lock().unwrap());
        self.changes.send_modify(|number| *number += 1);
        result
    }

    /// Makes Slack send every envelope twice.
    pub(crate) fn repeat_envelopes(&self) {
        self.change(|state| state.repeats = true);
    }

    /// Rejects the next calls of a method.
    pub(crate) fn limit(&self, method: &str, count: u32) {
        self.change(|state| state.limits.insert(method.to_owned(), count));
    }

    /// Holds the next call of a method whose arguments contain a text: it is never answered.
    pub(crate) fn hold(&self, method: &str, containing: &str, when: Hold) {
        let hold = (method.to_owned(), containing.to_owned(), when);
        self.change(|state| state.holds.push_back(hold));
    }

    /// Closes all sockets.
    pub(crate) fn disconnect(&self) {
        self.change(|state| {
            for socket in state.sockets.drain(..) {
                socket.send(None).ok();
            }
        });
    }

    /// Stores a message of a user without sending it; returns its `ts`.
    pub(crate) fn add_message(&self, channel: &str, user: &str, text: &str) -> String {
        self.change(|state| {
            let message = StoredMessage {
                channel: channel.to_owned(),
                user: user.to_owned(),
                text: text.to_owned(),
                ts: state.next_ts(),
                ..StoredMessage::default()
            };
            let ts = message.ts.clone();
            state.messages.push(message);
            ts
        })
    }

    /// Sends a message of a user; returns its `ts`.
    pub(crate) fn say(&self, channel: &str, user: &str, text: &str) -> String {
        self.say_with_files(channel, user, text, &json!([]))
    }

    pub(crate) fn say_with_files(
        &self,
        channel: &str,
        user: &str,
        text: &str,
        files: &Value,
    ) -> String {
        let ts = self.add_message(channel, user, text);
        self.change(|state| state.messages.last_mut().unwrap().files = files.clone());
        let event = json!({
            "type": "message", "channel": channel, "channel_type": "channel", "user": user, "text": text,
            "ts": ts, "files": files,
        });
        self.send("events_api", &json!({ "event": event }));
        ts
    }

    /// Presses a button of a post.
    pub(crate) fn press(&self, channel: &str, post: &str, user: &str, value: &str) {
        let payload = json!({
            "type": "block_actions", "user": {"id": user}, "channel": {"id": channel}, "message": {"ts": post},
            "actions": [{"value": value}],
        });
        self.send("interactive", &payload);
    }

    fn send(&self, kind: &str, payload: &Value) {
        self.change(|state| {
            state.clock += 1;
            let id = format!("envelope-{}", state.clock);
            let line = json!({"type": kind, "envelope_id": id, "payload": payload}).to_string();
            state.unacknowledged.push((id, line.clone()));
            let copies = if state.repeats { 2 } else { 1 };
            for socket in &state.sockets {
                for _ in 0..copies {
                    socket.send(Some(line.clone())).ok();
                }
            }
        });
    }

    pub(crate) fn messages(&self) -> Vec<StoredMessage> {
        self.state.lock().unwrap().messages.clone()
    }

    /// Returns the bot's posts in a channel, outside of threads.
    pub(crate) fn answers(&self, channel: &str) -> Vec<StoredMessage> {
        let mut messages = self.messages();
        messages.retain(|it| it.user == BOT && it.channel == channel && it.thread.is_none());
        messages
    }

    pub(crate) fn uploads(&self) -> Vec<UploadedFile> {
        self.state.lock().unwrap().uploads.clone()
    }

    pub(crate) fn tokens(&self) -> Vec<String> {
        self.state.lock().unwrap().tokens.clone()
    }

    pub(crate) fn calls(&self, method: &str) -> usize {
        let state = self.state.lock().unwrap();
        state.calls.iter().filter(|call| *call == method).count()
    }

    /// Waits until a condition holds.
    pub(crate) async fn wait_until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let mut changes = self.changes.subscribe();
        let waiting = async {
            while !condition(self) {
                changes.changed().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), waiting).await;
        assert!(waited.is_ok(), "{what}: {:#?}", self.messages());
    }

    /// Waits for an answer with exactly this text.
    pub(crate) async fn wait_for_answer(&self, channel: &str, text: &str) {
        let is_there = |slack: &Self| slack.answers(channel).iter().any(|it| it.text == text);
        self.wait_until(&format!("an answer {text:?}"), is_there)
            .await;
    }

    pub(crate) async fn wait_for_acknowledgments(&self) {
        let all = |slack: &Self| slack.state.lock().unwrap().unacknowledged.is_empty();
        self.wait_until("acknowledgments", all).await;
    }

    /// Waits until a held call has arrived.
    pub(crate) async fn wait_for_hold(&self) {
        let arrived = |slack: &Self| slack.state.lock().unwrap().holds.is_empty();
        self.wait_until("a held call", arrived).await;
    }

    async fn connection(&self, stream: TcpStream) {
        let mut start = [0; 11];
        while stream.peek(&mut start).await.unwrap_or(0) < start.len() {
            if stream.readable().await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if start == *b"GET /socket" {
            self.socket(stream).await;
        } else {
            self.http(stream).await;
        }
    }

    async fn socket(&self, stream: TcpStream) {
        let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else {
            return;
        };
        let (sender, mut lines) = mpsc::unbounded_channel();
        sender
            .send(Some(json!({"type": "hello"}).to_string()))
            .unwrap();
        self.change(|state| {
            for (_, line) in &state.unacknowledged {
                sender.send(Some(line.clone())).unwrap();
            }
            state.sockets.push(sender);
        });
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(Some(line)) => if socket.send(Message::text(line)).await.is_err() { return },
                    // The connection is lost without a word.
                    Some(None) | None => return,
                },
                received = socket.next() => match received {
                    Some(Ok(Message::Text(text))) => {
                        let value: Value = serde_json::from_str(&text).unwrap();
                        let id = value["envelope_id"].as_str().unwrap().to_owned();
                        self.change(|state| state.unacknowledged.retain(|(known, _)| *known != id));
                    }
                    Some(Ok(_)) => {}
                    _ => return,
                },
            }
        }
    }

    async fn http(&self, mut stream: TcpStream) {
        let mut buffer = Vec::new();
        loop {
            let Some((head, body)) = read_request(&mut stream, &mut buffer).await else {
                return;
            };
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let token = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("authorization")
                    .then(|| value.to_owned())
            });
            let Some(method) = path.strip_prefix("/api/") else {
                self.file(&mut stream, &path, body, token.unwrap_or_default())
                    .await;
                continue;
            };
            let arguments = form(&body);
            let (is_limited, hold) = self.change(|state| {
                state.calls.push(method.to_owned());
                state.tokens.push(token.unwrap_or_default());
                let limit = state.limits.get_mut(method).filter(|limit| **limit > 0);
                let is_limited = limit.is_some();
                if let Some(limit) = limit {
                    *limit -= 1;
                }
                let text = Value::Object(arguments.clone()).to_string();
                let hold = state
                    .holds
                    .front()
                    .filter(|(held, containing, _)| held == method && text.contains(containing));
                let hold = hold.map(|(_, _, when)| *when);
                if hold.is_some() && !is_limited {
                    state.holds.pop_front();
                }
                (is_limited, hold)
            });
            if is_limited {
                reply(&mut stream, "429 Too Many Requests\r\nretry-after: 1", b"").await;
                continue;
            }
            if hold == Some(Hold::BeforeEffect) {
                std::future::pending::<()>().await;
            }
            let response = self.change(|state| state.call(method, &arguments, &self.url));
            if hold == Some(Hold::AfterEffect) {
                std::future::pending::<()>().await;
            }
            let status = "200 OK\r\nx-oauth-scopes: chat:write,users:read";
            reply(&mut stream, status, response.to_string().as_bytes()).await;
        }
    }

    async fn file(&self, stream: &mut TcpStream, path: &str, body: Vec<u8>, token: String) {
        let stored = self.change(|state| {
            state.tokens.push(token);
            if path.starts_with("/upload/") {
                state.files.insert(path.to_owned(), body);
                return Some(Vec::new());
            }
            state.files.get(path).cloned()
        });
        match stored {
            Some(bytes) => reply(stream, "200 OK", &bytes).await,
            None => reply(stream, "404 Not Found", b"").await,
        }
    }
}

/// Returns the time of the first message, which is recent.
fn start() -> u64 {
    static START: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *START.get_or_init(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_secs())
}

impl State {
    fn next_ts(&mut self) -> String {
        self.clock += 1;
        format!("{}.000100", start() + self.clock)
    }

    fn call(
        &mut self,
        method: &str,
        arguments: &serde_json::Map<String, Value>,
        url: &str,
    ) -> Value {
        let text = |name: &str| {
            arguments
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let nested = |name: &str| serde_json::from_str::<Value>(&text(name)).unwrap_or_default();
        match method {
            "auth.test" => json!({"ok": true, "user_id": BOT, "user": "mom", "team": "Test"}),
            "apps.connections.open" => {
                json!({"ok": true, "url": format!("{}/socket?ticket=secret", url.replace("http", "ws"))})
            }
            "users.info" => {
                let id = text("user");
                json!({"ok": true, "user": {"id": id, "name": id.to_lowercase(), "real_name": "A Person"}})
            }
            "conversations.info" => {
                json!({"ok": true, "channel": {"id": text("channel"), "name": "general"}})
            }
            "users.conversations" => {
                let mut ids: Vec<&str> =
                    self.messages.iter().map(|it| it.channel.as_str()).collect();
                ids.sort_unstable();
                ids.dedup();
                let channels: Vec<Value> = ids
                    .into_iter()
                    .map(|id| json!({"id": id, "name": "general", "is_im": id.starts_with('D')}))
                    .collect();
                json!({"ok": true, "channels": channels})
            }
            "conversations.history" => {
                self.history(&text("channel"), None, &text("oldest"), &text("cursor"))
            }
            "conversations.replies" => {
                self.history(&text("channel"), Some(&text("ts")), "", &text("cursor"))
            }
            "chat.postMessage" => {
                let ts = self.next_ts();
                self.messages.push(StoredMessage {
                    channel: text("channel"),
                    ts: ts.clone(),
                    user: BOT.to_owned(),
                    text: text("text"),
                    thread: Some(text("thread_ts")).filter(|thread| !thread.is_empty()),
                    blocks: nested("blocks"),
                    metadata: nested("metadata"),
                    ..StoredMessage::default()
                });
                json!({"ok": true, "ts": ts})
            }
            "chat.update" => match self.messages.iter_mut().find(|it| it.ts == text("ts")) {
                Some(message) => {
                    message
                        .edits
                        .push(std::mem::replace(&mut message.text, text("text")));
                    message.blocks = nested("blocks");
                    json!({"ok": true})
                }
                None => json!({"ok": false, "error": "message_not_found"}),
            },
            "chat.delete" => {
                self.messages.retain(|it| it.ts != text("ts"));
                json!({"ok": true})
            }
            "files.getUploadURLExternal" => {
                self.clock += 1;
                let id = format!("F{}", self.clock);
                self.files
                    .insert(format!("/name/{id}"), text("filename").into_bytes());
                json!({"ok": true, "upload_url": format!("{url}/upload/{id}"), "file_id": id})
            }
            "files.completeUploadExternal" => {
                let id = nested("files")[0]["id"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                let name = self
                    .files
                    .get(&format!("/name/{id}"))
                    .cloned()
                    .unwrap_or_default();
                self.uploads.push(UploadedFile {
                    name: String::from_utf8(name).unwrap(),
                    bytes: self
                        .files
                        .get(&format!("/upload/{id}"))
                        .cloned()
                        .unwrap_or_default(),
                    channel: text("channel_id"),
                });
                json!({"ok": true})
            }
            _ => json!({"ok": false, "error": "unknown_method"}),
        }
    }

    fn history(&self, channel: &str, thread: Option<&str>, oldest: &str, cursor: &str) -> Value {
        let messages = self.messages.iter().rev().filter(|it| {
            let is_in_thread = match thread {
                Some(thread) => it.thread.as_deref() == Some(thread),
                None => it.thread.is_none(),
            };
            it.channel == channel && is_in_thread && *it.ts > *oldest
        });
        let skipped: usize = cursor.parse().unwrap_or_default();
        let all: Vec<&StoredMessage> = messages.collect();
        let page: Vec<Value> = all
            .iter()
            .skip(skipped)
            .take(999)
            .map(|it| {
                json!({
                    "type": "message", "ts": it.ts, "user": it.user, "text": it.text, "metadata": it.metadata, "files": it.files.as_array().cloned().unwrap_or_default(),
                })
            })
            .collect();
        let end = skipped + page.len();
        let next = if end < all.len() {
            end.to_string()
        } else {
            String::new()
        };
        json!({"ok": true, "messages": page, "response_metadata": {"next_cursor": next}})
    }
}

pub(crate) async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> Option<(String, Vec<u8>)> {
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.parse::<usize>().unwrap())
            });
            let total = end + 4 + length.unwrap_or_default();
            if buffer.len() >= total {
                let body = buffer[end + 4..total].to_vec();
                buffer.drain(..total);
                return Some((head, body));
            }
        }
        let mut chunk = vec![0; 16 * 1024];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => buffer.extend_from_slice(&chunk[..count]),
        }
    }
}

pub(crate) async fn reply(stream: &mut TcpStream, status: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.ok();
    stream.write_all(body).await.ok();
}

fn form(body: &[u8]) -> serde_json::Map<String, Value> {
    let pairs = url::form_urlencoded::parse(body);
    pairs
        .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
        .collect()
}
