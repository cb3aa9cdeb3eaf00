//! An OpenAI-compatible model server on the loopback interface with scripted replies, and one picture.

mod picture;

use std::borrow::Cow;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use serde_json::{Value, json};

/// One reply of the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeReply {
    pub(crate) text: Cow<'static, str>,
    /// Tool name and arguments.
    pub(crate) tool_call: Option<(Cow<'static, str>, Value)>,
    pub(crate) ending: ReplyEnding,
}

/// How a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReplyEnding {
    #[default]
    Complete,
    /// After its text, nothing follows until the client times out.
    Stalled,
    /// The request is rejected: the key is invalid.
    Unauthorized,
}

/// Chooses the reply for the messages of a request.
type Respond = Arc<dyn Fn(&[Value]) -> FakeReply + Send + Sync>;

/// The server; it runs until the process exits.
pub(crate) struct FakeModel {
    address: String,
}

/// What the server returns for a request that is not a model call, so that tools which fetch pages find one.
const PAGE: &str = "<!doctype html><html><head><title>Sample page</title></head><body>\
    <h1>Sample page</h1><p>hello from the loopback server</p></body></html>";

const INVALID_KEY: &str =
    r#"{"error":{"message":"invalid x-api-key","type":"authentication_error"}}"#;

impl FakeModel {
    pub(crate) fn start(
        respond: impl Fn(&[Value]) -> FakeReply + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let respond: Respond = Arc::new(respond);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let respond = Arc::clone(&respond);
                // The client reconnects after a broken connection.
                thread::spawn(move || serve(stream, &respond).ok());
            }
        });
        Ok(Self { address })
    }

    /// Returns the address of a web page that this server serves.
    pub(crate) fn page_url(&self) -> String {
        format!("{}/page.html", self.address)
    }

    /// Returns a `models.json` with this server as `provider` and one `model` with the given context window.
    pub(crate) fn models_json(&self, provider: &str, model: &str, context_window: u64) -> String {
        let models = json!([{
            "id": model, "name": model, "reasoning": false, "input": ["text"],
            "contextWindow": context_window, "maxTokens": 8192,
            "cost": {"input": 3, "output": 15, "cacheRead": 0, "cacheWrite": 0},
        }]);
        let settings = json!({
            "baseUrl": format!("{}/v1", self.address), "api": "openai-completions", "apiKey": "k",
            "models": models,
        });
        json!({"providers": {provider: settings}}).to_string()
    }
}

/// Serves the requests of one connection until the client closes it.
fn serve(mut stream: TcpStream, respond: &Respond) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut length = 0;
        let mut request_line = None;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            request_line.get_or_insert_with(|| line.clone());
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let request_line = request_line.unwrap_or_default();
        let is_model_call = request_line.contains("/chat/completions");
        let mut status = "200 OK";
        let (kind, body) = if is_model_call {
            let (ending, events) = event_stream(&body, respond)?;
            match ending {
                ReplyEnding::Complete => {}
                ReplyEnding::Stalled => return stall(stream, &events),
                ReplyEnding::Unauthorized => status = "401 Unauthorized",
            }
            if ending == ReplyEnding::Unauthorized {
                ("application/json", INVALID_KEY.to_owned())
            } else {
                ("text/event-stream", events)
            }
        } else if request_line.contains("/images/") {
            let picture = base64::engine::general_purpose::STANDARD.encode(picture::png()?);
            let reply = json!({"created": 1, "data": [{"b64_json": picture}]});
            ("application/json", reply.to_string())
        } else {
            ("text/html; charset=utf-8", PAGE.to_owned())
        };
        // One write: a second one would wait for the acknowledgment of the first.
        let response = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(response.as_bytes())?;
    }
}

/// Sends the first event of a reply, then waits until the client closes the connection.
fn stall(mut stream: TcpStream, events: &str) -> Result<()> {
    let first = events.split_inclusive("\n\n").next().unwrap_or_default();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{first}"
    )?;
    stream.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Encodes the reply to a request as server-sent events.
fn event_stream(request: &[u8], respond: &Respond) -> Result<(ReplyEnding, String)> {
    let body: Value = serde_json::from_slice(request)?;
    let messages = body.get("messages").and_then(Value::as_array);
    let reply = respond(messages.context("the request has no messages")?);
    let ending = reply.ending;
    let mut delta = json!({"role": "assistant", "content": reply.text});
    let mut reason = "stop";
    if let Some((name, arguments)) = reply.tool_call {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call_id = format!("call_{}", messages.map_or(0, Vec::len));
        let call = json!({"index": 0, "id": call_id, "type": "function", "function": function});
        delta["tool_calls"] = json!([call]);
        reason = "tool_calls";
    }
    let model = body.get("model").cloned().unwrap_or_default();
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        json!({"id": "1", "object": "chat.completion.chunk", "model": model, "choices": [choice]})
    };
    // Four bytes per token: close enough for a footer that shows plausible numbers.
    let (input, output) = (request.len() / 4, reply.text.len() / 4 + 20);
    let usage = json!({"id": "1", "object": "chat.completion.chunk", "model": model, "choices": [],
        "usage": {"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}});
    let mut text = String::new();
    for event in [chunk(delta, None), chunk(json!({}), Some(reason)), usage] {
        text.push_str("data: ");
        text.push_str(&event.to_string());
        text.push_str("\n\n");
    }
    text.push_str("data: [DONE]\n\n");
    Ok((ending, text))
}
