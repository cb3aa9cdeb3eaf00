//! The servers of a session: starts and stops them with the session, and provides their tools.

mod command;
mod held_changes;
mod manage;
mod manager;
mod reach;
mod report;
mod section;
mod tools;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, join_all};
use pi_auth::CommandCache;
use pi_config::{AgentDir, ConfiguredMcpServer, McpConfig, load_mcp_config};
use pi_core::{ReachedTools, ToolRegistry};
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{McpScope, McpServerSpec, McpServerStatus, McpState, ProjectAccess};
use secrecy::SecretString;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::connection::McpConnection;
use crate::connector::McpConnector;
use crate::pool::{McpPool, PooledConnection};
use held_changes::HeldChanges;
use tools::ToolState;

pub use manage::McpChange;
pub use report::server_status;
pub use section::MCP_SERVERS_SECTION;

/// What the servers of a session use.
pub struct McpServersOptions {
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    pub project: ProjectAccess,
    pub env: Env,
    pub http: HttpClient,
    pub pool: McpPool,
    pub commands: CommandCache,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpNoticeLevel {
    Info,
    Warning,
    Error,
}

/// A tool of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionToolInfo {
    pub name: String,
    /// Whether it calls or loads other tools.
    pub reaches_tools: bool,
}

/// A server that an extension registered.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionServer {
    pub spec: McpServerSpec,
    pub extension: String,
}

/// The session, as the servers see it.
pub trait McpSession: Send + Sync {
    fn tools(&self) -> Vec<SessionToolInfo>;

    fn active_tools(&self) -> Vec<String>;

    fn set_active_tools(&self, names: &[String]);

    /// Returns the servers that extensions have registered.
    fn extension_servers(&self) -> Vec<ExtensionServer>;

    /// Shows a message to the user.
    fn notify(&self, level: McpNoticeLevel, message: String) -> BoxFuture<'static, ()>;

    /// Lets the user choose an option.
    fn select(&self, title: String, options: Vec<String>) -> BoxFuture<'static, Option<String>>;

    /// Asks for a text. Dropping the result closes the dialog.
    fn input(&self, title: String, placeholder: String) -> BoxFuture<'static, Option<String>>;

    /// Whether a user can respond to dialogs.
    fn has_user(&self) -> bool;

    /// Whether the user sees a screen with menus.
    fn has_screen(&self) -> bool;

    /// Publishes the state of all servers.
    fn statuses_changed(&self, servers: Vec<McpServerStatus>) -> BoxFuture<'static, ()>;

    /// Returns the current token of a provider.
    fn provider_token(&self, provider: &str) -> BoxFuture<'static, Option<SecretString>>;
}

/// The servers of a session. Clones share them.
#[derive(Clone)]
pub struct McpServers(pub(crate) Arc<ServersState>);

pub(crate) struct ServersState {
    options: McpServersOptions,
    pub(crate) connector: McpConnector,
    registry: Arc<ToolRegistry>,
    inner: Mutex<ServersInner>,
    /// Changes with everything that is shown about the servers.
    changes: watch::Sender<u64>,
    tasks: TaskTracker,
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
        }
    }

    fn spec(&self) -> &McpServerSpec {
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

    fn find_mut(&mut self, name: &str) -> Option<&mut ManagedServer> {
        self.servers.iter_mut().find(|server| server.name() == name)
    }
}

