//! Handle to the JavaScript engine.
//!
//! JavaScript runs on a dedicated thread with its own event loop. The thread starts on first use
//! and ends when the handle is dropped or replaced. Other threads send work through [`Engine`];
//! results are plain data.

mod charge;
mod natives;
mod realm;
mod terminal;
mod timers;
mod values;
mod watchdog;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use charge::CodeOwner;
pub(crate) use natives::{NativeModule, set_import_meta};
pub(crate) use realm::Realm;
pub(crate) use terminal::TerminalModule;
pub(crate) use values::{NativeReply, take_exception};
pub use watchdog::EngineLimits;
pub(crate) use watchdog::{Heartbeat, Watchdog};

use crate::cache::SourceCache;
use crate::child_guard::{ChildSupervisor, SharedSupervisor};
use crate::child_launcher::{ChildLauncher, SharedLauncher};
use crate::error::EngineError;
use crate::host::{EngineHost, SharedHost};
use crate::node::WorkerPort;
use crate::running_hooks::RunningHooks;
use crate::tui_toolkit::{SharedToolkit, TuiToolkit};
use crate::usage_meter::ExtensionUsage;

/// Minimum interval between heartbeat checks of a busy thread.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Approximate heap size of an engine with a few extensions, in bytes.
const INITIAL_HEAP: usize = 3 * 1024 * 1024;

/// Largest block that the system allocator serves from a thread's arena; larger blocks are mapped
/// separately.
const MAX_ARENA_BLOCK: usize = 120 * 1024;

/// Data for the `process` object of extensions.
#[derive(Debug, Clone, Default)]
pub struct ProcessInfo {
    /// `process.cwd()`, the base of relative paths.
    pub working_directory: PathBuf,
    /// `process.env`.
    pub environment: Vec<(String, String)>,
    /// `process.argv`.
    pub arguments: Vec<String>,
    /// `process.execPath`.
    pub executable: PathBuf,
}

/// Configuration of an [`Engine`].
#[derive(Debug, Clone)]
pub struct EngineOptions {
    pub(crate) host: SharedHost,
    pub(crate) limits: EngineLimits,
    pub(crate) cache: SourceCache,
    pub(crate) process: ProcessInfo,
    pub(crate) proxy: Option<String>,
    /// Modules that are not files: specifier and source.
    pub(crate) virtual_modules: Vec<(String, String)>,
    /// Packages implemented by embedded modules: specifier and module name.
    pub(crate) packages: Vec<(String, String)>,
    pub(crate) tui_toolkit: Option<SharedToolkit>,
    pub(crate) running_hooks: Arc<RunningHooks>,
    pub(crate) child_supervisor: SharedSupervisor,
    pub(crate) child_launcher: SharedLauncher,
    /// Connects the engine of a worker to its parent.
    pub(crate) worker: Option<Arc<WorkerPort>>,
}

impl EngineOptions {
    /// Creates options with default limits, no cache and an empty environment.
    pub fn new(host: Arc<dyn EngineHost>) -> Self {
        Self {
            host: SharedHost(host),
            limits: EngineLimits::default(),
            cache: SourceCache::disabled(),
            process: ProcessInfo::default(),
            proxy: None,
            virtual_modules: Vec::new(),
            packages: Vec::new(),
            tui_toolkit: None,
            running_hooks: Arc::default(),
            child_supervisor: SharedSupervisor::default(),
            child_launcher: SharedLauncher::default(),
            worker: None,
        }
    }

    /// Sets the supervisor of child processes.
    #[must_use]
    pub fn with_child_supervisor(mut self, supervisor: Arc<dyn ChildSupervisor>) -> Self {
        self.child_supervisor = SharedSupervisor(Some(supervisor));
        self
    }

    /// Sets how child processes are started.
    #[must_use]
    pub fn with_child_launcher(mut self, launcher: Arc<dyn ChildLauncher>) -> Self {
        self.child_launcher = SharedLauncher(Some(launcher));
        self
    }

