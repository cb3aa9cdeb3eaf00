//! One event on its way through the handlers of both hosts, and what to do if one of them does not respond.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::ExtensionManager;
use super::functions::{ABORT, EMIT};
use crate::engine::CallOptions;
use crate::error::EngineError;
use crate::host_router::{EventFlow, ExtensionHost, combine_results, merge_result};
use crate::node_host::FIRST_NODE_ID;

/// Time between attempts to interrupt code that keeps the JavaScript thread busy.
const INTERRUPT_INTERVAL: Duration = Duration::from_millis(5);

/// How long Node may take to respond, after a handler did not, before it is killed.
const NODE_KILL_GRACE: Duration = Duration::from_secs(2);

/// A signal ID that is never used: aborting it does nothing but show that the host responds.
const UNUSED_SIGNAL: u64 = 0;

/// Hosts that could not be interrupted and receive no events until they respond.
#[derive(Debug, Default)]
pub(super) struct BlockedHosts {
    /// The entry into JavaScript that blocks the embedded engine.
    embedded: Mutex<Option<u64>>,
    node: Arc<AtomicBool>,
}

/// State of a host after a handler was abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRecovery {
    /// The event has not reached any handler yet: other code kept the host busy.
    NotStarted,
    /// The host responds, and the dispatch can continue with the remaining handlers.
    Responsive,
    /// The host does not respond. It receives no events until it does.
    Blocked,
}

/// An event for the handlers of all extensions.
pub struct HookDispatch<'manager> {
    manager: &'manager ExtensionManager,
    id: u64,
    name: String,
    /// The event, until the embedded engine has it.
    event: Option<Value>,
    /// The event for Node; `None` if Node does not run.
    node_event: Option<Value>,
    /// Whether Node has the event.
    is_on_node: bool,
    /// The result of the embedded engine, once all of its handlers have run.
    first: Option<Value>,
    /// The agent whose extensions receive the event; 0 for those of the main session.
    agent: u64,
}

/// Observes a [`HookDispatch`] while it runs.
#[derive(Clone, Copy)]
pub struct HookProbe<'manager> {
    manager: &'manager ExtensionManager,
    id: u64,
}

impl ExtensionManager {
    /// Prepares to emit an event. `id` must be unique. `agent` selects the extensions of an agent; 0 those of the main
    /// session.
    pub fn hook_dispatch(&self, id: u64, agent: u64, event: Value) -> HookDispatch<'_> {
        let name = event.get("type").and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        self.running_hooks.begin(id, ExtensionHost::Embedded);
        // An agent runs on the host of the extension that created it.
        let is_for_node = agent >= FIRST_NODE_ID;
        let has_node = is_for_node || (agent == 0 && self.node.is_alive());
        HookDispatch {
            manager: self,
            id,
            name,
            node_event: has_node.then(|| event.clone()),
            event: Some(event),
            is_on_node: false,
            first: is_for_node.then_some(Value::Null),
            agent,
        }
    }
}

