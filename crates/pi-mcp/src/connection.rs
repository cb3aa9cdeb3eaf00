//! A configured server: connects on demand, connects again when a call finds the connection gone, and keeps what is known
//! about the server.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use http::{HeaderMap, HeaderName, HeaderValue};
use pi_auth::{CommandCache, CommandReuse, ValueTemplate};
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{McpCommand, McpEndpoint, McpServerSpec, McpState, McpTransport};
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::auth::{AuthChallenge, McpAuth};
use crate::client::{Client, ClientObserver, ListKind, ListPage, RequestOptions};
use crate::error::{METHOD_NOT_FOUND, McpError};
use crate::http::{HttpTarget, HttpTransport};
use crate::log::McpLog;
use crate::stdio::{ServerCommand, StdioTransport, expand_home};
use crate::transport::{Transport, WeakInbox};

/// How long to wait before tools are read again that changed while they were read.
const CHANGE_PAUSE: Duration = Duration::from_millis(250);

/// Delays before an HTTP server is tried again.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// Variables that servers of a project inherit.
const PROJECT_VARIABLES: [&str; 8] = [
    "PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "SHELL", "LOGNAME",
];

/// Where a connection comes from and what it uses.
#[derive(Clone)]
pub struct ConnectionOptions {
    pub spec: McpServerSpec,
    /// The directory of the session.
    pub cwd: PathBuf,
    pub env: Env,
    pub http: HttpClient,
    pub auth: Option<Arc<dyn McpAuth>>,
    pub log: Arc<McpLog>,
    /// Outputs of commands in the configuration.
    pub commands: CommandCache,
    pub variables: InheritedVariables,
}

/// The environment of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InheritedVariables {
    /// That of this process.
    All,
    /// Those that programs need to work: a project does not get the user's keys.
    Basic,
}

/// A tool as the server declares it.
pub type DeclaredTool = Map<String, Value>;

/// What is known about a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionStatus {
    pub state: McpState,
    pub error: Option<String>,
    pub tools: Arc<Vec<DeclaredTool>>,
    pub has_resources: bool,
    pub instructions: Option<String>,
}

/// A server. Clones share it.
#[derive(Clone)]
pub struct McpConnection(Arc<ConnectionState>);

struct ConnectionState {
    options: ConnectionOptions,
    status: watch::Sender<ConnectionStatus>,
    live: Mutex<LiveClient>,
    /// Announced changes of the tools that were not read yet.
    tool_changes: AtomicUsize,
    closing: CancellationToken,
}

#[derive(Default)]
struct LiveClient {
    client: Option<Client>,
    /// The attempt in progress, which all callers share.
    opening: Option<Shared<BoxFuture<'static, Result<Client, McpError>>>>,
    /// Counts clients: what an earlier one reports is ignored.
    generation: u64,
}

/// Whether a request may be sent again after it may have been processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// It only reads.
    Allowed,
    Never,
}

impl McpConnection {
    pub fn new(options: ConnectionOptions) -> Self {
        let status = ConnectionStatus {
            state: McpState::Connecting,
            error: None,
            tools: Arc::default(),
            has_resources: false,
            instructions: None,
        };
        Self(Arc::new(ConnectionState {
            options,
            status: watch::Sender::new(status),
            live: Mutex::default(),
            tool_changes: AtomicUsize::new(0),
            closing: CancellationToken::new(),
        }))
    }

    pub fn spec(&self) -> &McpServerSpec {
        &self.0.options.spec
    }

    pub fn status(&self) -> ConnectionStatus {
        self.0.status.borrow().clone()
    }

    /// Watches the status.
    pub fn watch(&self) -> watch::Receiver<ConnectionStatus> {
        self.0.status.subscribe()
    }

    /// Returns what the server asked for when it last rejected a request.
    pub fn challenge(&self) -> Option<AuthChallenge> {
        self.0.options.auth.as_ref()?.challenge()
    }

    pub fn state(&self) -> McpState {
        self.0.status.borrow().state
    }

    /// Returns whether two handles are the same connection.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Connects unless there is a connection. Its outcome is in the status, too.
    pub async fn connect(&self) -> Result<(), McpError> {
        self.client().await.map(drop)
    }

    /// Connects again, for example after a sign-in.
    pub async fn reconnect(&self) -> Result<(), McpError> {
        self.drop_client().await;
        self.connect().await
    }

    /// Disconnects after the credentials were removed.
    pub async fn sign_out(&self) {
        self.drop_client().await;
        if !self.0.closing.is_cancelled() {
            self.0.set_state(McpState::NeedsAuth, None);
        }
    }

