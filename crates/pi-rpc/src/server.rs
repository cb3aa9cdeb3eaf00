//! Serves a session through the protocol.
//!
//! Lines are started in the order they arrive and run until they first have to wait; waiting
//! commands continue concurrently with later lines. Responses may therefore arrive in a different
//! order than their commands, and carry their `id`. The session executes the commands
//! ([`SessionRuntime::submit_from`]); this file writes its replies and events as lines.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::FutureExt as _;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use parking_lot::{Mutex, MutexGuard};
use pi_host::{
    AgentSession, COMMAND_LINE_LIMIT, ClientLine, CommandOrigin, Handover, InputSource, LineFrame,
    LineReader, LineSink, LineWriter, RpcRequest, SessionRuntime, SessionSubscription,
    failure_line, outcome_line,
};
use pi_protocol::{Command, UpdateFormat};
use tokio::io::AsyncRead;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::barrier::RpcBarrier;
use crate::client_tools::ClientTools;
use crate::events::{CLIENT_READ_TIME, JsonEventWriter};
use crate::rpc_extension_ui::RpcExtensionUi;

/// Maximum number of commands in progress before reading pauses: more than a client needs, few
/// enough to bound memory.
const PENDING_COMMANDS: usize = 4096;

/// How long commands may still run after the input has ended and the session is shut down.
const COMMAND_GRACE: Duration = Duration::from_secs(5);

/// How long to wait for the client to read the last lines at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// How much of a growing message its updates repeat.
    pub updates: UpdateFormat,
    pub stop: CancellationToken,
    /// Sends notices and dialogs of extensions; the instance the runtime was started with.
    pub extensions: RpcExtensionUi,
    /// The tools that the client implements; a source of tools of the runtime.
    pub tools: ClientTools,
    /// The client supervises the runs; the instance the runtime was started with.
    pub barrier: Option<RpcBarrier>,
}

/// Why serving ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeOutcome {
    /// The client closed its input.
    InputEnded,
    /// The client stopped reading.
    OutputClosed,
    /// [`ServeOptions::stop`] was canceled.
    Stopped,
    /// The client has fenced the session at a barrier.
    Fenced,
}

