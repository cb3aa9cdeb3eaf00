//! The boundary between the application and a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_host::{LinkStatus, McpCompleter, Workspace};
use pi_protocol::{
    CommandInfo, ConfigDiagnostic, LiveMessage, SessionEvent, SessionStats, SessionTree,
    StreamPhase,
};

use super::command::{SessionChange, SessionCommand};
use super::history::SessionHistory;
use super::outcome::SessionOutcome;
use super::snapshot::{ProviderInfo, SessionSnapshot};

/// Something that happened in the session.
#[derive(Debug)]
pub(crate) enum PortUpdate {
    /// Another session replaced it; the port already refers to that one.
    Replaced,
    Event(SessionEvent),
    /// The phase of the current request; `None` between requests.
    Phase(Option<StreamPhase>),
    /// The connection to the process that runs the session changed.
    Link(LinkStatus),
}

/// What was found while the session was opened.
#[derive(Debug, Default)]
pub(crate) struct OpeningReport {
    pub(crate) diagnostics: Vec<ConfigDiagnostic>,
    /// Why another model than the requested one is used.
    pub(crate) model_fallback: Option<String>,
}

/// A process that holds a session which is open here, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionHolder {
    /// Other processes can attach to the session.
    Attachable,
    /// Another program, or a pi that only runs one prompt.
    Other,
}

/// A session and its workspace: in this process, or at the other end of a connection.
///
/// The application reads snapshots, applies changes, submits commands and receives updates. It never waits for
/// a session on its event loop: whatever takes time is a command.
pub(crate) trait SessionPort: Send {
    fn snapshot(&self) -> SessionSnapshot;

    /// Returns the settings, models and resources of the session's directory.
    fn workspace(&self) -> Arc<Workspace>;

    fn provider_info(&self) -> ProviderInfo;

    fn history(&self) -> Arc<dyn SessionHistory>;

    fn tree(&self) -> SessionTree;

    /// Returns the message that is being streamed.
    fn live_message(&self) -> Option<LiveMessage>;

    /// Returns the usage so far. Reads the whole session unless
    /// [`CountUsage`](SessionCommand::CountUsage) has completed.
    fn usage(&self) -> Option<SessionStats>;

    /// Returns the commands of extensions, skills and templates.
    fn commands(&self) -> Vec<CommandInfo>;

    /// Returns the completion of what MCP servers offer.
    fn mcp_completer(&self) -> Option<McpCompleter> {
        None
    }

    /// Takes the problems found while the session was opened.
    fn take_opening_report(&self) -> OpeningReport;

    /// Returns how another process holds the session, if one does: this one can only read it.
    fn held_elsewhere(&self) -> Option<SessionHolder> {
        None
    }

    /// Resolves the path of a session file to import.
    fn find_import(&self, path: &Path) -> Result<PathBuf, String>;

    fn apply(&self, change: SessionChange) -> Result<(), String>;

    fn submit(&self, command: SessionCommand) -> BoxFuture<'static, SessionOutcome>;

    /// Waits for the next update. Dropping the future loses nothing.
    fn next_update(&mut self) -> BoxFuture<'_, PortUpdate>;

    /// Returns the next event if one is waiting.
    fn try_next_event(&mut self) -> Option<SessionEvent>;

    /// Switches to the session that replaced the current one; returns whether there is one.
    fn take_replacement(&mut self) -> bool;

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()>;
}
