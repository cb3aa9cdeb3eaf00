//! As much of HTTP/1.1 as a test server reads.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    pub method: String,
    /// The path and query, or what else stood in their place.
    pub target: String,
    /// The headers, names in lower case, in their order.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The number of the connection it came on, the first being 0.
    pub connection: usize,
}

impl RecordedRequest {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(header, _)| header == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// Reads the next request; `None` when the client has closed the connection.
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
    let length = request
        .header("content-length")
        .map_or(0, |length| length.parse().expect("the length is a number"));
    request.body = vec![0; length];
    socket.read_exact(&mut request.body).await?;
    Ok(Some(request))
}

/// Reads up to the blank line, byte by byte so that nothing behind it is taken.
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
