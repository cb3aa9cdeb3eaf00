//! Runs extensions on Node, for those that need native addons or WebAssembly and only if configured.
//!
//! A `node` process runs the script in `js/node_host`, which provides the same modules as the
//! embedded engine and calls the same [`EngineHost`](crate::EngineHost), with JSON lines over stdin
//! and stdout. One thread owns the process; it starts with the first call. After Node exits, every
//! call fails and Node is not restarted.

mod frame;
mod module_server;
mod output;
mod process;
mod spawn;
mod terminal_service;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::engine::{CallOptions, EngineOptions};
use crate::error::EngineError;
use process::{NodeCall, NodeCallResult};

/// Oldest version of Node with the module hooks that the script needs.
const MIN_NODE: &str = "22.15";

/// First ID allocated by extensions on Node (`js/node_host/host.js`). Smaller IDs belong to the
/// embedded engine.
pub(crate) const FIRST_NODE_ID: u64 = 1 << 40;

/// Why extensions cannot run on Node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeHostError {
    #[error(
        "`node` not found on PATH; install Node {MIN_NODE} or newer, \
         or set `extensionHost` to run this extension without Node"
    )]
    NotFound,
    #[error("Node {0} is too old to run extensions; install Node {MIN_NODE} or newer")]
    TooOld(String),
    /// Node failed to start or did not become ready in time.
    #[error("cannot start Node: {0}")]
    Start(String),
    #[error("Node exited ({0}); its extensions are unavailable until you run /reload")]
    Exited(String),
    /// Node missed its heartbeat and was killed.
    #[error(
        "Node did not respond for {} s and was killed; its extensions are unavailable until you \
         run /reload",
        .0.as_secs()
    )]
    Unresponsive(Duration),
    /// A handler of an extension blocked Node, which was killed.
    #[error(
        "an extension blocked Node, which was killed; its extensions are unavailable until you \
         run /reload"
    )]
    Blocked,
}

/// Handle to the Node process that runs extensions.
#[derive(Debug)]
pub(crate) struct NodeHost {
    options: Arc<EngineOptions>,
    thread: Mutex<Option<NodeThread>>,
    next_call: AtomicU64,
}

#[derive(Debug, Clone)]
struct NodeThread {
    // Unbounded: every sender awaits its reply, so there is at most one entry per caller.
    calls: mpsc::UnboundedSender<NodeCall>,
    failure: Arc<OnceLock<NodeHostError>>,
    /// Kills Node when canceled.
    killer: CancellationToken,
}

impl NodeHost {
    /// Creates a handle without starting Node.
    pub(crate) fn new(options: EngineOptions) -> Self {
        Self {
            options: Arc::new(options),
            thread: Mutex::new(None),
            next_call: AtomicU64::new(1),
        }
    }

    /// Returns whether Node was started and has not exited.
    pub(crate) fn is_alive(&self) -> bool {
        let thread = self.thread.lock();
        thread
            .as_ref()
            .is_some_and(|thread| thread.failure.get().is_none())
    }

    /// Returns the token that kills Node.
    pub(crate) fn killer(&self) -> CancellationToken {
        let thread = self.thread.lock();
        let thread = thread.as_ref();
        thread.map_or_else(CancellationToken::new, |thread| thread.killer.clone())
    }

    /// Calls an exported function of an embedded module and awaits its result.
    ///
    /// Node cannot be interrupted. A call with a time slice stops waiting when the slice is over,
    /// and its result is discarded.
    pub(crate) fn call(
        &self,
        module: &str,
        export: &str,
        arguments: Vec<Value>,
        options: CallOptions,
    ) -> impl Future<Output = NodeCallResult> + Send + use<> {
        let (reply, response) = oneshot::channel();
        let call = NodeCall {
            id: self.next_call.fetch_add(1, Ordering::Relaxed),
            module: module.to_owned(),
            export: export.to_owned(),
            arguments,
            extension: options.extension,
            reply,
        };
        let limit = match (options.slice, options.timeout.or(self.options.limits.call)) {
            (Some(slice), _) => Some((slice, EngineError::Runaway(slice))),
            (None, Some(timeout)) => Some((timeout, EngineError::TimedOut(timeout))),
            (None, None) => None,
        };
        let thread = self.thread();
        async move {
            let thread = thread?;
            if thread.calls.send(call).is_err() {
                return Err(thread.failure());
            }
            let response = match limit {
                Some((limit, timeout_error)) => match tokio::time::timeout(limit, response).await {
                    Ok(response) => response,
                    Err(_) => return Err(timeout_error),
                },
                None => response.await,
            };
            response.unwrap_or_else(|_closed| Err(thread.failure()))
        }
    }

    fn thread(&self) -> Result<NodeThread, EngineError> {
        let mut slot = self.thread.lock();
        if let Some(thread) = &*slot {
            return Ok(thread.clone());
        }
        let (calls, receiver) = mpsc::unbounded_channel();
        let thread = NodeThread {
            calls,
            failure: Arc::default(),
            killer: CancellationToken::new(),
        };
        let killer = thread.killer.clone();
        let failure = Arc::clone(&thread.failure);
        let options = Arc::clone(&self.options);
        std::thread::Builder::new()
            .name("pi-extensions-node".to_owned())
            .spawn(move || process::run(&options, receiver, &killer, &failure))
            .map_err(|error| EngineError::Start(error.to_string()))?;
        *slot = Some(thread.clone());
        Ok(thread)
    }
}

impl NodeThread {
    fn failure(&self) -> EngineError {
        match self.failure.get() {
            Some(error) => EngineError::Node(error.clone()),
            None => EngineError::Stopped,
        }
    }
}
