//! Puts a live session behind the protocol.
//!
//! Every line begins to be served in the order it came, as far as it gets without waiting; what waits goes on
//! beside the lines after it. Answers therefore may come in another order than their commands, and
//! carry their `id`. What a command does is in `server/execute.rs`.

mod execute;
mod session_json;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use pi_runtime::{AgentSession, SessionRuntime, SessionSubscription, UpdateFormat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::command::{ClientLine, RejectedLine, RpcRequest};
use crate::events::JsonEventWriter;
use crate::rpc_extension_ui::RpcExtensionUi;
use crate::framing::{COMMAND_LINE_LIMIT, LineFrame, LineReader};
use crate::line_sink::{LineSink, LineWriter};
use crate::response::{failure_line, success_line};

/// How many commands may wait at the same time before reading pauses: more than a client has use
/// for, few enough to bound memory.
const PENDING_COMMANDS: usize = 4096;

/// How long a reader may take for the last lines when the server is told to stop.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// How to serve.
#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// How much of a growing message its updates repeat.
    pub updates: UpdateFormat,
    pub stop: CancellationToken,
    /// Carries what extensions show and ask; the one the runtime was started with.
    pub extensions: RpcExtensionUi,
}

/// Why the serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeOutcome {
    /// The client closed its end.
    InputEnded,
    /// The client reads no more.
    OutputClosed,
    /// [`ServeOptions::stop`] was cancelled.
    Stopped,
}

/// Serves a client until it leaves; the runtime is shut down then.
pub async fn serve(
    runtime: SessionRuntime,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    options: ServeOptions,
) -> ServeOutcome {
    let writer = LineWriter::start(writer);
    let server = Server {
        events: Arc::new(JsonEventWriter::new(writer.sink(), options.updates)),
        sink: writer.sink(),
        runtime,
        subscription: Mutex::new(None),
        extensions: options.extensions,
    };
    server.extensions.attach(writer.sink()).await;
    let end = server.run(reader, &options.stop).await;
    let flushed = server.sink.flush();
    match end {
        // A client that reads no more misses nothing.
        ServeOutcome::InputEnded => flushed.await.unwrap_or_default(),
        ServeOutcome::Stopped => {
            if tokio::time::timeout(FLUSH_TIMEOUT, flushed).await.is_err() {
                tracing::info!("the client did not take the last lines");
            }
        }
        ServeOutcome::OutputClosed => {}
    }
    end
}

struct Server {
    runtime: SessionRuntime,
    sink: LineSink,
    events: Arc<JsonEventWriter>,
    subscription: Mutex<Option<SessionSubscription>>,
    extensions: RpcExtensionUi,
}

impl Server {
    async fn run(&self, reader: impl AsyncRead + Unpin, stop: &CancellationToken) -> ServeOutcome {
        let mut lines = LineReader::new(reader, COMMAND_LINE_LIMIT);
        let mut commands = FuturesUnordered::new();
        let mut sessions = self.runtime.sessions();
        self.subscribe_to(&sessions.borrow_and_update().clone());
        let end = loop {
            // Commands before lines: each begins before the next is read.
            tokio::select! {
                biased;
                () = stop.cancelled() => break ServeOutcome::Stopped,
                () = self.sink.closed() => break ServeOutcome::OutputClosed,
                Ok(()) = sessions.changed() => {
                    let session = sessions.borrow_and_update().clone();
                    self.subscribe_to(&session);
                }
                Some(()) = commands.next(), if !commands.is_empty() => {}
                () = self.shutdown_requested(), if commands.is_empty() => {
                    break ServeOutcome::InputEnded;
                }
                frame = lines.next(), if commands.len() < PENDING_COMMANDS => match frame {
                    Ok(Some(frame)) => commands.push(self.handle_frame(frame)),
                    Ok(None) => break ServeOutcome::InputEnded,
                    Err(error) => {
                        tracing::warn!(%error, "cannot read commands");
                        break ServeOutcome::InputEnded;
                    }
                },
            }
        };
        self.events.mute();
        self.unsubscribe();
        // Commands that wait for what is being shut down may still be answered.
        let mut shutdown = std::pin::pin!(self.runtime.shutdown());
        loop {
            tokio::select! {
                biased;
                Some(()) = commands.next(), if !commands.is_empty() => {}
                () = &mut shutdown => break,
            }
        }
        while let Some(Some(())) = commands.next().now_or_never() {}
        end
    }

    /// Waits until an extension wants the program to end and what is under way is over.
    async fn shutdown_requested(&self) {
        self.extensions.shutdown_requested().await;
        self.runtime.session().wait_for_idle().await;
    }

    /// Hears the events of a session instead of those of the last one.
    fn subscribe_to(&self, session: &AgentSession) {
        self.unsubscribe();
        let subscription = session.subscribe(Arc::clone(&self.events) as _);
        *self.subscription() = Some(subscription);
    }

    fn unsubscribe(&self) {
        let earlier = self.subscription().take();
        drop(earlier);
    }

    fn subscription(&self) -> std::sync::MutexGuard<'_, Option<SessionSubscription>> {
        let subscription = self.subscription.lock();
        subscription.unwrap_or_else(PoisonError::into_inner)
    }

    async fn handle_frame(&self, frame: LineFrame) {
        let line = match frame {
            LineFrame::Line(line) => ClientLine::parse(&line),
            LineFrame::TooLong => ClientLine::too_long(COMMAND_LINE_LIMIT),
        };
        match line {
            ClientLine::Request(request) => self.respond(request).await,
            ClientLine::ExtensionUi(response) => self.extensions.reply(response),
            ClientLine::Rejected(rejected) => self.send(failure_line(&rejected)).await,
        }
    }

    async fn respond(&self, request: RpcRequest) {
        let RpcRequest { id, kind, command } = request;
        let respond = match self.execute(command, &kind, id.as_ref()).await {
            Ok(execute::CommandReply::AlreadySent) => return,
            Ok(execute::CommandReply::Done) => success_line(id.as_ref(), &kind, None),
            Ok(execute::CommandReply::Data(data)) => success_line(id.as_ref(), &kind, Some(&data)),
            Err(error) => failure_line(&RejectedLine {
                id,
                command: Some(kind),
                error,
            }),
        };
        self.send(respond).await;
    }

    async fn send(&self, line: String) {
        if let Err(error) = self.sink.send(line).await {
            tracing::debug!(%error, "an answer has no reader");
        }
    }
}
