//! Host side of the JavaScript API: tracks the session and starts work for extensions.
//!
//! `calls` declares the calls of JavaScript, `handlers` implements them. Work runs on the program's
//! own async runtime, never on the JavaScript thread.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Waker};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_config::AgentDir;
use pi_core::ToolContext;
use pi_env::Env;
use pi_ext::{ConsoleLevel, ConsoleLine, EngineHost, ExtensionFault, HostError, HostFuture};
use pi_sandbox::Sandbox;
use serde::Serialize;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::calls::{Pending, to_json};
use crate::control::{ExtensionSession, ProgramServices, RuntimeControl, RuntimeLink};
use crate::extension_thread::on_extension_thread;
use crate::front_end::{ExtensionFailure, ExtensionMode, ExtensionOptions, ExtensionUi};
use crate::handlers::{Caller, ExtensionAgents, OpenSessions};
use crate::mcp_servers::SERVERS_CHANGE;
use crate::open_dialogs::OpenDialogs;
use crate::registration::ExtensionRegistry;
use crate::screen::ScreenChange;
use crate::sign_in::SignInStep;
use crate::{ExtensionEnvironment, ExtensionsInner, SessionExtensions};

/// Error for objects of a session that was replaced.
const STALE_CONTEXT: &str = "stale extension context: the session was replaced or extensions were \
                     reloaded; use the context of the latest event or command";

/// Error for calls before there is a session.
const STILL_LOADING: &str = "only registration is possible while extensions load; do this in an event \
                       or command handler";

/// Binding to the session.
enum BridgeState {
    Loading,
    Bound(Arc<dyn ExtensionSession>),
    Stale,
}

/// Receivers of what extensions send for a call in progress, by its signal.
#[derive(Default)]
pub(crate) struct SignalStreams {
    /// Calls of tools, which receive partial results and may call other tools.
    pub(crate) tool_calls: Mutex<HashMap<u64, ToolContext>>,
    /// Output of shell commands that extensions run, in base64.
    pub(crate) outputs: Mutex<HashMap<u64, mpsc::UnboundedSender<String>>>,
    /// Events of responses that extensions' providers stream.
    pub(crate) responses: Mutex<HashMap<u64, mpsc::UnboundedSender<Value>>>,
}

/// The program, as extensions see it.
pub(crate) struct ExtensionBridge {
    state: Mutex<BridgeState>,
    shared: OnceLock<Weak<ExtensionsInner>>,
    runtime: OnceLock<Box<dyn RuntimeLink>>,
    registry: Mutex<ExtensionRegistry>,
    pub(crate) ui: Arc<dyn ExtensionUi>,
    pub(crate) models: pi_providers::Models,
    pub(crate) cwd: PathBuf,
    pub(crate) is_trusted: bool,
    pub(crate) services: Arc<dyn ProgramServices>,
    runtime_handle: Handle,
    next_signal: Arc<AtomicU64>,
    pub(crate) open_dialogs: Mutex<OpenDialogs>,
    pub(crate) streams: Arc<SignalStreams>,
    pub(crate) jobs: Arc<Mutex<HashMap<u64, CancellationToken>>>,
    pub(crate) open_sessions: Arc<Mutex<OpenSessions>>,
    pub(crate) sign_ins: Arc<Mutex<HashMap<u64, mpsc::UnboundedSender<SignInStep>>>>,
    pub(crate) agents: Arc<Mutex<ExtensionAgents>>,
    pub(crate) agent_dir: AgentDir,
    pub(crate) env: Env,
    pub(crate) sandbox: Option<Arc<Sandbox>>,
}

impl ExtensionBridge {
    pub(crate) fn new(environment: &ExtensionEnvironment, options: &ExtensionOptions) -> Self {
        Self {
            state: Mutex::new(BridgeState::Loading),
            shared: OnceLock::new(),
            runtime: OnceLock::new(),
            registry: Mutex::default(),
            ui: Arc::clone(&options.ui),
            models: environment.models.clone(),
            cwd: environment.cwd.clone(),
            is_trusted: environment.is_trusted,
            services: Arc::clone(&environment.services),
            sandbox: environment.sandbox.clone(),
            runtime_handle: Handle::current(),
            next_signal: Arc::new(AtomicU64::new(1)),
            open_dialogs: Mutex::default(),
            streams: Arc::default(),
            jobs: Arc::default(),
            open_sessions: Arc::default(),
            sign_ins: Arc::default(),
            agents: Arc::default(),
            agent_dir: environment.agent_dir.clone(),
            env: environment.env.clone(),
        }
    }

