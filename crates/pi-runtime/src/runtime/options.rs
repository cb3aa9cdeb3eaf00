//! What a program says before its session exists.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ai::{CredentialStore, Env, Models};
use pi_config::{AgentDir, ResourceFlags, SettingsOverrides, SettingsStore};

use crate::extensions::{ExtensionOptions, ExtensionVoter};
use crate::hooks::{NoSessionHooks, SessionHooks};
use crate::model_choice::ModelFlags;
use crate::services::{PackageSupplier, ServiceOptions, Services, TrustPrompt};
use crate::session_choice::SessionChoice;
use crate::toolset::{PROCESS_MARKS, RegisteredTool, ToolSelection};

/// What a session starts from; every field has a sensible default.
#[derive(Clone)]
pub struct RuntimeOptions {
    /// Where the user's files are.
    pub agent_dir: AgentDir,
    /// The directory to work in, unless the session names another; absolute.
    pub cwd: PathBuf,
    pub env: Env,
    pub session: SessionChoice,
    /// The directory of sessions (`--session-dir`).
    pub session_dir: Option<String>,
    /// The session's name (`--name`).
    pub name: Option<String>,
    /// The directory to work in where the one the session names is gone.
    pub cwd_override: Option<PathBuf>,
    /// What the command line says about trust (`--approve`, `--no-approve`).
    pub trust: Option<bool>,
    /// Whom to ask about a project nobody decided about.
    pub trust_prompt: Option<Arc<dyn TrustPrompt>>,
    /// What the command line says about models.
    pub models: ModelFlags,
    /// Which tools there may be.
    pub tools: ToolSelection,
    /// Tools of the program's own.
    pub custom_tools: Vec<RegisteredTool>,
    /// What the command line says about resources.
    pub resources: ResourceFlags,
    /// Who installs packages that are missing at the start.
    pub packages: Option<Arc<dyn PackageSupplier>>,
    /// Whether the network is used only for what the user asks (`--offline`).
    pub offline: bool,
    /// Variables that commands find on top of this process's own; [`PROCESS_MARKS`] unless changed.
    pub child_environment: Vec<(String, String)>,
    /// The front end of extensions and the flags meant for them.
    pub extensions: ExtensionOptions,
    /// Who tells whoever takes part that the first session starts.
    pub session_start: SessionStartTold,
    /// Who takes part in every session, after the extensions.
    pub hooks: Arc<dyn HooksSource>,
    /// Settings to use instead of the files'.
    pub settings: Option<SettingsStore>,
    /// Settings that hold for this run, over those of the files.
    pub run_settings: SettingsOverrides,
    /// Credentials to use instead of `auth.json`.
    pub credentials: Option<Arc<dyn CredentialStore>>,
    /// The collection of models to use instead of the usual one, as it is.
    pub model_collection: Option<Models>,
}

/// When whoever takes part hears of the start of the first session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionStartTold {
    /// Before [`SessionRuntime::start`](super::SessionRuntime::start) returns.
    #[default]
    AtOnce,
    /// With [`SessionRuntime::tell_session_start`](super::SessionRuntime::tell_session_start).
    ByFrontEnd,
}

impl RuntimeOptions {
    /// Starts a new session in a directory.
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
            custom_tools: Vec::new(),
            resources: ResourceFlags::default(),
            packages: None,
            offline: false,
            child_environment: marks.into(),
            extensions: ExtensionOptions::default(),
            session_start: SessionStartTold::AtOnce,
            hooks: Arc::new(NoHooks),
            settings: None,
            run_settings: SettingsOverrides::default(),
            credentials: None,
            model_collection: None,
        }
    }

    /// Returns what the services of every session of this run share.
    pub(super) fn service_options(&self) -> ServiceOptions {
        ServiceOptions {
            trust: self.trust,
            trust_prompt: self.trust_prompt.clone(),
            trust_voter: Some(Arc::new(ExtensionVoter(self.extensions.clone()))),
            resources: self.resources.clone(),
            packages: self.packages.clone(),
            settings: self.settings.clone(),
            run_settings: self.run_settings.clone(),
            credentials: self.credentials.clone(),
            models: self.model_collection.clone(),
            ..ServiceOptions::new(self.agent_dir.clone(), self.env.clone())
        }
    }

    /// Returns the resource flags for a session of another directory: what is relative stays where
    /// the user meant it.
    pub(super) fn resources_from_elsewhere(&self) -> ResourceFlags {
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
            // A text is a path only where there is such a file.
            let path = self.cwd.join(&*text);
            if is_plain_path(text) && path.is_file() {
                *text = path.to_string_lossy().into_owned();
            }
        }
        flags
    }
}

/// Tells a path from an address or the name of a package.
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

/// Brings whoever takes part in a session; asked anew for each.
pub trait HooksSource: Send + Sync {
    /// Returns the hooks of a session that works with these services.
    fn hooks<'a>(&'a self, services: &'a Services) -> BoxFuture<'a, Arc<dyn SessionHooks>>;
}

struct NoHooks;

impl HooksSource for NoHooks {
    fn hooks<'a>(&'a self, _services: &'a Services) -> BoxFuture<'a, Arc<dyn SessionHooks>> {
        Box::pin(std::future::ready(
            Arc::new(NoSessionHooks) as Arc<dyn SessionHooks>
        ))
    }
}

/// The same hooks for every session.
impl HooksSource for Arc<dyn SessionHooks> {
    fn hooks<'a>(&'a self, _services: &'a Services) -> BoxFuture<'a, Arc<dyn SessionHooks>> {
        Box::pin(std::future::ready(Arc::clone(self)))
    }
}
