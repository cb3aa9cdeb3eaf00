//! A project and an agent directory for tests of trust.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use pi_config::{AgentDir, ProjectChanges, TrustDecision, TrustInputs, TrustStore, decide_trust};
use pi_protocol::settings::ProjectTrustDefault;
use pi_test_support::TempHome;

pub(crate) struct TrustTestEnv {
    pub(crate) home: TempHome,
    pub(crate) root: PathBuf,
    pub(crate) agent_dir: AgentDir,
}

impl TrustTestEnv {
    pub(crate) fn new() -> Self {
        let home = TempHome::new();
        let root = home.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("code/project/deep")).unwrap();
        let agent_dir = AgentDir::at(root.join("agent"));
        Self {
            home,
            root,
            agent_dir,
        }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("code/project")
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, file: &str, content: &str) {
        self.home.write(&format!("code/project/{file}"), content);
    }

    pub(crate) fn store(&self) -> TrustStore {
        TrustStore::new(&self.agent_dir)
    }

    /// Adds what requires trust.
    pub(crate) fn guarded(&self) -> &Self {
        fs::create_dir_all(self.project().join(".pi/extensions")).unwrap();
        self
    }

    pub(crate) fn decide(&self, cli: Option<bool>, default: ProjectTrustDefault) -> TrustDecision {
        let project = self.project();
        decide_trust(&TrustInputs {
            cwd: &project,
            home: Some(&self.root),
            agent_dir: &self.agent_dir,
            cli,
            default,
            state: &OnceLock::new(),
        })
        .unwrap()
    }

    pub(crate) fn changes(&self) -> ProjectChanges {
        ProjectChanges::find(&self.agent_dir, &self.project()).unwrap()
    }

    /// Returns new and changed files and marks them as seen.
    pub(crate) fn changed(&self) -> Vec<String> {
        let changes = self.changes();
        changes.mark_seen().unwrap();
        changes.files()
    }

    /// Returns changed code and marks it as seen.
    pub(crate) fn changed_code(&self) -> Vec<String> {
        let changes = self.changes();
        changes.mark_seen().unwrap();
        changes.changed_code()
    }
}
