//! Extensions of a session: TypeScript that registers tools and commands and handles events.
//!
//! [`SessionExtensions`] loads the extension files in their order, before the session exists; a
//! file that fails to load is reported and skipped. Once the session exists, the extensions are
//! bound to it and take effect through `SessionHooks`. They become stale when the session is
//! replaced: objects an extension kept from it then throw. Without extension files nothing is
//! created, and no JavaScript runs.

mod agents;
mod bridge;
mod builtin;
mod calls;
mod conversions;
mod front_end;
mod handle;
mod hooks;
mod jobs;
mod model_access;
mod open_dialogs;
mod open_sessions;
mod prompt_options;
mod provider;
mod registration;
mod requests;
mod screen;
mod send_message;
mod session_json;
mod sign_in;
mod summaries;
mod tool;
mod trust;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use pi_config::{ConfigDiagnostic, DiagnosticLevel, ExtensionEngine, ExtensionFile, SourceInfo};
use pi_core::RegisteredTool;
use pi_ext::{EngineError, EngineOptions, ExtensionHost, ProcessInfo, SourceCache};
use pi_providers::{ExtensionProvider, RefreshOptions, Registration};
use serde_json::{Map, Value};

pub use front_end::{
    DialogPrompt, DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionFlag, ExtensionMode,
    ExtensionNotice, ExtensionOptions, ExtensionUi, NoExtensionUi,
};

pub use handle::{
    ExtensionHandle, ExtensionRenderError, RenderedComponent, RenderedToolCall, ToolRenderer,
};
pub use screen::{
    ChosenCompletion, CompletionItem, ComponentId, ComponentPlacement, EditorInfo,
    ExtensionCompletionRequest, ExtensionCompletions, ExtensionScreen, ExtensionShortcut,
    OverlayExtent, OverlayMargin, OverlayPlacement, ScreenChange, ScreenInfo, ThemeData, ThemeInfo,
};
pub(crate) use trust::ExtensionTrustResolver;

use bridge::ExtensionBridge;
use registration::{ExtensionRegistry, FlagKind, ProviderData, Registrations, ToolData};
use sign_in::ExtensionSignIn;

use crate::commands::{CommandInfo, CommandSource};
use crate::hooks::SessionHooks;
use crate::runtime::WeakRuntime;
use crate::services::Services;
use crate::session::AgentSession;

/// Cache of prepared sources, relative to the agent directory.
const CACHE_DIR: &str = "cache/extensions";

/// The extensions of one session. Handles are cheap to clone and refer to the same extensions.
#[derive(Clone)]
pub(crate) struct SessionExtensions(Arc<ExtensionsInner>);

pub(crate) struct ExtensionsInner {
    engine: pi_ext::ExtensionManager,
    bridge: Arc<ExtensionBridge>,
}

