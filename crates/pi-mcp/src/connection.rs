//! A configured server: connects on demand, connects again when a call finds the connection gone, and keeps what is known
//! about the server.

mod active_calls;
mod opening;
mod resolution;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use pi_auth::CommandCache;
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{McpEndpoint, McpServerSpec, McpState, McpTransport};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::auth::{AuthChallenge, McpAuth};
use crate::client::{
    Client, ClientObserver, ListKind, ListPage, RequestOptions, ServerRequestAnswer,
};
use crate::error::{METHOD_NOT_FOUND, McpError};
use crate::log::McpLog;
use active_calls::ActiveCalls;

/// How long to wait before tools are read again that changed while they were read.
const CHANGE_PAUSE: Duration = Duration::from_millis(250);

/// Delays before an HTTP server is tried again.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

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
    /// Whether a user can answer questions of the server.
    pub has_elicitation: bool,
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
    pub has_prompts: bool,
    /// Counts changes of the prompts.
    pub prompts_version: u64,
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
    active: ActiveCalls,
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
            has_prompts: false,
            prompts_version: 0,
            instructions: None,
        };
        Self(Arc::new(ConnectionState {
            options,
            status: watch::Sender::new(status),
            live: Mutex::default(),
            tool_changes: AtomicUsize::new(0),
            closing: CancellationToken::new(),
            active: ActiveCalls::default(),
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

    /// Writes a warning about the server to the log.
    pub(crate) fn log_warning(&self, text: &str) {
        let ConnectionOptions { spec, log, .. } = &self.0.options;
        log.write(
            &spec.name,
            &json!({"level": "warning", "logger": "pi", "data": text}),
        );
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
            "notifications/prompts/list_changed" => {
                let change = |status: &mut ConnectionStatus| status.prompts_version += 1;
                connection.status.send_modify(change);
            }
            "notifications/tools/list_changed" => {
                tokio::spawn(connection.follow_tools(self.generation));
            }
            _ => {}
        }
    }

    fn requested(&self, method: &str, params: Value) -> Option<ServerRequestAnswer> {
        let connection = self.connection.upgrade()?;
        connection.answer_request(method, params)
    }

    fn connection_lost(&self) {
        if let Some(connection) = self.connection.upgrade() {
            connection.connection_lost(self.generation);
        }
    }
}

/// Returns the parameters of a tool call.
pub(crate) fn call_params(tool: &str, arguments: &Map<String, Value>) -> Value {
    json!({"name": tool, "arguments": arguments})
}
