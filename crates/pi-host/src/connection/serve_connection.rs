//! Serves one client of a live session: commands and responses, events and requests, one JSON record per line.
//!
//! Lines are started in the order they arrive; waiting commands continue concurrently with later lines. The client may
//! disconnect at any time without effect on the session.

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pi_core::InputSource;
use pi_export::EntryRange;
use pi_lines::{COMMAND_LINE_LIMIT, LineFrame, LineReader, LineSink, LineWriter, OutputClosed};
use pi_protocol::{
    Answer, ClientHello, ClientRight, Command, Cursor, Rejected, RejectionCode, RequestId,
    UpdateFormat,
};
use pi_session::PackedIndex;
use tokio::io::AsyncRead;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::client_line::{ClientLine, RpcRequest};
use super::client_ui::ClientUi;
use super::response_line::{failure_line, outcome_line};
use super::session_feed::{FeedLine, FeedOptions, SessionFeed, request_line};
use crate::commands::{CommandOrigin, HeldRun};
use crate::host::SessionHandle;

/// Maximum number of commands in progress before reading pauses.
const PENDING_COMMANDS: usize = 256;

/// When the events begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedStart {
    /// With the first line, which is expected to be `hello`. Another one makes the client a client of the TypeScript pi.
    #[default]
    AfterHello,
    /// At once, for a client of the TypeScript pi. A `hello` changes that.
    Immediate,
}

#[derive(Debug, Clone, Default)]
pub struct ConnectionOptions {
    /// What the client may do at most; `hello` can reduce it.
    pub right: ClientRight,
    pub start: FeedStart,
    /// How much of a growing message its updates repeat.
    pub updates: UpdateFormat,
    /// The notices of extensions.
    pub notices: Option<ClientUi>,
    /// Counts the clients that observe the session.
    pub observers: Option<watch::Sender<usize>>,
    /// Ends the connection when canceled.
    pub stop: CancellationToken,
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The client closed its input.
    InputEnded,
    /// The client stopped reading.
    OutputClosed,
    /// The session was closed.
    SessionClosed,
    /// [`ConnectionOptions::stop`] was canceled.
    Stopped,
}

/// Serves a client until it disconnects or the session is closed.
pub async fn serve_connection(
    handle: SessionHandle,
    reader: impl AsyncRead + Unpin,
    writer: LineWriter,
    options: ConnectionOptions,
) -> ConnectionEnd {
    let mut lines = LineReader::new(reader, COMMAND_LINE_LIMIT);
    let stop = options.stop.clone();
    let mut connection = Connection::new(handle, writer.sink(), options);
    let mut commands = FuturesUnordered::new();
    let sink = writer.sink();
    let end = loop {
        // Poll commands before lines: each command starts before the next line is read.
        tokio::select! {
            biased;
            () = stop.cancelled() => break ConnectionEnd::Stopped,
            () = sink.closed() => break ConnectionEnd::OutputClosed,
            Some(()) = commands.next(), if !commands.is_empty() => {}
            frame = lines.next(), if commands.len() < PENDING_COMMANDS => match frame {
                Ok(Some(frame)) => if let Some(command) = connection.receive(frame).await {
                    commands.push(command);
                },
                Ok(None) => break ConnectionEnd::InputEnded,
                Err(error) => {
                    tracing::debug!(%error, "cannot read from client");
                    break ConnectionEnd::InputEnded;
                }
            },
            sent = connection.send_next() => if !sent {
                break ConnectionEnd::SessionClosed;
            },
        }
    };
    // The client has sent its commands; it may not wait for their responses.
    if end == ConnectionEnd::InputEnded {
        while commands.next().await.is_some() {}
    }
    if end != ConnectionEnd::OutputClosed {
        tokio::select! {
            () = stop.cancelled() => {}
            flushed = sink.flush() => flushed.unwrap_or_default(),
        }
    }
    end
}

/// The state of a connection.
struct Connection {
    handle: SessionHandle,
    sink: LineSink,
    options: ConnectionOptions,
    /// `None` until the first line, if the client is expected to introduce itself.
    feed: Option<SessionFeed>,
    /// A line of the feed that waits for the client to read.
    waiting: Option<String>,
    /// Whether events have their cursor.
    has_cursors: bool,
    /// Whether the client only reads the first snapshot.
    is_listing: bool,
    observing: Option<CountedObserver>,
}

/// A client in the count of observers.
struct CountedObserver(watch::Sender<usize>);

impl CountedObserver {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for CountedObserver {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Connection {
    fn new(handle: SessionHandle, sink: LineSink, options: ConnectionOptions) -> Self {
        let mut connection = Self {
            handle,
            sink,
            options,
            feed: None,
            waiting: None,
            has_cursors: false,
            is_listing: false,
            observing: None,
        };
        if connection.options.start == FeedStart::Immediate {
            connection.start_compatible();
        }
        connection
    }

    fn start_compatible(&mut self) {
        self.start_feed(FeedOptions {
            compatible: true,
            ..FeedOptions::default()
        });
        let pending = self.handle.session().requests().pending();
        self.waiting = lines_of(
            pending
                .iter()
                .filter_map(|request| request_line(request).ok()),
        );
    }

