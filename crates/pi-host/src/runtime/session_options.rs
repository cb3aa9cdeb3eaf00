//! Options of a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_config::ResourceFlags;
use pi_core::{Environment, ToolSource};
use pi_extensions::ExtensionOptions;
use pi_protocol::McpServerSpec;
use pi_protocol::settings::SandboxMode;
use pi_tools::OpenBuffers;

use crate::connection::ClientUi;
use crate::extension_adapter::ExtensionTrustResolver;
use crate::model_choice::ModelFlags;
use crate::participants::Participants;
use crate::session::Barrier;
use crate::session_choice::SessionChoice;
use crate::toolset::ToolSelection;
use crate::workspace::{Workspace, WorkspaceOptions};

/// Options of a session; every field has a sensible default.
#[derive(Clone)]
pub struct SessionOptions {
    /// Working directory, unless the session specifies another; absolute.
    pub cwd: PathBuf,
    pub session: SessionChoice,
    /// Session directory (`--session-dir`).
    pub session_dir: Option<String>,
    /// Name of the session (`--name`).
    pub name: Option<String>,
    /// Working directory to use if the one of the session no longer exists.
    pub cwd_override: Option<PathBuf>,
    pub models: ModelFlags,
    pub tools: ToolSelection,
    /// Tools of the embedding program. They replace tools of extensions and built-in tools with the
    /// same name.
    pub tool_sources: Vec<Arc<dyn ToolSource>>,
    /// Where tools work instead of this machine, such as in a container. Its variables are those of commands.
    pub environment: Option<Arc<Environment>>,
    /// Text of files that are open in an editor, for tools that read them.
    pub open_buffers: Option<Arc<dyn OpenBuffers>>,
    /// MCP servers of the embedding program. Servers that files configure replace those with the same name.
    pub mcp_servers: Vec<McpServerSpec>,
    pub resources: ResourceFlags,
    /// The extension UI, and the flags for extensions.
    pub extensions: ExtensionOptions,
    /// Whether `session_start` fires inside `start()` or is left to the front end.
    pub session_start: StartNotification,
    /// Creates the participants of every session; they follow the extensions.
    pub participants: Arc<dyn ParticipantsFactory>,
    /// Shows notices of extensions to clients that come and go.
    pub client_ui: Option<ClientUi>,
    /// Decides at barriers whether runs proceed; without it, there are none.
    pub barrier: Option<Arc<dyn Barrier>>,
    /// What tools and commands may do at most, whatever the settings allow.
    pub sandbox_limit: SandboxMode,
}

/// When `session_start` fires for the first session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartNotification {
    /// Before [`Host::start`](crate::Host::start) returns.
    #[default]
    Immediate,
    /// When the front end calls
    /// [`SessionRuntime::notify_session_start`](super::SessionRuntime::notify_session_start).
    Deferred,
}

impl SessionOptions {
    /// Options for a new session in a directory.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            session: SessionChoice::default(),
            session_dir: None,
            name: None,
            cwd_override: None,
            models: ModelFlags::default(),
            tools: ToolSelection::default(),
            tool_sources: Vec::new(),
            environment: None,
            open_buffers: None,
            mcp_servers: Vec::new(),
            resources: ResourceFlags::default(),
            extensions: ExtensionOptions::default(),
            session_start: StartNotification::Immediate,
            participants: Arc::new(Participants::default()),
            client_ui: None,
            barrier: None,
            sandbox_limit: SandboxMode::Off,
        }
    }

    /// Shows notices and dialogs of extensions to the clients of the session, for a session without a dedicated front
    /// end.
    #[must_use]
    pub fn with_client_ui(mut self, ui: ClientUi) -> Self {
        self.extensions.ui = Arc::new(ui.clone());
        self.client_ui = Some(ui);
        self
    }

    /// Returns how the workspaces of these sessions are loaded.
    pub fn workspace_options(&self) -> WorkspaceOptions {
        WorkspaceOptions {
            resources: self.resources.clone(),
            trust_resolver: Some(Arc::new(ExtensionTrustResolver(self.extensions.clone()))),
        }
    }

    /// Returns the resource flags for a session in another directory; relative paths stay relative
    /// to the directory pi was started in.
    pub(super) fn resources_for_other_directory(&self) -> ResourceFlags {
        let mut flags = self.resources.clone();
        let lists = [
            &mut flags.extensions,
            &mut flags.skills,
            &mut flags.prompt_templates,
            &mut flags.themes,
        ];
        for path in lists.into_iter().flatten() {
            if is_plain_path(path) {
                *path = self.cwd.join(&*path).to_string_lossy().into_owned();
            }
        }
        let texts = flags.system_prompt.iter_mut();
        for text in texts.chain(&mut flags.append_system_prompt) {
            // A text is a path only if such a file exists.
            let path = self.cwd.join(&*text);
            if is_plain_path(text) && path.is_file() {
                *text = path.to_string_lossy().into_owned();
            }
        }
        flags
    }
}

/// Whether the text is a path, not a URL or package name.
fn is_plain_path(text: &str) -> bool {
    let prefix = text.split(['/', '\\']).next().unwrap_or(text);
    !text.starts_with('~') && !prefix.contains(':') && Path::new(text).is_relative()
}

impl std::fmt::Debug for SessionOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SessionOptions")
            .field("cwd", &self.cwd)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Creates the participants of a session; called for each new session.
pub trait ParticipantsFactory: Send + Sync {
    /// Returns the participants of a session that uses this workspace.
    fn create_participants<'a>(&'a self, workspace: &'a Workspace) -> BoxFuture<'a, Participants>;
}

/// The same participants for every session.
impl ParticipantsFactory for Participants {
    fn create_participants<'a>(&'a self, _workspace: &'a Workspace) -> BoxFuture<'a, Participants> {
        Box::pin(std::future::ready(self.clone()))
    }
}
