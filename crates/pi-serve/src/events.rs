//! Server-sent events of a session.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use pi_host::{EntryRange, FeedLine, FeedOptions, SessionFeed};
use pi_protocol::{ClientHello, Cursor};
use tokio::sync::mpsc;

use crate::body::{Reply, ReplyBody};
use crate::elsewhere;
use crate::problem::Problem;
use crate::requests::parameter;
use crate::server::ServerState;
use crate::sessions::{attach_with_screen, number, screen_size};

/// Events on their way to the connection. A client that does not read stops its own feed, not the session.
const QUEUE: usize = 16;

/// Length of events that are sent together, unless one is longer.
const PART_BYTES: usize = 64 * 1024;

/// How often an idle stream sends a comment, so that a lost connection is noticed.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Entries of a snapshot, unless the client asks for another number.
const SNAPSHOT_ENTRIES: usize = 100;

const MAX_SNAPSHOT_ENTRIES: usize = 1000;

/// Sends the events of a session, beginning with a snapshot or after the last event that the client has seen.
pub(crate) async fn session_events(
    state: &Arc<ServerState>,
    id: &str,
    request: &Request<Incoming>,
) -> Result<Reply, Problem> {
    let uri = request.uri();
    let last = request.headers().get("last-event-id");
    let last = last.and_then(|last| last.to_str().ok()).map(str::to_owned);
    let since = last.or_else(|| parameter(uri, "after")).map(|cursor| {
        // A cursor that cannot be read is one of another log.
        cursor.parse().unwrap_or(Cursor { epoch: 0, seq: 0 })
    });
    let limit = number(uri, "entries", SNAPSHOT_ENTRIES)?.min(MAX_SNAPSHOT_ENTRIES);
    let entry = parameter(uri, "entry");
    let screen = parameter(uri, "screen");
    let screen = screen.as_deref().map(screen_size).transpose()?;
    if let Some(link) = elsewhere::find(state, id).await {
        let hello = ClientHello {
            since: since.map(|since| since.to_string()),
            entries: entry.is_none().then_some(limit),
            entry,
            screen,
            ..ClientHello::default()
        };
        return Ok(stream(state, |output| {
            Box::pin(link.send_events(hello, output))
        }));
    }
    let entries = match entry {
        Some(entry) => EntryRange::After(entry),
        None => EntryRange::Before { entry: None, limit },
    };
    let handle = attach_with_screen(state, id, screen).await?;
    let feed = SessionFeed::new(
        handle.clone(),
        FeedOptions {
            since,
            entries: Some(entries),
            notices: handle.client_ui(),
            screen,
            ..FeedOptions::default()
        },
    );
    Ok(stream(state, |output| Box::pin(send_feed(feed, output))))
}

/// Answers with what `send` writes, until the client disconnects or the server stops.
pub(crate) fn stream(
    state: &Arc<ServerState>,
    send: impl FnOnce(mpsc::Sender<Bytes>) -> futures_util::future::BoxFuture<'static, ()>,
) -> Reply {
    let (output, body) = mpsc::channel(QUEUE);
    let closed = output.clone();
    let sending = send(output);
    let stop = state.options.stop.clone();
    state.tasks.spawn(async move {
        tokio::select! {
            () = sending => {}
            () = closed.closed() => {}
            () = stop.cancelled() => {}
        }
    });
    let mut reply = Response::new(ReplyBody::Stream(body));
    *reply.status_mut() = StatusCode::OK;
    let content_type = HeaderValue::from_static("text/event-stream");
    reply
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    reply
}

async fn send_feed(mut feed: SessionFeed, output: mpsc::Sender<Bytes>) {
    loop {
        let next = tokio::time::timeout(KEEP_ALIVE, feed.next()).await;
        let part = match next {
            Ok(Some(line)) => {
                let mut text = String::new();
                push_line(&mut text, &line);
                // What is there already is sent together.
                while text.len() < PART_BYTES
                    && let Some(line) = feed.try_next()
                {
                    push_line(&mut text, &line);
                }
                Bytes::from(text)
            }
            Ok(None) => {
                // The browser would connect again, and open the session again.
                let closed = event(Some("closed"), None, "{}");
                output.send(closed).await.unwrap_or_default();
                return;
            }
            Err(_elapsed) => Bytes::from_static(b": \n\n"),
        };
        if output.send(part).await.is_err() {
            return;
        }
    }
}

fn push_line(text: &mut String, line: &FeedLine) {
    match line {
        FeedLine::Snapshot { cursor, json } => {
            push_event(text, Some("snapshot"), Some(*cursor), json);
        }
        FeedLine::Event { cursor, json } => push_event(text, None, Some(*cursor), json),
        FeedLine::Notice { json } => push_event(text, None, None, json),
    }
}

/// Formats an event; `json` has no line feed.
pub(crate) fn event(name: Option<&str>, cursor: Option<Cursor>, json: &str) -> Bytes {
    let mut text = String::new();
    push_event(&mut text, name, cursor, json);
    Bytes::from(text)
}

fn push_event(text: &mut String, name: Option<&str>, cursor: Option<Cursor>, json: &str) {
    use std::fmt::Write as _;

    text.reserve(json.len() + 64);
    // Writing to a string cannot fail.
    if let Some(cursor) = cursor {
        writeln!(text, "id: {cursor}").unwrap_or_default();
    }
    if let Some(name) = name {
        writeln!(text, "event: {name}").unwrap_or_default();
    }
    for part in ["data: ", json, "\n\n"] {
        text.push_str(part);
    }
}