    fn start_feed(&mut self, options: FeedOptions) {
        let options = FeedOptions {
            updates: self.options.updates,
            notices: self.options.notices.clone(),
            ..options
        };
        self.feed = Some(SessionFeed::new(self.handle.clone(), options));
        self.waiting = None;
        // Events reach an observer that is counted.
        self.observing = match (&self.options.observers, self.observing.take()) {
            (Some(count), None) if !self.is_listing => Some(CountedObserver::new(count)),
            (_, counted) => counted.filter(|_| !self.is_listing),
        };
    }

    /// Sends the next lines of the feed; `false` once the session was closed. Can be canceled without losing a line.
    async fn send_next(&mut self) -> bool {
        if self.waiting.is_none() {
            let Some(feed) = &mut self.feed else {
                return std::future::pending().await;
            };
            let Some(line) = feed.next().await else {
                return false;
            };
            self.waiting = Some(self.text_of(line));
        }
        while let Some(line) = &self.waiting {
            match self.sink.try_send(line) {
                Ok(true) => {}
                // `send` takes the line only when there is room for it.
                Ok(false) => {
                    self.sink.send(line.clone()).await.unwrap_or_default();
                }
                Err(OutputClosed) => tracing::debug!("event dropped: output is closed"),
            }
            let next = self.feed.as_mut().and_then(SessionFeed::try_next);
            self.waiting = next.map(|line| self.text_of(line));
        }
        true
    }

    /// Returns the line as this client receives it.
    fn text_of(&self, line: FeedLine) -> String {
        match line {
            FeedLine::Event { cursor, json } if self.has_cursors => {
                let fields = json.strip_prefix('{').unwrap_or_default();
                format!(r#"{{"cursor":"{cursor}",{fields}"#)
            }
            line => line.into_json(),
        }
    }

    /// Handles a line. Returns the work that responds to it.
    async fn receive(
        &mut self,
        frame: LineFrame,
    ) -> Option<impl Future<Output = ()> + Send + 'static + use<>> {
        let line = match frame {
            LineFrame::Line(line) => ClientLine::parse(&line),
            LineFrame::TooLong => ClientLine::too_long(COMMAND_LINE_LIMIT),
        };
        if let ClientLine::Request(RpcRequest {
            command: Command::Hello(hello),
            ..
        }) = &line
        {
            let hello = hello.clone();
            // The response precedes the first event.
            let responding = respond(
                self.handle.clone(),
                self.options.right,
                self.sink.clone(),
                line,
            );
            Box::pin(responding).await;
            self.greet(hello);
            return None;
        }
        if self.feed.is_none() {
            self.start_compatible();
        }
        let (handle, sink) = (self.handle.clone(), self.sink.clone());
        let right = self.options.right;
        Some(Box::pin(respond(handle, right, sink, line)))
    }

    fn greet(&mut self, hello: ClientHello) {
        let right = hello.right.unwrap_or_default();
        self.options.right = self.options.right.min(right);
        let since = hello.since.as_deref().map(|since| {
            // A cursor that cannot be read is one of another log.
            let unknown = Cursor { epoch: 0, seq: 0 };
            since.parse().unwrap_or(unknown)
        });
        let page = hello.entries.map(|limit| EntryRange::Before {
            entry: hello.before,
            limit,
        });
        self.has_cursors = hello.cursors;
        self.is_listing = hello.listing;
        self.start_feed(FeedOptions {
            since,
            entries: hello.entry.map(EntryRange::After).or(page),
            index: hello.index == Some(PackedIndex::FORMAT),
            screen: hello.screen,
            ..FeedOptions::default()
        });
    }
}

/// Joins lines; `None` if there are none.
fn lines_of(lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Executes a line and sends its response.
async fn respond(handle: SessionHandle, right: ClientRight, sink: LineSink, line: ClientLine) {
    let (response, run) = execute_line(&handle, right, line).await;
    if let Some(response) = response
        && sink.send(response).await.is_err()
    {
        tracing::debug!("response dropped: output is closed");
    }
    // The run of a prompt begins after its response.
    drop(run);
}

/// Executes a line of a client with this right. Returns the response, if the line gets one; send it before dropping the
/// run.
pub async fn execute_line(
    handle: &SessionHandle,
    right: ClientRight,
    line: ClientLine,
) -> (Option<String>, Option<HeldRun>) {
    match line {
        ClientLine::Request(RpcRequest { id, kind, command }) => {
            let outcome = if right < ClientRight::Control && !command.is_read_only() {
                Err(Rejected::new(
                    RejectionCode::Invalid,
                    "This client may only view the session",
                ))
            } else {
                let origin = CommandOrigin {
                    source: InputSource::Rpc,
                    request_id: id.clone(),
                };
                handle.runtime().submit_from(origin, command).await
            };
            let (line, run) = outcome_line(id, kind, outcome);
            (Some(line), run)
        }
        ClientLine::ExtensionUi(response) => {
            if right == ClientRight::Control {
                let session = handle.session();
                let (request, answer) = (RequestId(response.id), Answer::from(response.reply));
                // Like in the TypeScript pi, a late reply has no effect and gets no response.
                if let Err(error) = session.requests().answer(request, answer).await {
                    tracing::debug!(%error, "reply of a client dropped");
                }
            }
            (None, None)
        }
        ClientLine::Rejected(rejected) => (Some(failure_line(&rejected)), None),
    }
}

#[cfg(test)]
mod tests;
