//! The servers of a session: starts and stops them with the session, and provides their tools.

mod command;
mod connecting;
mod held_changes;
mod manage;
mod manager;
mod pinning;
mod reach;
mod registered;
mod report;
mod section;
mod session;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use pi_auth::CommandCache;
use pi_config::{AgentDir, ConfiguredMcpServer, McpConfig, McpConfigFiles, load_mcp_config};
use pi_core::{ReachedTools, ToolRegistry};
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::settings::{DotMcpJson, McpPinning};
use pi_protocol::{McpServerSpec, McpServerStatus, ProjectAccess};
use pi_sandbox::Sandbox;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::completion::KnownResources;
use crate::connection::McpConnection;
use crate::connector::McpConnector;
use crate::pins::McpPins;
use crate::pool::{McpPool, PooledConnection};
use crate::prompts::McpPrompt;
use held_changes::HeldChanges;
use pinning::PinReview;
use tools::ToolState;

pub use manage::McpChange;
pub use report::server_status;
pub use section::MCP_SERVERS_SECTION;
pub use session::{ExtensionServer, McpNoticeLevel, McpSession, SessionToolInfo};

/// What the servers of a session use.
pub struct McpServersOptions {
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    pub project: ProjectAccess,
    pub env: Env,
    pub http: HttpClient,
    pub pool: McpPool,
    pub commands: CommandCache,
    /// What happens when a known tool changes, if the user has decided.
    pub pinning: Option<McpPinning>,
    /// Whether the project's `.mcp.json` is read.
    pub dot_mcp_json: DotMcpJson,
    /// Files with servers for this run.
    pub config_files: Vec<PathBuf>,
    /// Confines servers that are started as processes.
    pub sandbox: Option<Arc<Sandbox>>,
}

/// The servers of a session. Clones share them.
#[derive(Clone)]
pub struct McpServers(pub(crate) Arc<ServersState>);

pub(crate) struct ServersState {
    options: McpServersOptions,
    pub(crate) connector: McpConnector,
    registry: Arc<ToolRegistry>,
    pins: McpPins,
    inner: Mutex<ServersInner>,
    /// Changes with everything that is shown about the servers.
    changes: watch::Sender<u64>,
    tasks: TaskTracker,
    pub(crate) resources: KnownResources,
}

#[derive(Default)]
pub(crate) struct ServersInner {
    /// `None` before the session starts and after it has ended.
    session: Option<Arc<dyn McpSession>>,
    pub(crate) servers: Vec<ManagedServer>,
    config_errors: Vec<String>,
    /// What files override among the servers of extensions.
    overridden: Vec<String>,
    project_file: Option<PathBuf>,
    is_codemode_enabled: bool,
    /// Whether a user can answer questions of servers.
    has_elicitation: bool,
    has_warned: bool,
    has_waited: bool,
    /// Whether the problems of the last attempts have been reported.
    reported: Option<watch::Receiver<bool>>,
    tools: ToolState,
    held: HeldChanges,
    next_attempt: u64,
}

/// A sign-in that another process may complete.
#[derive(Debug)]
pub(crate) struct NeededSignIn {
    /// The stored tokens when it was needed first.
    pub(crate) tokens: Option<String>,
}

pub(crate) struct ManagedServer {
    pub(crate) configured: ConfiguredMcpServer,
    connection: Option<PooledConnection>,
    /// Whether the last attempt to connect has ended.
    ready: Option<watch::Receiver<bool>>,
    attempt: u64,
    /// What went wrong with the last change.
    message: Option<String>,
    /// Set while a sign-in is needed.
    pub(crate) needed_sign_in: Option<NeededSignIn>,
    pins: PinReview,
    pub(crate) prompts: Vec<McpPrompt>,
    /// The version of the prompts that were read last.
    prompts_version: u64,
}

impl ManagedServer {
    fn new(configured: ConfiguredMcpServer) -> Self {
        Self {
            configured,
            connection: None,
            ready: None,
            attempt: 0,
            message: None,
            needed_sign_in: None,
            pins: PinReview::default(),
            prompts: Vec::new(),
            prompts_version: 0,
        }
    }

    pub(crate) fn spec(&self) -> &McpServerSpec {
        &self.configured.spec
    }

    fn name(&self) -> &str {
        &self.configured.spec.name
    }

    pub(crate) fn live(&self) -> Option<&McpConnection> {
        self.connection.as_ref().map(PooledConnection::connection)
    }
}

impl ServersInner {
    pub(crate) fn find(&self, name: &str) -> Option<&ManagedServer> {
        self.servers.iter().find(|server| server.name() == name)
    }

    pub(crate) fn find_mut(&mut self, name: &str) -> Option<&mut ManagedServer> {
        self.servers.iter_mut().find(|server| server.name() == name)
    }
}

impl McpServers {
    pub fn new(options: McpServersOptions) -> Self {
        let connector = McpConnector {
            http: options.http.clone(),
            commands: options.commands.clone(),
            sandbox: options.sandbox.clone(),
            ..McpConnector::new(
                options.agent_dir.clone(),
                options.cwd.clone(),
                options.env.clone(),
            )
        };
        let pins = McpPins::new(&options.agent_dir);
        Self(Arc::new(ServersState {
            options,
            connector,
            registry: Arc::default(),
            pins,
            inner: Mutex::default(),
            changes: watch::Sender::new(0),
            tasks: TaskTracker::new(),
            resources: KnownResources::default(),
        }))
    }

    /// Returns the tools of the servers.
    pub fn tools(&self) -> Arc<ToolRegistry> {
        Arc::clone(&self.0.registry)
    }

