//! Host side of the JavaScript API: tracks the session and starts work for extensions.
//!
//! `calls` handles synchronous calls, `requests` asynchronous ones. Work runs on the program's own
//! async runtime, never on the JavaScript thread.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Waker};

use futures_util::future::BoxFuture;
use pi_config::AgentDir;
use pi_core::Progress;
use pi_env::Env;
use pi_ext::{ConsoleLevel, ConsoleLine, EngineHost, ExtensionFault, HostError, HostFuture};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::agents::ExtensionAgents;
use super::front_end::{ExtensionFailure, ExtensionOptions, ExtensionUi};
use super::open_dialogs::OpenDialogs;
use super::open_sessions::OpenSessions;
use super::registration::ExtensionRegistry;
use super::screen::ScreenChange;
use super::sign_in::SignInStep;
use super::{ExtensionsInner, SessionExtensions, session_json};
use crate::runtime::{SessionRuntime, WeakRuntime};
use crate::services::Services;
use crate::session::AgentSession;

/// Error for objects of a session that was replaced.
const STALE_CONTEXT: &str = "stale extension context: the session was replaced or extensions were \
                     reloaded; use the context of the latest event or command";

/// Error for calls before there is a session.
const STILL_LOADING: &str = "only registration is possible while extensions load; do this in an event \
                       or command handler";

/// Binding to the session.
enum BridgeState {
    Loading,
    Bound(AgentSession),
    Stale,
}

/// The program, as extensions see it.
pub(super) struct ExtensionBridge {
    state: Mutex<BridgeState>,
    shared: OnceLock<Weak<ExtensionsInner>>,
    runtime: OnceLock<WeakRuntime>,
    registry: Mutex<ExtensionRegistry>,
    pub(super) ui: Arc<dyn ExtensionUi>,
    pub(super) models: pi_providers::Models,
    pub(super) cwd: PathBuf,
    pub(super) is_trusted: bool,
    runtime_handle: Handle,
    next_signal: AtomicU64,
    pub(super) open_dialogs: Mutex<OpenDialogs>,
    pub(super) updates: Mutex<HashMap<u64, Progress>>,
    pub(super) streams: Mutex<HashMap<u64, mpsc::UnboundedSender<Value>>>,
    pub(super) jobs: Mutex<HashMap<u64, CancellationToken>>,
    pub(super) open_sessions: Mutex<OpenSessions>,
    pub(super) sign_ins: Mutex<HashMap<u64, mpsc::UnboundedSender<SignInStep>>>,
    pub(super) agents: Mutex<ExtensionAgents>,
    pub(super) agent_dir: AgentDir,
    pub(super) env: Env,
}

