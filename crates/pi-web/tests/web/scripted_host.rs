//! A server with one session that speaks the shapes of `pi serve`. The test appends entries and emits events.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pi_web::{Asset, POLICY};
use serde_json::{Value, json};

/// The session that the server has.
pub(crate) const SESSION: &str = "s1";

/// The code that signs in.
pub(crate) const CODE: &str = "one-time-code";

#[derive(Debug, Clone)]
pub(crate) struct ScriptedHost {
    site: Arc<Site>,
    address: String,
}

#[derive(Debug, Default)]
struct Site {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Value>,
    leaf: Option<String>,
    /// The response that is being received.
    growing: Option<Value>,
    is_running: bool,
    pending: Vec<Value>,
    events: Vec<String>,
    /// Commands and answers that the page has sent.
    received: Vec<Value>,
    /// Streams with an earlier generation are closed.
    generation: u64,
    /// Entries of a snapshot; none is all.
    page_size: Option<usize>,
    model: String,
    /// Hits of a search, with the words of their query.
    hits: Vec<(String, Value)>,
    /// Searches that find a part, since sessions are being indexed.
    partial_searches: usize,
}

impl ScriptedHost {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let site = Arc::new(Site::default());
        "m1".clone_into(&mut site.lock().model);
        let accepting = Arc::clone(&site);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let site = Arc::clone(&accepting);
                std::thread::spawn(move || site.answer(stream));
            }
        });
        Self { site, address }
    }

    /// The address that signs in and opens the session.
    pub(crate) fn sign_in_address(&self) -> String {
        format!("{}#code={CODE}&s={SESSION}", self.address)
    }

    /// The address of the session.
    pub(crate) fn address(&self) -> String {
        format!("{}#s={SESSION}", self.address)
    }

    /// Stores a message without an event, as an older run did.
    pub(crate) fn store(&self, message: &Value) -> String {
        let mut state = self.site.lock();
        state.append(json!({"type": "message", "message": message}))
    }

    /// Stores a message and emits its end.
    pub(crate) fn end_message(&self, message: &Value) {
        {
            let mut state = self.site.lock();
            state.append(json!({"type": "message", "message": message}));
            if message["role"] == "assistant" {
                state.growing = None;
            }
        }
        self.emit(&json!({"type": "message_end", "message": message}));
    }

    pub(crate) fn start_response(&self, message: &Value) {
        self.site.lock().growing = Some(message.clone());
        self.emit(&json!({"type": "message_start", "message": message}));
    }

    /// Appends text to the response.
    pub(crate) fn delta(&self, index: usize, text: &str) {
        {
            let mut state = self.site.lock();
            let growing = state.growing.as_mut().expect("a response was started");
            let content = growing["content"].as_array_mut().unwrap();
            while content.len() <= index {
                content.push(json!({"type": "text", "text": ""}));
            }
            let block = &mut content[index]["text"];
            *block = json!(block.as_str().unwrap().to_owned() + text);
        }
        self.emit(
            &json!({"type": "message_update", "usage": {}, "assistantMessageEvent":
            {"type": "text_delta", "contentIndex": index, "delta": text}}),
        );
    }

    pub(crate) fn emit(&self, event: &Value) {
        let mut state = self.site.lock();
        match event["type"].as_str() {
            Some("agent_start") => state.is_running = true,
            Some("agent_settled") => state.is_running = false,
            Some("extension_ui_request") => state.pending.push(event.clone()),
            _ => {}
        }
        state.events.push(event.to_string());
        drop(state);
        self.site.changed.notify_all();
    }

    /// Replaces the session: an event, then the snapshot of the new one.
    pub(crate) fn replace(&self, session: &str) {
        self.emit(&json!({"type": "session_replaced", "session": session, "reason": "fork"}));
        let mut snapshot = self.site.lock().snapshot();
        snapshot["session"] = json!(session);
        self.emit(&snapshot);
    }

    /// Closes all event streams.
    pub(crate) fn disconnect(&self) {
        self.site.lock().generation += 1;
        self.site.changed.notify_all();
    }

    /// Limits the entries of snapshots.
    pub(crate) fn limit_snapshots(&self, entries: usize) {
        self.site.lock().page_size = Some(entries);
    }

    /// Moves the session to its first entry: the next one starts another branch.
    pub(crate) fn move_to_first(&self) {
        self.site.lock().leaf = Some(format!("{:08x}", 1));
    }

    /// Lets a query find an entry of the session.
    pub(crate) fn add_hit(&self, query: &str, entry: &str, title: &str, snippet: &str) {
        let hit = json!({"path": "/s1.jsonl", "sessionId": SESSION, "cwd": "/srv/project", "title": title,
            "entryId": entry, "role": "tool", "timestamp": 1_767_225_600_000_u64,
            "snippet": [{"text": "before "}, {"text": snippet, "match": true}, {"text": " after"}]});
        self.site.lock().hits.push((query.to_owned(), hit));
    }

    /// Lets the next searches find only the first hit.
    pub(crate) fn index_during(&self, searches: usize) {
        self.site.lock().partial_searches = searches;
    }

    /// Returns the commands and answers of a type that the page has sent.
    pub(crate) fn all_received(&self, kind: &str) -> Vec<Value> {
        let mut received = self.site.lock().received.clone();
        received.retain(|value| value["type"] == kind);
        received
    }

    /// Waits for a command or an answer of a type and returns it.
    pub(crate) fn received(&self, kind: &str) -> Value {
        let mut state = self.site.lock();
        for _ in 0..600 {
            let found = state.received.iter().find(|value| value["type"] == kind);
            if let Some(found) = found {
                return found.clone();
            }
            let (guard, _) = self
                .site
                .changed
                .wait_timeout(state, Duration::from_millis(100))
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
        }
        panic!("the page never sent {kind}: {:?}", state.received);
    }
}

