//! The extensions of a session: loaded one by one, then told of events and asked for work.
//!
//! [`Extensions`] joins the engine with our JavaScript half (`js/pi`), which keeps the handlers and
//! knows the rule by which the results of an event become one. What crosses is JSON; its shapes
//! are the caller's business. What extensions ask in turn goes to the [`Host`](crate::Host).
//!
//! Some extensions may run on Node instead; what concerns one extension goes where that one is, and what
//! concerns all goes to both.

mod screen;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::both_hosts::{ExtensionHost, Heard, Next, SharedProgram, hand_on, join};
use crate::engine::{CallOptions, Engine, EngineOptions};
use crate::error::EngineError;
use crate::host::SharedHost;
use crate::node_host::{self, NodeHost};

const REGISTRY: &str = "pi:pi/registry";
const DISPATCH: &str = "pi:pi/dispatch";
const TOOLS: &str = "pi:pi/tools";
const PROVIDERS: &str = "pi:pi/providers";
const SIGNALS: &str = "pi:pi/signals";
const WORK: &str = "pi:pi/work";

/// The packages extensions import, and which of our modules stands for each.
const PACKAGES: [(&str, &str); 6] = [
    ("pi-coding-agent", "pi-coding-agent"),
    ("pi-agent-core", "pi-agent-core"),
    ("pi-tui", "pi-tui"),
    ("pi-ai", "pi-ai"),
    ("pi-ai/compat", "pi-ai"),
    ("pi-ai/providers/all", "pi-ai-providers"),
];

/// The scopes those packages were published under.
const SCOPES: [&str; 2] = ["@earendil-works", "@mariozechner"];

/// The names of the schema package.
const SCHEMA_PACKAGES: [&str; 2] = ["typebox", "@sinclair/typebox"];

/// Packages whose own code the embedded engine cannot run (`undici` parses with WebAssembly), and which of our modules
/// stands for each. On Node they are what they are.
const REPLACED_PACKAGES: [(&str, &str); 1] = [("undici", "undici")];

/// The extensions of a session, on an engine of their own that starts with the first of them.
#[derive(Debug)]
pub struct Extensions {
    engine: Engine,
    node: NodeHost,
    /// The extensions that run on Node.
    on_node: Mutex<HashSet<String>>,
    heard: Arc<Mutex<Heard>>,
    /// Events the embedded engine is still being told of, for Node after it.
    underway: Mutex<HashMap<u64, Value>>,
}

impl Extensions {
    /// Prepares an engine with the modules that extensions import; nothing is started.
    pub fn new(options: EngineOptions) -> Self {
        let mut options = options;
        for (name, module) in packages() {
            options = match module {
                Some(module) => options.with_package(name, format!("pi:modules/{module}")),
                // It has types alone.
                None => options.with_virtual_module(name, "export {};\n"),
            };
        }
        let heard = Arc::default();
        let program = Arc::clone(&options.host.0);
        let in_place = |place| {
            let shared = SharedProgram::new(Arc::clone(&program), place, Arc::clone(&heard));
            let mut options = options.clone();
            if place == ExtensionHost::Node {
                let is_replaced =
                    |name: &str| REPLACED_PACKAGES.iter().any(|(known, _)| *known == name);
                options.packages.retain(|(name, _)| !is_replaced(name));
            }
            options.host = SharedHost(Arc::new(shared));
            options
        };
        Self {
            engine: Engine::new(in_place(ExtensionHost::Embedded)),
            node: NodeHost::new(in_place(ExtensionHost::Node)),
            on_node: Mutex::default(),
            heard,
            underway: Mutex::default(),
        }
    }

    /// Loads an extension and returns what it has registered. One that fails leaves nothing behind.
    pub async fn load(&self, path: &Path) -> Result<Value, EngineError> {
        self.load_in(path, ExtensionHost::Embedded).await
    }