/// Serves a client until it disconnects, then shuts the runtime down.
pub async fn serve(
    runtime: SessionRuntime,
    reader: impl AsyncRead + Unpin,
    writer: LineWriter,
    options: ServeOptions,
) -> ServeOutcome {
    let server = Server {
        events: Arc::new(
            JsonEventWriter::new(writer.sink(), options.updates).with_read_time(CLIENT_READ_TIME),
        ),
        sink: writer.sink(),
        followed: Mutex::new(FollowedSession {
            sessions: runtime.sessions(),
            subscription: None,
        }),
        runtime,
        extensions: options.extensions,
        tools: options.tools,
        barrier: options.barrier,
    };
    if let Some(barrier) = &server.barrier {
        barrier.attach(writer.sink());
    }
    server.tools.attach(writer.sink());
    server.extensions.attach(writer.sink()).await;
    let end = server.run(reader, &options.stop).await;
    let flushed = server.sink.flush();
    match end {
        // If the client stopped reading, there is nothing to flush to it.
        ServeOutcome::InputEnded => flushed.await.unwrap_or_default(),
        ServeOutcome::Stopped | ServeOutcome::Fenced => {
            if tokio::time::timeout(FLUSH_TIMEOUT, flushed).await.is_err() {
                tracing::info!("client did not read the last lines in time");
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
    followed: Mutex<FollowedSession>,
    extensions: RpcExtensionUi,
    tools: ClientTools,
    barrier: Option<RpcBarrier>,
}

/// The session whose events are written.
struct FollowedSession {
    sessions: watch::Receiver<AgentSession>,
    subscription: Option<SessionSubscription>,
}

impl Server {
    async fn run(&self, reader: impl AsyncRead + Unpin, stop: &CancellationToken) -> ServeOutcome {
        let mut lines = LineReader::new(reader, COMMAND_LINE_LIMIT);
        let mut commands = FuturesUnordered::new();
        let mut sessions = self.runtime.sessions();
        self.followed().sessions.mark_changed();
        self.follow_session();
        let end = loop {
            // Poll commands before lines: each command starts before the next line is read.
            tokio::select! {
                biased;
                () = stop.cancelled() => break ServeOutcome::Stopped,
                () = self.sink.closed() => break ServeOutcome::OutputClosed,
                () = self.fenced() => break ServeOutcome::Fenced,
                Ok(()) = sessions.changed() => self.follow_session(),
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
        if let Some(barrier) = &self.barrier {
            // What the client has not seen, it has not recorded: nothing more is stored.
            Handover::of(&self.runtime.session()).fence();
            barrier.close();
        }
        self.events.mute();
        self.unsubscribe();
        // Commands waiting for something that is being shut down may still get a response.
        let mut shutdown = std::pin::pin!(self.runtime.shutdown());
        loop {
            tokio::select! {
                biased;
                Some(()) = commands.next(), if !commands.is_empty() => {}
                () = &mut shutdown => break,
            }
        }
        // What does not wait for the session, such as an export, completes for a client that
        // closed its input after its last command.
        let remaining = async { while commands.next().await.is_some() {} };
        if end == ServeOutcome::InputEnded {
            if tokio::time::timeout(COMMAND_GRACE, remaining)
                .await
                .is_err()
            {
                tracing::info!("commands did not complete in time after the end of input");
            }
        } else {
            remaining.now_or_never();
        }
        end
    }

    /// Waits until the client has fenced the session.
    async fn fenced(&self) {
        match &self.barrier {
            Some(barrier) => barrier.fenced().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until an extension has requested shutdown and the session is idle.
    async fn shutdown_requested(&self) {
        self.extensions.shutdown_requested().await;
        self.runtime.session().wait_for_idle().await;
    }

    /// Subscribes to the current session, if it has replaced another one.
    fn follow_session(&self) {
        let mut followed = self.followed();
        if !followed.sessions.has_changed().unwrap_or(false) {
            return;
        }
        let session = followed.sessions.borrow_and_update().clone();
        let events = Arc::clone(&self.events) as _;
        let earlier = followed.subscription.take();
        followed.subscription = Some(session.subscribe(events));
        drop((followed, earlier));
    }

    fn unsubscribe(&self) {
        let earlier = self.followed().subscription.take();
        drop(earlier);
    }

    fn followed(&self) -> MutexGuard<'_, FollowedSession> {
        self.followed.lock()
    }

    async fn handle_frame(&self, frame: LineFrame) {
        let line = match frame {
            LineFrame::Line(line) => {
                if let Some(barrier) = &self.barrier
                    && barrier.receive(&line)
                {
                    return;
                }
                if let Ok(response) = self.tools.receive(&line) {
                    if let Some(response) = response {
                        self.send(response).await;
                    }
                    return;
                }
                ClientLine::parse(&line)
            }
            LineFrame::TooLong => ClientLine::too_long(COMMAND_LINE_LIMIT),
        };
        match line {
            ClientLine::Request(request) => Box::pin(self.respond(request)).await,
            ClientLine::ExtensionUi(response) => self.extensions.reply(response),
            ClientLine::Rejected(rejected) => self.send(failure_line(&rejected)).await,
        }
    }

    async fn respond(&self, request: RpcRequest) {
        let RpcRequest { id, kind, command } = request;
        let origin = CommandOrigin {
            source: InputSource::Rpc,
            request_id: id.clone(),
        };
        if command == Command::GetMcpServers {
            self.events.follow_servers();
        }
        let hello = match &command {
            Command::Hello(hello) => Some(hello.clone()),
            _ => None,
        };
        let outcome = self.runtime.submit_from(origin, command).await;
        // Subscribe before responding, so that no event of a new session is missed.
        self.follow_session();
        let (line, run) = outcome_line(id, kind, outcome);
        self.send(line).await;
        if let Some(hello) = hello {
            self.extensions.greet(&hello);
        }
        // The run of a prompt begins after its response.
        drop(run);
    }

    async fn send(&self, line: String) {
        if let Err(error) = self.sink.send(line).await {
            tracing::debug!(%error, "response dropped: output is closed");
        }
    }
}

#[cfg(test)]
mod tests;
