//! The loopback server a browser is sent back to after a sign-in.
//!
//! It takes one answer: the first request to the right path with the right state. Everything else,
//! such as a request for an icon, a forged answer or a connection that says nothing, gets a page and
//! changes nothing.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use super::error::OAuthError;

/// A browser sends a few hundred bytes; more than this is not a browser.
const REQUEST_LIMIT: usize = 16 * 1024;
const REQUEST_TIME_LIMIT: Duration = Duration::from_secs(10);
/// A listener that fails, as one out of descriptors does, fails again at once: without a pause the
/// wait would keep a processor busy.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the browser's answer must look like.
#[derive(Debug, Clone)]
pub(super) struct CallbackRoute {
    /// The path it is sent to.
    pub(super) path: String,
    /// The state it must carry; `None` where the path itself cannot be guessed.
    pub(super) state: Option<String>,
}

/// A server waiting for one answer.
#[derive(Debug)]
pub(super) struct CallbackServer {
    listener: TcpListener,
    route: CallbackRoute,
}

/// What one request amounts to.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Code(String),
    Denied(String),
    Ignored(Page),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Page {
    status: &'static str,
    title: &'static str,
    text: String,
}

impl CallbackServer {
    /// Starts to listen. Port zero takes any free one.
    pub(super) async fn bind(host: &str, port: u16, route: CallbackRoute) -> io::Result<Self> {
        let listener = TcpListener::bind((host, port)).await?;
        Ok(Self { listener, route })
    }

    /// Returns the port listened on.
    pub(super) fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Waits for the answer and returns its code.
    ///
    /// Connections are served side by side: browsers open spare ones and leave them silent.
    pub(super) async fn wait(self) -> Result<String, OAuthError> {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _peer)) => {
                        connections.spawn(serve(stream, self.route.clone()));
                    }
                    // A connection that broke while it was accepted; the listener is still good.
                    Err(error) => {
                        tracing::debug!(%error, "a sign-in callback was not accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
                Some(served) = connections.join_next() => match served {
                    Ok(Some(Answer::Code(code))) => return Ok(code),
                    Ok(Some(Answer::Denied(description))) => {
                        return Err(OAuthError::Denied { description: Some(description) });
                    }
                    Ok(Some(Answer::Ignored(_)) | None) => {}
                    Err(error) => tracing::warn!(%error, "a sign-in callback failed"),
                },
            }
        }
    }
}

/// Serves one connection; `None` when it did not make a request.
async fn serve(mut stream: TcpStream, route: CallbackRoute) -> Option<Answer> {
    let request = tokio::time::timeout(REQUEST_TIME_LIMIT, read_request(&mut stream)).await;
    let head = match request {
        Ok(Ok(head)) => head?,
        Ok(Err(error)) => {
            tracing::debug!(%error, "a sign-in callback could not be read");
            return None;
        }
        Err(_elapsed) => return None,
    };
    let answer = judge(&head, &route);
    let page = match &answer {
        Answer::Code(_) => Page {
            status: "200 OK",
            title: "Signed in",
            text: "pi has what it needs. You can close this page and go back to the terminal."
                .to_owned(),
        },
        Answer::Denied(description) => Page {
            status: "400 Bad Request",
            title: "Not signed in",
            text: format!("The service did not grant access: {description}"),
        },
        Answer::Ignored(page) => page.clone(),
    };
    // Whether the browser still listens does not change what it has told us.
    if let Err(error) = write_page(&mut stream, &page).await {
        tracing::debug!(%error, "the page after a sign-in could not be sent");
    }
    Some(answer)
}

/// Reads the request line and headers.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        if stream.read_buf(&mut bytes).await? == 0 || bytes.len() > REQUEST_LIMIT {
            return Ok(None);
        }
        if bytes.windows(4).any(|window| window == b"\r\n\r\n") {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
}

fn judge(head: &str, route: &CallbackRoute) -> Answer {
    let mut words = head.split_whitespace();
    let (method, target) = (words.next(), words.next());
    let url = Url::parse("http://localhost")
        .ok()
        .and_then(|base| base.join(target?).ok());
    let Some(url) = url.filter(|url| method == Some("GET") && url.path() == route.path) else {
        return ignored("404 Not Found", "There is nothing at this address.");
    };
    let parameter = |name: &str| {
        url.query_pairs()
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.into_owned())
    };
    if route.state.is_some() && parameter("state") != route.state {
        return ignored(
            "400 Bad Request",
            "This answer does not belong to the sign-in that is waiting. Start it again from pi.",
        );
    }
    if let Some(error) = parameter("error") {
        return Answer::Denied(parameter("error_description").unwrap_or(error));
    }
    match parameter("code") {
        Some(code) => Answer::Code(code),
        None => ignored("400 Bad Request", "The answer carries no code."),
    }
}

fn ignored(status: &'static str, text: &str) -> Answer {
    Answer::Ignored(Page {
        status,
        title: "Not signed in",
        text: text.to_owned(),
    })
}

async fn write_page(stream: &mut TcpStream, page: &Page) -> io::Result<()> {
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
