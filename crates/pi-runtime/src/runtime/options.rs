//! Options of a runtime.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_auth::CredentialStore;
use pi_config::{AgentDir, ResourceFlags, SettingsOverrides, SettingsStore};
use pi_core::ToolSource;
use pi_env::Env;
use pi_providers::Models;

use crate::extensions::{ExtensionOptions, ExtensionTrustResolver};
use crate::hooks::{NoSessionHooks, SessionHooks};
use crate::model_choice::ModelFlags;
use crate::services::{MissingPackageInstaller, ServiceOptions, Services, TrustPrompt};
use crate::session_choice::SessionChoice;
use crate::toolset::{PROCESS_MARKS, ToolSelection};

/// Options a runtime starts with; every field has a sensible default.
#[derive(Clone)]
pub struct RuntimeOptions {
    /// Directory of the user's files.
    pub agent_dir: AgentDir,
    /// Working directory, unless the session specifies another; absolute.
    pub cwd: PathBuf,
    pub env: Env,
    pub session: SessionChoice,
    /// Session directory (`--session-dir`).
    pub session_dir: Option<String>,
    /// Name of the session (`--name`).
    pub name: Option<String>,
    /// Working directory to use if the one of the session no longer exists.
    pub cwd_override: Option<PathBuf>,
    /// Trust flags (`--approve`, `--no-approve`).
    pub trust: Option<bool>,
    /// Prompts the user about a project without a trust decision.
    pub trust_prompt: Option<Arc<dyn TrustPrompt>>,
    pub models: ModelFlags,
    pub tools: ToolSelection,
    /// Tools of the embedding program. They replace tools of extensions and built-in tools with the
    /// same name.
    pub tool_sources: Vec<Arc<dyn ToolSource>>,
    pub resources: ResourceFlags,
    /// Installs packages that are missing at startup.
    pub packages: Option<Arc<dyn MissingPackageInstaller>>,
    /// Whether to use the network only for explicit user requests (`--offline`).
    pub offline: bool,
    /// Environment variables added for child processes; [`PROCESS_MARKS`] by default.
    pub child_environment: Vec<(String, String)>,
    /// The extension UI, and the flags for extensions.
    pub extensions: ExtensionOptions,
    /// Whether `session_start` fires inside `start()` or is left to the front end.
    pub session_start: StartNotification,
    /// Creates the hooks of every session; they run after those of the extensions.
    pub hooks: Arc<dyn SessionHooksFactory>,
    /// Settings to use instead of the settings files.
    pub settings: Option<SettingsStore>,
    /// Settings for this run; they override those of the files.
    pub run_settings: SettingsOverrides,
    /// Credentials to use instead of `auth.json`.
    pub credentials: Option<Arc<dyn CredentialStore>>,
    /// Models to use instead of the default collection, without further configuration.
    pub model_collection: Option<Models>,
}

/// When `session_start` fires for the first session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartNotification {
    /// Before [`SessionRuntime::start`](super::SessionRuntime::start) returns.
    #[default]
    Immediate,
    /// When the front end calls
    /// [`SessionRuntime::notify_session_start`](super::SessionRuntime::notify_session_start).
    Deferred,
}

impl RuntimeOptions {
    /// Options for a new session in a directory.
    pub fn new(agent_dir: AgentDir, cwd: impl Into<PathBuf>, env: Env) -> Self {
        let marks = PROCESS_MARKS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            agent_dir,
            cwd: cwd.into(),
            env,
            session: SessionChoice::default(),
            session_dir: None,
            name: None,
            cwd_override: None,
            trust: None,
            trust_prompt: None,
            models: ModelFlags::default(),
            tools: ToolSelection::default(),
            tool_sources: Vec::new(),
            resources: ResourceFlags::default(),
            packages: None,
            offline: false,
            child_environment: marks.into(),
            extensions: ExtensionOptions::default(),
            session_start: StartNotification::Immediate,
            hooks: Arc::new(NoHooksFactory),
            settings: None,
            run_settings: SettingsOverrides::default(),
            credentials: None,
            model_collection: None,
        }
    }

    /// Returns the service options shared by all sessions of this run.
    pub(super) fn service_options(&self) -> ServiceOptions {
        ServiceOptions {
            trust: self.trust,
            trust_prompt: self.trust_prompt.clone(),
            trust_resolver: Some(Arc::new(ExtensionTrustResolver(self.extensions.clone()))),
            resources: self.resources.clone(),
            packages: self.packages.clone(),
            settings: self.settings.clone(),
            run_settings: self.run_settings.clone(),
            credentials: self.credentials.clone(),
            models: self.model_collection.clone(),
            ..ServiceOptions::new(self.agent_dir.clone(), self.env.clone())
        }
    }

    /// Returns the resource flags for a session in another directory; relative paths stay relative
    /// to the directory pi was started in.
    pub(super) fn resources_for_other_directory(&self) -> ResourceFlags {
        let mut flags = self.resources.clone();
        let lists = [
            &mut flags.extensions,
            &mut flags.skills,
            &mut flags.prompt_templates,
            &mut flags.themes,
        ];
        for path in lists.into_iter().flatten() {
            if is_plain_path(path) {
                *path = self.cwd.join(&*path).to_string_lossy().into_owned();
            }
        }
        let texts = flags.system_prompt.iter_mut();
        for text in texts.chain(&mut flags.append_system_prompt) {
            // A text is a path only if such a file exists.
            let path = self.cwd.join(&*text);
            if is_plain_path(text) && path.is_file() {
                *text = path.to_string_lossy().into_owned();
            }
        }
        flags
    }
}

/// Whether the text is a path, not a URL or package name.
fn is_plain_path(text: &str) -> bool {
    let prefix = text.split(['/', '\\']).next().unwrap_or(text);
    !text.starts_with('~') && !prefix.contains(':') && Path::new(text).is_relative()
}

impl std::fmt::Debug for RuntimeOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RuntimeOptions")
            .field("agent_dir", &self.agent_dir)
            .field("cwd", &self.cwd)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Creates the hooks of a session; called for each new session.
pub trait SessionHooksFactory: Send + Sync {
    /// Returns the hooks of a session that uses these services.
    fn create_hooks<'a>(&'a self, services: &'a Services) -> BoxFuture<'a, Arc<dyn SessionHooks>>;
}

struct NoHooksFactory;

impl SessionHooksFactory for NoHooksFactory {
    fn create_hooks<'a>(&'a self, _services: &'a Services) -> BoxFuture<'a, Arc<dyn SessionHooks>> {
        Box::pin(std::future::ready(
            Arc::new(NoSessionHooks) as Arc<dyn SessionHooks>
        ))
    }
}

/// Uses the same hooks for every session.
impl SessionHooksFactory for Arc<dyn SessionHooks> {
    fn create_hooks<'a>(&'a self, _services: &'a Services) -> BoxFuture<'a, Arc<dyn SessionHooks>> {
        Box::pin(std::future::ready(Arc::clone(self)))
    }
}
