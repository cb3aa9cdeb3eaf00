//! Options of a host.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_auth::CredentialStore;
use pi_config::{AgentDir, SettingsOverrides, SettingsStore};
use pi_env::Env;
use pi_providers::Models;
use pi_tools::FallbackCommands;

use super::trust::{TrustFlag, TrustPrompt};
use crate::native_extensions::NativeExtension;
use crate::toolset::PROCESS_MARKS;
use crate::workspace::MissingPackageInstaller;

/// What all sessions of a process share; every field has a sensible default.
#[derive(Clone)]
pub struct HostOptions {
    /// Directory of the user's files.
    pub agent_dir: AgentDir,
    pub env: Env,
    pub trust: Option<TrustFlag>,
    /// Prompts the user about a project without a trust decision.
    pub trust_prompt: Option<Arc<dyn TrustPrompt>>,
    /// Installs missing packages; without it they are only reported.
    pub packages: Option<Arc<dyn MissingPackageInstaller>>,
    /// Whether to use the network only for explicit user requests (`--offline`).
    pub offline: bool,
    /// Environment variables added for child processes; [`PROCESS_MARKS`] by default.
    pub child_environment: Vec<(String, String)>,
    /// Commands for the model's shell, on machines that do not have them.
    pub fallback_commands: Option<Arc<FallbackCommands>>,
    /// Whether other processes of the user may follow and control the sessions through a socket.
    pub live: bool,
    /// Settings to use instead of the settings files.
    pub settings: Option<SettingsStore>,
    /// Settings for this run; they override those of the files.
    pub run_settings: SettingsOverrides,
    /// Credentials to use instead of `auth.json`.
    pub credentials: Option<Arc<dyn CredentialStore>>,
    /// Models to use instead of the default collection, without further configuration.
    pub model_collection: Option<Models>,
    /// Built-in extensions besides those of this crate; settings and flags turn them on.
    pub native_extensions: &'static [NativeExtension],
    /// Finds files for completion after `@`.
    pub files: Option<FileSearch>,
}

/// Returns the paths below a directory that match a text, best first.
pub type FileSearch = Arc<dyn Fn(PathBuf, String) -> BoxFuture<'static, Vec<String>> + Send + Sync>;

impl HostOptions {
    pub fn new(agent_dir: AgentDir, env: Env) -> Self {
        let marks = PROCESS_MARKS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            agent_dir,
            env,
            trust: None,
            trust_prompt: None,
            packages: None,
            offline: false,
            child_environment: marks.into(),
            fallback_commands: None,
            live: false,
            settings: None,
            run_settings: SettingsOverrides::default(),
            credentials: None,
            model_collection: None,
            native_extensions: &[],
            files: None,
        }
    }
}

impl std::fmt::Debug for HostOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HostOptions")
            .field("agent_dir", &self.agent_dir)
            .field("offline", &self.offline)
            .finish_non_exhaustive()
    }
}