    #[must_use]
    pub fn with_limits(mut self, limits: EngineLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the cache of prepared sources.
    #[must_use]
    pub fn with_cache(mut self, cache: SourceCache) -> Self {
        self.cache = cache;
        self
    }

    /// Sets the data for the `process` object.
    #[must_use]
    pub fn with_process(mut self, process: ProcessInfo) -> Self {
        self.process = process;
        self
    }

    /// Sets the TUI library for extension components.
    #[must_use]
    pub fn with_tui_toolkit(mut self, toolkit: Arc<dyn TuiToolkit>) -> Self {
        self.tui_toolkit = Some(SharedToolkit(toolkit));
        self
    }

    /// Sets the proxy to use for requests if the environment does not configure one.
    #[must_use]
    pub fn with_proxy(mut self, proxy: Option<&str>) -> Self {
        self.proxy = proxy.map(str::to_owned);
        self
    }

    /// Adds a package that is implemented by an embedded module.
    #[must_use]
    pub(crate) fn with_package(mut self, name: String, module: String) -> Self {
        self.packages.push((name, module));
        self
    }

    /// Adds an ES module that is not a file. It takes precedence over `node_modules`.
    #[must_use]
    pub fn with_virtual_module(
        mut self,
        name: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        self.virtual_modules.push((name.into(), source.into()));
        self
    }
}

/// Limits and attribution of one call.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// Extension whose code runs. Included in faults.
    pub extension: Option<String>,
    /// Extension that is charged for the code; `None` for `extension`.
    pub charged: Option<String>,
    /// Overrides [`EngineLimits::slice`].
    pub slice: Option<Duration>,
    /// Overrides [`EngineLimits::call`].
    pub timeout: Option<Duration>,
}

impl CallOptions {
    /// Attributes a call to an extension.
    pub fn for_extension(extension: impl Into<String>) -> Self {
        Self {
            extension: Some(extension.into()),
            ..Self::default()
        }
    }

    /// Limits the total duration of the call, including time spent waiting.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

type EngineJob = Box<dyn FnOnce(&Rc<Realm>) + Send>;

/// A JavaScript engine on a dedicated thread.
#[derive(Debug)]
pub struct Engine {
    options: Arc<EngineOptions>,
    thread: Mutex<Option<Arc<EngineThread>>>,
    next_call: AtomicU64,
}

#[derive(Debug)]
struct EngineThread {
    // Unbounded: every sender awaits its reply, so there is at most one entry per caller.
    jobs: mpsc::UnboundedSender<EngineJob>,
    heartbeat: Arc<Heartbeat>,
    failure: Arc<OnceLock<EngineError>>,
    ended: CancellationToken,
}

impl Engine {
    /// Creates a handle without starting the thread.
    pub fn new(options: EngineOptions) -> Self {
        Self {
            options: Arc::new(options),
            thread: Mutex::new(None),
            next_call: AtomicU64::new(1),
        }
    }

    /// Returns whether the JavaScript thread is running.
    pub fn is_started(&self) -> bool {
        self.current_thread().is_some()
    }

    /// Imports a file as an extension's entry point and runs its top level.
    pub async fn load(&self, path: &Path) -> Result<(), EngineError> {
        let name = path.to_string_lossy().into_owned();
        let options = CallOptions::for_extension(name.clone());
        self.call("pi:host", "load", vec![Value::String(name)], options)
            .await?;
        Ok(())
    }

