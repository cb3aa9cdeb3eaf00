//! Sessions that another process of the user runs: what clients send is forwarded to the socket of that process.

use std::time::Duration;

use http::StatusCode;
use pi_host::{
    AgentSession, GREETING_TIME, LiveConnection, LiveDirectory, LiveLines, LiveSession, LiveWriter,
};
use pi_protocol::{ClientHello, ClientRight, Command, Cursor};
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;

use crate::events::{KEEP_ALIVE, event};
use crate::problem::Problem;
use crate::server::ServerState;

/// How long another process may take to describe its session in a list.
const LISTING_TIME: Duration = Duration::from_millis(500);

/// The ID of the command that begins the events of a client that does not introduce itself.
const FIRST_COMMAND: &str = "pi-serve";

/// A connection to the process that runs a session.
pub(crate) struct RemoteLink {
    lines: LiveLines,
    writer: LiveWriter,
}

/// What distinguishes the lines of a session.
#[derive(Deserialize)]
struct LineHead {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    id: Value,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    success: bool,
    #[serde(default)]
    error: Option<String>,
}

impl LineHead {
    fn of(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// Connects to the process that runs a session; `None` if there is none, or it is this one.
pub(crate) async fn find(state: &ServerState, id: &str) -> Option<RemoteLink> {
    let host = &state.options.host;
    if host.sessions().iter().any(|it| it.session_id() == id) {
        return None;
    }
    let directory = LiveDirectory::new(host.options().agent_dir.path(), &host.options().env);
    match directory.open(id).await {
        Ok(LiveConnection { lines, writer, .. }) => Some(RemoteLink { lines, writer }),
        Err(error) => {
            tracing::debug!(%error, session = id, "no other process runs the session");
            None
        }
    }
}

/// Returns the sessions that other processes run. One that does not answer in time is left out.
pub(crate) async fn running(state: &ServerState) -> Vec<LiveSession> {
    let host = &state.options.host;
    let directory = LiveDirectory::new(host.options().agent_dir.path(), &host.options().env);
    let own: Vec<String> = host
        .sessions()
        .iter()
        .map(AgentSession::session_id)
        .collect();
    let mut ids = directory.ids();
    ids.retain(|id| !own.contains(id));
    let asking = ids.iter().map(|id| {
        let session = directory.session(id);
        async { tokio::time::timeout(LISTING_TIME, session).await.ok()? }
    });
    let found = futures_util::future::join_all(asking).await;
    found.into_iter().flatten().collect()
}

fn ended() -> Problem {
    let problem = "the process that ran the session has ended; send the request again";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, problem)
}

impl RemoteLink {
    async fn send(&mut self, line: &str) -> Result<(), Problem> {
        // A line feed is white space in JSON.
        let sent = self.writer.send(line.replace(['\n', '\r'], " ")).await;
        sent.map_err(|_closed| ended())
    }

    /// Sends a line and returns its response; `None` if such a line gets none.
    pub(crate) async fn command(mut self, line: &str) -> Result<Option<String>, Problem> {
        self.send(line).await?;
        let sent = LineHead::of(line);
        if sent.is_some_and(|sent| sent.r#type == "extension_ui_response") {
            // The line is executed before the connection ends.
            self.writer.shutdown().await;
            while self.lines.next().await.is_some() {}
            return Ok(None);
        }
        while let Some(line) = self.lines.next().await {
            if LineHead::of(&line).is_some_and(|head| head.r#type == "response") {
                return Ok(Some(line));
            }
        }
        Err(ended())
    }

    /// Executes a command whose response has no data.
    pub(crate) async fn execute(self, command: &Command) -> Result<(), Problem> {
        let line = pi_protocol::json::to_string(command);
        let line = line.map_err(|error| Problem::internal(&error))?;
        let response = self.command(&line).await?;
        let response = response.as_deref().and_then(LineHead::of);
        match response {
            Some(response) if !response.success => Err(Problem::new(
                StatusCode::CONFLICT,
                response.error.unwrap_or_default(),
            )),
            _ => Ok(()),
        }
    }

