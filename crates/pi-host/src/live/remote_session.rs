//! A session that another process runs, for a front end in this one.
//!
//! The entries are read from the file: they are stored before they are published. Everything else, such as growing
//! messages, the queue and questions, comes from the socket. The result is a session of this process that can be read
//! like any other ([`RemoteSession::runtime`]); changes are commands to the other process.

mod components;
mod dialogs;
mod follow;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pi_extensions::ExtensionUi;
use pi_protocol::json;
use pi_protocol::{
    AgentMessage, ClientHello, ClientRight, Command, CommandInfo, LiveMessage, Model, RequestId,
    ScreenSize, ThinkingLevel,
};
use pi_session::{AccessMode, OpenSession, PackedIndex, Session};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use components::{RemoteScreen, screen_size};

use super::LiveDirectory;
use super::link::{CommandSender, SnapshotLine, SocketLink};
use super::remote_error::RemoteError;
use super::remote_state::RemoteState;
use crate::connection::IndexLine;
use crate::host::Host;
use crate::model_choice::ModelFlags;
use crate::runtime::{SessionOptions, SessionRuntime};
use crate::session::{AgentSession, Follower};
use crate::session_choice::{OpenedSession, SessionChoice};

/// How long the other process may take to list its slash commands.
const COMMAND_LIST_TIME: Duration = Duration::from_secs(5);

/// The connection to the process that runs a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkStatus {
    /// A number that grows when the session has to be shown again: after a reconnect, missed events or a move in the tree.
    Connected(u32),
    /// Another session replaced it there, which cannot be attached to before its first message.
    Replaced,
    /// The session that replaced it is ready: [`RemoteSession::take_successor`] returns it.
    Succeeded,
    /// The process has ended, and no other has taken over.
    Ended,
}

/// A session that another process runs. Clones refer to the same one; dropping the last one disconnects.
#[derive(Clone)]
pub struct RemoteSession {
    shared: Arc<RemoteInner>,
    _stop: Arc<DropGuard>,
}

struct RemoteInner {
    id: String,
    is_read_only: bool,
    directory: LiveDirectory,
    host: Host,
    /// For the session that may replace this one.
    options: SessionOptions,
    runtime: SessionRuntime,
    successor: Mutex<Option<RemoteSession>>,
    ui: Arc<dyn ExtensionUi>,
    state: Mutex<RemoteState>,
    commands: Mutex<CommandSender>,
    status: watch::Sender<LinkStatus>,
    /// The dialogs that are shown here.
    dialogs: Mutex<HashMap<RequestId, CancellationToken>>,
    screen: Mutex<RemoteScreen>,
    /// The slash commands of the session, once they are known.
    slash_commands: OnceLock<Vec<CommandInfo>>,
}

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
        let ui = Arc::clone(&options.extensions.ui);
        let screen = screen_size(&*ui);
        let hello = ClientHello {
            index: Some(PackedIndex::FORMAT),
            ..hello(is_read_only, screen)
        };
        let (link, mut first) = connect(&directory, id, hello).await?;
        let index = first.index.take();
        let file = first
            .state
            .session_file
            .clone()
            .ok_or(RemoteError::NoFile)?;
        let session = Session::open(
            &PathBuf::from(file),
            OpenSession {
                access: AccessMode::Read,
                index: index.as_ref().and_then(IndexLine::packed),
                env: host.env().clone(),
                ..OpenSession::default()
            },
        )?;
        let mirror = mirror_options(options.clone(), session);
        let runtime = Box::pin(host.start(mirror)).await?;
        let shared = Arc::new(RemoteInner {
            id: id.to_owned(),
            is_read_only,
            directory,
            host,
            options,
            runtime,
            successor: Mutex::default(),
            ui,
            state: Mutex::default(),
            commands: Mutex::new(link.commands.clone()),
            status: watch::Sender::new(LinkStatus::Connected(1)),
            dialogs: Mutex::default(),
            screen: Mutex::default(),
            slash_commands: OnceLock::new(),
        });
        if let Some(index) = index {
            Follower::of(&shared.session()).adopt_totals(index.totals);
        }
        shared.screen_connected(screen);
        shared.connect_components();
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

    /// Waits until commands reach the process that runs the session, if the connection was lost. Returns `false` if no
    /// process runs it any more.
    pub async fn wait_for_connection(&self) -> bool {
        let mut status = self.status();
        let connected = status.wait_for(|status| match status {
            LinkStatus::Connected(_) => !self.shared.commands().is_closed(),
            LinkStatus::Replaced | LinkStatus::Succeeded | LinkStatus::Ended => true,
        });
        matches!(connected.await.as_deref(), Ok(LinkStatus::Connected(_)))
    }

    /// Returns the session that replaced this one, once, after [`LinkStatus::Succeeded`].
    pub fn take_successor(&self) -> Option<Self> {
        self.shared.successor.lock().take()
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
    hello: ClientHello,
) -> Result<(SocketLink, SnapshotLine), RemoteError> {
    SocketLink::open(directory.open(id).await?, hello).await
}

/// Returns the first line of a front end.
fn hello(is_read_only: bool, screen: Option<ScreenSize>) -> ClientHello {
    ClientHello {
        right: is_read_only.then_some(ClientRight::View),
        screen,
        elicitation: !is_read_only,
        ..ClientHello::default()
    }
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

impl RemoteInner {
    fn state(&self) -> MutexGuard<'_, RemoteState> {
        self.state.lock()
    }

    fn commands(&self) -> CommandSender {
        let commands = self.commands.lock();
        commands.clone()
    }

    fn session(&self) -> AgentSession {
        self.runtime.session()
    }

    async fn read_slash_commands(&self) {
        let commands = self.commands();
        let reading = commands.request(&Command::GetCommands);
        let read = match tokio::time::timeout(COMMAND_LIST_TIME, reading).await {
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
        // Entries that were stored after the state was read continue the conversation.
        let read = session.history().with_session(|it| it.entries().len());
        if line.entry_count.is_none_or(|count| read <= count) {
            Follower::of(&session).move_to(line.state.leaf_id.as_ref())?;
        }
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
}
