//! The saved decision about a project, as the user sees and changes it.

use pi_config::{SessionChoices, TrustError, TrustStore, TrustUpdate, trust_choices};
use pi_protocol::{TrustChoice, TrustState};

use super::Workspace;

impl Workspace {
    /// Reads the saved decision that applies to this directory, and what can be chosen instead.
    pub fn trust_state(&self) -> Result<TrustState, TrustError> {
        Ok(TrustState {
            choices: trust_choices(&self.cwd, SessionChoices::Omitted),
            saved: TrustStore::new(&self.agent_dir).nearest(&self.cwd)?,
        })
    }

    /// Saves a decision. It applies to sessions that are opened later.
    pub fn save_trust(&self, choice: &TrustChoice) -> Result<(), TrustError> {
        TrustStore::new(&self.agent_dir).save(&TrustUpdate::of_choice(choice))
    }
}
