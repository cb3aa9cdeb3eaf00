//! What responses state: their type, challenges, and bodies up to a limit.

use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use pi_http::Route;
use reqwest::Response;

use crate::auth::AuthChallenge;
use crate::error::McpError;

/// How much of an error response is shown.
const SHOWN_BODY_CHARS: usize = 500;

const READ_BODY_BYTES: usize = 8 << 10;

/// Returns the type of a body without its parameters.
pub(super) fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// Returns what the server asks for if it rejects a request for lack of a credential.
pub(super) fn challenge_of(response: &Response) -> Option<AuthChallenge> {
    let header = response.headers().get(WWW_AUTHENTICATE);
    let header = header.and_then(|header| header.to_str().ok());
    let challenge = header.map(AuthChallenge::parse).unwrap_or_default();
    match response.status().as_u16() {
        401 => Some(challenge),
        403 if challenge.is_insufficient_scope => Some(challenge),
        _ => None,
    }
}

pub(super) fn failure_text(status: u16, body: &str) -> String {
    let body = body.trim();
    let mut text = format!("the MCP server responded with status {status}");
    if !body.is_empty() {
        text.push_str(": ");
        text.extend(body.chars().take(SHOWN_BODY_CHARS));
        if body.chars().nth(SHOWN_BODY_CHARS).is_some() {
            text.push('…');
        }
    }
    text
}

/// Reads the start of an error response.
pub(super) async fn read_start(mut response: Response) -> String {
    let mut body = Vec::new();
    while body.len() < READ_BODY_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(READ_BODY_BYTES);
    String::from_utf8_lossy(&body).into_owned()
}

/// Reads a body that must not be longer than a limit.
pub(crate) async fn read_limited(
    mut response: Response,
    route: &Route,
    limit: usize,
) -> Result<Vec<u8>, McpError> {
    let mut body = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let chunk =
            chunk.map_err(|error| McpError::Network(pi_http::read_error(error, route).message))?;
        let Some(chunk) = chunk else {
            return Ok(body);
        };
        body.extend_from_slice(&chunk);
        if body.len() > limit {
            return Err(McpError::protocol(format!(
                "{route} sent more than {} MiB",
                limit >> 20
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn error_responses_are_shortened() {
        assert_eq!(
            failure_text(500, " "),
            "the MCP server responded with status 500"
        );
        let text = failure_text(500, &"é".repeat(600));
        assert!(text.ends_with("é…"));
        assert!(text.chars().count() < 600);
    }
}
