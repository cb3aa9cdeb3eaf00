//! Extensions of a session: TypeScript that registers tools and commands and handles events.
//!
//! [`SessionExtensions`] loads the extension files in their order, before the session exists; a
//! file that fails to load is reported and skipped. Once the session exists, the extensions are
//! bound to it and receive its events. They become stale when the session is
//! replaced: objects an extension kept from it then throw. Without extension files nothing is
//! created, and no JavaScript runs.

mod agent_extensions;
mod bridge;
mod callbacks;
mod calls;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod child_supervisor;
mod client_screen;
mod confined_children;
mod control;
mod costs;
mod dispatch;
pub mod events;
mod extension_thread;
mod front_end;
mod handle;
mod handlers;
mod hook_limits;
mod hooks;
mod jobs;
mod loading;
mod mcp_servers;
mod open_dialogs;
mod prompt_options;
mod provider;
mod registration;
mod remote_components;
mod screen;
mod send_message;
mod session_events;
mod sign_in;
mod startup_ui;
mod tool;
mod ui_lines;
mod virtual_model;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use pi_config::{AgentDir, ExtensionFile};
use pi_env::Env;
use pi_ext::{EngineError, EngineOptions, ProcessInfo, SourceCache};
use pi_protocol::settings::Settings;
use pi_protocol::{CommandInfo, CommandSource, ConfigDiagnostic, DiagnosticLevel, SourceInfo};
use pi_providers::{ExtensionProvider, RefreshOptions, Registration};
use pi_sandbox::Sandbox;
use serde_json::{Map, Value};

pub use extension_thread::is_on_extension_thread;
pub use front_end::{
    DialogPrompt, DialogResponse, ExtensionDialog, ExtensionFailure, ExtensionFlag, ExtensionMode,
    ExtensionNotice, ExtensionOptions, ExtensionUi, NoExtensionUi,
};

pub use pi_ext::{HostError, NativeWidget, TuiToolkit, WideEdge};

pub use bridge::host_error;
pub use client_screen::{ClientScreen, MountSerial, ScreenFeed};
pub use control::{
    AgentDefaultTools, AgentObserver, AgentOptions, AgentSessionChoice, AgentTools, ControlFuture,
    ExtensionPrompt, ExtensionSession, MessageDelivery, ProgramServices, PromptInputs,
    RunningAgent, RuntimeControl, RuntimeLink, SessionHistory, SessionInteraction, SessionRun,
    SessionSetup, SessionTool, ShowRequest, ToolRegistration, TreeNavigation,
};
pub use handle::{
    ExtensionHandle, ExtensionRenderError, RenderedComponent, RenderedToolCall, ToolRenderer,
};
pub use hooks::HookInterrupt;
pub use mcp_servers::{McpConnector, RegisteredMcpServer};
pub use prompt_options::ChangedOptions;
pub use remote_components::{RemoteComponents, RemoteDrawing};
pub use screen::{
    BlockedReason, BlockedStatus, ChosenCompletion, CompletionItem, ComponentId,
    ComponentPlacement, EditorInfo, ExtensionCompletionRequest, ExtensionCompletions,
    ExtensionScreen, ExtensionShortcut, OverlayExtent, OverlayMargin, OverlayPlacement,
    ScreenChange, ScreenInfo, ThemeData, ThemeInfo,
};
pub use send_message::{DraftData, SendOptions};
pub use startup_ui::StartupUi;
pub use ui_lines::{ExtensionErrorLine, ExtensionUiMethod, ExtensionUiRequest};

use bridge::ExtensionBridge;
use costs::{BudgetState, PromptTexts};
use hook_limits::HookLimits;
use hooks::HookState;
use registration::{FlagKind, ProviderData, ToolData};
use sign_in::ExtensionSignIn;

/// Cache of prepared sources, relative to the agent directory.
const CACHE_DIR: &str = "cache/extensions";

/// What extensions are loaded with.
pub struct ExtensionEnvironment {
    pub files: Vec<ExtensionFile>,
    pub settings: Arc<Settings>,
    pub models: pi_providers::Models,
    pub cwd: PathBuf,
    pub is_trusted: bool,
    /// Directory of the user's files.
    pub agent_dir: AgentDir,
    pub env: Env,
    pub services: Arc<dyn ProgramServices>,
    /// Confines child processes and built-in tools.
    pub sandbox: Option<Arc<Sandbox>>,
}

/// The extensions of one session. Handles are cheap to clone and refer to the same extensions.
#[derive(Clone)]
pub struct SessionExtensions(Arc<ExtensionsInner>);

pub(crate) struct ExtensionsInner {
    engine: Arc<pi_ext::ExtensionManager>,
    /// The agent whose session they belong to; 0 for the main session.
    agent: u64,
    bridge: Arc<ExtensionBridge>,
    hooks: HookState,
    budget: BudgetState,
    prompt_texts: Mutex<PromptTexts>,
}

