//! The extensions of a session: loaded one by one, then told of events and asked for work.
//!
//! [`Extensions`] joins the engine with our JavaScript half (`js/pi`), which keeps the handlers and
//! knows the rule by which the results of an event become one. What crosses is JSON; its shapes
//! are the caller's business. What extensions ask in turn goes to the [`Host`](crate::Host).

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::{CallOptions, Engine, EngineOptions};
use crate::error::EngineError;

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

/// Packages whose own code the engine cannot run (`undici` parses with WebAssembly), and which of our modules
/// stands for each.
const REPLACED_PACKAGES: [(&str, &str); 1] = [("undici", "undici")];

/// The extensions of a session, on an engine of their own that starts with the first of them.
#[derive(Debug)]
pub struct Extensions {
    engine: Engine,
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
        Self {
            engine: Engine::new(options),
        }
    }

    /// Loads an extension and returns what it has registered. One that fails leaves nothing behind.
    pub async fn load(&self, path: &Path) -> Result<Value, EngineError> {
        let name = path.to_string_lossy().into_owned();
        let options = CallOptions::charged_to(name.clone());
        self.engine
            .call(REGISTRY, "loadExtension", vec![name.into()], options)
            .await
    }

    /// Tells extensions the values of their flags, then lets them act.
    pub async fn bind(&self, flags: Value) -> Result<(), EngineError> {
        self.call(REGISTRY, "setFlags", vec![flags]).await?;
        self.call(REGISTRY, "bind", Vec::new()).await?;
        Ok(())
    }

    /// Tells of an event and returns what the extensions make of it. `signal` names what can be
    /// cancelled by [`Extensions::abort`].
    pub async fn emit(&self, event: Value, signal: Option<u64>) -> Result<Value, EngineError> {
        self.call(DISPATCH, "emit", vec![event, json!(signal)])
            .await
    }

    /// Tells of an event under a number. Where the engine stopped one of the extensions, the same
    /// number without an event goes on with those after it; nobody is stopped twice.
    pub async fn emit_as(
        &self,
        dispatch: u64,
        event: Option<Value>,
        signal: Option<u64>,
    ) -> Result<Value, EngineError> {
        let values = vec![json!(event), json!(signal), dispatch.into()];
        self.call(DISPATCH, "emit", values).await
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

    /// Calls a function of the part of our JavaScript that serves a screen; `slice` limits how long
    /// it may run.
    pub async fn screen(
        &self,
        part: &str,
        function: &str,
        values: Vec<Value>,
        slice: Option<Duration>,
    ) -> Result<Value, EngineError> {
        let options = CallOptions {
            slice,
            ..CallOptions::default()
        };
        let module = format!("pi:pi/{part}");
        self.engine.call(&module, function, values, options).await
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
        self.call(SIGNALS, "abort", vec![signal.into()]).await?;
        Ok(())
    }

    /// Returns the engine, to measure or to stop it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    async fn call(
        &self,
        module: &str,
        function: &str,
        values: Vec<Value>,
    ) -> Result<Value, EngineError> {
        let options = CallOptions::default();
        self.engine.call(module, function, values, options).await
    }

    async fn charged(
        &self,
        extension: &str,
        module: &str,
        function: &str,
        values: Vec<Value>,
    ) -> Result<Value, EngineError> {
        let options = CallOptions::charged_to(extension);
        self.engine.call(module, function, values, options).await
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