impl ExtensionBridge {
    pub(super) fn new(services: &Services, options: &ExtensionOptions) -> Self {
        Self {
            state: Mutex::new(BridgeState::Loading),
            shared: OnceLock::new(),
            runtime: OnceLock::new(),
            registry: Mutex::default(),
            ui: Arc::clone(&options.ui),
            models: services.models.clone(),
            cwd: services.cwd.clone(),
            is_trusted: services.project.is_trusted(),
            runtime_handle: Handle::current(),
            next_signal: AtomicU64::new(1),
            open_dialogs: Mutex::default(),
            updates: Mutex::default(),
            streams: Mutex::default(),
            jobs: Mutex::default(),
            open_sessions: Mutex::default(),
            sign_ins: Mutex::default(),
            agents: Mutex::default(),
            agent_dir: services.agent_dir.clone(),
            env: services.env.clone(),
        }
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, ExtensionRegistry> {
        lock(&self.registry)
    }

    /// Sets the engine; called once, before the first extension loads.
    pub(super) fn connect(&self, shared: Weak<ExtensionsInner>) {
        self.shared.set(shared).ok();
    }

    pub(super) fn shared(&self) -> Result<Weak<ExtensionsInner>, HostError> {
        let shared = self.shared.get();
        shared.cloned().ok_or_else(|| HostError::new(STILL_LOADING))
    }

    pub(super) fn bind(&self, session: AgentSession) {
        *lock(&self.state) = BridgeState::Bound(session);
    }

    pub(super) fn attach(&self, runtime: WeakRuntime) {
        self.runtime.set(runtime).ok();
    }

    /// Binds to the new session, for code that has replaced its own session.
    pub(super) fn rebind(&self) -> Result<(), HostError> {
        let runtime = self.runtime.get().and_then(WeakRuntime::upgrade);
        let runtime = runtime.ok_or_else(|| HostError::new(STALE_CONTEXT))?;
        *lock(&self.state) = BridgeState::Bound(runtime.session());
        Ok(())
    }

    /// Marks the context as stale: objects the extensions kept throw from now on.
    pub(super) fn mark_stale(&self) {
        *lock(&self.state) = BridgeState::Stale;
    }

    pub(super) fn session(&self) -> Result<AgentSession, HostError> {
        match &*lock(&self.state) {
            BridgeState::Bound(session) => Ok(session.clone()),
            BridgeState::Loading => Err(HostError::new(STILL_LOADING)),
            BridgeState::Stale => Err(HostError::new(STALE_CONTEXT)),
        }
    }

    pub(super) fn runtime(&self) -> Result<SessionRuntime, HostError> {
        self.session()?;
        let runtime = self.runtime.get().and_then(WeakRuntime::upgrade);
        runtime.ok_or_else(|| HostError::new(STILL_LOADING))
    }

    pub(super) fn extensions(&self) -> Result<SessionExtensions, HostError> {
        self.session()?;
        let shared = self.shared.get().and_then(Weak::upgrade);
        shared
            .map(SessionExtensions)
            .ok_or_else(|| HostError::new(STALE_CONTEXT))
    }

    /// Fails once the session was replaced. Calls that need no session also work before there is
    /// one.
    pub(super) fn check_not_stale(&self) -> Result<(), HostError> {
        match &*lock(&self.state) {
            BridgeState::Stale => Err(HostError::new(STALE_CONTEXT)),
            BridgeState::Loading | BridgeState::Bound(_) => Ok(()),
        }
    }

    /// Returns whether any extension handles an event.
    pub(super) fn has_handler(&self, event: &str) -> bool {
        self.registry().events.contains(event)
    }

    /// Returns an ID for something that can be canceled.
    pub(super) fn new_signal(&self) -> u64 {
        self.next_signal.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn open_updates(&self, signal: u64, updates: Progress) {
        lock(&self.updates).insert(signal, updates);
    }

    pub(super) fn close_updates(&self, signal: u64) {
        lock(&self.updates).remove(&signal);
    }

    pub(super) fn open_stream(&self, signal: u64) -> mpsc::UnboundedReceiver<Value> {
        // Unbounded, since JavaScript cannot be made to wait; it ends with the response.
        let (sender, receiver) = mpsc::unbounded_channel();
        lock(&self.streams).insert(signal, sender);
        receiver
    }

    pub(super) fn close_stream(&self, signal: u64) {
        lock(&self.streams).remove(&signal);
    }

    /// Starts work on the program's runtime. Like an asynchronous JavaScript function, it runs
    /// immediately up to its first await and continues there.
    pub(super) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work: BoxFuture<'static, ()> = Box::pin(work);
        let _program = self.runtime_handle.enter();
        let mut context = Context::from_waker(Waker::noop());
        if work.as_mut().poll(&mut context).is_pending() {
            self.runtime_handle.spawn(work);
        }
    }

    /// Runs work that an extension awaits on the program's runtime.
    pub(super) fn spawn_on_runtime(
        &self,
        work: impl Future<Output = Result<Value, HostError>> + Send + 'static,
    ) -> HostFuture {
        // Boxed, so that the task machinery is compiled once and not for every kind of work.
        let work: HostFuture = Box::pin(work);
        let work = self.runtime_handle.spawn(work);
        Box::pin(async move {
            match work.await {
                Ok(response) => response,
                Err(error) => Err(HostError::new(error.to_string())),
            }
        })
    }

    pub(super) fn report_failure(&self, failure: ExtensionFailure) {
        self.begin(self.ui.report_failure(failure));
    }
}

impl EngineHost for ExtensionBridge {
    fn console(&self, line: ConsoleLine) {
        // Output for the terminal itself, such as an escape sequence for a notification, goes there
        // directly.
        if line.text.contains("\u{1b}]")
            && let Some(screen) = self.ui.screen()
        {
            let data = line.text;
            return screen.change(line.extension.as_deref(), ScreenChange::Write { data });
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
        let (area, _) = method.split_once('.').unwrap_or((method, ""));
        match area {
            "owner" => Ok(json!(extension)),
            "session" | "entry" => self.call_session(method, &arguments),
            "ui" => self.call_ui(extension, method, arguments),
            "models" | "model" | "thinking" => self.call_models(method, &arguments),
            "messages" => session_json::call(method, &arguments),
            "convert" => self.call_conversion(method, arguments),
            "signIn" => self.show_sign_in(&arguments),
            "shelf" => self.call_open_sessions(method, arguments),
            "agent" => self.call_agent(method, &arguments),
            "builtin" => self.call_builtin(method, &arguments),
            "work" => self.call_job(method, arguments),
            "tool" | "command" | "provider" | "shortcut" | "renderer" | "subscriptions" => {
                self.call_registry(method, arguments)
            }
            _ => self.call_program(method, arguments),
        }
    }

    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        self.handle_request(extension, method, arguments)
    }
}

/// Deserializes a value from JavaScript.
pub(super) fn read<Data: DeserializeOwned>(value: Value) -> Result<Data, HostError> {
    serde_json::from_value(value).map_err(host_error)
}

/// Deserializes one member of a value from JavaScript; absent means null.
pub(super) fn field<Data: DeserializeOwned>(value: &Value, name: &str) -> Result<Data, HostError> {
    let member = value.get(name).cloned().unwrap_or(Value::Null);
    serde_json::from_value(member).map_err(|error| HostError::new(format!("{name}: {error}")))
}

pub(super) fn to_json(value: impl serde::Serialize) -> Result<Value, HostError> {
    serde_json::to_value(value).map_err(host_error)
}

pub(super) fn result_to_json<Data: serde::Serialize, Failure: std::fmt::Display>(
    outcome: Result<Data, Failure>,
) -> Result<Value, HostError> {
    to_json(outcome.map_err(host_error)?)
}

pub(super) fn host_error(error: impl std::fmt::Display) -> HostError {
    HostError::new(error.to_string())
}

pub(super) fn unknown(method: &str) -> HostError {
    HostError::new(format!("{method} is not supported by this version of pi"))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
