//! Internals exposed for the fuzz checks. Not part of the public API; may change at any time.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

use crate::client::{Client, ClientObserver, ListKind, RequestOptions};
use crate::error::McpError;
use crate::event_stream::{EventDecoder, StreamPosition};
use crate::names::ToolNames;
use crate::stdio::read_messages;
use crate::transport::Transport;

/// The name of the server.
const SERVER: &str = "server";

/// The ID of the request for the tools.
pub const TOOLS_REQUEST: u64 = 1;

/// How the client reacts to the lines of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Reaction {
    /// Responses to requests of the server.
    pub responses: Vec<Value>,
    /// The tools and their names for the model, if the server has sent a complete list.
    pub tools: Option<Vec<(String, String)>>,
}

/// Lets a client that has requested the tools read lines in pieces.
pub async fn read_lines(pieces: &[&[u8]]) -> Reaction {
    let (sender, mut sent) = mpsc::unbounded_channel();
    let mut inbox = None;
    let connect = |own| {
        inbox = Some(own);
        Ok(Box::new(SentMessages(sender)) as Box<dyn Transport>)
    };
    let client = Client::start(Path::new("/work"), Box::new(NoObserver), connect);
    let (Ok(client), Some(inbox)) = (client, inbox) else {
        unreachable!("the transport starts");
    };
    let listing = tokio::spawn({
        let client = client.clone();
        async move {
            let options = RequestOptions::new(Duration::from_mins(1));
            client.list_all(ListKind::Tools, &options).await
        }
    });
    sent.recv().await;
    let pieces = pieces.iter().map(|piece| piece.to_vec()).collect();
    read_messages(Pieces(pieces), &inbox).await;
    client.close().await;
    let tools = listing.await.ok().and_then(Result::ok);
    let mut responses = Vec::new();
    while let Ok(message) = sent.try_recv() {
        if message.get("method").is_none() {
            responses.push(message);
        }
    }
    let named = tools.map(|tools| {
        let tools = tools.iter().map(|tool| tool.get("name")?.as_str());
        let tools: Vec<&str> = tools.flatten().collect();
        let names = assign_names(&tools);
        tools.into_iter().map(str::to_owned).zip(names).collect()
    });
    Reaction {
        responses,
        tools: named,
    }
}

/// Returns the names that the tools of a new server get.
pub fn assign_names(tools: &[&str]) -> Vec<String> {
    ToolNames::default().assign(SERVER, tools)
}

/// Returns the data of the messages in an event stream, the ID of its last event, and its time to wait; `None` if an
/// event is too long.
pub fn read_events(pieces: &[&[u8]]) -> Option<(Vec<String>, Option<String>, Option<Duration>)> {
    let mut position = StreamPosition::default();
    let mut decoder = EventDecoder::new(&mut position);
    let mut messages = Vec::new();
    for piece in pieces {
        messages.extend(decoder.push(piece).ok()?);
    }
    messages.extend(decoder.finish());
    Some((messages, position.last_event_id, position.retry))
}

/// A transport whose messages another task reads.
pub(crate) struct SentMessages(pub(crate) mpsc::UnboundedSender<Value>);

impl Transport for SentMessages {
    fn send(&self, message: Value) -> BoxFuture<'static, Result<(), McpError>> {
        let sent = self.0.send(message).map_err(|_closed| McpError::Closed);
        Box::pin(std::future::ready(sent))
    }

    fn set_protocol_version(&self, _version: &str) {}

    fn close(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

pub(crate) struct NoObserver;

impl ClientObserver for NoObserver {
    fn notified(&self, _method: &str, _params: &Value) {}

    fn connection_lost(&self) {}
}

/// Reads one piece at a time.
struct Pieces(VecDeque<Vec<u8>>);

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut piece) = self.0.pop_front() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}