impl SessionExtensions {
    /// Loads the extension files of the resources; `None` if there are none.
    pub(crate) async fn load(
        services: &Services,
        options: &ExtensionOptions,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Option<Self> {
        let files = &services.resources.extensions;
        if files.is_empty() {
            let unclaimed = options.flags.iter().map(|flag| flag.unclaimed.clone());
            diagnostics.extend(unclaimed.map(error_diagnostic));
            return None;
        }
        let bridge = Arc::new(ExtensionBridge::new(services, options));
        let mut engine = EngineOptions::new(Arc::clone(&bridge) as _)
            .with_cache(SourceCache::new(services.agent_dir.path().join(CACHE_DIR)))
            .with_process(process_info(&services.cwd))
            .with_proxy(services.settings.settings().http_proxy());
        if let Some(kit) = &options.tui_toolkit {
            engine = engine.with_tui_toolkit(Arc::clone(kit));
        }
        let extensions = Self(Arc::new(ExtensionsInner {
            engine: pi_ext::ExtensionManager::new(engine),
            bridge,
        }));
        extensions.0.bridge.connect(Arc::downgrade(&extensions.0));
        let settings = services.settings.settings();
        for file in files {
            let engine = options.engine;
            let engine = engine.unwrap_or_else(|| settings.extension_engine(&file.path));
            extensions.load_file(file, engine, diagnostics).await;
        }
        let flags = extensions.claim_flags(&options.flags, diagnostics);
        extensions.register_providers(services, diagnostics).await;
        if let Err(error) = extensions.0.engine.bind(Value::Object(flags)).await {
            diagnostics.push(load_error(&error, None));
        }
        Some(extensions)
    }

    async fn load_file(
        &self,
        file: &ExtensionFile,
        engine: ExtensionEngine,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) {
        let engine_kind = match engine {
            ExtensionEngine::QuickJs => ExtensionHost::Embedded,
            ExtensionEngine::Node => ExtensionHost::Node,
        };
        let loaded = self.0.engine.load_on(&file.path, engine_kind).await;
        let loaded = loaded.and_then(|value| {
            serde_json::from_value::<Registrations>(value)
                .map_err(|error| EngineError::InvalidValue(error.to_string()))
        });
        match loaded {
            Ok(registrations) => {
                let path = file.path.to_string_lossy().into_owned();
                let mut registry = self.0.bridge.registry();
                let clashes = registry.add(path, &file.source_info, registrations);
                diagnostics.extend(clashes.into_iter().map(|message| ConfigDiagnostic {
                    level: DiagnosticLevel::Error,
                    message,
                    path: Some(file.path.clone()),
                }));
            }
            Err(error) => diagnostics.push(load_error(&error, Some(&file.path))),
        }
    }

    /// Assigns command-line flags to the extensions that registered them.
    fn claim_flags(
        &self,
        given: &[ExtensionFlag],
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Map<String, Value> {
        let registry = self.0.bridge.registry();
        let mut values = Map::new();
        for flag in given {
            let (name, value) = (&flag.name, &flag.value);
            let kind = registry.flags.get(name).map(|flag| flag.kind);
            match (kind, value) {
                (Some(FlagKind::Boolean), _) => {
                    values.insert(name.clone(), Value::Bool(true));
                }
                (Some(FlagKind::String), Some(value)) => {
                    values.insert(name.clone(), Value::String(value.clone()));
                }
                (Some(FlagKind::String), None) => {
                    diagnostics.push(error_diagnostic(format!("--{name} requires a value")));
                }
                (None, _) => diagnostics.push(error_diagnostic(flag.unclaimed.clone())),
            }
        }
        values
    }

    async fn register_providers(
        &self,
        services: &Services,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) {
        let providers = std::mem::take(&mut self.0.bridge.registry().providers);
        if providers.is_empty() {
            return;
        }
        let names = providers.iter().map(|(_, provider)| provider.name.clone());
        let refresh = RefreshOptions {
            providers: Some(names.collect()),
            ..RefreshOptions::default()
        };
        for (extension, provider) in providers {
            if let Err(error) = self.register_provider(&services.models, extension, provider) {
                diagnostics.push(error_diagnostic(error.to_string()));
            }
        }
        for (provider, error) in services.models.refresh(refresh).await.errors {
            tracing::warn!(provider, %error, "provider of an extension is not ready");
        }
    }

    fn register_provider(
        &self,
        models: &pi_providers::Models,
        extension: String,
        provider: ProviderData,
    ) -> Result<(), pi_providers::ConfigError> {
        let name = provider.name.clone();
        let changes = provider.sign_in.as_ref();
        let changes_models = changes.is_some_and(|sign_in| sign_in.changes_models);
        let has_code = provider.streams || provider.refreshes || changes_models;
        let driver = has_code.then(|| {
            let driver = provider::ExtensionProvider::new(&self.0, extension.clone(), &provider);
            Arc::new(driver) as Arc<dyn pi_providers::ProviderDriver>
        });
        let oauth = provider.sign_in.map(|data| {
            let shared = Arc::downgrade(&self.0);
            let sign_in = ExtensionSignIn::new(shared, extension, name.clone(), data);
            Arc::new(sign_in) as Arc<dyn pi_auth::OAuthFlow>
        });
        let registration = ExtensionProvider {
            config: provider.config,
            oauth,
            driver,
        };
        models.register(&name, Registration::Extension(registration))
    }

    pub(crate) fn tools(&self) -> Vec<RegisteredTool> {
        let registry = self.0.bridge.registry();
        let tools = registry.tools.iter();
        tools
            .map(|(extension, tool)| self.tool(extension, tool))
            .collect()
    }

    fn tool(&self, extension: &str, data: &ToolData) -> RegisteredTool {
        tool::registered(&self.0, extension, data)
    }

    /// Returns the commands of the extensions, with the names they are invoked by.
    pub(crate) fn commands(&self) -> Vec<CommandInfo> {
        let registry = self.0.bridge.registry();
        let commands = registry.named_commands();
        commands
            .map(|(name, command)| CommandInfo {
                name,
                description: command.data.description.clone(),
                source: CommandSource::Extension,
                source_info: command.source_info.clone(),
            })
            .collect()
    }

    pub(crate) fn hooks(&self) -> Arc<dyn SessionHooks> {
        Arc::new(hooks::ExtensionHooks::new(Arc::clone(&self.0)))
    }

    pub(crate) fn bind(&self, session: AgentSession) {
        self.0.bridge.bind(session);
        if let Some(screen) = self.0.bridge.ui.screen() {
            screen.connect(Some(ExtensionHandle::new(&self.0)));
        }
    }

    /// Gives commands access to the runtime, so they can replace the session.
    pub(crate) fn attach(&self, runtime: WeakRuntime) {
        self.0.bridge.attach(runtime);
    }
}

impl ExtensionRegistry {
    /// Adds the registrations of an extension; returns a message for each name conflict.
    fn add(
        &mut self,
        extension: String,
        source_info: &SourceInfo,
        registrations: Registrations,
    ) -> Vec<String> {
        let mut clashes = Vec::new();
        for tool in registrations.tools {
            match self.tools.iter().find(|(_, known)| known.name == tool.name) {
                Some((first, _)) => clashes.push(format!(
                    "tool \"{}\" is already registered by {first}",
                    tool.name
                )),
                None => self.tools.push((extension.clone(), tool)),
            }
        }
        for flag in registrations.flags {
            if self.flags.contains_key(&flag.name) {
                clashes.push(format!("flag --{} is already registered", flag.name));
            } else {
                self.flags.insert(flag.name.clone(), flag);
            }
        }
        for command in registrations.commands {
            self.add_command(&extension, source_info, command);
        }
        for shortcut in registrations.shortcuts {
            self.add_shortcut(&extension, shortcut);
        }
        self.message_renderers
            .extend(registrations.message_renderers);
        self.entry_renderers.extend(registrations.entry_renderers);
        self.transforms_markdown |= registrations.transforms_markdown;
        let providers = registrations.providers.into_iter();
        self.providers
            .extend(providers.map(|provider| (extension.clone(), provider)));
        self.events = registrations.events.into_iter().collect::<HashSet<_>>();
        self.sources.insert(extension, source_info.clone());
        clashes
    }
}

/// Process information that is valid UTF-8; JavaScript cannot represent the rest.
fn process_info(cwd: &Path) -> ProcessInfo {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let arguments = std::env::args_os().map(|it| it.to_string_lossy().into_owned());
    ProcessInfo {
        working_directory: cwd.to_owned(),
        environment: environment.collect(),
        arguments: arguments.collect(),
        executable: std::env::current_exe().unwrap_or_default(),
    }
}

fn error_diagnostic(message: String) -> ConfigDiagnostic {
    ConfigDiagnostic {
        level: DiagnosticLevel::Error,
        message,
        path: None,
    }
}

fn load_error(error: &EngineError, path: Option<&Path>) -> ConfigDiagnostic {
    ConfigDiagnostic {
        level: DiagnosticLevel::Error,
        message: format!("cannot load extension: {error}"),
        path: path.map(Path::to_owned),
    }
}
