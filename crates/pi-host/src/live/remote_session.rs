//! A session that another process runs, for a front end in this one.
//!
//! The entries are read from the file: they are stored before they are published. Everything else, such as growing
//! messages, the queue and questions, comes from the socket. The result is a session of this process that can be read
//! like any other ([`RemoteSession::runtime`]); changes are commands to the other process.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use pi_extensions::{DialogPrompt, ExtensionDialog, ExtensionUi};
use pi_protocol::json;
use pi_protocol::{
    AgentMessage, Answer, Command, CommandInfo, LiveMessage, Model, Request, RequestId,
    RequestKind, SessionEvent, ThinkingLevel,
};
use pi_session::{AccessMode, OpenSession, Session, SessionError};
use serde::Deserialize as _;
use serde_json::Value;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::link::{CommandSender, Link, SnapshotLine, kind};
use super::remote_state::{RemoteState, may_store};
use super::{LiveDirectory, LiveSocketError};
use crate::host::Host;
use crate::model_choice::ModelFlags;
use crate::runtime::{SessionOptions, SessionRuntime, StartError};
use crate::session::{AgentSession, Follower};
use crate::session_choice::{OpenedSession, SessionChoice};

/// How long a client tries to connect again: another process may take the session over.
const RECONNECT_TIME: Duration = Duration::from_secs(5);