impl<'manager> HookDispatch<'manager> {
    pub fn probe(&self) -> HookProbe<'manager> {
        HookProbe {
            manager: self.manager,
            id: self.id,
        }
    }

    /// Calls the handlers that have not received the event yet and returns their combined result.
    /// A handler that was interrupted or abandoned is not called again.
    ///
    /// `signal` is the ID that cancels the handlers with [`ExtensionManager::abort`]. `skipped` has the
    /// extensions that receive no events, by path; if its value is true, the event fails where a handler
    /// decides whether something may run.
    pub async fn run(
        &mut self,
        signal: Option<u64>,
        skipped: &Value,
    ) -> Result<Value, EngineError> {
        let first = match self.first.take() {
            Some(first) => first,
            None => self.run_embedded(signal, skipped).await?,
        };
        self.first = Some(first.clone());
        let Some(mut event) = self.node_event.take() else {
            return Ok(first);
        };
        if !self.is_on_node {
            let flow = merge_result(&mut event, &first);
            let manager = self.manager;
            if flow == EventFlow::Decided
                || (self.agent == 0
                    && !manager
                        .subscriptions
                        .lock()
                        .has_subscriber(ExtensionHost::Node, &self.name))
            {
                return Ok(first);
            }
        }
        let given = if self.is_on_node {
            Value::Null
        } else {
            event.clone()
        };
        // Kept, so that a dispatch that is abandoned here continues here.
        self.node_event = Some(event);
        if !self.is_on_node {
            self.is_on_node = true;
            let running = &self.manager.running_hooks;
            running.begin(self.id, ExtensionHost::Node);
        }
        self.run_on_node(given, first, signal, skipped).await
    }

    fn arguments(&self, event: Value, signal: Option<u64>, skipped: &Value) -> Vec<Value> {
        let agent = self.agent.into();
        vec![event, json!(signal), self.id.into(), skipped.clone(), agent]
    }

    async fn run_embedded(
        &mut self,
        signal: Option<u64>,
        skipped: &Value,
    ) -> Result<Value, EngineError> {
        let Some(engine) = self.manager.embedded() else {
            return Ok(Value::Null);
        };
        let blocked = *self.manager.blocked.embedded.lock();
        if blocked.is_some() && engine.current_entry() == blocked {
            return Err(EngineError::Stuck);
        }
        let event = self.event.take().unwrap_or_default();
        let values = self.arguments(event, signal, skipped);
        let options = CallOptions::default();
        engine.call(EMIT.module, EMIT.name, values, options).await
    }

    async fn run_on_node(
        &self,
        event: Value,
        first: Value,
        signal: Option<u64>,
        skipped: &Value,
    ) -> Result<Value, EngineError> {
        if self.manager.blocked.node.load(Ordering::Relaxed) {
            return Err(EngineError::Stuck);
        }
        let values = self.arguments(event, signal, skipped);
        let options = CallOptions::default();
        let called = self
            .manager
            .node
            .call(EMIT.module, EMIT.name, values, options);
        match called.await {
            Ok(second) => Ok(combine_results(&self.name, first, second)),
            // A failing `tool_call` handler blocks the call, so an exit of Node must block it as well.
            Err(EngineError::Node(error)) if self.name == "tool_call" => {
                Ok(json!({ "failure": error.to_string() }))
            }
            // The exit of Node has already been reported as a fault.
            Err(EngineError::Node(_)) => Ok(first),
            Err(error) => Err(error),
        }
    }
}

impl Drop for HookDispatch<'_> {
    fn drop(&mut self) {
        self.manager.running_hooks.end(self.id);
    }
}

impl HookProbe<'_> {
    /// Returns the path of the extension whose handlers are running; `None` if none was called yet.
    pub fn extension(self) -> Option<String> {
        self.manager.running_hooks.position(self.id)?.extension
    }

    /// Makes the host that runs the handlers respond again, within `grace`: interrupts code that keeps
    /// the embedded engine busy, and kills a Node process that stays blocked.
    pub async fn recover(self, grace: Duration) -> HostRecovery {
        let Some(position) = self.manager.running_hooks.position(self.id) else {
            return HostRecovery::Responsive;
        };
        if !self.manager.recover(position.host, grace).await {
            return HostRecovery::Blocked;
        }
        // A host that was busy with other code may have started the handlers by now.
        match position.extension {
            Some(_) => HostRecovery::Responsive,
            None => HostRecovery::NotStarted,
        }
    }
}

impl ExtensionManager {
    /// Makes a host respond again; returns whether it does.
    pub async fn recover(&self, host: ExtensionHost, grace: Duration) -> bool {
        match host {
            ExtensionHost::Embedded => self.recover_embedded(grace).await,
            ExtensionHost::Node => self.recover_node(grace).await,
        }
    }

    /// Makes both hosts respond again.
    pub async fn recover_all(&self, grace: Duration) {
        let embedded = async {
            if self.engine.is_started() {
                self.recover_embedded(grace).await;
            }
        };
        let node = async {
            if self.node.is_alive() {
                self.recover_node(grace).await;
            }
        };
        tokio::join!(embedded, node);
    }

    async fn recover_embedded(&self, grace: Duration) -> bool {
        let deadline = Instant::now() + grace;
        let mut responding = std::pin::pin!(self.engine.run(|_| ()));
        loop {
            match timeout(INTERRUPT_INTERVAL, &mut responding).await {
                Ok(responded) => return responded.is_ok(),
                Err(_) if Instant::now() >= deadline => break,
                Err(_) => self.engine.interrupt(),
            }
        }
        *self.blocked.embedded.lock() = self.engine.current_entry();
        false
    }

    async fn recover_node(&self, grace: Duration) -> bool {
        let values = vec![UNUSED_SIGNAL.into()];
        let options = CallOptions::default();
        let mut responding = Box::pin(self.node.call(ABORT.module, ABORT.name, values, options));
        if let Ok(responded) = timeout(grace, &mut responding).await {
            return responded.is_ok();
        }
        let blocked = Arc::clone(&self.blocked.node);
        blocked.store(true, Ordering::Relaxed);
        let killer = self.node.killer();
        tokio::spawn(async move {
            if timeout(NODE_KILL_GRACE, responding).await.is_err() {
                killer.cancel();
            }
            blocked.store(false, Ordering::Relaxed);
        });
        false
    }
}
