//! A model that works on a task in four steps, whatever happens to its agent: it repeats calls that were interrupted,
//! and counts its requests.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What all connections share.
#[derive(Default)]
struct ModelState {
    /// Requests by task.
    requests: Mutex<HashMap<String, u64>>,
    /// File to which every shell command appends the ID of its call.
    markers: PathBuf,
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
        let reply = reply(&request, state);
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
            json!({"command": format!("{}; echo two >> a.txt; sleep 0.05; echo x > build.log", marker("append"))}),
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
        return events(&json!({"role": "assistant", "content": "done"}), "stop");
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

fn events(delta: &Value, finish: &str) -> String {
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
        "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500},
    });
    writeln!(text, "data: {usage}\n\ndata: [DONE]\n").unwrap();
    text
}