    /// Returns the state of the session without becoming an observer; `hello` selects its entries.
    pub(crate) async fn state(mut self, hello: ClientHello) -> Result<Value, Problem> {
        let hello = ClientHello {
            right: Some(ClientRight::View),
            listing: true,
            ..hello
        };
        self.greet(hello).await?;
        let reading = async {
            while let Some(line) = self.lines.next().await {
                if LineHead::of(&line).is_some_and(|head| head.r#type == "snapshot") {
                    return serde_json::from_str(&line).ok();
                }
            }
            None
        };
        let state = tokio::time::timeout(GREETING_TIME, reading).await;
        state.ok().flatten().ok_or_else(ended)
    }

    async fn greet(&mut self, hello: ClientHello) -> Result<(), Problem> {
        let hello = Command::Hello(ClientHello {
            protocol: Some(1),
            ..hello
        });
        let line = pi_protocol::json::to_string(&hello);
        self.send(&line.map_err(|error| Problem::internal(&error))?)
            .await
    }

    /// Sends the events of the session to a browser. When the process ends, so does the stream, and the browser connects
    /// again.
    pub(crate) async fn send_events(
        mut self,
        hello: ClientHello,
        output: mpsc::Sender<bytes::Bytes>,
    ) {
        let hello = ClientHello {
            cursors: true,
            elicitation: true,
            ..hello
        };
        if self.greet(hello).await.is_err() {
            return;
        }
        loop {
            let part = match tokio::time::timeout(KEEP_ALIVE, self.lines.next()).await {
                Ok(Some(line)) => match forwarded(&line) {
                    Some(part) => part,
                    None => continue,
                },
                Ok(None) => return,
                Err(_elapsed) => bytes::Bytes::from_static(b": \n\n"),
            };
            if output.send(part).await.is_err() {
                return;
            }
        }
    }

    /// Connects the pipe of a WebSocket with the session, until one side ends.
    pub(crate) async fn forward(mut self, pipe: DuplexStream) {
        // A client that only listens sends nothing, and the other process waits for a first line.
        let first = format!(r#"{{"id":"{FIRST_COMMAND}","type":"get_state"}}"#);
        if self.send(&first).await.is_err() {
            return;
        }
        let (mut from_client, mut to_client) = tokio::io::split(pipe);
        let Self {
            mut lines,
            mut writer,
        } = self;
        let sending = async {
            if let Err(error) = writer.copy(&mut from_client).await {
                tracing::debug!(%error, "cannot forward to the session");
            }
            writer.shutdown().await;
        };
        let receiving = async {
            let mut is_first = true;
            while let Some(mut line) = lines.next().await {
                if is_first && LineHead::of(&line).is_some_and(|it| it.id == FIRST_COMMAND) {
                    is_first = false;
                    continue;
                }
                line.push('\n');
                if to_client.write_all(line.as_bytes()).await.is_err() {
                    break;
                }
            }
            to_client.shutdown().await.unwrap_or_default();
        };
        tokio::join!(sending, receiving);
    }
}

/// Returns the server-sent event for a line; `None` for responses.
fn forwarded(line: &str) -> Option<bytes::Bytes> {
    let head = LineHead::of(line)?;
    let text = head.cursor.unwrap_or_default();
    let cursor: Option<Cursor> = text.parse().ok();
    match head.r#type.as_str() {
        "response" => None,
        "snapshot" => Some(event(Some("snapshot"), cursor, line)),
        _ => {
            let marked = line.strip_prefix(&format!(r#"{{"cursor":"{text}","#));
            let unmarked = marked.map(|rest| format!("{{{rest}"));
            Some(event(None, cursor, unmarked.as_deref().unwrap_or(line)))
        }
    }
}