    /// Calls an exported function of a module (a loaded file or a virtual module) and awaits its
    /// result.
    pub async fn call(
        &self,
        module: &str,
        export: &str,
        arguments: Vec<Value>,
        options: CallOptions,
    ) -> Result<Value, EngineError> {
        let thread = self.thread()?;
        let id = self.next_call.fetch_add(1, Ordering::Relaxed);
        let slice = options.slice.unwrap_or(self.options.limits.slice);
        let mut owner = CodeOwner::of(options.extension.as_deref());
        if let Some(charged) = options.charged {
            owner.charged = Some(charged.into());
        }
        let invocation = realm::Invocation {
            id,
            owner,
            module: module.to_owned(),
            export: export.to_owned(),
            arguments,
            slice,
        };
        let (reply, response) = oneshot::channel();
        thread.send(Box::new(move |realm| realm.invoke(invocation, reply)))?;
        let timeout = options.timeout.or(self.options.limits.call);
        let result = self.wait(&thread, response, slice, timeout).await;
        if matches!(result, Err(EngineError::TimedOut(_))) {
            // Sending fails only if the thread has ended; then there is no pending call to remove.
            drop(thread.send(Box::new(move |realm| {
                realm.settle(id, Err(EngineError::Stopped));
            })));
        }
        result
    }

    /// Waits for a reply, until the call times out or the thread stops responding.
    async fn wait(
        &self,
        thread: &EngineThread,
        mut response: oneshot::Receiver<realm::InvokeResult>,
        slice: Duration,
        timeout: Option<Duration>,
    ) -> realm::InvokeResult {
        let limit = slice.max(self.options.limits.slice) + self.options.limits.grace;
        let deadline = timeout.map(|timeout| (Instant::now() + timeout, timeout));
        loop {
            let remaining = limit
                .saturating_sub(thread.heartbeat.silent_for())
                .max(MIN_POLL_INTERVAL);
            let next_check = Instant::now() + remaining;
            let until = deadline.map_or(next_check, |(deadline, _)| deadline.min(next_check));
            match tokio::time::timeout_at(until, &mut response).await {
                Ok(Ok(result)) => return result,
                Ok(Err(_)) => return Err(thread.failure()),
                Err(_) if thread.heartbeat.silent_for() >= limit => return Err(EngineError::Stuck),
                Err(_) => {
                    if let Some((deadline, timeout)) = deadline
                        && Instant::now() >= deadline
                    {
                        return Err(EngineError::TimedOut(timeout));
                    }
                }
            }
        }
    }

    /// Returns what the extensions use, and follows the heap from now on. Sampling of the heap waits until the thread is
    /// idle, and no longer than `patience`.
    pub async fn usage(&self, patience: Duration) -> BTreeMap<String, ExtensionUsage> {
        let meter = self.options.running_hooks.meter();
        meter.follow_heap();
        if self.is_started() {
            // Without a new sample, the last one is returned.
            let sampling = self.run(|realm| realm.sample_live_heap());
            drop(tokio::time::timeout(patience, sampling).await);
        }
        meter.usage()
    }

    /// Runs garbage collection and returns the size of the JavaScript heap in bytes, or 0 if the
    /// engine is not started.
    pub async fn memory_used(&self) -> Result<u64, EngineError> {
        if !self.is_started() {
            return Ok(0);
        }
        self.run(|realm| realm.memory_used()).await
    }

    /// Runs a Rust closure on the JavaScript thread.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Rc<Realm>) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let thread = self.thread()?;
        let (reply, response) = oneshot::channel();
        thread.send(Box::new(move |realm| drop(reply.send(work(realm)))))?;
        response.await.map_err(|_closed| thread.failure())
    }

    /// Interrupts the code in progress, and the child process it waits for.
    pub(crate) fn interrupt(&self) {
        if let Some(thread) = self.current_thread() {
            thread.heartbeat.interrupt();
        }
    }

    /// Returns the number of the entry into JavaScript that is in progress or blocked; `None` while
    /// idle.
    pub(crate) fn current_entry(&self) -> Option<u64> {
        self.current_thread()?.heartbeat.current_entry()
    }

    fn current_thread(&self) -> Option<Arc<EngineThread>> {
        let thread = self.thread.lock();
        thread.clone()
    }

