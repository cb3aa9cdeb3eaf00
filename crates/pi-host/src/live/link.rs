//! The client's end of a connection: commands with their responses, and the lines in between.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use pi_protocol::json;
use pi_protocol::{ClientHello, Command, Snapshot};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::RemoteError;
use super::socket::{GREETING_TIME, LiveConnection, LiveLines, LiveWriter};
use crate::connection::IndexLine;

/// Commands that wait to be written.
const CAPACITY: usize = 64;

type Reply = Result<Value, String>;

/// Sends commands to the session. Clones use the same connection.
#[derive(Clone)]
pub(super) struct CommandSender(Arc<SenderInner>);

struct SenderInner {
    lines: mpsc::Sender<String>,
    /// `None` once the connection has ended.
    waiting: Mutex<Option<HashMap<String, oneshot::Sender<Reply>>>>,
    last_id: AtomicU64,
}

impl CommandSender {
    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<String, oneshot::Sender<Reply>>>> {
        self.0.waiting.lock()
    }

    /// Sends a command and waits for the data of its response.
    pub(super) async fn request(&self, command: &Command) -> Result<Value, RemoteError> {
        let mut record = serde_json::to_value(command).map_err(RemoteError::protocol)?;
        let id = (self.0.last_id.fetch_add(1, Ordering::Relaxed) + 1).to_string();
        if let Some(record) = record.as_object_mut() {
            record.insert("id".to_owned(), id.clone().into());
        }
        let line = pi_protocol::json::to_string(&record).map_err(RemoteError::protocol)?;
        let (sender, reply) = oneshot::channel();
        match &mut *self.waiting() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(RemoteError::Ended),
        };
        let sent = self.0.lines.send(line).await;
        sent.map_err(|_closed| RemoteError::Ended)?;
        let reply = reply.await.map_err(|_closed| RemoteError::Ended)?;
        reply.map_err(RemoteError::Rejected)
    }

    fn reply(&self, response: Response) {
        let id = response.id.as_str().map(str::to_owned).unwrap_or_default();
        let waiting = self.waiting().as_mut().and_then(|all| all.remove(&id));
        if let Some(waiting) = waiting {
            let reply = if response.success {
                Ok(response.data)
            } else {
                Err(response.error)
            };
            // The caller may have stopped waiting.
            waiting.send(reply).ok();
        }
    }

    fn close(&self) {
        self.waiting().take();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.0.lines.is_closed() || self.waiting().is_none()
    }
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    id: Value,
    success: bool,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    error: String,
}

/// A connection to a session.
pub(super) struct SocketLink {
    lines: LiveLines,
    pub(super) commands: CommandSender,
    /// The process at the other end, where the system reports it.
    pub(super) pid: Option<u32>,
}

/// The state that a session sends first, and the response that is being streamed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SnapshotLine {
    #[serde(flatten)]
    pub(super) state: Snapshot,
    #[serde(default)]
    pub(super) message: Option<Value>,
    /// Number of entries in the file at that time; unknown for an older process.
    #[serde(default)]
    pub(super) entry_count: Option<usize>,
    /// Where the entries are in the file, if this was asked for.
    #[serde(default)]
    pub(super) index: Option<IndexLine>,
}

impl SocketLink {
    /// Introduces the client and waits for the state of the session.
    pub(super) async fn open(
        connection: LiveConnection,
        hello: ClientHello,
    ) -> Result<(Self, SnapshotLine), RemoteError> {
        let (queue, queued) = mpsc::channel(CAPACITY);
        tokio::spawn(write_lines(connection.writer, queued));
        let commands = CommandSender(Arc::new(SenderInner {
            lines: queue,
            waiting: Mutex::new(Some(HashMap::new())),
            last_id: AtomicU64::new(0),
        }));
        let mut link = Self {
            lines: connection.lines,
            commands,
            pid: connection.pid,
        };
        let greeting = tokio::time::timeout(GREETING_TIME, link.greet(hello));
        let state = greeting.await.map_err(|_late| RemoteError::NoResponse)??;
        Ok((link, state))
    }

    async fn greet(&mut self, hello: ClientHello) -> Result<SnapshotLine, RemoteError> {
        let hello = Command::Hello(ClientHello {
            protocol: Some(1),
            version: Some(pi_env::VERSION.to_owned()),
            ..hello
        });
        let commands = self.commands.clone();
        let mut greeting = std::pin::pin!(commands.request(&hello));
        let mut is_greeted = false;
        loop {
            tokio::select! {
                biased;
                greeted = &mut greeting, if !is_greeted => {
                    greeted?;
                    is_greeted = true;
                }
                line = self.next() => {
                    let line = line.ok_or(RemoteError::Ended)?;
                    if kind(&line) == Some("snapshot") {
                        return json::from_value(&line).map_err(RemoteError::protocol);
                    }
                }
            }
        }
    }

    /// Waits for the next line that is not a response; `None` once the connection has ended. Dropping the future loses
    /// nothing.
    pub(super) async fn next(&mut self) -> Option<Value> {
        while let Some(line) = self.lines.next().await {
            let Ok(line) = serde_json::from_str::<Value>(&line) else {
                tracing::warn!("skipped a line of the session that is not JSON");
                continue;
            };
            if kind(&line) != Some("response") {
                return Some(line);
            }
            match json::from_value(&line) {
                Ok(response) => self.commands.reply(response),
                Err(error) => tracing::warn!(%error, "invalid response of the session"),
            }
        }
        self.commands.close();
        None
    }
}

impl Drop for SocketLink {
    fn drop(&mut self) {
        self.commands.close();
    }
}

/// Returns the type of a line.
pub(super) fn kind(line: &Value) -> Option<&str> {
    line.get("type").and_then(Value::as_str)
}

async fn write_lines(mut writer: LiveWriter, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        if let Err(error) = writer.send(line).await {
            tracing::debug!(%error, "cannot write to the session");
            return;
        }
    }
}