    /// Ends the connection for good; returns when nothing of it is left.
    pub async fn close(&self) {
        self.0.closing.cancel();
        self.0.set_state(McpState::Closed, None);
        self.drop_client().await;
        if let Some(auth) = &self.0.options.auth {
            auth.settled().await;
        }
    }

    async fn drop_client(&self) {
        let opening = self.0.live().opening.clone();
        if let Some(opening) = opening {
            opening.await.ok();
        }
        let client = {
            let mut live = self.0.live();
            live.generation += 1;
            live.client.take()
        };
        if let Some(client) = client {
            client.close().await;
        }
    }

    fn client(&self) -> BoxFuture<'static, Result<Client, McpError>> {
        let state = &self.0;
        if state.closing.is_cancelled() {
            let name = &state.options.spec.name;
            let error = McpError::Reported(format!("MCP server \"{name}\" is shut down"));
            return std::future::ready(Err(error)).boxed();
        }
        let mut live = state.live();
        if let Some(client) = live.client.as_ref().filter(|client| client.is_connected()) {
            return std::future::ready(Ok(client.clone())).boxed();
        }
        if let Some(opening) = &live.opening {
            return opening.clone().boxed();
        }
        // A task: an attempt continues when its first caller no longer waits.
        let task = tokio::spawn(Arc::clone(state).open());
        let opening = async move {
            let crashed = || McpError::Setup("connecting failed unexpectedly".to_owned());
            task.await.unwrap_or_else(|_panic| Err(crashed()))
        };
        let opening = opening.boxed().shared();
        live.opening = Some(opening.clone());
        opening.boxed()
    }

    /// Sends a request, and connects before if needed.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        params: Value,
        options: RequestOptions,
        repetition: Repetition,
    ) -> Result<Value, McpError> {
        let send = |client: Client| {
            let (params, options) = (params.clone(), options.clone());
            async move { client.request(method, Some(params), options).await }.boxed()
        };
        self.run(repetition, send).await
    }

    /// Returns a page of a list, or all of it. A server without templates has none.
    pub(crate) async fn list(
        &self,
        list: ListKind,
        page: PageChoice,
        options: RequestOptions,
    ) -> Result<ListPage, McpError> {
        let read = |client: Client| {
            let (page, options) = (page.clone(), options.clone());
            async move {
                let result = match page {
                    PageChoice::All => {
                        let items = client.list_all(list, &options).await;
                        items.map(|items| ListPage {
                            items,
                            next_cursor: None,
                        })
                    }
                    PageChoice::One(cursor) => client.list_page(list, cursor, options).await,
                };
                match result {
                    Err(McpError::Rpc { code, .. })
                        if code == METHOD_NOT_FOUND && list == ListKind::ResourceTemplates =>
                    {
                        Ok(ListPage::default())
                    }
                    other => other,
                }
            }
            .boxed()
        };
        self.run(Repetition::Allowed, read).await
    }

    async fn run<Answer>(
        &self,
        repetition: Repetition,
        operation: impl Fn(Client) -> BoxFuture<'static, Result<Answer, McpError>>,
    ) -> Result<Answer, McpError> {
        let mut is_first = true;
        loop {
            let client = self.client().await?;
            let error = match operation(client.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let may_repeat = std::mem::take(&mut is_first);
            match error {
                McpError::SessionExpired if may_repeat => {
                    // Other calls of this client get the same error and repeat, too, so it is not closed.
                    self.0.detach(&client);
                }
                McpError::Http { .. }
                    if may_repeat && repetition == Repetition::Allowed && error.is_transient() =>
                {
                    tokio::time::sleep(RETRY_DELAYS[0]).await;
                }
                McpError::Unauthorized if self.0.options.auth.is_some() => {
                    self.0.detach(&client);
                    client.close().await;
                    self.0.set_state(McpState::NeedsAuth, None);
                    return Err(self.0.sign_in_needed());
                }
                error => return Err(error),
            }
        }
    }
}

/// Which part of a list to read.
#[derive(Debug, Clone)]
pub(crate) enum PageChoice {
    All,
    /// The page at a cursor, or the first.
    One(Option<String>),
}