const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Why a session of another process cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemoteError {
    #[error(transparent)]
    Socket(#[from] LiveSocketError),
    #[error("cannot connect to the session: {0}")]
    Connect(#[source] io::Error),
    #[error("the process that runs the session does not respond")]
    NoResponse,
    #[error("the process that runs the session sent something unexpected: {0}")]
    Protocol(#[source] serde_json::Error),
    #[error("the session has no file")]
    NoFile,
    #[error("the process that ran the session has ended")]
    Ended,
    #[error("{0}")]
    Rejected(String),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Start(#[from] StartError),
}

impl RemoteError {
    pub(super) fn protocol(error: serde_json::Error) -> Self {
        Self::Protocol(error)
    }
}

/// The connection to the process that runs a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkStatus {
    /// A number that grows when the session has to be shown again: after a reconnect, missed events or a move in the tree.
    Connected(u32),
    /// Another session replaced it there.
    Replaced,
    /// The process has ended, and no other has taken over.
    Ended,
}

/// A session that another process runs. Clones refer to the same one; dropping the last one disconnects.
#[derive(Clone)]
pub struct RemoteSession {
    shared: Arc<Shared>,
    _stop: Arc<DropGuard>,
}

struct Shared {
    id: String,
    is_read_only: bool,
    directory: LiveDirectory,
    runtime: SessionRuntime,
    ui: Arc<dyn ExtensionUi>,
    state: Mutex<RemoteState>,
    commands: Mutex<CommandSender>,
    status: watch::Sender<LinkStatus>,
    /// The dialogs that are shown here.
    dialogs: Mutex<HashMap<RequestId, CancellationToken>>,
    /// The slash commands of the session, once they are known.
    slash_commands: OnceLock<Vec<CommandInfo>>,
}

pub(super) type SocketLink = Link<Box<dyn AsyncRead + Send + Unpin>>;

impl RemoteSession {
    /// Connects to the process that runs a session, and opens the file of the session for reading. Of the options, those
    /// for models, tools and extensions do not apply.
    pub async fn attach(
        host: &Host,
        options: SessionOptions,
        id: &str,
        is_read_only: bool,
    ) -> Result<Self, RemoteError> {
        let host = host.with_options(|options| {
            options.live = false;
            options.packages = None;
        });
        let directory = LiveDirectory::new(host.options().agent_dir.path(), host.env());
        let (link, first) = connect(&directory, id, is_read_only).await?;
        let file = first
            .state
            .session_file
            .clone()
            .ok_or(RemoteError::NoFile)?;
        let session = Session::open(
            &PathBuf::from(file),
            OpenSession {
                access: AccessMode::Read,
                env: host.env().clone(),
                ..OpenSession::default()
            },
        )?;
        let ui = Arc::clone(&options.extensions.ui);
        let runtime = Box::pin(host.start(mirror_options(options, session))).await?;
        let shared = Arc::new(Shared {
            id: id.to_owned(),
            is_read_only,
            directory,
            runtime,
            ui,
            state: Mutex::default(),
            commands: Mutex::new(link.commands.clone()),
            status: watch::Sender::new(LinkStatus::Connected(1)),
            dialogs: Mutex::default(),
            slash_commands: OnceLock::new(),
        });
        shared.apply_snapshot(&first)?;
        let stop = CancellationToken::new();
        let following = Arc::clone(&shared).follow(link);
        tokio::spawn(stop.clone().run_until_cancelled_owned(following));
        shared.read_slash_commands().await;
        Ok(Self {
            shared,
            _stop: Arc::new(stop.drop_guard()),
        })
    }

    /// Returns a runtime whose session has the entries and events of the other process. Do not change it.
    pub fn runtime(&self) -> &SessionRuntime {
        &self.shared.runtime
    }

    pub fn is_read_only(&self) -> bool {
        self.shared.is_read_only
    }

    /// Returns what the session is doing.
    pub fn state(&self) -> RemoteState {
        self.shared.state().clone()
    }

    /// Watches the connection.
    pub fn status(&self) -> watch::Receiver<LinkStatus> {
        self.shared.status.subscribe()
    }

    /// Returns the commands of extensions, skills and templates.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let commands = self.shared.slash_commands.get();
        commands.cloned().unwrap_or_default()
    }

    /// Shows the questions that wait for an answer. Call this once the front end is ready for them.
    pub async fn show_pending(&self) {
        self.shared.ask_pending().await;
    }

    /// Sends a command to the process that runs the session, and returns the data of its response.
    pub async fn submit(&self, command: &Command) -> Result<Value, RemoteError> {
        let commands = self.shared.commands();
        commands.request(command).await
    }
}

pub(super) async fn connect(
    directory: &LiveDirectory,
    id: &str,
    is_read_only: bool,
) -> Result<(SocketLink, SnapshotLine), RemoteError> {
    let socket = directory.find(id)?;
    let SocketHalves {
        reader,
        writer,
        pid,
    } = match open_socket(&socket).await {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Err(LiveSocketError::NotLive(id.to_owned()).into());
        }
        connected => connected.map_err(RemoteError::Connect)?,
    };
    let (mut link, first) = Link::open(reader, writer, is_read_only).await?;
    link.pid = pid;
    Ok((link, first))
}

struct SocketHalves {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    pid: Option<u32>,
}

#[cfg(unix)]
async fn open_socket(path: &std::path::Path) -> io::Result<SocketHalves> {
    let stream = tokio::net::UnixStream::connect(path).await?;
    let peer = stream.peer_cred()?;
    if peer.uid() != pi_fs::private::effective_user() {
        return Err(io::Error::other("it belongs to another user"));
    }
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    let (reader, writer) = stream.into_split();
    Ok(SocketHalves {
        reader: Box::new(reader),
        writer: Box::new(writer),
        pid,
    })
}

#[cfg(not(unix))]
async fn open_socket(_path: &std::path::Path) -> io::Result<SocketHalves> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns options for a session that only reads.
fn mirror_options(options: SessionOptions, session: Session) -> SessionOptions {
    let mut options = SessionOptions {
        session: SessionChoice::Opened(OpenedSession::new(session)),
        name: None,
        models: ModelFlags::default(),
        tool_sources: Vec::new(),
        mcp_servers: Vec::new(),
        ..options
    };
    options.resources.extensions.clear();
    options.resources.no_extensions = true;
    options.resources.no_mcp = true;
    options
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, RemoteState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commands(&self) -> CommandSender {
        let commands = self.commands.lock();
        commands.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn session(&self) -> AgentSession {
        self.runtime.session()
    }

    async fn read_slash_commands(&self) {
        let commands = self.commands();
        let reading = commands.request(&Command::GetCommands);
        let read = match tokio::time::timeout(RECONNECT_TIME, reading).await {
            Ok(Ok(data)) => data
                .get("commands")
                .and_then(|commands| json::from_value(commands).ok()),
            Ok(Err(_)) | Err(_) => None,
        };
        if self.slash_commands.set(read.unwrap_or_default()).is_err() {
            tracing::debug!("the slash commands are known already");
        }
    }

    /// Replaces the state.
    fn apply_snapshot(&self, line: &SnapshotLine) -> Result<(), RemoteError> {
        let session = self.session();
        Follower::of(&session).read_appended()?;
        Follower::of(&session).move_to(line.state.leaf_id.as_ref())?;
        self.select(line.state.model.clone(), line.state.thinking_level);
        let mut state = RemoteState::of(&line.state);
        let message = line.message.as_ref().map(json::from_value);
        if let Some(Ok(AgentMessage::Assistant(message))) = message {
            state.live = Some(LiveMessage::copy_of(Arc::unwrap_or_clone(message)));
        }
        *self.state() = state;
        Ok(())
    }

    fn select(&self, model: Option<Arc<Model>>, level: ThinkingLevel) {
        Follower::of(&self.session()).select(model, level);
    }

    /// Handles lines until the process that runs the session has ended and no other takes over.
    async fn follow(self: Arc<Self>, mut link: SocketLink) {
        loop {
            while let Some(line) = link.next().await {
                if !self.receive(line).await {
                    self.status.send_replace(LinkStatus::Replaced);
                    return;
                }
            }
            self.close_dialogs();
            let Some(next) = self.reconnect().await else {
                self.status.send_replace(LinkStatus::Ended);
                return;
            };
            link = next;
            self.show_again();
            self.ask_pending().await;
        }
    }

    async fn reconnect(&self) -> Option<SocketLink> {
        let trying = async {
            loop {
                tokio::time::sleep(RECONNECT_PAUSE).await;
                let connected = connect(&self.directory, &self.id, self.is_read_only).await;
                if let Ok((link, first)) = connected
                    && self.apply_snapshot(&first).is_ok()
                {
                    let commands = self.commands.lock();
                    *commands.unwrap_or_else(PoisonError::into_inner) = link.commands.clone();
                    return link;
                }
            }
        };
        tokio::time::timeout(RECONNECT_TIME, trying).await.ok()
    }

    /// Handles a line; `false` if another session replaced this one.
    async fn receive(self: &Arc<Self>, line: Value) -> bool {
        match kind(&line) {
            Some("snapshot") => match json::from_value::<SnapshotLine>(&line) {
                Ok(first) if first.state.session.as_str() != self.id => return false,
                Ok(first) => {
                    if let Err(error) = self.apply_snapshot(&first) {
                        tracing::warn!(%error, "cannot apply the state of the session");
                    }
                    self.show_again();
                }
                Err(error) => tracing::warn!(%error, "invalid state of the session"),
            },
            Some("extension_ui_request") => match Request::deserialize(&line) {
                Ok(request) => self.ask(request).await,
                Err(error) => tracing::debug!(%error, "notice of an extension is not shown"),
            },
            Some("request_resolved") => {
                if let Some(id) = line.get("request").and_then(Value::as_str) {
                    self.resolved(&RequestId(id.to_owned()));
                }
            }
            _ => match SessionEvent::deserialize(&line) {
                Ok(event) => return self.publish(event).await,
                Err(error) => tracing::debug!(%error, "unknown line of the session"),
            },
        }
        true
    }

    /// Lets the front end show the session from the start.
    fn show_again(&self) {
        self.status.send_modify(|status| {
            if let LinkStatus::Connected(count) = status {
                *count += 1;
            }
        });
    }

    /// Publishes an event in this process; `false` if another session replaced this one.
    async fn publish(self: &Arc<Self>, mut event: SessionEvent) -> bool {
        let session = self.session();
        if may_store(&event)
            && let Err(error) = Follower::of(&session).read_appended()
        {
            tracing::warn!(%error, "cannot read the session file");
        }
        match &event {
            SessionEvent::ModelChanged { provider, model_id } => {
                let model = session.models().model(provider, model_id);
                let level = session.selection().thinking_level();
                self.select(model, level);
            }
            SessionEvent::ThinkingLevelChanged { level } => {
                self.select(session.selection().model(), *level);
            }
            SessionEvent::SessionReplaced { session, .. } if session.as_str() != self.id => {
                return false;
            }
            SessionEvent::LeafMoved { leaf_id } => {
                if let Err(error) = Follower::of(&session).move_to(leaf_id.as_ref()) {
                    tracing::warn!(%error, "cannot follow a move in the tree");
                }
                self.show_again();
                return true;
            }
            SessionEvent::DialogRequested { request } => {
                self.ask(request.clone()).await;
                return true;
            }
            SessionEvent::DialogResolved { request, .. } => {
                self.resolved(request);
                return true;
            }
            _ => {}
        }
        self.state().fold(&mut event);
        Follower::of(&session).publish(event).await;
        true
    }

    async fn ask_pending(self: &Arc<Self>) {
        let pending = self.state().pending.clone();
        for request in pending {
            self.ask(request).await;
        }
    }

    /// Asks the user here. The answer of another client closes the question.
    async fn ask(self: &Arc<Self>, request: Request) {
        if self.is_read_only {
            return;
        }
        let Some(dialog) = dialog_of(&request) else {
            let event = SessionEvent::ApprovalRequested { request };
            Follower::of(&self.session()).publish(event).await;
            return;
        };
        let closed = CancellationToken::new();
        let mut dialogs = self.dialogs.lock().unwrap_or_else(PoisonError::into_inner);
        if dialogs.insert(request.id.clone(), closed.clone()).is_some() {
            return;
        }
        drop(dialogs);
        let shown = self.ui.show_dialog(dialog);
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            let Some(response) = closed.run_until_cancelled(shown).await else {
                return;
            };
            let answer = Command::Answer {
                request: request.id,
                answer: Answer::from(response),
            };
            if let Err(error) = shared.commands().request(&answer).await {
                tracing::debug!(%error, "the answer was not used");
            }
        });
    }

    fn resolved(&self, request: &RequestId) {
        let mut dialogs = self.dialogs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dialog) = dialogs.remove(request) {
            dialog.cancel();
        }
    }

    fn close_dialogs(&self) {
        let mut dialogs = self.dialogs.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, dialog) in dialogs.drain() {
            dialog.cancel();
        }
    }
}

/// Returns the dialog of a request; `None` for an approval.
fn dialog_of(request: &Request) -> Option<ExtensionDialog> {
    let prompt = match request.kind.clone() {
        RequestKind::Select { title, options, .. } => DialogPrompt::Select { title, options },
        RequestKind::Confirm { title, message, .. } => DialogPrompt::Confirm { title, message },
        RequestKind::Input {
            title, placeholder, ..
        } => DialogPrompt::Input { title, placeholder },
        RequestKind::Editor { title, prefill } => DialogPrompt::Editor { title, prefill },
        _ => return None,
    };
    Some(ExtensionDialog {
        id: request.id.0.clone(),
        prompt,
        // The process that asks ends it.
        timeout: None,
    })
}