impl McpServers {
    pub fn new(options: McpServersOptions) -> Self {
        let connector = McpConnector {
            http: options.http.clone(),
            commands: options.commands.clone(),
            ..McpConnector::new(
                options.agent_dir.clone(),
                options.cwd.clone(),
                options.env.clone(),
            )
        };
        Self(Arc::new(ServersState {
            options,
            connector,
            registry: Arc::default(),
            inner: Mutex::default(),
            changes: watch::Sender::new(0),
            tasks: TaskTracker::new(),
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
        let config = load_mcp_config(&options.agent_dir, &options.cwd, options.project);
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
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn session(&self) -> Option<Arc<dyn McpSession>> {
        self.inner().session.clone()
    }

    fn changed(&self) {
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

    /// Applies what extensions have registered; returns the connections to end and the names of servers to connect to.
    fn apply_extension_servers(self: &Arc<Self>) -> (Vec<PooledConnection>, Vec<String>) {
        let Some(session) = self.session() else {
            return (Vec::new(), Vec::new());
        };
        let registered = session.extension_servers();
        let mut inner = self.inner();
        let (wanted, overridden) = inner.extension_servers(registered);
        inner.overridden = overridden;
        let is_wanted = |server: &ManagedServer| {
            server.configured.scope != McpScope::Extension
                || wanted.iter().any(|wanted| {
                    wanted.spec.name == server.name() && wanted.spec.config == server.spec().config
                })
        };
        let servers = std::mem::take(&mut inner.servers);
        let (kept, dropped): (Vec<_>, Vec<_>) = servers.into_iter().partition(is_wanted);
        inner.servers = kept;
        let mut added = Vec::new();
        for server in wanted {
            if inner.find(&server.spec.name).is_none() {
                if server.spec.enabled {
                    added.push(server.spec.name.clone());
                }
                inner.servers.push(ManagedServer::new(server));
            }
        }
        drop(inner);
        for server in &dropped {
            self.hide_tools(server.name());
        }
        self.changed();
        let connections = dropped.into_iter().filter_map(|server| server.connection);
        (connections.collect(), added)
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

    /// Connects to servers in the background, then reports problems.
    fn connect_all(self: &Arc<Self>, names: &[String], scope: ReportScope) {
        let attempts: Vec<_> = names
            .iter()
            .map(|name| self.start_connection(name))
            .collect();
        let (done, reported) = watch::channel(false);
        self.inner().reported = Some(reported);
        let state = Arc::clone(self);
        self.tasks.spawn(async move {
            for mut ready in attempts {
                ready.wait_for(|ready| *ready).await.ok();
            }
            let only = match &scope {
                ReportScope::Everything => None,
                ReportScope::Servers(names) => Some(names.as_slice()),
            };
            state.report_problems(only).await;
            done.send_replace(true);
        });
    }

    /// Starts to connect to a server; the result becomes true when the attempt has ended.
    fn start_connection(self: &Arc<Self>, name: &str) -> watch::Receiver<bool> {
        let (done, ready) = watch::channel(false);
        let mut inner = self.inner();
        inner.next_attempt += 1;
        let attempt = inner.next_attempt;
        let session = inner.session.clone();
        let Some(server) = inner.find_mut(name) else {
            done.send_replace(true);
            return ready;
        };
        server.attempt = attempt;
        server.ready = Some(ready.clone());
        let options = self.connector.options(&server.configured, session);
        let pooled = self.options.pool.acquire(options);
        let connection = pooled.connection().clone();
        let replaced = server.connection.replace(pooled);
        drop(inner);
        self.changed();
        let (state, name) = (Arc::clone(self), name.to_owned());
        self.tasks.spawn(async move {
            if let Some(replaced) = replaced {
                replaced.release().await;
            }
            // The outcome is in the status of the connection.
            let outcome = connection.connect().await;
            state.connection_changed(&name, &connection);
            if let Err(error) = outcome {
                tracing::debug!(%error, server = name, "cannot connect to an MCP server");
            }
            done.send_replace(true);
            state.follow(&name, &connection).await;
        });
        ready
    }

    /// Applies changes of a connection until another one replaces it.
    async fn follow(self: &Arc<Self>, name: &str, connection: &McpConnection) {
        let mut status = connection.watch();
        let mut known = status.borrow().clone();
        let mut others = self.changes.subscribe();
        loop {
            // Checked before waiting: the session may have ended while the server connected.
            let is_current = {
                let inner = self.inner();
                let live = inner.find(name).and_then(ManagedServer::live);
                live.is_some_and(|live| live.is_same(connection))
            };
            if !is_current {
                return;
            }
            tokio::select! {
                changed = status.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let current = status.borrow_and_update().clone();
                    let is_list = known.state == McpState::Connected
                        && current.state == McpState::Connected
                        && !Arc::ptr_eq(&known.tools, &current.tools);
                    known = current;
                    if is_list {
                        self.list_changed(name, connection);
                    } else {
                        self.connection_changed(name, connection);
                    }
                }
                _ = others.changed() => {}
            }
        }
    }
}

impl ServersInner {
    /// Returns the servers of extensions that no file configures, and what files override.
    fn extension_servers(
        &self,
        registered: Vec<ExtensionServer>,
    ) -> (Vec<ConfiguredMcpServer>, Vec<String>) {
        let (mut servers, mut overridden) = (Vec::new(), Vec::new());
        for ExtensionServer { spec, extension } in registered {
            let mut files = self.servers.iter().map(|server| &server.configured);
            let file = files.find(|server| {
                server.scope != McpScope::Extension && server.spec.namespace() == spec.namespace()
            });
            match file {
                Some(file) => overridden.push(format!(
                    "\"{}\" of {extension} is overridden by \"{}\" in {}",
                    spec.name,
                    file.spec.name,
                    file.source.display()
                )),
                None => servers.push(ConfiguredMcpServer {
                    spec,
                    source: extension.into(),
                    scope: McpScope::Extension,
                    override_file: None,
                }),
            }
        }
        (servers, overridden)
    }
}