    /// Abandons the current thread. The next use starts a new one, with nothing loaded.
    ///
    /// Running code is interrupted. A thread blocked in native code is detached and its results
    /// are ignored. Pending calls fail with [`EngineError::Stopped`].
    pub fn replace(&self) {
        let old = self.thread.lock().take();
        if let Some(old) = old {
            old.heartbeat.stop();
        }
    }

    /// Stops the thread and waits until it has exited.
    pub async fn shutdown(&self) -> Result<(), EngineError> {
        let old = self.thread.lock().take();
        let Some(old) = old else {
            return Ok(());
        };
        old.heartbeat.stop();
        let ended = old.ended.clone();
        drop(old);
        match tokio::time::timeout(self.options.limits.grace, ended.cancelled()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(EngineError::Stuck),
        }
    }

    fn thread(&self) -> Result<Arc<EngineThread>, EngineError> {
        let mut slot = self.thread.lock();
        if let Some(thread) = &*slot {
            return Ok(Arc::clone(thread));
        }
        let thread = Arc::new(EngineThread::start(Arc::clone(&self.options))?);
        *slot = Some(Arc::clone(&thread));
        Ok(thread)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.replace();
    }
}

impl EngineThread {
    fn start(options: Arc<EngineOptions>) -> Result<Self, EngineError> {
        let (jobs, receiver) = mpsc::unbounded_channel();
        let thread = Self {
            jobs,
            heartbeat: Heartbeat::new(),
            failure: Arc::new(OnceLock::new()),
            ended: CancellationToken::new(),
        };
        let heartbeat = Arc::clone(&thread.heartbeat);
        let failure = Arc::clone(&thread.failure);
        let ended = thread.ended.clone().drop_guard();
        // Twice the JavaScript limit: the engine checks it only at calls, with native frames in between.
        let stack = options.limits.stack.saturating_mul(2) + 1024 * 1024;
        std::thread::Builder::new()
            .name("pi-extensions".to_owned())
            .stack_size(stack)
            .spawn(move || {
                if let Err(error) = run_thread(options, &heartbeat, receiver) {
                    // Set once: this thread is the only writer.
                    drop(failure.set(error));
                }
                drop(ended);
            })
            .map_err(|error| EngineError::Start(error.to_string()))?;
        Ok(thread)
    }

    fn send(&self, job: EngineJob) -> Result<(), EngineError> {
        self.jobs.send(job).map_err(|_closed| self.failure())
    }

    fn failure(&self) -> EngineError {
        self.failure.get().cloned().unwrap_or(EngineError::Stopped)
    }
}

fn run_thread(
    options: Arc<EngineOptions>,
    heartbeat: &Arc<Heartbeat>,
    mut jobs: mpsc::UnboundedReceiver<EngineJob>,
) -> Result<(), EngineError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| EngineError::Start(error.to_string()))?;
    if cfg!(target_env = "gnu") {
        reserve_heap();
    }
    let tasks = tokio::task::LocalSet::new();
    let outcome = tasks.block_on(&runtime, async {
        let realm = Realm::new(options, Arc::clone(heartbeat))?;
        let mut stopped = pin!(heartbeat.stopped());
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                job = jobs.recv() => match job {
                    Some(job) => job(&realm),
                    None => break,
                },
            }
        }
        realm.resources.close();
        Ok(())
    });
    drop(tasks);
    // Tasks on the blocking pool, such as a file read, may outlive the engine.
    runtime.shutdown_background();
    outcome
}

/// Grows this thread's malloc arena in a few large steps. Otherwise glibc grows it on demand with
/// one system call per step, hundreds of them while small objects are allocated. The arena keeps
/// its size after the blocks are freed.
fn reserve_heap() {
    let blocks: Vec<Vec<u8>> = (0..INITIAL_HEAP / MAX_ARENA_BLOCK)
        .map(|_| Vec::with_capacity(MAX_ARENA_BLOCK))
        .collect();
    drop(std::hint::black_box(blocks));
}
