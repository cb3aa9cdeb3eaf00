//! The extensions of a session: loading, event dispatch, commands, tools and providers.
//!
//! [`ExtensionManager`] connects the engine with its JavaScript half (`js/pi`), which stores the
//! handlers and combines the results of an event. Payloads are JSON whose schema belongs to the
//! caller. Calls from extensions go to the [`EngineHost`](crate::EngineHost).
//!
//! Extensions can also run on Node. Calls for one extension go to the host it runs on; calls for
//! all extensions go to both hosts.

mod functions;
mod hook_dispatch;
mod ui;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::cache::SourceCache;
use crate::engine::{CallOptions, Engine, EngineOptions};
use crate::error::EngineError;
use crate::host::SharedHost;
use crate::host_router::{ExtensionHost, RoutedHost, Subscriptions};
use crate::node_host::{self, NodeHost};
use crate::node_need;
use crate::running_hooks::RunningHooks;
use crate::usage_meter::UsageMeter;
pub use functions::UiCall;
use functions::{
    ABORT, BIND, COMPLETE_COMMAND, EMIT, EXECUTE_TOOL, JsFunction, LOAD_EXTENSION,
    PREPARE_ARGUMENTS, PREPARE_LOADOUT, REFRESH_CREDENTIAL, REFRESH_MODELS, ROUTE, RUN_CALLBACK,
    RUN_COMMAND, RUN_SHORTCUT, SET_FLAGS, SIGN_IN, STREAM, UNMOUNT_ALL,
};
use hook_dispatch::BlockedHosts;
pub use hook_dispatch::{HookDispatch, HookProbe, HostRecovery};

/// Packages that extensions import, with the embedded module that implements each.
const PACKAGES: [(&str, &str); 7] = [
    ("pi-coding-agent", "pi-coding-agent"),
    ("pi-agent-core", "pi-agent-core"),
    ("pi-tui", "pi-tui"),
    ("pi-ai", "pi-ai"),
    ("pi-ai/compat", "pi-ai"),
    ("pi-ai/models", "pi-ai-models"),
    ("pi-ai/providers/all", "pi-ai-providers"),
];

/// npm scopes under which those packages were published.
const SCOPES: [&str; 2] = ["@earendil-works", "@mariozechner"];

/// npm names of the schema package.
const SCHEMA_PACKAGES: [&str; 2] = ["typebox", "@sinclair/typebox"];

/// Packages that the embedded engine cannot run (`undici` parses with WebAssembly), with the
/// embedded module that replaces each. On Node the real packages are used.
const REPLACED_PACKAGES: [(&str, &str); 1] = [("undici", "undici")];

/// The extensions of a session. The engine starts when the first extension is loaded.
#[derive(Debug)]
pub struct ExtensionManager {
    engine: Engine,
    node: NodeHost,
    /// Paths of the extensions that run on Node.
    on_node: Mutex<HashSet<String>>,
    subscriptions: Arc<Mutex<Subscriptions>>,
    running_hooks: Arc<RunningHooks>,
    blocked: BlockedHosts,
    cache: SourceCache,
}

impl ExtensionManager {
    /// Configures both hosts with the modules that extensions import. Does not start either.
    pub fn new(options: EngineOptions) -> Self {
        let mut options = options;
        for (name, module) in packages() {
            options = match module {
                Some(module) => options.with_package(name, format!("pi:modules/{module}")),
                // The package contains only types.
                None => options.with_virtual_module(name, "export {};\n"),
            };
        }
        let subscriptions = Arc::default();
        let inner = Arc::clone(&options.host.0);
        let options_for = |host| {
            let shared = RoutedHost::new(Arc::clone(&inner), host, Arc::clone(&subscriptions));
            let mut options = options.clone();
            if host == ExtensionHost::Node {
                let is_replaced =
                    |name: &str| REPLACED_PACKAGES.iter().any(|(known, _)| *known == name);
                options.packages.retain(|(name, _)| !is_replaced(name));
            }
            options.host = SharedHost(Arc::new(shared));
            options
        };
        Self {
            engine: Engine::new(options_for(ExtensionHost::Embedded)),
            node: NodeHost::new(options_for(ExtensionHost::Node)),
            on_node: Mutex::default(),
            subscriptions,
            running_hooks: Arc::clone(&options.running_hooks),
            blocked: BlockedHosts::default(),
            cache: options.cache.clone(),
        }
    }

    /// Returns what an extension uses that only Node provides, if anything. Blocks; runs no code.
    pub fn node_need(&self, path: &Path) -> Option<String> {
        node_need::find(&self.cache, path)
    }

    /// Loads an extension on the embedded engine and returns its registrations. A failed load
    /// registers nothing.
    pub async fn load(&self, path: &Path) -> Result<Value, EngineError> {
        self.load_on(path, ExtensionHost::Embedded).await
    }

