//! The user's settings and what is known about a project without asking anybody.
//!
//! Where sessions are kept depends on both, and so does everything that is loaded once a session is open:
//! they are read once for both.

use std::path::{Path, PathBuf};

use pi_config::{
    ConfigDiagnostic, DiagnosticLevel, ProjectAccess, SettingsStore, TrustDecision, TrustInputs,
    decide_trust,
};

use super::{ServiceOptions, problem};

/// What was read of the user's files about a directory, before anything of the directory counts.
pub(crate) struct Survey {
    pub(super) cwd: PathBuf,
    pub(super) settings: SettingsStore,
    /// An error counts as refusal.
    pub(super) decision: Result<TrustDecision, ConfigDiagnostic>,
}

impl Survey {
    /// Reads the user's settings and what was decided about the project.
    pub(crate) fn of(options: &ServiceOptions, cwd: &Path) -> Self {
        let (settings, decision) = match &options.settings {
            Some(settings) => {
                let access = settings.project_access();
                (settings.clone(), Ok(TrustDecision::Known(access)))
            }
            None => {
                let agent_dir = &options.agent_dir;
                let settings = SettingsStore::open(agent_dir, cwd, ProjectAccess::Undecided);
                settings.set_overrides(&options.run_settings);
                let decision = known_decision(options, cwd, &settings);
                (settings, decision)
            }
        };
        Self {
            cwd: cwd.to_owned(),
            settings,
            decision,
        }
    }

    /// Returns the settings as they count as long as nobody is asked.
    pub(crate) fn settings(&self) -> &SettingsStore {
        let access = match &self.decision {
            Ok(decision) => decision.access_without_prompt(),
            Err(_) => ProjectAccess::Denied,
        };
        self.settings.set_project_access(access);
        &self.settings
    }
}

/// Decides about a project as far as that is possible without asking.
fn known_decision(
    options: &ServiceOptions,
    cwd: &Path,
    settings: &SettingsStore,
) -> Result<TrustDecision, ConfigDiagnostic> {
    if let Some(access) = options.decisions.get(cwd) {
        return Ok(TrustDecision::Known(access));
    }
    let home = options.env.home_dir();
    decide_trust(&TrustInputs {
        cwd,
        home: home.as_deref(),
        agent_dir: &options.agent_dir,
        cli: options.trust,
        default: settings.settings().default_project_trust(),
    })
    .map_err(|error| {
        let file = options.agent_dir.trust_file();
        problem(DiagnosticLevel::Warning, &error, Some(file))
    })
}
