//! A configured server: connects on demand, connects again when a call finds the connection gone, and keeps what is known
//! about the server.

mod active_calls;
mod idle;
mod lifecycle;
mod observer;
mod opening;
mod requests;
mod resolution;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::{Mutex, MutexGuard};
use pi_auth::CommandCache;
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{McpEndpoint, McpServerSpec, McpState, McpTransport};
use pi_sandbox::Sandbox;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::auth::{AuthChallenge, McpAuth};
use crate::catalog::McpCatalog;
use crate::client::{Client, ListKind, RequestOptions};
use crate::error::McpError;
use crate::log::McpLog;
use active_calls::ActiveCalls;
use idle::Usage;
pub(crate) use requests::{PageChoice, Repetition};

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
    /// Whether the server may use the session's model.
    pub has_sampling: bool,
    /// What servers offered when they were used last.
    pub catalog: McpCatalog,
    /// Confines a server that is started as a process.
    pub sandbox: Option<Arc<Sandbox>>,
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
    pub has_completions: bool,
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
    usage: Usage,
}

#[derive(Default)]
struct LiveClient {
    client: Option<Client>,
    /// The attempt in progress, which all callers share.
    opening: Option<Shared<BoxFuture<'static, Result<Client, McpError>>>>,
    /// Counts clients: what an earlier one reports is ignored.
    generation: u64,
}

impl McpConnection {
    /// Creates a connection, which is not open yet. The tools of a lazy server are those it had last.
    pub fn new(options: ConnectionOptions) -> Self {
        let is_lazy = options.spec.lifecycle.is_lazy;
        let known = is_lazy
            .then(|| options.catalog.load(&options.spec))
            .flatten();
        let known = known.filter(|known| known.tools.is_some());
        let state = match known {
            Some(_) => McpState::Disconnected,
            None => McpState::Connecting,
        };
        let known = known.unwrap_or_default();
        let status = ConnectionStatus {
            state,
            error: None,
            tools: Arc::new(known.tools.unwrap_or_default()),
            has_resources: known.has_resources,
            has_prompts: known.has_prompts,
            has_completions: known.has_completions,
            prompts_version: 0,
            instructions: known.instructions,
        };
        Self(Arc::new(ConnectionState {
            options,
            status: watch::Sender::new(status),
            live: Mutex::default(),
            tool_changes: AtomicUsize::new(0),
            closing: CancellationToken::new(),
            active: ActiveCalls::default(),
            usage: Usage::default(),
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

    /// Returns whether a user can answer questions of the server.
    pub(crate) fn has_elicitation(&self) -> bool {
        self.0.options.has_elicitation
    }

    pub fn state(&self) -> McpState {
        self.0.status.borrow().state
    }

    /// Returns whether this is a lazy server that has not been needed yet.
    pub(crate) fn waits_for_use(&self) -> bool {
        let live = self.0.live();
        live.generation == 0 && live.opening.is_none() && self.state() == McpState::Disconnected
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
}

impl ConnectionState {
    fn live(&self) -> MutexGuard<'_, LiveClient> {
        self.live.lock()
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

/// Returns the parameters of a tool call.
pub(crate) fn call_params(tool: &str, arguments: &Map<String, Value>) -> Value {
    json!({"name": tool, "arguments": arguments})
}
