//! Loopback server that receives the browser's redirect after a sign-in.
//!
//! It accepts one callback: the first request to the right path with the right state. Anything
//! else, such as a favicon request, a forged callback or an idle connection, gets an error page and
//! has no effect.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use super::error::OAuthError;

/// A browser sends a few hundred bytes; a larger request does not come from one.
const MAX_REQUEST_BYTES: usize = 16 * 1024;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A failing listener, for example one without file descriptors, fails again immediately. Without a
/// pause the loop would be busy-waiting.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Path and state that a valid callback must have.
#[derive(Debug, Clone)]
pub struct CallbackRoute {
    pub path: String,
    /// Required state; `None` if the path is unguessable.
    pub state: Option<String>,
    /// Name of a parameter that the callback must have in addition to the code.
    pub extra: Option<&'static str>,
}

/// What a valid callback delivers.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct AuthorizationCode {
    pub code: String,
    /// Value of the additional parameter of the route.
    pub extra: Option<String>,
    /// The authorization server, if it identifies itself (RFC 9207).
    pub issuer: Option<String>,
}

impl fmt::Debug for AuthorizationCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AuthorizationCode")
    }
}

/// A server that waits for one callback.
#[derive(Debug)]
pub struct CallbackServer {
    listener: TcpListener,
    route: CallbackRoute,
}

/// Result of one request.
#[derive(Debug, PartialEq, Eq)]
enum CallbackOutcome {
    Code(AuthorizationCode),
    Denied(String),
    Rejected(ResultPage),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ResultPage {
    status: &'static str,
    title: &'static str,
    text: String,
}

impl CallbackServer {
    /// Starts listening. Port 0 picks a free one.
    pub async fn bind(host: &str, port: u16, route: CallbackRoute) -> io::Result<Self> {
        let listener = TcpListener::bind((host, port)).await?;
        Ok(Self { listener, route })
    }

    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Waits for the callback and returns its code.
    ///
    /// Connections are served concurrently: browsers open spare ones and leave them idle.
    pub async fn wait(self) -> Result<AuthorizationCode, OAuthError> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _peer)) => {
                        connections.spawn(serve(stream, self.route.clone()));
                    }
                    // The connection broke while it was accepted; the listener still works.
                    Err(error) => {
                        tracing::debug!(%error, "cannot accept a sign-in callback");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(served) = connections.join_next() => match served {
                    Ok(Some(CallbackOutcome::Code(code))) => return Ok(code),
                    Ok(Some(CallbackOutcome::Denied(description))) => {
                        return Err(OAuthError::Denied { description: Some(description) });
                    }
                    Ok(Some(CallbackOutcome::Rejected(_)) | None) => {}
                    Err(error) => tracing::warn!(%error, "sign-in callback failed"),
                },
            }
        }
    }
}

/// Serves one connection; `None` if it sent no complete request.
async fn serve(mut stream: TcpStream, route: CallbackRoute) -> Option<CallbackOutcome> {
    let request = tokio::time::timeout(REQUEST_TIMEOUT, read_request(&mut stream)).await;
    let head = match request {
        Ok(Ok(head)) => head?,
        Ok(Err(error)) => {
            tracing::debug!(%error, "cannot read a sign-in callback");
            return None;
        }
        Err(_elapsed) => return None,
    };
    let outcome = parse_callback(&head, &route);
    let page = match &outcome {
        CallbackOutcome::Code(_) => ResultPage {
            status: "200 OK",
            title: "Signed in",
            text: "You can close this page and return to the terminal.".to_owned(),
        },
        CallbackOutcome::Denied(description) => ResultPage {
            status: "400 Bad Request",
            title: "Sign-in failed",
            text: format!("Access denied: {description}"),
        },
        CallbackOutcome::Rejected(page) => page.clone(),
    };
    // The callback is valid even if the browser no longer reads the page.
    if let Err(error) = write_page(&mut stream, &page).await {
        tracing::debug!(%error, "cannot send the sign-in result page");
    }
    Some(outcome)
}

async fn read_request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        if stream.read_buf(&mut bytes).await? == 0 || bytes.len() > MAX_REQUEST_BYTES {
            return Ok(None);
        }
        if bytes.windows(4).any(|window| window == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}

fn parse_callback(head: &str, route: &CallbackRoute) -> CallbackOutcome {
    let mut words = head.split_whitespace();
    let (method, target) = (words.next(), words.next());
    let url = Url::parse("http://localhost")
        .ok()
        .and_then(|base| base.join(target?).ok());
    let Some(url) = url.filter(|url| method == Some("GET") && url.path() == route.path) else {
        return reject("404 Not Found", "Page not found.");
    };
    let parameter = |name: &str| {
        url.query_pairs()
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.into_owned())
    };
    if route.state.is_some() && parameter("state") != route.state {
        return reject(
            "400 Bad Request",
            "This callback does not belong to the current sign-in. Start again from pi.",
        );
    }
    if let Some(error) = parameter("error") {
        return CallbackOutcome::Denied(parameter("error_description").unwrap_or(error));
    }
    let extra = route.extra.and_then(parameter);
    match parameter("code") {
        Some(_) if route.extra.is_some() && extra.is_none() => reject(
            "400 Bad Request",
            "The callback is incomplete. Start again from pi.",
        ),
        Some(code) => CallbackOutcome::Code(AuthorizationCode {
            code,
            extra,
            issuer: parameter("iss"),
        }),
        None => reject("400 Bad Request", "The callback has no authorization code."),
    }
}

fn reject(status: &'static str, text: &str) -> CallbackOutcome {
    CallbackOutcome::Rejected(ResultPage {
        status,
        title: "Sign-in failed",
        text: text.to_owned(),
    })
}

async fn write_page(stream: &mut TcpStream, page: &ResultPage) -> io::Result<()> {
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>pi: {title}</title>\
         <style>body{{font:1.1rem system-ui;max-width:32rem;margin:20vh auto;padding:0 1rem;\
         color-scheme:light dark}}</style><h1>{title}</h1><p>{text}</p></html>",
        title = page.title,
        text = escape_html(&page.text),
    );
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\n\
         content-length: {length}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
         content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
         connection: close\r\n\r\n{body}",
        status = page.status,
        length = body.len(),
    );
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
