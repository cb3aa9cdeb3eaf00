//! Attached clients: what the worker of a run offers them, and what they receive from it. Both ends speak the commands,
//! responses and events of RPC mode.
//!
//! Events leave a worker only while a client watches.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc, oneshot};

/// Number of events that wait for a slow client; older ones are skipped.
const EVENTS: usize = 1024;

/// Number of commands that wait for the agent.
const COMMANDS: usize = 64;

/// A command of a client. The reply is the line of its response.
pub struct LiveRequest {
    pub command: Value,
    pub reply: oneshot::Sender<Value>,
}

/// The events of a run; cheap to clone.
#[derive(Clone)]
pub struct LiveEvents(broadcast::Sender<Arc<str>>);

impl LiveEvents {
    pub fn is_watched(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Sends an event to the clients that watch.
    pub fn publish(&self, event: &Value) {
        if self.is_watched() {
            // The last client may have left.
            self.0.send(event.to_string().into()).ok();
        }
    }

    pub(crate) fn watch(&self) -> LiveWatch {
        LiveWatch(self.0.subscribe())
    }
}

/// The events that one client receives.
pub(crate) struct LiveWatch(broadcast::Receiver<Arc<str>>);

impl LiveWatch {
    /// Returns the next event; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Option<Arc<str>> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(
                json!({"type": "events_skipped", "count": count})
                    .to_string()
                    .into(),
            ),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// The end of the worker. Dropping it disconnects the clients.
pub struct LiveHost {
    requests: mpsc::Receiver<LiveRequest>,
    events: LiveEvents,
    /// What keeps the connections.
    _connections: Box<dyn Send + Sync>,
}

/// The end of what carries requests and events.
#[derive(Clone)]
pub(crate) struct LivePort {
    pub(crate) requests: mpsc::Sender<LiveRequest>,
    pub(crate) events: LiveEvents,
}

impl LivePort {
    /// Sends a command to the agent, and returns the line of its response; `None` if the agent has ended.
    pub(crate) async fn request(&self, command: Value) -> Option<Value> {
        let (reply, response) = oneshot::channel();
        let request = LiveRequest { command, reply };
        self.requests.send(request).await.ok()?;
        response.await.ok()
    }
}

impl LiveHost {
    /// Creates a host whose connections are kept by what `connect` returns.
    pub(crate) fn new<C: Send + Sync + 'static>(connect: impl FnOnce(LivePort) -> C) -> Self {
        let (sender, requests) = mpsc::channel(COMMANDS);
        let events = LiveEvents(broadcast::Sender::new(EVENTS));
        let port = LivePort {
            requests: sender,
            events: events.clone(),
        };
        Self {
            requests,
            events,
            _connections: Box::new(connect(port)),
        }
    }

    /// Creates a host that no client can reach.
    pub fn unreachable() -> Self {
        Self::new(|port| port)
    }

    pub fn events(&self) -> LiveEvents {
        self.events.clone()
    }

    /// Returns the next command of a client.
    pub async fn next_request(&mut self) -> Option<LiveRequest> {
        self.requests.recv().await
    }
}

/// The end of a client.
pub struct LiveClient {
    commands: mpsc::Sender<Value>,
    lines: mpsc::Receiver<Value>,
}

/// The end of what carries the lines of a client.
pub(crate) struct LiveLink {
    pub(crate) commands: mpsc::Receiver<Value>,
    pub(crate) lines: mpsc::Sender<Value>,
}

impl LiveClient {
    pub(crate) fn new() -> (Self, LiveLink) {
        let (command_sender, commands) = mpsc::channel(COMMANDS);
        let (line_sender, lines) = mpsc::channel(EVENTS);
        let client = Self {
            commands: command_sender,
            lines,
        };
        let link = LiveLink {
            commands,
            lines: line_sender,
        };
        (client, link)
    }

    /// Sends a command to the agent; returns whether its worker is connected.
    pub async fn send(&self, command: Value) -> bool {
        self.commands.send(command).await.is_ok()
    }

    /// Returns the next response or event; `None` when the worker has ended or lost the run.
    pub async fn next_line(&mut self) -> Option<Value> {
        self.lines.recv().await
    }
}

/// Returns the line of a response.
pub(crate) fn response_line(command: &Value, result: Result<Value, String>) -> Value {
    let mut line = json!({"type": "response"});
    for (field, value) in [("id", command.get("id")), ("command", command.get("type"))] {
        if let Some(value) = value {
            line[field] = value.clone();
        }
    }
    line["success"] = result.is_ok().into();
    match result {
        Ok(Value::Null) => {}
        Ok(data) => line["data"] = data,
        Err(error) => line["error"] = error.into(),
    }
    line
}