    /// Creates the bridge of an agent's session, which shares the operations in progress.
    pub(crate) fn for_agent(&self, cwd: PathBuf, ui: Arc<dyn ExtensionUi>) -> Self {
        Self {
            state: Mutex::new(BridgeState::Loading),
            shared: OnceLock::new(),
            runtime: OnceLock::new(),
            registry: Mutex::default(),
            ui,
            models: self.models.clone(),
            cwd,
            is_trusted: self.is_trusted,
            services: Arc::clone(&self.services),
            sandbox: self.sandbox.clone(),
            runtime_handle: self.runtime_handle.clone(),
            next_signal: Arc::clone(&self.next_signal),
            open_dialogs: Mutex::default(),
            streams: Arc::clone(&self.streams),
            jobs: Arc::clone(&self.jobs),
            open_sessions: Arc::clone(&self.open_sessions),
            sign_ins: Arc::clone(&self.sign_ins),
            agents: Arc::clone(&self.agents),
            agent_dir: self.agent_dir.clone(),
            env: self.env.clone(),
        }
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, ExtensionRegistry> {
        self.registry.lock()
    }

    /// Sets the engine; called once, before the first extension loads.
    pub(crate) fn connect(&self, shared: Weak<ExtensionsInner>) {
        self.shared.set(shared).ok();
    }

    pub(crate) fn shared(&self) -> Result<Weak<ExtensionsInner>, HostError> {
        let shared = self.shared.get();
        shared.cloned().ok_or_else(|| HostError::new(STILL_LOADING))
    }

    pub(crate) fn bind(&self, session: Arc<dyn ExtensionSession>) {
        *self.state.lock() = BridgeState::Bound(session);
    }

    pub(crate) fn attach(&self, runtime: Box<dyn RuntimeLink>) {
        self.runtime.set(runtime).ok();
    }

    /// Binds to the new session, for code that has replaced its own session.
    pub(crate) fn rebind(&self) -> Result<(), HostError> {
        let runtime = self.runtime.get().and_then(|runtime| runtime.upgrade());
        let runtime = runtime.ok_or_else(|| HostError::new(STALE_CONTEXT))?;
        *self.state.lock() = BridgeState::Bound(runtime.session());
        Ok(())
    }

    /// Marks the context as stale: objects the extensions kept throw from now on.
    pub(crate) fn mark_stale(&self) {
        *self.state.lock() = BridgeState::Stale;
    }

    pub(crate) fn session(&self) -> Result<Arc<dyn ExtensionSession>, HostError> {
        match &*self.state.lock() {
            BridgeState::Bound(session) => Ok(Arc::clone(session)),
            BridgeState::Loading => Err(HostError::new(STILL_LOADING)),
            BridgeState::Stale => Err(HostError::new(STALE_CONTEXT)),
        }
    }

    /// Returns whether extensions load and there is no session yet.
    pub(crate) fn is_loading(&self) -> bool {
        matches!(*self.state.lock(), BridgeState::Loading)
    }

    pub(crate) fn runtime(&self) -> Result<Arc<dyn RuntimeControl>, HostError> {
        self.session()?;
        let runtime = self.runtime.get().and_then(|runtime| runtime.upgrade());
        runtime.ok_or_else(|| HostError::new(STILL_LOADING))
    }

    pub(crate) fn extensions(&self) -> Result<SessionExtensions, HostError> {
        self.session()?;
        let shared = self.shared.get().and_then(Weak::upgrade);
        shared
            .map(SessionExtensions)
            .ok_or_else(|| HostError::new(STALE_CONTEXT))
    }

    /// Fails once the session was replaced. Calls that need no session also work before there is
    /// one.
    pub(crate) fn check_not_stale(&self) -> Result<(), HostError> {
        match &*self.state.lock() {
            BridgeState::Stale => Err(HostError::new(STALE_CONTEXT)),
            BridgeState::Loading | BridgeState::Bound(_) => Ok(()),
        }
    }

    /// Returns whether any extension handles an event.
    pub(crate) fn has_handler(&self, event: &str) -> bool {
        self.registry().events.contains(event)
    }

    /// Connects to the registered MCP servers, or reports those that nothing connects to. Notifies the extensions on the
    /// other host than the one that `extension` runs on.
    pub(crate) fn mcp_servers_changed(&self, extension: String) {
        if self.session().is_err() {
            return;
        }
        let connector = self.registry().mcp_servers.connector();
        match connector {
            Some(connect) => self.begin(connect()),
            None => self.report_unconnected_servers(),
        }
        let shared = self.shared.get().and_then(Weak::upgrade);
        // All extensions of an agent run on one host.
        if let Some(shared) = shared.filter(|shared| shared.agent == 0) {
            let servers = self.registry().mcp_servers.describe();
            self.begin(async move { shared.emit_servers_change(&extension, &servers).await });
        }
    }

    /// Reports each registered MCP server once if nothing connects to them.
    pub(crate) fn report_unconnected_servers(&self) {
        let failures = {
            let mut registry = self.registry();
            let is_handled = registry.events.contains(SERVERS_CHANGE);
            let servers = &mut registry.mcp_servers;
            servers.take_unconnected(is_handled)
        };
        for failure in failures {
            self.report_failure(failure);
        }
    }

    /// Returns an ID for something that can be canceled.
    pub(crate) fn new_signal(&self) -> u64 {
        self.next_signal.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn open_tool_call(&self, signal: u64, call: ToolContext) {
        self.streams.tool_calls.lock().insert(signal, call);
    }

    /// Returns the call of a tool that an extension runs; `None` if it has ended.
    pub(crate) fn tool_call(&self, signal: u64) -> Option<ToolContext> {
        self.streams.tool_calls.lock().get(&signal).cloned()
    }

    pub(crate) fn close_tool_call(&self, signal: u64) {
        self.streams.tool_calls.lock().remove(&signal);
    }

    /// Receives what JavaScript sends for a signal, until closed.
    pub(crate) fn open_channel<Data>(
        channels: &Mutex<HashMap<u64, mpsc::UnboundedSender<Data>>>,
        signal: u64,
    ) -> mpsc::UnboundedReceiver<Data> {
        // Unbounded, since JavaScript cannot be made to wait; it ends with the work.
        let (sender, receiver) = mpsc::unbounded_channel();
        channels.lock().insert(signal, sender);
        receiver
    }

    /// Starts work on the program's runtime. Like an asynchronous JavaScript function, it runs
    /// immediately up to its first await and continues there.
    pub(crate) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work: BoxFuture<'static, ()> = Box::pin(work);
        let _program = self.runtime_handle.enter();
        let mut context = Context::from_waker(Waker::noop());
        // The budget of the thread's current task does not apply to it.
        let mut start = std::pin::pin!(tokio::task::unconstrained(work.as_mut()));
        if on_extension_thread(|| start.as_mut().poll(&mut context)).is_pending() {
            self.runtime_handle.spawn(work);
        }
    }

    /// Runs work that an extension awaits on the program's runtime.
    pub(crate) fn spawn_on_runtime<Data: Serialize + 'static>(
        &self,
        work: impl Future<Output = Result<Data, HostError>> + Send + 'static,
    ) -> Pending<Data> {
        // Boxed, so that the task machinery is compiled once and not for every kind of work.
        let work: HostFuture = Box::pin(async move { to_json(work.await?) });
        let task = self.runtime_handle.spawn(work);
        Pending::from_json(Box::pin(async move {
            match task.await {
                Ok(response) => response,
                Err(error) => Err(host_error(error)),
            }
        }))
    }