impl State {
    fn append(&mut self, mut entry: Value) -> String {
        let number = self.entries.len() + 1;
        let id = format!("{number:08x}");
        entry["id"] = json!(id);
        entry["parentId"] = json!(self.leaf);
        entry["timestamp"] = json!(format!(
            "2026-01-01T00:{:02}:{:02}.000Z",
            number / 60 % 60,
            number % 60
        ));
        self.entries.push(entry);
        self.leaf = Some(id.clone());
        id
    }

    fn model(&self) -> Value {
        json!({"id": self.model, "name": format!("Model {}", self.model), "provider": "faux",
            "reasoning": true, "contextWindow": 1000, "cost": {"input": 1, "output": 2}})
    }

    fn snapshot(&self) -> Value {
        let first = self
            .page_size
            .map_or(0, |size| self.entries.len().saturating_sub(size));
        let kind = if self.is_running { "running" } else { "idle" };
        let mut snapshot = json!({"type": "snapshot", "cursor": format!("1-{}", self.events.len()),
            "session": SESSION, "epoch": 1, "seq": self.events.len(),
            "status": {"kind": kind, "isCompacting": false, "isRetrying": false}, "cwd": "/srv/project",
            "leafId": self.leaf, "messageCount": self.entries.len(), "model": self.model(), "thinkingLevel": "low",
            "tools": [], "queue": [], "steeringMode": "all", "followUpMode": "all", "pending": self.pending,
            "autoCompactionEnabled": true, "entries": self.entries[first..], "hasMore": first > 0});
        if let Some(growing) = &self.growing {
            snapshot["message"] = growing.clone();
        }
        snapshot
    }

    fn command(&mut self, command: &Value) -> Value {
        self.received.push(command.clone());
        match command["type"].as_str().unwrap_or_default() {
            "get_entries" => {
                let since = self
                    .entries
                    .iter()
                    .position(|entry| entry["id"] == command["since"]);
                let first = since.map_or(0, |position| position + 1);
                json!({"entries": self.entries[first..], "leafId": self.leaf})
            }
            "get_state" => {
                json!({"model": self.model(), "thinkingLevel": "low", "sessionId": SESSION})
            }
            "get_session_stats" => json!({"cost": 0.5,
                "contextUsage": {"tokens": 420, "contextWindow": 1000, "percent": 42.0}}),
            "get_available_models" => {
                let models = ["m1", "m2"]
                    .map(|id| json!({"id": id, "name": format!("Model {id}"), "provider": "faux"}));
                json!({"models": models})
            }
            "set_model" => {
                command["modelId"]
                    .as_str()
                    .unwrap_or_default()
                    .clone_into(&mut self.model);
                self.model()
            }
            "get_commands" => {
                json!({"commands": [{"name": "review", "description": "Review changes"}]})
            }
            "fork" => json!({"text": "forked text", "cancelled": false}),
            _ => json!({}),
        }
    }
}

