//! The user's settings and the known trust decision about a project, without prompting.
//!
//! Both determine the session directory and everything loaded once a session is open, so they are
//! read once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pi_config::{
    AgentDir, ProjectChanges, SettingsOverrides, SettingsStore, TrustDecision, TrustInputs,
    decide_trust,
};
use pi_protocol::settings::Settings;
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel, ProjectAccess};

use super::diagnostic;
use crate::host::Host;

/// State read from the user's files about a directory, before anything in the directory is used.
pub(crate) struct ProjectProbe {
    pub(crate) cwd: PathBuf,
    pub(super) settings: SettingsStore,
    /// An error means the project is not trusted.
    pub(crate) decision: Result<TrustDecision, ConfigDiagnostic>,
    /// The state of a project that the user trusted before.
    pub(crate) state: Arc<OnceLock<ProjectChanges>>,
}

/// Returns the settings that apply before the project is trusted: the user's, and those of this run.
pub fn settings_before_trust(
    agent_dir: &AgentDir,
    cwd: &Path,
    overrides: &SettingsOverrides,
) -> Arc<Settings> {
    open_untrusted(agent_dir, cwd, overrides).settings()
}

fn open_untrusted(
    agent_dir: &AgentDir,
    cwd: &Path,
    overrides: &SettingsOverrides,
) -> SettingsStore {
    let settings = SettingsStore::open(agent_dir, cwd, ProjectAccess::Undecided);
    settings.set_overrides(overrides);
    settings
}

impl ProjectProbe {
    /// Reads the user's settings and the stored trust decision about the project.
    pub(crate) fn read(host: &Host, cwd: &Path) -> Self {
        let options = host.options();
        let state = Arc::default();
        let (settings, decision) = match &options.settings {
            Some(settings) => {
                let access = settings.project_access();
                (settings.clone(), Ok(TrustDecision::Known(access)))
            }
            None => {
                let settings = open_untrusted(&options.agent_dir, cwd, &options.run_settings);
                let decision = known_decision(host, cwd, &settings, &state);
                (settings, decision)
            }
        };
        Self {
            cwd: cwd.to_owned(),
            settings,
            decision,
            state,
        }
    }

    /// Returns the settings that apply without prompting the user.
    pub(crate) fn settings(&self) -> &SettingsStore {
        self.settings.set_project_access(self.access());
        &self.settings
    }

    /// Returns the access that applies without prompting the user.
    pub(crate) fn access(&self) -> ProjectAccess {
        match &self.decision {
            Ok(decision) => decision.access_without_prompt(),
            Err(_) => ProjectAccess::Denied,
        }
    }
}

/// Decides about a project's trust as far as possible without prompting.
fn known_decision(
    host: &Host,
    cwd: &Path,
    settings: &SettingsStore,
    state: &OnceLock<ProjectChanges>,
) -> Result<TrustDecision, ConfigDiagnostic> {
    let options = host.options();
    if let Some(access) = host.decisions().get(cwd) {
        return Ok(TrustDecision::Known(access));
    }
    let home = options.env.home_dir();
    decide_trust(&TrustInputs {
        cwd,
        home: home.as_deref(),
        agent_dir: &options.agent_dir,
        cli: options.trust.as_ref().and_then(|flag| flag.decision(cwd)),
        default: settings.settings().default_project_trust(),
        state,
    })
    .map_err(|error| {
        let file = options.agent_dir.trust_file();
        diagnostic(DiagnosticLevel::Warning, &error, Some(file))
    })
}
