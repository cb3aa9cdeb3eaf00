//! A model that works on a task in four steps, whatever happens to its agent: it repeats calls that were interrupted,
//! and counts its requests.
//!
//! The name of a task may change its course: the second command of `gated…` waits for a file, `once…` is answered without
//! calls, for $0.05, and `long…` reads a file in each of many turns.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::chaos::splitmix64;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What all connections share.
#[derive(Default)]
struct ModelState {
    /// Requests by task.
    requests: Mutex<HashMap<String, u64>>,
    /// Requests of tasks whose names begin with `hold` wait until it is open.
    is_open: tokio::sync::watch::Sender<bool>,
    /// File to which every shell command appends the ID of its call.
    markers: PathBuf,
    rate: Mutex<RateLimit>,
}

/// Requests that the model refuses.
#[derive(Default)]
struct RateLimit {
    /// Number of requests until it refuses all for a while.
    left: Option<u64>,
    until: Option<Instant>,
    storm: Option<Storm>,
    refused: u64,
}

/// A time in which the model refuses a part of the requests.
struct Storm {
    until: Instant,
    random: u64,
}

/// Percentage of requests that are refused in a storm, and the seconds that each asks to wait.
const STORM_PERCENTAGE: u64 = 30;
const STORM_WAIT: u64 = 1;

/// Requests of a long task.
pub(crate) const LONG_TURNS: u32 = 60;

/// How long the model refuses requests.
const CLOSED: Duration = Duration::from_secs(2);

impl RateLimit {
    /// Returns for how many seconds the model refuses a request.
    fn check(&mut self) -> Option<u64> {
        let now = Instant::now();
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.left = None;
                self.until = Some(now + CLOSED);
            }
        }
        if let Some(storm) = self.storm.as_mut().filter(|storm| now < storm.until)
            && splitmix64(&mut storm.random) % 100 < STORM_PERCENTAGE
        {
            self.refused += 1;
            return Some(STORM_WAIT);
        }
        let rest = self.until?.checked_duration_since(now)?;
        self.refused += 1;
        Some(rest.as_secs() + 1)
    }
}

pub(crate) struct ModelServer {
    address: SocketAddr,
    state: Arc<ModelState>,
}

impl ModelServer {
    pub(crate) async fn start(markers: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(ModelState {
            markers,
            ..ModelState::default()
        });
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                // A connection that breaks was one of a killed agent.
                tokio::spawn(async move { serve(socket, &state).await.ok() });
            }
        });
        Self { address, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Lets requests that wait continue.
    pub(crate) fn open_gate(&self) {
        self.state.is_open.send_replace(true);
    }

    /// Refuses all requests for a while, after so many more.
    pub(crate) fn close_after(&self, requests: u64) {
        self.state.rate.lock().unwrap().left = Some(requests);
    }

    /// Refuses a part of the requests for a while.
    pub(crate) fn begin_storm(&self, duration: Duration) {
        let until = Instant::now() + duration;
        self.state.rate.lock().unwrap().storm = Some(Storm { until, random: 1 });
    }

    /// Returns the number of requests that were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.state.rate.lock().unwrap().refused
    }

    /// Returns the number of requests for a task.
    pub(crate) fn requests(&self, task: &str) -> u64 {
        let requests = self.state.requests.lock().unwrap();
        requests.get(task).copied().unwrap_or_default()
    }
}

async fn serve(socket: TcpStream, state: &ModelState) -> std::io::Result<()> {
    let mut socket = BufReader::new(socket);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if socket.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await?;
        let request: Value = serde_json::from_slice(&body)?;
        let refused = state.rate.lock().unwrap().check();
        if let Some(seconds) = refused {
            let head = format!(
                "HTTP/1.1 429 Too Many Requests\r\nretry-after: {seconds}\r\ncontent-length: 0\r\n\r\n"
            );
            socket.write_all(head.as_bytes()).await?;
            continue;
        }
        let reply = reply(&request, state);
        if task_of(request["messages"].as_array().unwrap()).starts_with("hold") {
            let mut gate = state.is_open.subscribe();
            gate.wait_for(|is_open| *is_open).await.unwrap();
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            reply.len()
        );
        socket.write_all(head.as_bytes()).await?;
        socket.write_all(reply.as_bytes()).await?;
    }
}