    /// Loads an extension where the user wants it and returns what it has registered.
    pub async fn load_in(&self, path: &Path, place: ExtensionHost) -> Result<Value, EngineError> {
        let name = path.to_string_lossy().into_owned();
        if place == ExtensionHost::Node {
            lock(&self.on_node).insert(name.clone());
        }
        let values = vec![Value::String(name.clone())];
        let mut loaded = self
            .charged(&name, REGISTRY, "loadExtension", values)
            .await?;
        if let Some(events) = loaded.get_mut("events") {
            *events = lock(&self.heard).note(place, events);
        }
        Ok(loaded)
    }

    /// Tells extensions the values of their flags, then lets them act.
    pub async fn bind(&self, flags: Value) -> Result<(), EngineError> {
        self.everywhere(REGISTRY, "setFlags", vec![flags]).await?;
        self.everywhere(REGISTRY, "bind", Vec::new()).await
    }

    /// Tells of an event under a number, and returns what the extensions make of it; `signal` names what
    /// can be cancelled by [`Extensions::abort`]. Where the engine stopped one of the extensions, the same
    /// number without an event goes on with those after it; nobody is stopped twice.
    pub async fn emit(
        &self,
        dispatch: u64,
        event: Option<Value>,
        signal: Option<u64>,
    ) -> Result<Value, EngineError> {
        let has_node = self.node.is_alive();
        if let (true, Some(event)) = (has_node, &event) {
            lock(&self.underway).insert(dispatch, event.clone());
        }
        let first = match self.embedded() {
            Some(engine) => {
                let event = event.unwrap_or_default();
                let values = vec![event, json!(signal), dispatch.into()];
                let options = CallOptions::default();
                engine.call(DISPATCH, "emit", values, options).await
            }
            None => Ok(Value::Null),
        };
        let goes_on = matches!(
            first,
            Err(EngineError::Runaway(_) | EngineError::TimedOut(_) | EngineError::OutOfMemory(_))
        );
        if goes_on || !has_node {
            return first;
        }
        let event = lock(&self.underway).remove(&dispatch);
        self.emit_on_node(event.unwrap_or_default(), first?, signal)
            .await
    }

    /// Tells the extensions on Node of an event the others have heard of.
    async fn emit_on_node(
        &self,
        event: Value,
        first: Value,
        signal: Option<u64>,
    ) -> Result<Value, EngineError> {
        let mut event = event;
        let name = event.get("type").and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        if hand_on(&mut event, &first) == Next::Decided || !lock(&self.heard).on_node(&name) {
            return Ok(first);
        }
        let values = vec![event, json!(signal)];
        let options = CallOptions::default();
        match self.node.call(DISPATCH, "emit", values, options).await {
            Ok(second) => Ok(join(&name, first, second)),
            // A handler that fails here stops the call, and one that is gone half-way has failed.
            Err(EngineError::Node(error)) if name == "tool_call" => {
                Ok(json!({ "failure": error.to_string() }))
            }
            // The end of Node was told already.
            Err(EngineError::Node(_)) => Ok(first),
            Err(error) => Err(error),
        }
    }

    /// Runs a command.
    pub async fn run_command(
        &self,
        extension: &str,
        name: &str,
        arguments: &str,
    ) -> Result<(), EngineError> {
        let values = vec![extension.into(), name.into(), arguments.into()];
        self.charged(extension, DISPATCH, "runCommand", values)
            .await?;
        Ok(())
    }