impl SessionExtensions {
    /// Loads the extension files; `None` if there are none.
    pub async fn load(
        environment: ExtensionEnvironment,
        options: &ExtensionOptions,
        diagnostics: &mut Vec<ConfigDiagnostic>,
    ) -> Option<Self> {
        if let Some(preloaded) = &options.preloaded {
            return Some(preloaded.clone());
        }
        let files = &environment.files;
        if files.is_empty() {
            let unclaimed = options.flags.iter().map(|flag| flag.unclaimed.clone());
            diagnostics.extend(unclaimed.map(error_diagnostic));
            return None;
        }
        let bridge = Arc::new(ExtensionBridge::new(&environment, options));
        let mut engine = EngineOptions::new(Arc::clone(&bridge) as _)
            .with_cache(SourceCache::new(
                environment.agent_dir.path().join(CACHE_DIR),
            ))
            .with_process(process_info(&environment.cwd))
            .with_proxy(environment.settings.http_proxy());
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            engine = engine.with_child_supervisor(Arc::new(child_supervisor::CommandSupervisor));
        }
        if let Some(sandbox) = &environment.sandbox {
            let children = confined_children::ConfinedChildren(Arc::clone(sandbox));
            engine = engine.with_child_launcher(Arc::new(children));
        }
        if let Some(kit) = &options.tui_toolkit {
            engine = engine.with_tui_toolkit(Arc::clone(kit));
        }
        let extensions = Self(Arc::new(ExtensionsInner {
            engine: Arc::new(pi_ext::ExtensionManager::new(engine)),
            agent: 0,
            bridge,
            hooks: HookState::new(HookLimits::from_env(&environment.env)),
            budget: BudgetState::new(environment.settings.extension_settings.budget),
            prompt_texts: Mutex::default(),
        }));
        extensions.0.bridge.connect(Arc::downgrade(&extensions.0));
        if extensions.0.budget.limits_heap() {
            extensions.0.engine.meter().follow_heap();
        }
        let settings = &environment.settings;
        for file in files {
            let configured = options.engine;
            let configured =
                configured.or_else(|| pi_config::extension_engine(settings, &file.path));
            extensions.load_file(file, configured, diagnostics).await;
        }
        let flags = extensions.claim_flags(&options.flags, diagnostics);
        let registering = extensions.register_providers(diagnostics);
        if extensions.0.within_load_limit(registering).await.is_none() {
            diagnostics.push(error_diagnostic(
                "the models of an extension's provider did not load in time".to_owned(),
            ));
        }
        extensions.register_virtual_models(diagnostics);
        let binding = extensions.0.engine.bind(Value::Object(flags));
        let bound = extensions.0.within_load_limit(binding).await;
        if let Err(error) = bound.unwrap_or(Err(EngineError::Stuck)) {
            diagnostics.push(loading::load_error(&error, None));
        }
        Some(extensions)
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

    async fn register_providers(&self, diagnostics: &mut Vec<ConfigDiagnostic>) {
        let models = &self.0.bridge.models;
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
            if let Err(error) = self.register_provider(models, extension, provider) {
                diagnostics.push(error_diagnostic(error.to_string()));
            }
        }
        for (provider, error) in models.refresh(refresh).await.errors {
            tracing::warn!(provider, %error, "provider of an extension is not ready");
        }
    }

    fn register_virtual_models(&self, diagnostics: &mut Vec<ConfigDiagnostic>) {
        let registered = std::mem::take(&mut self.0.bridge.registry().virtual_models);
        for (extension, model) in registered {
            let path = PathBuf::from(&extension);
            let models = &self.0.bridge.models;
            if let Err(error) = virtual_model::register(&self.0, models, extension, model) {
                diagnostics.push(ConfigDiagnostic {
                    path: Some(path),
                    ..error_diagnostic(error.to_string())
                });
            }
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

    pub fn tools(&self) -> Vec<ToolRegistration> {
        let registry = self.0.bridge.registry();
        let tools = registry.tools.iter();
        tools
            .map(|(extension, tool)| self.tool(extension, tool))
            .collect()
    }

    /// Returns the names of the tools and the extensions that registered them.
    pub fn tool_sources(&self) -> Vec<(String, SourceInfo)> {
        let registry = self.0.bridge.registry();
        let tools = registry.tools.iter();
        tools
            .filter_map(|(_, tool)| {
                let source = registry.source_of_tool(&tool.name)?;
                Some((tool.name.clone(), source))
            })
            .collect()
    }

    fn tool(&self, extension: &str, data: &ToolData) -> ToolRegistration {
        tool::registered(&self.0, extension, data)
    }

    /// Returns the commands of the extensions, with the names they are invoked by.
    pub fn commands(&self) -> Vec<CommandInfo> {
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

    /// Returns the MCP servers that extensions have registered.
    pub fn mcp_servers(&self) -> Vec<RegisteredMcpServer> {
        self.0.bridge.registry().mcp_servers.list()
    }

    /// Sets what connects to registered MCP servers; called with every change, also on the extensions' thread.
    pub fn connect_mcp_servers(&self, connector: McpConnector) {
        self.0.bridge.registry().mcp_servers.connect(connector);
    }

    /// Reports registered MCP servers that nothing connects to.
    pub fn report_unconnected_mcp_servers(&self) {
        self.0.bridge.report_unconnected_servers();
    }

    /// Binds the extensions to their session.
    pub fn bind(&self, session: Arc<dyn ExtensionSession>) {
        self.0.bridge.bind(session);
        connect_screen(&*self.0.bridge.ui, Some(ExtensionHandle::new(&self.0)));
    }

    /// Gives commands access to the runtime, so they can replace the session.
    pub fn attach(&self, runtime: Box<dyn RuntimeLink>) {
        self.0.bridge.attach(runtime);
    }
}

/// Connects the screen of a front end, if it has one, to the extensions of a session, or to none.
pub fn connect_screen(ui: &dyn ExtensionUi, extensions: Option<ExtensionHandle>) {
    if let Some(screen) = ui.client_screen() {
        screen.connect(extensions);
    } else if let Some(screen) = ui.screen() {
        screen.connect(extensions);
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
