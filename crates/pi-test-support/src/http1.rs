//! A minimal HTTP/1.1 request parser for the test servers.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A request received by a test server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    pub method: String,
    /// The request target: usually path and query.
    pub target: String,
    /// Headers in order of arrival, with lowercase names.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Index of the connection it arrived on, starting at 0.
    pub connection: usize,
}

impl RecordedRequest {
    /// Returns the value of a header; `name` must be lowercase.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }

    /// Parses the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("request body is not valid JSON")
    }

    /// Returns the content of the first user message, for a request to a model.
    pub fn first_user_message(&self) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.body).ok()?;
        let messages = body["messages"].as_array()?;
        let first = messages.iter().find(|message| message["role"] == "user")?;
        Some(first["content"].to_string())
    }
}

/// Reads the next request, or `None` if the client has closed the connection.
pub(crate) async fn read_request(
    socket: &mut (impl AsyncRead + Unpin),
    connection: usize,
) -> io::Result<Option<RecordedRequest>> {
    let Some(head) = read_head(socket).await? else {
        return Ok(None);
    };
    let mut lines = head.split("\r\n");
    let mut start = lines.next().unwrap_or_default().split(' ');
    let method = start.next().unwrap_or_default().to_owned();
    let target = start.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = RecordedRequest {
        method,
        target,
        headers,
        body: Vec::new(),
        connection,
    };
    let length = request.header("content-length").map_or(0, |length| {
        length.parse().expect("content-length is not a number")
    });
    request.body = vec![0; length];
    socket.read_exact(&mut request.body).await?;
    Ok(Some(request))
}

/// Reads up to the blank line, byte by byte so that none of the body is consumed.
async fn read_head(socket: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if socket.read(&mut byte).await? == 0 {
            return Ok(None);
        }
        head.extend_from_slice(&byte);
    }
    head.truncate(head.len() - 4);
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}