    /// Asks a command to complete its arguments.
    pub async fn complete_command(
        &self,
        extension: &str,
        name: &str,
        prefix: &str,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), name.into(), prefix.into()];
        self.charged(extension, DISPATCH, "completeCommand", values)
            .await
    }

    /// Runs a shortcut.
    pub async fn run_shortcut(&self, extension: &str, key: &str) -> Result<(), EngineError> {
        let values = vec![extension.into(), key.into()];
        self.charged(extension, DISPATCH, "runShortcut", values)
            .await?;
        Ok(())
    }

    /// Runs a tool; partial results come to the host under the number of the signal.
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
        self.charged(extension, TOOLS, "execute", values).await
    }

    /// Lets a tool mend the arguments a model gave it.
    pub async fn prepare_arguments(
        &self,
        extension: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), tool.into(), arguments];
        self.charged(extension, TOOLS, "prepareArguments", values)
            .await
    }

    /// Asks a function that an extension brought along for work the program does for it. `signal`
    /// names what can be cancelled by [`Extensions::abort`].
    pub async fn serve(
        &self,
        extension: Option<&str>,
        work: u64,
        function: &str,
        arguments: Value,
        signal: Option<u64>,
    ) -> Result<Value, EngineError> {
        let values = vec![work.into(), function.into(), arguments, json!(signal)];
        let options = CallOptions {
            extension: extension.map(str::to_owned),
            ..CallOptions::default()
        };
        if work >= node_host::FIRST_NUMBER {
            return self.node.call(WORK, "serve", values, options).await;
        }
        self.engine.call(WORK, "serve", values, options).await
    }

    /// Asks a provider; its events come to the host under the number of the signal.
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
        self.charged(extension, PROVIDERS, "stream", values).await
    }

    /// Asks a provider for its models.
    pub async fn refresh_models(
        &self,
        extension: &str,
        provider: &str,
        context: Value,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), provider.into(), context];
        self.charged(extension, PROVIDERS, "refreshModels", values)
            .await
    }

    /// Signs in to a provider; what it shows and asks comes to the host under the number of the
    /// signal.
    pub async fn sign_in(
        &self,
        extension: &str,
        provider: &str,
        signal: u64,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), provider.into(), signal.into()];
        self.charged(extension, PROVIDERS, "signIn", values).await
    }

    /// Renews the credential of a sign-in.
    pub async fn renew_sign_in(
        &self,
        extension: &str,
        provider: &str,
        credential: Value,
    ) -> Result<Value, EngineError> {
        let values = vec![extension.into(), provider.into(), credential];
        self.charged(extension, PROVIDERS, "renewSignIn", values)
            .await
    }

    /// Cancels what was begun with this signal.
    pub async fn abort(&self, signal: u64) -> Result<(), EngineError> {
        self.everywhere(SIGNALS, "abort", vec![signal.into()]).await
    }

    /// Returns the engine, to measure or to stop it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    async fn charged(
        &self,
        extension: &str,
        module: &str,
        function: &str,
        values: Vec<Value>,
    ) -> Result<Value, EngineError> {
        let options = CallOptions::charged_to(extension);
        if lock(&self.on_node).contains(extension) {
            return self.node.call(module, function, values, options).await;
        }
        self.engine.call(module, function, values, options).await
    }

    /// Returns the embedded engine, unless all extensions run on Node.
    fn embedded(&self) -> Option<&Engine> {
        (self.engine.is_started() || !self.node.is_alive()).then_some(&self.engine)
    }

    /// Calls a function wherever extensions run.
    async fn everywhere(
        &self,
        module: &str,
        function: &str,
        values: Vec<Value>,
    ) -> Result<(), EngineError> {
        if self.node.is_alive() {
            let options = CallOptions::default();
            let told = self.node.call(module, function, values.clone(), options);
            match told.await {
                // The end of Node was told already.
                Ok(_) | Err(EngineError::Node(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(engine) = self.embedded() {
            let options = CallOptions::default();
            engine.call(module, function, values, options).await?;
        }
        Ok(())
    }
}

/// Lists what extensions can import, with the module that stands for it.
pub(crate) fn packages() -> impl Iterator<Item = (String, Option<String>)> {
    let ours = SCOPES.into_iter().flat_map(|scope| {
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
    ours.chain(schemas).chain(replaced)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
