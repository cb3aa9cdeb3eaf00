//! Clients of runs on other machines: commands are requests to the worker of a run, and events are published while a
//! client renews its watch.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Request, RequestErrorKind};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::names::RunAddress;
use super::server::{Server, server_error};
use crate::engine::EngineError;
use crate::live::{LiveClient, LiveHost, LiveLink, LivePort, LiveWatch, response_line};

/// How long events are published after a client has asked for them, and how often it asks.
const WATCH: Duration = Duration::from_secs(15);
const RENEWAL: Duration = Duration::from_secs(5);

/// How long a command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(1);

/// Longest message. The server accepts 1 MiB by default.
const MESSAGE_BYTES: usize = 900 * 1024;

/// The command that asks for events; the agent never receives it.
const WATCH_COMMAND: &str = "fleet_watch";

/// Serves the clients of a run until the host is dropped.
pub(super) async fn listen(server: Arc<Server>, run: &RunAddress) -> Result<LiveHost, EngineError> {
    let failed = |error: &dyn std::error::Error| server_error("listen to clients", error);
    let commands = server.client.subscribe(server.names.control(run)).await;
    let mut commands = commands.map_err(|error| failed(&error))?;
    let subject = server.names.live(run);
    Ok(LiveHost::new(|port| {
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut watch: Option<LiveWatch> = None;
            let mut ends = Instant::now();
            loop {
                tokio::select! {
                    message = commands.next() => {
                        let Some(message) = message else {
                            return;
                        };
                        let command: Value = serde_json::from_slice(&message.payload).unwrap_or_default();
                        let response = if command["type"] == WATCH_COMMAND {
                            ends = Instant::now() + WATCH;
                            watch.get_or_insert_with(|| port.events.watch());
                            response_line(&command, Ok(Value::Null))
                        } else {
                            let Some(response) = respond(&port, command).await else {
                                return;
                            };
                            response
                        };
                        if let Some(reply) = message.reply {
                            server.client.publish(reply, response.to_string().into()).await.ok();
                        }
                    }
                    event = next(&mut watch) => {
                        let Some(event) = event else {
                            return;
                        };
                        let event = if event.len() > MESSAGE_BYTES {
                            json!({"type": "events_skipped", "count": 1}).to_string()
                        } else {
                            event.to_string()
                        };
                        server.client.publish(subject.clone(), event.into()).await.ok();
                    }
                    () = tokio::time::sleep_until(ends), if watch.is_some() => watch = None,
                }
            }
        });
        serving
    }))
}

/// Returns the next event of a watch; never, without one.
async fn next(watch: &mut Option<LiveWatch>) -> Option<Arc<str>> {
    match watch {
        Some(watch) => watch.next().await,
        None => std::future::pending().await,
    }
}

async fn respond(port: &LivePort, command: Value) -> Option<Value> {
    let response = port.request(command.clone()).await?;
    if response.to_string().len() <= MESSAGE_BYTES {
        return Some(response);
    }
    let error = "the response is too long; use pi fleet results for the session";
    Some(response_line(&command, Err(error.to_owned())))
}

/// Connects to the worker of a run; `None` if none answers.
pub(super) async fn attach(
    server: Arc<Server>,
    run: RunAddress,
) -> Result<Option<LiveClient>, EngineError> {
    let events = server.client.subscribe(server.names.live(&run)).await;
    let events = events.map_err(|error| server_error("watch a run", &error))?;
    let peer = Peer { server, run };
    let watch = json!({"type": WATCH_COMMAND});
    let asking = peer.request(&watch);
    let answer = peer.server.guard("attach to a run", asking).await?;
    if answer.is_none() {
        return Ok(None);
    }
    let (client, ends) = LiveClient::new();
    tokio::spawn(relay(peer, events, ends));
    Ok(Some(client))
}

async fn relay(peer: Peer, mut events: async_nats::Subscriber, mut client: LiveLink) {
    let mut renewal = tokio::time::interval(RENEWAL);
    loop {
        let line = tokio::select! {
            event = events.next() => match event {
                Some(event) => serde_json::from_slice(&event.payload).unwrap_or_default(),
                None => return,
            },
            command = client.commands.recv() => match command {
                Some(command) => match peer.request(&command).await {
                    Some(response) => response,
                    None => return,
                },
                None => return,
            },
            _tick = renewal.tick() => {
                if peer.request(&json!({"type": WATCH_COMMAND})).await.is_none() {
                    return;
                }
                continue;
            }
        };
        if client.lines.send(line).await.is_err() {
            return;
        }
    }
}

/// The worker of a run.
struct Peer {
    server: Arc<Server>,
    run: RunAddress,
}

impl Peer {
    /// Sends a command and returns its response; `None` if no worker has the run.
    async fn request(&self, command: &Value) -> Option<Value> {
        let request = Request::new()
            .payload(command.to_string().into())
            .timeout(Some(COMMAND_TIMEOUT));
        let subject = self.server.names.control(&self.run);
        match self.server.client.send_request(subject, request).await {
            Ok(response) => serde_json::from_slice(&response.payload).ok(),
            Err(error) if error.kind() == RequestErrorKind::NoResponders => None,
            Err(error) => Some(response_line(command, Err(error.to_string()))),
        }
    }
}
