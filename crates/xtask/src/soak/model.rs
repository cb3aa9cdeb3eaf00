//! A model on the loopback interface that answers at once: with words, or with a call of `ls` when the
//! user asks for a tool.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// A server that lives as long as the program.
pub(super) struct Model {
    address: String,
}

impl Model {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A connection that breaks is the client's to make again.
                thread::spawn(move || serve(stream).ok());
            }
        });
        Ok(Self { address })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }
}

/// Answers the requests of a connection until it closes.
fn serve(mut stream: TcpStream) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = answer(&body)?;
        // In one piece: a second one would wait for the first one's acknowledgement.
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes())?;
    }
}

fn answer(request: &[u8]) -> Result<String> {
    let request: Value = serde_json::from_slice(request)?;
    let messages = request.get("messages").and_then(Value::as_array);
    let last = messages.and_then(|messages| messages.last());
    let last = last.context("a request has messages")?;
    let is_user = last.get("role").and_then(Value::as_str) == Some("user");
    let wants_tool = is_user && last.to_string().contains("tool");
    let (delta, reason) = if wants_tool {
        let function = json!({"name": "ls", "arguments": "{\"path\":\".\"}"});
        let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
        (
            json!({"role": "assistant", "tool_calls": [call]}),
            "tool_calls",
        )
    } else {
        let text = "An answer of a few words, as there are many in a day.";
        (json!({"role": "assistant", "content": text}), "stop")
    };
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        json!({"id": "1", "object": "chat.completion.chunk", "model": "model", "choices": [choice]})
    };
    let usage = json!({"id": "1", "object": "chat.completion.chunk", "model": "model", "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}});
    let mut text = String::new();
    for event in [chunk(delta, None), chunk(json!({}), Some(reason)), usage] {
        text.push_str("data: ");
        text.push_str(&event.to_string());
        text.push_str("\n\n");
    }
    text.push_str("data: [DONE]\n\n");
    Ok(text)
}
