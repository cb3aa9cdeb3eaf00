//! Starts a session of `pi serve`, sends a prompt and prints the answer, with the Unix socket and the standard library only.
//!
//! ```sh
//! cargo run -p pi-serve --example client -- ~/.pi/agent/serve.sock "Run the tests"
//! ```

#[cfg(unix)]
mod client {
    use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use serde_json::{Value, json};

    /// Sends a request and returns what follows the headers of the response.
    fn send(socket: &Path, line: &str, body: &str) -> io::Result<BufReader<UnixStream>> {
        let mut stream = UnixStream::connect(socket)?;
        let headers = "Host: pi\r\nX-Pi: 1\r\nContent-Type: application/json\r\nConnection: close";
        let length = body.len();
        write!(
            stream,
            "{line} HTTP/1.1\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
        let mut reader = BufReader::new(stream);
        let mut header = String::new();
        while header != "\r\n" {
            header.clear();
            if reader.read_line(&mut header)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(reader)
    }

    fn call(socket: &Path, line: &str, body: &Value) -> io::Result<Value> {
        let mut text = String::new();
        send(socket, line, &body.to_string())?.read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Runs a prompt in a new session and returns the answer.
    pub(crate) fn run(socket: &Path, prompt: &str) -> io::Result<String> {
        let opened = call(socket, "POST /v1/sessions", &json!({}))?;
        let session = opened["session"].as_str().unwrap_or_default();
        let events = send(socket, &format!("GET /v1/sessions/{session}/events"), "")?;
        let prompt = json!({"type": "prompt", "message": prompt});
        call(
            socket,
            &format!("POST /v1/sessions/{session}/commands"),
            &prompt,
        )?;
        let mut answer = String::new();
        for line in events.lines() {
            let line = line?;
            let Some(data) = line.strip_prefix("data: ") else {
                continue;
            };
            let event: Value = serde_json::from_str(data)?;
            if event["type"] == "message_end" && event["message"]["role"] == "assistant" {
                let text = event["message"]["content"][0]["text"].as_str();
                text.unwrap_or_default().clone_into(&mut answer);
            }
            if event["type"] == "agent_settled" {
                break;
            }
        }
        Ok(answer)
    }
}

#[cfg(unix)]
pub(crate) use client::run;

#[cfg(unix)]
#[expect(clippy::print_stdout, reason = "an example prints its result")]
#[cfg_attr(test, expect(dead_code, reason = "tests call the client"))]
fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let socket = arguments.next().unwrap_or_default();
    let prompt = arguments.next().unwrap_or_default();
    println!("{}", run(socket.as_ref(), &prompt)?);
    Ok(())
}

#[cfg(not(unix))]
fn main() {}
