//! An HTTP server whose responses a function decides; each connection has one exchange.
#![cfg(unix)]

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A request that the server received.
#[derive(Debug, Clone)]
pub(crate) struct HttpRequest {
    pub(crate) path: String,
    /// Lower-case names.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl HttpRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the message of an MCP client; null for other requests.
    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// A response: status, headers and body.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl HttpResponse {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }
}

pub(crate) type Responder = Arc<dyn Fn(&HttpRequest) -> HttpResponse + Send + Sync>;

/// Stops when it is dropped.
pub(crate) struct RoutedServer {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<HttpRequest>>>,
    task: tokio::task::JoinHandle<()>,
}

impl RoutedServer {
    /// The function gets the URL of the server first.
    pub(crate) async fn start(responder: impl FnOnce(&str) -> Responder) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let responder = responder(&url);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (responder, log) = (Arc::clone(&responder), Arc::clone(&log));
                tokio::spawn(async move {
                    // A client may close the connection at any time.
                    serve(stream, &responder, &log).await.ok();
                });
            }
        });
        Self {
            url,
            requests,
            task,
        }
    }

    pub(crate) fn requests(&self) -> Vec<HttpRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for RoutedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    stream: TcpStream,
    responder: &Responder,
    log: &Mutex<Vec<HttpRequest>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = HttpRequest {
        path,
        headers,
        body: String::new(),
    };
    let length = request.header("content-length").map(str::parse::<usize>);
    let mut body = vec![0; length.and_then(Result::ok).unwrap_or_default()];
    stream.read_exact(&mut body).await?;
    request.body = String::from_utf8_lossy(&body).into_owned();
    log.lock().unwrap().push(request.clone());
    let responder = Arc::clone(responder);
    // The function may wait for the test.
    let response = tokio::task::spawn_blocking(move || responder(&request)).await;
    let response = response.map_err(std::io::Error::other)?;
    let mut head = format!(
        "HTTP/1.1 {} X\r\nconnection: close\r\ncontent-length: {}\r\n",
        response.status,
        response.body.len()
    );
    for (name, value) in &response.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(response.body.as_bytes()).await?;
    stream.shutdown().await
}
