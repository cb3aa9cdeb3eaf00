//! The handle to the JavaScript engine.
//!
//! JavaScript runs on one thread of its own with its own event loop. The thread starts with the
//! first use, never before; it ends when the handle is dropped or replaced. Other threads hold
//! the [`Engine`] and send it work; everything that comes back is plain data.

mod natives;
mod realm;
mod terminal;
mod timers;
mod values;
mod watchdog;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use natives::{NativeModule, set_import_meta};
pub(crate) use realm::Realm;
pub(crate) use terminal::TerminalModule;
pub(crate) use values::Reply;
pub use watchdog::Budgets;
use watchdog::Pulse;
pub(crate) use watchdog::Watchdog;

use crate::cache::SourceCache;
use crate::error::EngineError;
use crate::host::{Host, SharedHost};
use crate::terminal_kit::{SharedKit, TerminalKit};

/// The pulse of a busy thread is not felt more often than this.
const SHORTEST_LOOK: Duration = Duration::from_millis(20);

/// What an engine with some extensions takes of memory, about.
const FIRST_ROOM: usize = 3 * 1024 * 1024;

/// As much as the system's allocator takes from the memory of a thread; beyond it a block gets pages of its own.
const LARGEST_BLOCK: usize = 120 * 1024;

/// What the `process` object of extensions tells.
#[derive(Debug, Clone, Default)]
pub struct ProcessInfo {
    /// `process.cwd()`, and what relative paths are relative to.
    pub working_directory: PathBuf,
    /// `process.env`.
    pub environment: Vec<(String, String)>,
    /// `process.argv`.
    pub arguments: Vec<String>,
    /// `process.execPath`.
    pub executable: PathBuf,
}

/// How an engine is set up.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    pub(crate) host: SharedHost,
    pub(crate) budgets: Budgets,
    pub(crate) cache: SourceCache,
    pub(crate) process: ProcessInfo,
    pub(crate) proxy: Option<String>,
    /// Modules that are not files: the name they are imported under, and their source.
    pub(crate) virtual_modules: Vec<(String, String)>,
    /// Packages of ours by the name they are imported under.
    pub(crate) packages: Vec<(String, String)>,
    pub(crate) terminal_kit: Option<SharedKit>,
}

impl EngineOptions {
    /// Creates options with the budgets, no cache and an empty environment.
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self {
            host: SharedHost(host),
            budgets: Budgets::default(),
            cache: SourceCache::disabled(),
            process: ProcessInfo::default(),
            proxy: None,
            virtual_modules: Vec::new(),
            packages: Vec::new(),
            terminal_kit: None,
        }
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Sets where prepared sources are kept.
    #[must_use]
    pub fn with_cache(mut self, cache: SourceCache) -> Self {
        self.cache = cache;
        self
    }

    /// Sets what `process` tells.
    #[must_use]
    pub fn with_process(mut self, process: ProcessInfo) -> Self {
        self.process = process;
        self
    }

    /// Sets the terminal library that components stand on.
    #[must_use]
    pub fn with_terminal_kit(mut self, kit: Arc<dyn TerminalKit>) -> Self {
        self.terminal_kit = Some(SharedKit(kit));
        self
    }

    /// Sets the proxy of requests where the environment names none.
    #[must_use]
    pub fn with_proxy(mut self, proxy: Option<&str>) -> Self {
        self.proxy = proxy.map(str::to_owned);
        self
    }

    /// Adds a package for which one of our own modules stands.
    #[must_use]
    pub(crate) fn with_package(mut self, name: String, module: String) -> Self {
        self.packages.push((name, module));
        self
    }

    /// Adds an ES module that is not a file; it comes before `node_modules`.
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

/// How one call is limited and to whom it is charged.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// The extension whose code runs; faults name it.
    pub extension: Option<String>,
    /// Replaces [`Budgets::slice`].
    pub slice: Option<Duration>,
    /// Replaces [`Budgets::call`].
    pub timeout: Option<Duration>,
}