    /// Loads an extension on the given host and returns its registrations.
    pub async fn load_on(&self, path: &Path, host: ExtensionHost) -> Result<Value, EngineError> {
        let name = path.to_string_lossy().into_owned();
        if host == ExtensionHost::Node {
            self.on_node.lock().insert(name.clone());
        }
        let values = vec![Value::String(name.clone())];
        let started = Instant::now();
        let loaded = self.call_extension(&name, LOAD_EXTENSION, values).await;
        self.meter().loaded(&name, started.elapsed());
        if loaded.is_err() {
            // It may be loaded on the other host then.
            self.on_node.lock().remove(&name);
        }
        let mut loaded = loaded?;
        if let Some(events) = loaded.get_mut("events") {
            *events = self.subscriptions.lock().update(host, events);
        }
        Ok(loaded)
    }

    /// Adds an extension that JavaScript has loaded for the agent with this number.
    pub fn adopt(&self, key: &str, agent: u64) {
        if agent >= node_host::FIRST_NODE_ID {
            self.on_node.lock().insert(key.to_owned());
        }
    }

    /// Sets the values of extension flags, then enables the actions of the extension API.
    pub async fn bind(&self, flags: Value) -> Result<(), EngineError> {
        self.call_all_hosts(SET_FLAGS, vec![flags]).await?;
        self.call_all_hosts(BIND, Vec::new()).await
    }

    pub async fn run_command(
        &self,
        extension: &str,
        name: &str,
        arguments: &str,
    ) -> Result<(), EngineError> {
        let values = vec![extension.into(), name.into(), arguments.into()];
        self.call_extension(extension, RUN_COMMAND, values).await?;
        Ok(())
    }