impl Site {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (mut length, mut is_signed_in, mut has_mark) = (0, false, false);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            }
            is_signed_in |= header.starts_with("cookie: ") && header.contains("device=1");
            has_mark |= header == "x-pi: 1";
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        if let Some(asset) = Asset::find(path) {
            let head = format!(
                "content-type: {}\r\ncontent-encoding: gzip\r\netag: {}\r\ncontent-security-policy: {POLICY}\r\n",
                asset.content_type, asset.etag
            );
            return reply(stream, "200 OK", &head, asset.gzip);
        }
        // Single modules, for tests that call their functions.
        if let Some(module) = path.strip_prefix("/assets/") {
            let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
            let text = std::fs::read(assets.join(module)).ok()?;
            return reply(stream, "200 OK", "content-type: text/javascript\r\n", &text);
        }
        let json_reply = |stream, status: &str, value: &Value| {
            let head = "content-type: application/json\r\n";
            reply(stream, status, head, value.to_string().as_bytes())
        };
        if method != "GET" && !has_mark {
            return json_reply(stream, "403 Forbidden", &json!({"title": "no mark"}));
        }
        if path == "/v1/login" {
            let attempt = json!({"type": "login", "code": body["code"]});
            self.lock().received.push(attempt);
        }
        if path == "/v1/login" && body["code"] == CODE {
            let head = "content-type: application/json\r\nset-cookie: device=1; HttpOnly; SameSite=Strict; Path=/\r\n";
            return reply(stream, "200 OK", head, b"{}");
        }
        if !is_signed_in {
            return json_reply(stream, "401 Unauthorized", &json!({"title": "Sign in"}));
        }
        // A session that replaces the first one has the same state.
        let own = path.strip_prefix("/v1/sessions/");
        let own = own.and_then(|rest| rest.get(rest.find('/')?..));
        match (path, own) {
            ("/v1/events", _) => self.stream(stream, None, false),
            (_, Some("/events")) => {
                let after = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("after=1-"));
                self.stream(stream, after, true)
            }
            (_, Some("/commands")) => {
                let data = self.lock().command(&body);
                self.changed.notify_all();
                let answer = json!({"type": "response", "id": body["id"], "command": body["type"], "success": true, "data": data});
                json_reply(stream, "200 OK", &answer)
            }
            (_, Some("/entries")) => {
                let page = self.lock().older(query);
                json_reply(stream, "200 OK", &page)
            }
            (_, Some(request)) if request.starts_with("/requests/") => {
                let id = request.trim_start_matches("/requests/");
                let mut state = self.lock();
                state.pending.retain(|pending| pending["id"] != id);
                state.received.push(body.clone());
                let resolved = json!({"type": "request_resolved", "request": id, "answer": body});
                state.events.push(resolved.to_string());
                drop(state);
                self.changed.notify_all();
                json_reply(stream, "200 OK", &json!({}))
            }
            ("/v1/sessions", _) => {
                let session = json!({"id": SESSION, "cwd": "/srv/project", "preview": "first", "modified": 1,
                    "live": {"status": {"kind": "idle"}, "pending": 0, "cost": 0}});
                json_reply(stream, "200 OK", &json!({"sessions": [session]}))
            }
            ("/v1/search", _) => json_reply(stream, "200 OK", &self.lock().search(query)),
            ("/v1/theme" | "/v1/health", _) => json_reply(stream, "200 OK", &json!({})),
            ("/v1/files", _) => json_reply(
                stream,
                "200 OK",
                &json!({"files": [{"path": "src/main.rs"}]}),
            ),
            _ => json_reply(stream, "404 Not Found", &json!({"title": "Not found"})),
        }
    }

    /// Writes events until the stream is closed. A stream without a position starts with a snapshot.
    fn stream(&self, mut stream: TcpStream, after: Option<&str>, has_events: bool) -> Option<()> {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n:\n\n";
        stream.write_all(head.as_bytes()).ok()?;
        let mut state = self.lock();
        let generation = state.generation;
        let mut next = state.events.len();
        if let Some(after) = after {
            next = after.parse().ok()?;
        } else if has_events {
            let snapshot = format!(
                "event: snapshot\nid: 1-{next}\ndata: {}\n\n",
                state.snapshot()
            );
            stream.write_all(snapshot.as_bytes()).ok()?;
        }
        while state.generation == generation {
            let lines = state.events.get(next..).unwrap_or_default().to_vec();
            if has_events {
                for line in lines {
                    next += 1;
                    if line.contains("\"type\":\"snapshot\"") {
                        stream.write_all(b"event: snapshot\n").ok()?;
                    }
                    stream
                        .write_all(format!("id: 1-{next}\ndata: {line}\n\n").as_bytes())
                        .ok()?;
                }
            }
            let wait = self.changed.wait_timeout(state, Duration::from_secs(1));
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(())
    }
}

impl State {
    fn search(&mut self, query: &str) -> Value {
        let words = query.split('&').find_map(|pair| pair.strip_prefix("q="));
        let hits = self
            .hits
            .iter()
            .filter(|(known, _)| Some(known.as_str()) == words);
        let hits: Vec<&Value> = hits.map(|(_, hit)| hit).collect();
        if self.partial_searches > 0 {
            self.partial_searches -= 1;
            return json!({"hits": hits[..1], "total": 1, "indexing": {"done": 1, "total": 4}});
        }
        json!({"hits": hits, "total": hits.len()})
    }

    /// Entries before one, for `before=ID&limit=N`.
    fn older(&self, query: &str) -> Value {
        let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name));
        let before = value("before=").unwrap_or_default();
        let limit = value("limit=")
            .and_then(|limit| limit.parse().ok())
            .unwrap_or(0);
        let end = self
            .entries
            .iter()
            .position(|entry| entry["id"] == before)
            .unwrap_or(0);
        let first = end.saturating_sub(limit);
        json!({"entries": self.entries[first..end], "hasMore": first > 0, "leafId": self.leaf})
    }
}

fn reply(mut stream: TcpStream, status: &str, head: &str, body: &[u8]) -> Option<()> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\n{head}content-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()
}