    /// Watches for changes of what is known about the servers.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Reads the configuration and starts to connect. Returns at once; problems are reported when all attempts have ended.
    pub async fn start(&self, session: Arc<dyn McpSession>) {
        let options = &self.0.options;
        let config = load_mcp_config(McpConfigFiles {
            agent_dir: &options.agent_dir,
            cwd: &options.cwd,
            project: options.project,
            dot_mcp_json: options.dot_mcp_json,
            more: &options.config_files,
        });
        let enabled = self.0.configure(config, Arc::clone(&session));
        self.0.publish_statuses();
        self.0.ensure_discovery().await;
        if enabled.is_empty() {
            self.0.report_problems(None).await;
            return;
        }
        self.0.connect_all(&enabled, ReportScope::Everything);
    }

    /// Connects to servers that extensions have registered since, and drops those that are gone.
    pub async fn extensions_changed(&self) {
        let (removed, added) = self.0.apply_extension_servers();
        self.0.ensure_discovery().await;
        join_all(removed.into_iter().map(PooledConnection::release)).await;
        if !added.is_empty() {
            let scope = ReportScope::Servers(added.clone());
            self.0.connect_all(&added, scope);
        }
    }

    /// Ends the connections that no other session uses.
    pub async fn stop(&self) {
        let servers = {
            let mut inner = self.0.inner();
            inner.session = None;
            std::mem::take(&mut inner.servers)
        };
        self.0.changed();
        let connections = servers.into_iter().filter_map(|server| server.connection);
        join_all(connections.map(PooledConnection::release)).await;
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Lets servers ask the user, who answers through a client. Connects again where servers did not know about it.
    pub fn offer_elicitation(&self) {
        let connected: Vec<String> = {
            let mut inner = self.0.inner();
            if std::mem::replace(&mut inner.has_elicitation, true) {
                return;
            }
            let connected = inner
                .servers
                .iter()
                .filter(|server| server.live().is_some());
            connected.map(|server| server.name().to_owned()).collect()
        };
        for name in connected {
            self.0.start_connection(&name);
        }
    }

    /// Waits until every attempt to connect has ended.
    pub async fn wait_until_settled(&self) {
        self.0.wait_for(|_| true).await;
        self.0.wait_for_report().await;
    }

    /// Waits for the servers that a call needs: those that its tool may reach, or its own.
    pub async fn wait_for_call(&self, tool: &str, reached: Option<ReachedTools>) {
        self.0.wait_for_call(tool, reached).await;
    }

    /// Waits for servers whose tools are declared to the model, once per session and not for long.
    pub async fn wait_for_direct_tools(&self) {
        self.0.wait_for_direct_tools().await;
    }

    /// Returns the section of the system prompt that lists the servers.
    pub fn prompt_section(&self) -> Option<String> {
        section::render(&self.0.inner().servers)
    }

    /// Returns the state of all servers.
    pub fn statuses(&self) -> Vec<McpServerStatus> {
        let inner = self.0.inner();
        inner.servers.iter().map(report::status).collect()
    }

    /// Runs `/mcp` with arguments.
    pub async fn run_command(&self, arguments: &str) {
        command::run(self, arguments).await;
    }

    /// Returns completions of the arguments of `/mcp`.
    pub fn complete(&self, prefix: &str) -> Vec<McpCompletion> {
        command::complete(self, prefix)
    }
}

/// A completion of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpCompletion {
    pub value: String,
    pub label: String,
    pub description: Option<String>,
}

/// What problems are reported when attempts to connect have ended.
enum ReportScope {
    Everything,
    Servers(Vec<String>),
}

impl ServersState {
    pub(crate) fn inner(&self) -> MutexGuard<'_, ServersInner> {
        self.inner.lock()
    }

    pub(crate) fn session(&self) -> Option<Arc<dyn McpSession>> {
        self.inner().session.clone()
    }

    pub(crate) fn changed(&self) {
        self.changes.send_modify(|version| *version += 1);
    }

    pub(crate) async fn notify(&self, level: McpNoticeLevel, message: String) {
        let session = self.session();
        if let Some(session) = session {
            session.notify(level, message).await;
        }
    }

    /// Takes over a configuration; returns the names of the enabled servers.
    fn configure(&self, config: McpConfig, session: Arc<dyn McpSession>) -> Vec<String> {
        let registered = session.extension_servers();
        let mut inner = self.inner();
        inner.has_elicitation |= session.has_screen();
        inner.session = Some(session);
        inner.config_errors = config.errors;
        inner.project_file = config.project_file;
        inner.is_codemode_enabled = config.auto_enable_codemode.unwrap_or(true);
        inner.has_warned = false;
        inner.has_waited = false;
        let configured = config.servers.into_iter();
        inner.servers = configured.map(ManagedServer::new).collect();
        let (servers, overridden) = inner.extension_servers(registered);
        inner
            .servers
            .extend(servers.into_iter().map(ManagedServer::new));
        inner.overridden = overridden;
        let enabled = inner.servers.iter().filter(|server| server.spec().enabled);
        let enabled = enabled.map(|server| server.name().to_owned()).collect();
        drop(inner);
        self.changed();
        enabled
    }

    /// Publishes the state of the servers with every change, until the session ends.
    fn publish_statuses(self: &Arc<Self>) {
        let state = Arc::clone(self);
        let mut changes = self.changes.subscribe();
        self.tasks.spawn(async move {
            let mut published = Vec::new();
            loop {
                changes.borrow_and_update();
                let (session, statuses): (_, Vec<_>) = {
                    let inner = state.inner();
                    let statuses = inner.servers.iter().map(report::status).collect();
                    (inner.session.clone(), statuses)
                };
                let Some(session) = session else {
                    return;
                };
                if statuses != published {
                    session.statuses_changed(statuses.clone()).await;
                    published = statuses;
                }
                if changes.changed().await.is_err() {
                    return;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests;