    /// Returns completions for the arguments of a command.
    pub async fn complete_command(
        &self,
        extension: &str,
        name: &str,
        prefix: &str,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), name.into(), prefix.into()];
        self.call_extension(extension, COMPLETE_COMMAND, values)
            .await
    }

    /// Removes all components of an extension from the screen. Those of extensions on Node are not known.
    pub async fn unmount_all(&self, extension: &str) -> Result<(), EngineError> {
        let values = vec![extension.into()];
        self.call_extension(extension, UNMOUNT_ALL, values).await?;
        Ok(())
    }

    pub async fn run_shortcut(&self, extension: &str, key: &str) -> Result<(), EngineError> {
        let values = vec![extension.into(), key.into()];
        self.call_extension(extension, RUN_SHORTCUT, values).await?;
        Ok(())
    }

    /// Runs a tool. The host receives partial results under the signal ID.
    pub async fn execute_tool(
        &self,
        extension: &str,
        tool: &str,
        call_id: &str,
        arguments: Value,
        signal: u64,
    ) -> Result<Value, EngineError> {
        let values = vec![
            extension.into(),
            tool.into(),
            call_id.into(),
            arguments,
            signal.into(),
        ];
        self.call_extension(extension, EXECUTE_TOOL, values).await
    }

    /// Runs a tool's `prepareArguments` hook on the arguments sent by the model.
    pub async fn prepare_arguments(
        &self,
        extension: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), tool.into(), arguments];
        self.call_extension(extension, PREPARE_ARGUMENTS, values)
            .await
    }

    /// Runs a tool's `prepareLoadout` hook.
    pub async fn prepare_loadout(
        &self,
        extension: &str,
        tool: &str,
        loadout: Value,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), tool.into(), loadout];
        self.call_extension(extension, PREPARE_LOADOUT, values)
            .await
    }

    /// Calls a callback that an extension passed along with a host operation. `signal` is the ID
    /// that cancels it with [`ExtensionManager::abort`].
    pub async fn run_callback(
        &self,
        extension: Option<&str>,
        job: u64,
        function: &str,
        arguments: Value,
        signal: Option<u64>,
    ) -> Result<Value, EngineError> {
        let values = vec![job.into(), function.into(), arguments, json!(signal)];
        let options = CallOptions {
            extension: extension.map(str::to_owned),
            ..CallOptions::default()
        };
        if job >= node_host::FIRST_NODE_ID {
            return self
                .node
                .call(RUN_CALLBACK.module, RUN_CALLBACK.name, values, options)
                .await;
        }
        self.engine
            .call(RUN_CALLBACK.module, RUN_CALLBACK.name, values, options)
            .await
    }

    /// Sends a request to a provider. The host receives its events under the signal ID.
    pub async fn stream(
        &self,
        extension: &str,
        provider: &str,
        request: [Value; 3],
        signal: u64,
    ) -> Result<Value, EngineError> {
        let mut values = vec![extension.into(), provider.into()];
        values.extend(request);
        values.push(signal.into());
        self.call_extension(extension, STREAM, values).await
    }

    /// Fetches the model list of a provider.
    pub async fn refresh_models(
        &self,
        extension: &str,
        provider: &str,
        context: Value,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), provider.into(), context];
        self.call_extension(extension, REFRESH_MODELS, values).await
    }

    /// Chooses the model of a request to a virtual model. `signal` cancels it.
    pub async fn route(
        &self,
        extension: &str,
        (provider, id): (&str, &str),
        request: Value,
        signal: u64,
    ) -> Result<Value, EngineError> {
        let values = vec![
            extension.into(),
            provider.into(),
            id.into(),
            request,
            signal.into(),
        ];
        self.call_extension(extension, ROUTE, values).await
    }

    /// Signs in to a provider. The host receives its prompts and notices under the signal ID.
    pub async fn sign_in(
        &self,
        extension: &str,
        provider: &str,
        signal: u64,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), provider.into(), signal.into()];
        self.call_extension(extension, SIGN_IN, values).await
    }

    /// Refreshes an expired OAuth credential.
    pub async fn refresh_credential(
        &self,
        extension: &str,
        provider: &str,
        credential: Value,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), provider.into(), credential];
        self.call_extension(extension, REFRESH_CREDENTIAL, values)
            .await
    }

    /// Cancels the operation that was started with this signal ID.
    pub async fn abort(&self, signal: u64) -> Result<(), EngineError> {
        self.call_all_hosts(ABORT, vec![signal.into()]).await
    }

    /// Emits an event of the main session to the extensions on the host that `extension` does not run on. Those on its
    /// own host have received it from JavaScript.
    pub async fn emit_to_other_host(
        &self,
        extension: &str,
        event: Value,
    ) -> Result<(), EngineError> {
        let name = event.get("type").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        let host = if self.on_node.lock().contains(extension) {
            ExtensionHost::Embedded
        } else {
            ExtensionHost::Node
        };
        if !self.subscriptions.lock().has_subscriber(host, name) {
            return Ok(());
        }
        // Without a signal and a dispatch that can be resumed; for the extensions of the main session.
        let values = vec![event, Value::Null, 0.into(), Value::Null, 0.into()];
        let options = CallOptions::default();
        let JsFunction { module, name } = EMIT;
        match host {
            ExtensionHost::Embedded => self.engine.call(module, name, values, options).await?,
            ExtensionHost::Node => self.node.call(module, name, values, options).await?,
        };
        Ok(())
    }

    /// Returns what counts the use of resources by the extensions.
    pub fn meter(&self) -> &UsageMeter {
        self.running_hooks.meter()
    }

    /// Returns whether an extension runs on Node.
    pub fn is_on_node(&self, extension: &str) -> bool {
        self.on_node.lock().contains(extension)
    }

    /// Returns the embedded engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    async fn call_extension(
        &self,
        extension: &str,
        function: JsFunction,
        values: Vec<Value>,
    ) -> Result<Value, EngineError> {
        let JsFunction { module, name } = function;
        let options = CallOptions::for_extension(extension);
        if self.on_node.lock().contains(extension) {
            return self.node.call(module, name, values, options).await;
        }
        self.engine.call(module, name, values, options).await
    }

    /// Returns the embedded engine, or `None` if all extensions run on Node.
    fn embedded(&self) -> Option<&Engine> {
        (self.engine.is_started() || !self.node.is_alive()).then_some(&self.engine)
    }

    /// Calls a function on every running host. One that is blocked does not delay the other.
    async fn call_all_hosts(
        &self,
        function: JsFunction,
        values: Vec<Value>,
    ) -> Result<(), EngineError> {
        let JsFunction { module, name } = function;
        let on_node = async {
            if !self.node.is_alive() {
                return Ok(());
            }
            let options = CallOptions::default();
            let called = self.node.call(module, name, values.clone(), options);
            match called.await {
                // The exit of Node has already been reported as a fault.
                Ok(_) | Err(EngineError::Node(_)) => Ok(()),
                Err(error) => Err(error),
            }
        };
        let embedded = async {
            if let Some(engine) = self.embedded() {
                let options = CallOptions::default();
                engine.call(module, name, values.clone(), options).await?;
            }
            Ok(())
        };
        let (on_node, embedded) = tokio::join!(on_node, embedded);
        on_node.and(embedded)
    }
}

/// Lists the package names that extensions can import, each with the embedded module that
/// implements it. `None` means the package contains only types.
pub(crate) fn packages() -> impl Iterator<Item = (String, Option<String>)> {
    let own_packages = SCOPES.into_iter().flat_map(|scope| {
        let named = PACKAGES
            .into_iter()
            .map(move |(name, module)| (format!("{scope}/{name}"), Some(module.to_owned())));
        named.chain([(format!("{scope}/pi-ai/oauth"), None)])
    });
    let schemas = SCHEMA_PACKAGES.into_iter().flat_map(|name| {
        [
            ("", "typebox"),
            ("/compile", "typebox-compile"),
            ("/compiler", "typebox-compile"),
            ("/value", "typebox-value"),
        ]
        .map(|(path, module)| (format!("{name}{path}"), Some(module.to_owned())))
    });
    let replaced = REPLACED_PACKAGES
        .into_iter()
        .map(|(name, module)| (name.to_owned(), Some(module.to_owned())));
    own_packages.chain(schemas).chain(replaced)
}