impl CallOptions {
    /// Charges a call to an extension.
    pub fn charged_to(extension: impl Into<String>) -> Self {
        Self {
            extension: Some(extension.into()),
            ..Self::default()
        }
    }

    /// Limits the call, waiting included.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

type Command = Box<dyn FnOnce(&Rc<Realm>) + Send>;

/// A JavaScript engine on its own thread; see the module's text.
#[derive(Debug)]
pub struct Engine {
    options: Arc<EngineOptions>,
    thread: Mutex<Option<Arc<Thread>>>,
    next_call: AtomicU64,
}

#[derive(Debug)]
struct Thread {
    // Unbounded, since every sender waits for its answer: there are as many commands as callers.
    commands: mpsc::UnboundedSender<Command>,
    pulse: Arc<Pulse>,
    failure: Arc<OnceLock<EngineError>>,
    ended: CancellationToken,
}

impl Engine {
    /// Creates a handle; nothing is started.
    pub fn new(options: EngineOptions) -> Self {
        Self {
            options: Arc::new(options),
            thread: Mutex::new(None),
            next_call: AtomicU64::new(1),
        }
    }

    /// Returns whether the JavaScript thread runs.
    pub fn is_started(&self) -> bool {
        self.thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Imports a file as an extension's entry point, running its top level.
    pub async fn load(&self, path: &Path) -> Result<(), EngineError> {
        let name = path.to_string_lossy().into_owned();
        let options = CallOptions::charged_to(name.clone());
        self.call("pi:host", "load", vec![Value::String(name)], options)
            .await?;
        Ok(())
    }

    /// Calls an exported function of a module (a file that was loaded, or a virtual module) and
    /// waits for its value.
    pub async fn call(
        &self,
        module: &str,
        export: &str,
        arguments: Vec<Value>,
        options: CallOptions,
    ) -> Result<Value, EngineError> {
        let thread = self.thread()?;
        let id = self.next_call.fetch_add(1, Ordering::Relaxed);
        let slice = options.slice.unwrap_or(self.options.budgets.slice);
        let invocation = realm::Invocation {
            id,
            owner: options.extension.map(Arc::from),
            module: module.to_owned(),
            export: export.to_owned(),
            arguments,
            slice,
        };
        let (reply, answer) = oneshot::channel();
        thread.send(Box::new(move |realm| realm.invoke(invocation, reply)))?;
        let timeout = options.timeout.or(self.options.budgets.call);
        let result = self.wait(&thread, answer, slice, timeout).await;
        if matches!(result, Err(EngineError::TimedOut(_))) {
            // The thread may be gone by now; then there is nothing to forget.
            drop(thread.send(Box::new(move |realm| {
                realm.settle(id, Err(EngineError::Stopped));
            })));
        }
        result
    }

    /// Waits for an answer, within the time of the call and the pulse of the thread.
    async fn wait(
        &self,
        thread: &Thread,
        mut answer: oneshot::Receiver<realm::CallResult>,
        slice: Duration,
        timeout: Option<Duration>,
    ) -> realm::CallResult {
        let patience = slice.max(self.options.budgets.slice) + self.options.budgets.grace;
        let deadline = timeout.map(|timeout| (Instant::now() + timeout, timeout));
        loop {
            let left = patience
                .saturating_sub(thread.pulse.silent_for())
                .max(SHORTEST_LOOK);
            let next_look = Instant::now() + left;
            let until = deadline.map_or(next_look, |(deadline, _)| deadline.min(next_look));
            match tokio::time::timeout_at(until, &mut answer).await {
                Ok(Ok(result)) => return result,
                Ok(Err(_)) => return Err(thread.failure()),
                Err(_) if thread.pulse.silent_for() >= patience => return Err(EngineError::Stuck),
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

    /// Returns the bytes the JavaScript heap takes after a collection; 0 when not started.
    pub async fn memory_used(&self) -> Result<u64, EngineError> {
        if !self.is_started() {
            return Ok(0);
        }
        self.run(|realm| realm.memory_used()).await
    }

    /// Runs something on the JavaScript thread, outside of JavaScript.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Rc<Realm>) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let thread = self.thread()?;
        let (reply, answer) = oneshot::channel();
        thread.send(Box::new(move |realm| drop(reply.send(work(realm)))))?;
        answer.await.map_err(|_closed| thread.failure())
    }

    /// Abandons the thread, whatever it does, and starts afresh with the next use.
    ///
    /// Running code is interrupted; a thread that hangs in native code is left to itself and
    /// heard no more. Open calls fail with [`EngineError::Stopped`]. Nothing loaded survives.
    pub fn replace(&self) {
        let old = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(old) = old {
            old.pulse.stop();
        }
    }

    /// Stops the thread and waits for its end.
    pub async fn shutdown(&self) -> Result<(), EngineError> {
        let old = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(old) = old else {
            return Ok(());
        };
        old.pulse.stop();
        let ended = old.ended.clone();
        drop(old);
        match tokio::time::timeout(self.options.budgets.grace, ended.cancelled()).await {
            Ok(()) => Ok(()),
            Err(_) => Err(EngineError::Stuck),
        }
    }

    fn thread(&self) -> Result<Arc<Thread>, EngineError> {
        let mut slot = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = &*slot {
            return Ok(Arc::clone(thread));
        }
        let thread = Arc::new(Thread::start(Arc::clone(&self.options))?);
        *slot = Some(Arc::clone(&thread));
        Ok(thread)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.replace();
    }
}

impl Thread {
    fn start(options: Arc<EngineOptions>) -> Result<Self, EngineError> {
        let (commands, receiver) = mpsc::unbounded_channel();
        let thread = Self {
            commands,
            pulse: Pulse::new(),
            failure: Arc::new(OnceLock::new()),
            ended: CancellationToken::new(),
        };
        let pulse = Arc::clone(&thread.pulse);
        let failure = Arc::clone(&thread.failure);
        let ended = thread.ended.clone().drop_guard();
        // Twice what JavaScript may take: the engine checks at calls, native frames lie between.
        let stack = options.budgets.stack.saturating_mul(2) + 1024 * 1024;
        std::thread::Builder::new()
            .name("pi-extensions".to_owned())
            .stack_size(stack)
            .spawn(move || {
                if let Err(error) = run_thread(options, &pulse, receiver) {
                    // Set once: this thread is the only writer.
                    drop(failure.set(error));
                }
                drop(ended);
            })
            .map_err(|error| EngineError::Start(error.to_string()))?;
        Ok(thread)
    }

    fn send(&self, command: Command) -> Result<(), EngineError> {
        self.commands
            .send(command)
            .map_err(|_closed| self.failure())
    }

    fn failure(&self) -> EngineError {
        self.failure.get().cloned().unwrap_or(EngineError::Stopped)
    }
}

fn run_thread(
    options: Arc<EngineOptions>,
    pulse: &Arc<Pulse>,
    mut commands: mpsc::UnboundedReceiver<Command>,
) -> Result<(), EngineError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| EngineError::Start(error.to_string()))?;
    if cfg!(target_env = "gnu") {
        make_room();
    }
    let tasks = tokio::task::LocalSet::new();
    let outcome = tasks.block_on(&runtime, async {
        let realm = Realm::new(options, Arc::clone(pulse))?;
        let mut stopped = pin!(pulse.stopped());
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                command = commands.recv() => match command {
                    Some(command) => command(&realm),
                    None => break,
                },
            }
        }
        realm.resources.close();
        Ok(())
    });
    drop(tasks);
    // Work on the blocking pool (a file being read) may outlive the engine.
    runtime.shutdown_background();
    outcome
}

/// Widens the memory of this thread in a few steps. The allocator of glibc does it by as much as is asked for, with
/// a call of the kernel each time: hundreds of them while small objects are made. What was widened stays so.
fn make_room() {
    let blocks: Vec<Vec<u8>> = (0..FIRST_ROOM / LARGEST_BLOCK)
        .map(|_| Vec::with_capacity(LARGEST_BLOCK))
        .collect();
    drop(std::hint::black_box(blocks));
}
