//! A server with a scripted model, and a client that sends any bytes.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_config::{AgentDir, SettingsStore};
use pi_env::Env;
use pi_host::{Host, HostOptions, SessionOptions};
use pi_protocol::settings::Settings;
use pi_providers::{FauxProvider, Models, ModelsOptions, Registration};
use pi_serve::{ListenOptions, ServeOptions, Server};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Upper bound for the time until the next event.
const EVENT_TIMEOUT: Duration = Duration::from_mins(1);
/// Upper bound for the time of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) socket: PathBuf,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) code: String,
    pub(crate) token: String,
    pub(crate) stop: CancellationToken,
    pub(crate) running: JoinHandle<()>,
}

pub(crate) fn options(directory: &std::path::Path, faux: FauxProvider) -> ServeOptions {
    let env = Env::fixed::<&str, &str>([]);
    let models = Models::new(ModelsOptions {
        env: env.clone(),
        ..ModelsOptions::default()
    });
    let provider = Registration::Provider(Arc::new(faux));
    models.register("faux", provider).unwrap();
    let host = Host::new(HostOptions {
        settings: Some(SettingsStore::in_memory(Settings::default())),
        model_collection: Some(models),
        offline: true,
        files: Some(Arc::new(|_cwd, query| {
            Box::pin(async move { vec![format!("found-{query}")] })
        })),
        ..HostOptions::new(AgentDir::at(directory.join("agent")), env)
    });
    let cwd = directory.join("project");
    std::fs::create_dir_all(&cwd).unwrap();
    ServeOptions {
        host,
        sessions: Box::new(|cwd| Ok(SessionOptions::new(cwd))),
        session_dir: None,
        cwd,
        listen: ListenOptions {
            socket: Some(directory.join("agent/serve.sock")),
            tcp: Some("127.0.0.1:0".parse().unwrap()),
            host_names: Vec::new(),
            allow_remote: false,
        },
        credentials: directory.join("agent/serve.json"),
        page_theme: None,
        acp: None,
        mcp: None,
        version: "1.5.0".to_owned(),
        idle_limit: Duration::from_mins(30),
        stop: CancellationToken::new(),
    }
}

impl TestServer {
    pub(crate) async fn start(faux: FauxProvider) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = options(directory.path(), faux);
        Self::run(directory, options).await
    }

    pub(crate) async fn run(directory: tempfile::TempDir, options: ServeOptions) -> Self {
        let stop = options.stop.clone();
        let credentials = options.credentials.clone();
        let server = Server::bind(options).await.unwrap();
        let stored: Value = serde_json::from_slice(&std::fs::read(credentials).unwrap()).unwrap();
        Self {
            address: server.address().unwrap(),
            socket: directory.path().join("agent/serve.sock"),
            code: server.pair().unwrap().code,
            token: stored["token"].as_str().unwrap().to_owned(),
            directory,
            stop,
            running: tokio::spawn(server.run()),
        }
    }

    /// Sends a request with the token and the headers that changes need.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &Value) -> Answered {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let authorization = format!("Bearer {}", self.token);
        let headers = [
            ("Authorization", authorization.as_str()),
            ("Content-Type", "application/json"),
            ("X-Pi", "1"),
        ];
        self.send(method, path, &headers, &body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        self.call("GET", path, &Value::Null).await
    }

    /// Sends a request with exactly these headers, and `Host`.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answered {
        let host = self.address.to_string();
        let has_host = headers.iter().any(|(name, _)| *name == "Host");
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !has_host {
            write!(text, "Host: {host}\r\n").unwrap();
        }
        for (name, value) in headers {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        write!(text, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        Answered::parse(&self.raw(text.as_bytes()).await)
    }

    /// Sends bytes and reads until the server closes the connection.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        // The server may answer before it has read everything.
        stream.write_all(bytes).await.unwrap_or_default();
        let mut answer = Vec::new();
        let reading = tokio::time::timeout(REQUEST_TIMEOUT, stream.read_to_end(&mut answer));
        let Ok(read) = reading.await else {
            let request = String::from_utf8_lossy(bytes);
            panic!("no response to this request: {request}");
        };
        read.unwrap_or_default();
        answer
    }

    /// Starts a session and returns its ID.
    pub(crate) async fn open_session(&self) -> String {
        let opened = self
            .call("POST", "/v1/sessions", &serde_json::json!({}))
            .await;
        assert_eq!(opened.status, 201, "{}", opened.text);
        opened.json()["session"].as_str().unwrap().to_owned()
    }

    /// Opens the events of a session and reads its snapshot. What happens from now on is an event: a run that ends before
    /// the snapshot is part of it.
    pub(crate) async fn follow(&self, id: &str) -> (ServerEvent, Events) {
        let path = format!("/v1/sessions/{id}/events");
        let mut events = self.events(&path, None).await;
        let snapshot = events.next().await;
        assert_eq!(snapshot.name, "snapshot");
        (snapshot, events)
    }

    /// Opens a stream of events.
    pub(crate) async fn events(&self, path: &str, last: Option<&str>) -> Events {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let last = last.map_or(String::new(), |last| format!("Last-Event-ID: {last}\r\n"));
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{last}\r\n",
            self.address, self.token
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        Events {
            stream,
            buffer: String::new(),
        }
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    original_head: String,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).unwrap_or("0").parse().unwrap_or(0);
        Self {
            status,
            head: head.to_ascii_lowercase(),
            original_head: head.to_owned(),
            text: body.to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Returns a header as it was sent.
    pub(crate) fn original_header(&self, name: &str) -> Option<String> {
        let mut lines = self.original_head.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.to_owned()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self
            .head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "));
        lines
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

/// Server-sent events.
pub(crate) struct Events {
    stream: TcpStream,
    buffer: String,
}

/// An event: its ID, its name and its data.
#[derive(Debug)]
pub(crate) struct ServerEvent {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Events {
    pub(crate) async fn next(&mut self) -> ServerEvent {
        // Around all reads: an idle stream sends comments.
        let reading = tokio::time::timeout(EVENT_TIMEOUT, self.read_next()).await;
        reading.unwrap_or_else(|_elapsed| panic!("no event arrives; unread: {}", self.buffer))
    }

    async fn read_next(&mut self) -> ServerEvent {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let text: String = self.buffer.drain(..end + 2).collect();
                let field = |name: &str| {
                    let mut lines = text.lines();
                    let value = lines.find_map(|line| {
                        // Chunk sizes and headers precede the first field of an event.
                        line.strip_prefix(name)?.strip_prefix(": ")
                    });
                    value.unwrap_or_default().to_owned()
                };
                let data = field("data");
                if data.is_empty() {
                    continue;
                }
                return ServerEvent {
                    id: field("id"),
                    name: field("event"),
                    data: serde_json::from_str(&data).unwrap(),
                };
            }
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes).await.unwrap();
            assert!(read > 0, "the stream ended: {}", self.buffer);
            let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
            self.buffer.push_str(&text);
        }
    }

    pub(crate) async fn next_of(&mut self, kind: &str) -> ServerEvent {
        loop {
            let event = self.next().await;
            if event.data["type"] == kind {
                return event;
            }
        }
    }
}