fn reply(request: &Value, state: &ModelState) -> String {
    let messages = request["messages"].as_array().unwrap();
    let task = task_of(messages);
    let number = {
        let mut requests = state.requests.lock().unwrap();
        let count = requests.entry(task.clone()).or_default();
        *count += 1;
        *count
    };
    if task.starts_with("once") {
        return events(
            &json!({"role": "assistant", "content": "done"}),
            "stop",
            2000,
        );
    }
    if task.starts_with("long") && number < u64::from(LONG_TURNS) {
        let call = json!({
            "index": 0, "id": format!("read-{number}"), "type": "function",
            "function": {"name": "read", "arguments": "{\"path\":\"readme\"}"},
        });
        let delta = json!({"role": "assistant", "tool_calls": [call]});
        return events(&delta, "tool_calls", 500);
    }
    if task.starts_with("long") {
        return events(
            &json!({"role": "assistant", "content": "done"}),
            "stop",
            500,
        );
    }
    let gate = if task.starts_with("gated") {
        let path = state.markers.with_file_name(format!("{task}.{number}"));
        let path = path.display();
        format!("echo $$ > {path}.pid; while [ ! -e {path}.go ]; do sleep 0.05; done; ")
    } else {
        String::new()
    };
    let done = completed_calls(messages);
    let marker = |step: &str| format!("echo {task}.{step}.{number} >> {}", state.markers.display());
    // Step names are the start of call IDs.
    let steps: [Vec<(&str, &str, Value)>; 3] = [
        vec![(
            "write",
            "write",
            json!({"path": "a.txt", "content": format!("{task}\n")}),
        )],
        vec![(
            "append",
            "bash",
            json!({"command": format!("{}; {gate}echo two >> a.txt; sleep 0.05; echo x > build.log", marker("append"))}),
        )],
        vec![
            ("read", "read", json!({"path": "a.txt"})),
            (
                "create",
                "bash",
                json!({"command": format!("{}; sleep 0.05; echo {task} > b.txt", marker("create"))}),
            ),
        ],
    ];
    let open = steps.iter().find_map(|step| {
        let open = step
            .iter()
            .filter(|(name, ..)| !done.iter().any(|one| one == name));
        let open: Vec<_> = open.collect();
        (!open.is_empty()).then_some(open)
    });
    let Some(open) = open else {
        return events(
            &json!({"role": "assistant", "content": "done"}),
            "stop",
            500,
        );
    };
    let calls: Vec<Value> = open
        .iter()
        .enumerate()
        .map(|(index, (step, tool, arguments))| {
            json!({
                "index": index, "id": format!("{step}-{number}"), "type": "function",
                "function": {"name": tool, "arguments": arguments.to_string()},
            })
        })
        .collect();
    events(
        &json!({"role": "assistant", "tool_calls": calls}),
        "tool_calls",
        500,
    )
}

/// Returns the name of the task, which is the prompt.
fn task_of(messages: &[Value]) -> String {
    let first = messages
        .iter()
        .find(|message| message["role"] == "user")
        .unwrap();
    let text = match &first["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
    };
    text.trim().to_owned()
}

/// Returns the steps whose calls have a result.
fn completed_calls(messages: &[Value]) -> Vec<String> {
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let complete = results.filter(|result| !result["content"].to_string().contains("interrupted"));
    let steps = complete.filter_map(|result| {
        let (step, _) = result["tool_call_id"].as_str()?.split_once('-')?;
        Some(step.to_owned())
    });
    steps.collect()
}

fn events(delta: &Value, finish: &str, output: u64) -> String {
    let mut text = String::new();
    let chunk = |delta: &Value, finish: Option<&str>| {
        json!({
            "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        })
    };
    writeln!(text, "data: {}\n", chunk(delta, None)).unwrap();
    writeln!(text, "data: {}\n", chunk(&json!({}), Some(finish))).unwrap();
    let usage = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
        "usage": {"prompt_tokens": 1000, "completion_tokens": output, "total_tokens": 1000 + output},
    });
    writeln!(text, "data: {usage}\n\ndata: [DONE]\n").unwrap();
    text
}