impl ConnectionState {
    fn live(&self) -> MutexGuard<'_, LiveClient> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_state(&self, state: McpState, error: Option<String>) {
        self.status.send_modify(|status| {
            status.state = state;
            status.error = error;
        });
    }

    /// Forgets a client; the next request connects again.
    fn detach(&self, client: &Client) {
        let mut live = self.live();
        if live
            .client
            .as_ref()
            .is_some_and(|known| known.is_same(client))
        {
            live.client = None;
            live.generation += 1;
        }
    }

    fn sign_in_needed(&self) -> McpError {
        let spec = &self.options.spec;
        let command = match &spec.transport {
            McpTransport::Http(McpEndpoint {
                provider: Some(provider),
                ..
            }) => format!("/login {provider}"),
            _ => format!("/mcp login {}", spec.name),
        };
        McpError::Reported(format!(
            "MCP server \"{}\" requires a sign-in. Run {command} to sign in.",
            spec.name
        ))
    }

    /// Connects; an HTTP server is tried again after transient errors.
    async fn open(self: Arc<Self>) -> Result<Client, McpError> {
        self.set_state(McpState::Connecting, None);
        let mut delays = match &self.options.spec.transport {
            McpTransport::Http(_) => RETRY_DELAYS.iter(),
            McpTransport::Stdio(_) => [].iter(),
        };
        let result = loop {
            let failure = match self.connect_once().await {
                Ok(client) => break Ok(client),
                Err(failure) => failure,
            };
            let Some(delay) = delays.next().filter(|_| failure.error.is_transient()) else {
                break Err(failure);
            };
            let slept = self.closing.run_until_cancelled(tokio::time::sleep(*delay));
            if slept.await.is_none() {
                break Err(failure);
            }
        };
        self.live().opening = None;
        result.map_err(|failure| self.connect_failed(failure))
    }

    fn connect_failed(&self, failure: ConnectFailure) -> McpError {
        let is_closed = self.closing.is_cancelled();
        if failure.error == McpError::Unauthorized && self.options.auth.is_some() && !is_closed {
            self.set_state(McpState::NeedsAuth, None);
            return self.sign_in_needed();
        }
        let mut text = failure.error.to_string();
        if let Some(output) = failure.error_output {
            text.push('\n');
            text.push_str(&output);
        }
        if !is_closed {
            self.set_state(McpState::Failed, Some(text.clone()));
        }
        let name = &self.options.spec.name;
        McpError::Reported(format!("MCP server \"{name}\" failed to connect: {text}"))
    }

    async fn connect_once(self: &Arc<Self>) -> Result<Client, ConnectFailure> {
        let generation = {
            let mut live = self.live();
            live.generation += 1;
            live.generation
        };
        let options = &self.options;
        let observer = ConnectionObserver {
            connection: Arc::downgrade(self),
            generation,
        };
        let timeout = options.spec.timeout;
        let client = match &options.spec.transport {
            McpTransport::Stdio(command) => {
                let command = self.resolve_command(command).await?;
                Client::start(&options.cwd, Box::new(observer), |inbox: WeakInbox| {
                    let transport = StdioTransport::start(command, inbox)?;
                    Ok(Box::new(transport) as Box<dyn Transport>)
                })?
            }
            McpTransport::Http(endpoint) => {
                let target = self.resolve_endpoint(endpoint).await?;
                Client::start(&options.cwd, Box::new(observer), |inbox: WeakInbox| {
                    Ok(Box::new(HttpTransport::new(target, inbox)) as Box<dyn Transport>)
                })?
            }
        };
        let setup = async {
            let info = client.initialize(timeout).await?;
            let tools = if info.has_tools {
                let options = RequestOptions::new(timeout);
                client.list_all(ListKind::Tools, &options).await?
            } else {
                Vec::new()
            };
            Ok::<_, McpError>((info, tools))
        };
        let outcome = self.closing.run_until_cancelled(setup).await;
        match outcome.unwrap_or(Err(McpError::Closed)) {
            Ok((info, tools)) if client.is_connected() && !self.closing.is_cancelled() => {
                self.live().client = Some(client.clone());
                self.status.send_modify(|status| {
                    *status = ConnectionStatus {
                        state: McpState::Connected,
                        error: None,
                        tools: Arc::new(tools),
                        has_resources: info.has_resources,
                        instructions: info.instructions,
                    };
                });
                Ok(client)
            }
            Ok(_) => Err(close_failed(&client, McpError::Closed).await),
            Err(error) => Err(close_failed(&client, error).await),
        }
    }

    async fn resolve_command(&self, command: &McpCommand) -> Result<ServerCommand, McpError> {
        let ConnectionOptions { env, cwd, .. } = &self.options;
        let home = env.home_dir();
        let expand = |word: &str| expand_home(word, home.as_deref());
        let mut variables = Vec::new();
        for (name, value) in &command.env {
            let value = self.resolve(value, &format!("variable {name}")).await?;
            variables.push((name.clone(), value));
        }
        Ok(ServerCommand {
            program: expand(&command.command).into(),
            args: command.args.iter().map(|arg| expand(arg)).collect(),
            cwd: cwd.join(expand(command.cwd.as_deref().unwrap_or("."))),
            variables,
            base: match self.options.variables {
                InheritedVariables::All => None,
                InheritedVariables::Basic => Some(basic_variables()),
            },
        })
    }

    async fn resolve_endpoint(&self, endpoint: &McpEndpoint) -> Result<HttpTarget, McpError> {
        let ConnectionOptions {
            env, http, auth, ..
        } = &self.options;
        let mut headers = HeaderMap::new();
        for (name, value) in &endpoint.headers {
            let subject = format!("header {name}");
            let value = self.resolve(value, &subject).await?;
            let invalid = || McpError::Setup(format!("the {subject} is not valid"));
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_invalid| invalid())?;
            let mut value = HeaderValue::from_str(&value).map_err(|_invalid| invalid())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let url = Url::parse(&endpoint.url)
            .map_err(|error| McpError::Setup(format!("the URL is not valid: {error}")))?;
        Ok(HttpTarget {
            url,
            headers,
            client: http.clone(),
            env: env.clone(),
            auth: auth.clone(),
        })
    }

    async fn resolve(&self, value: &str, subject: &str) -> Result<String, McpError> {
        if value.is_empty() {
            return Ok(String::new());
        }
        let ConnectionOptions { env, commands, .. } = &self.options;
        let template = ValueTemplate::from(value);
        let resolved = template.resolve(env, CommandReuse::Cached(commands)).await;
        let resolved = resolved
            .map_err(|error| McpError::Setup(format!("cannot resolve the {subject}: {error}")))?;
        Ok(resolved.expose_secret().to_owned())
    }

    /// Reads the tools again after the server changed them. Changes that are announced meanwhile are read together, so
    /// that a server that announces them without end causes one request at a time.
    async fn follow_tools(self: Arc<Self>, generation: u64) {
        let is_current = self.live().generation == generation;
        if !is_current || self.tool_changes.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        loop {
            let known = self.tool_changes.load(Ordering::Acquire);
            self.refresh_tools().await;
            let changes = &self.tool_changes;
            if changes
                .compare_exchange(known, 0, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
            {
                return;
            }
            tokio::time::sleep(CHANGE_PAUSE).await;
        }
    }

    async fn refresh_tools(&self) {
        let (client, generation) = {
            let live = self.live();
            (live.client.clone(), live.generation)
        };
        let Some(client) = client else {
            return;
        };
        let options = RequestOptions::new(self.options.spec.timeout);
        let tools = client.list_all(ListKind::Tools, &options).await;
        if self.live().generation != generation {
            return;
        }
        self.status.send_modify(|status| match tools {
            Ok(tools) => {
                status.tools = Arc::new(tools);
                status.error = None;
            }
            Err(error) => status.error = Some(format!("cannot read the changed tools: {error}")),
        });
    }

    fn connection_lost(&self, generation: u64) {
        let client = {
            let mut live = self.live();
            if live.generation != generation {
                return;
            }
            live.generation += 1;
            live.client.take()
        };
        let Some(client) = client else {
            return;
        };
        if self.closing.is_cancelled() {
            return;
        }
        let mut text = "the server closed the connection".to_owned();
        if let Some(output) = client.error_output() {
            text.push('\n');
            text.push_str(&output);
        }
        self.set_state(McpState::Disconnected, Some(text));
    }
}

