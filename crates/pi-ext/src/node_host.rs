//! Extensions on Node: for those that need native code or WebAssembly, where the user asks for it.
//!
//! A `node` process runs our script (`js/node_host`), which serves the same modules the engine does and asks the
//! same [`Host`](crate::Host), over lines of JSON on its standard streams. One thread owns the process and the
//! conversation; it starts with the first call. When Node ends, every call fails and nothing is started again.

mod conversation;
mod frame;
mod modules;
mod terminal;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::engine::{CallOptions, EngineOptions};
use crate::error::EngineError;
use conversation::{CallResult, Command};

/// The oldest Node that lets a loader be changed as our script does.
const OLDEST_NODE: &str = "22.15";

/// Numbers that extensions on Node make up begin here (`js/node_host/host.js`).
pub(crate) const FIRST_NUMBER: u64 = 1 << 40;

/// Why extensions do not run on Node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeHostError {
    /// There is no such program.
    #[error(
        "`node` was not found on PATH; install Node {OLDEST_NODE} or newer, \
         or let this extension run without it (`extensionHost`)"
    )]
    NotFound,
    /// It is too old.
    #[error("Node {0} is too old to run extensions; install Node {OLDEST_NODE} or newer")]
    TooOld(String),
    /// It could not be started, or did not get ready.
    #[error("Node could not be started: {0}")]
    Start(String),
    /// It ended, and its extensions with it.
    #[error("Node has ended ({0}), and the extensions on it with it; /reload starts them again")]
    Ended(String),
    /// It gave no sign of life for too long, and was ended.
    #[error(
        "Node gave no sign of life for {} s and was ended, and the extensions on it with it; \
         /reload starts them again",
        .0.as_secs()
    )]
    Silent(Duration),
}

/// The handle to extensions on Node.
#[derive(Debug)]
pub(crate) struct NodeHost {
    options: Arc<EngineOptions>,
    thread: Mutex<Option<Thread>>,
    next_call: AtomicU64,
}

#[derive(Debug, Clone)]
struct Thread {
    // Unbounded, since every sender waits for its answer: there are as many commands as callers.
    commands: mpsc::UnboundedSender<Command>,
    failure: Arc<OnceLock<NodeHostError>>,
}

impl NodeHost {
    /// Creates a handle; nothing is started.
    pub(crate) fn new(options: EngineOptions) -> Self {
        Self {
            options: Arc::new(options),
            thread: Mutex::new(None),
            next_call: AtomicU64::new(1),
        }
    }

    /// Returns whether it was started and has not ended since.
    pub(crate) fn is_alive(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread
            .as_ref()
            .is_some_and(|thread| thread.failure.get().is_none())
    }

    /// Calls an exported function of a module of ours and waits for its value.
    ///
    /// Node cannot be interrupted: where the call has a slice, waiting ends with it and the value is lost.
    pub(crate) async fn call(
        &self,
        module: &str,
        export: &str,
        arguments: Vec<Value>,
        options: CallOptions,
    ) -> CallResult {
        let thread = self.thread()?;
        let (reply, answer) = oneshot::channel();
        let command = Command {
            id: self.next_call.fetch_add(1, Ordering::Relaxed),
            module: module.to_owned(),
            export: export.to_owned(),
            arguments,
            extension: options.extension,
            reply,
        };
        if thread.commands.send(command).is_err() {
            return Err(thread.failure());
        }
        let limit = match (options.slice, options.timeout.or(self.options.budgets.call)) {
            (Some(slice), _) => Some((slice, EngineError::Runaway(slice))),
            (None, Some(timeout)) => Some((timeout, EngineError::TimedOut(timeout))),
            (None, None) => None,
        };
        let answer = match limit {
            Some((limit, late)) => match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer,
                Err(_) => return Err(late),
            },
            None => answer.await,
        };
        answer.unwrap_or_else(|_closed| Err(thread.failure()))
    }

    fn thread(&self) -> Result<Thread, EngineError> {
        let mut slot = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = &*slot {
            return Ok(thread.clone());
        }
        let (commands, receiver) = mpsc::unbounded_channel();
        let thread = Thread {
            commands,
            failure: Arc::default(),
        };
        let failure = Arc::clone(&thread.failure);
        let options = Arc::clone(&self.options);
        std::thread::Builder::new()
            .name("pi-extensions-node".to_owned())
            .spawn(move || conversation::run(&options, receiver, &failure))
            .map_err(|error| EngineError::Start(error.to_string()))?;
        *slot = Some(thread.clone());
        Ok(thread)
    }
}

impl Thread {
    fn failure(&self) -> EngineError {
        match self.failure.get() {
            Some(error) => EngineError::Node(error.clone()),
            None => EngineError::Stopped,
        }
    }
}