    /// Runs blocking work that an extension awaits.
    pub(crate) fn spawn_blocking<Data: Serialize + Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<Data, HostError> + Send + 'static,
    ) -> Pending<Data> {
        let task = self.runtime_handle.spawn_blocking(work);
        Pending::new(async move { task.await.map_err(host_error)? })
    }

    pub(crate) fn report_failure(&self, failure: ExtensionFailure) {
        self.begin(self.report(failure));
    }

    /// Reports a failure to the front end, and counts it.
    pub(crate) fn report(&self, failure: ExtensionFailure) -> BoxFuture<'static, ()> {
        if let (Some(extension), Ok(shared)) = (&failure.extension, self.shared())
            && let Some(shared) = shared.upgrade()
        {
            shared.engine.meter().add_error(extension);
        }
        self.ui.report_failure(failure)
    }
}

impl EngineHost for ExtensionBridge {
    fn console(&self, line: ConsoleLine) {
        // Output for the terminal itself, such as an escape sequence for a notification, goes there
        // directly.
        let screen = match self.ui.mode() {
            ExtensionMode::Terminal => self.ui.screen(),
            _ => None,
        };
        if line.text.contains("\u{1b}]")
            && let Some(screen) = screen
        {
            let data = line.text;
            return screen.change(line.extension.as_deref(), ScreenChange::Write { data });
        }
        if screen.is_none() {
            self.ui.console(&line.text);
        }
        let extension = line.extension.unwrap_or_default();
        match line.level {
            ConsoleLevel::Debug => tracing::debug!(extension, "{}", line.text),
            ConsoleLevel::Info => tracing::info!(extension, "{}", line.text),
            ConsoleLevel::Warning => tracing::warn!(extension, "{}", line.text),
            ConsoleLevel::Error => tracing::error!(extension, "{}", line.text),
        }
    }

    fn fault(&self, fault: ExtensionFault) {
        self.report_failure(ExtensionFailure {
            extension: fault.extension,
            event: "uncaught".to_owned(),
            error: fault.message,
            stack: fault.stack,
        });
    }

    fn call(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        Caller::new(self, extension).call(method, arguments)
    }

    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        Caller::new(self, extension).request(method, arguments)
    }
}

pub fn host_error(error: impl std::fmt::Display) -> HostError {
    HostError::new(error.to_string())
}