/// Why no connection was made.
struct ConnectFailure {
    error: McpError,
    /// What a child process wrote to its standard error.
    error_output: Option<String>,
}

impl From<McpError> for ConnectFailure {
    fn from(error: McpError) -> Self {
        Self {
            error,
            error_output: None,
        }
    }
}

async fn close_failed(client: &Client, error: McpError) -> ConnectFailure {
    client.close().await;
    ConnectFailure {
        error,
        error_output: client.error_output(),
    }
}

struct ConnectionObserver {
    connection: Weak<ConnectionState>,
    generation: u64,
}

impl ClientObserver for ConnectionObserver {
    fn notified(&self, method: &str, params: &Value) {
        let Some(connection) = self.connection.upgrade() else {
            return;
        };
        match method {
            "notifications/message" => {
                let ConnectionOptions { spec, log, .. } = &connection.options;
                log.write(&spec.name, params);
            }
            "notifications/tools/list_changed" => {
                tokio::spawn(connection.follow_tools(self.generation));
            }
            _ => {}
        }
    }

    fn connection_lost(&self) {
        if let Some(connection) = self.connection.upgrade() {
            connection.connection_lost(self.generation);
        }
    }
}

fn basic_variables() -> Vec<(String, String)> {
    let is_basic = |name: &str| PROJECT_VARIABLES.contains(&name) || name.starts_with("LC_");
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables.filter(|(name, _)| is_basic(name)).collect()
}

/// Returns the parameters of a tool call.
pub(crate) fn call_params(tool: &str, arguments: &Map<String, Value>) -> Value {
    json!({"name": tool, "arguments": arguments})
}
