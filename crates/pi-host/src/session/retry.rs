//! Retries of failed turns. The machine decides about them; the failed attempt stays in the file but is omitted from
//! the context.

use pi_core::Input;
use pi_protocol::{ConfigScope, ContextEditEntry, EntryId, SessionEvent};
use pi_session::SessionError;

use super::AgentSession;
use super::transcript::Transcript;

/// Retries of failed turns.
#[derive(Clone, Copy)]
pub struct Retries<'session> {
    session: &'session AgentSession,
}

impl AgentSession {
    pub fn retries(&self) -> Retries<'_> {
        Retries { session: self }
    }
}

impl Retries<'_> {
    /// Cancels the delay before the next attempt.
    pub fn abort(self) {
        self.session.0.interrupt(Input::AbortRetry);
    }

    /// Returns whether the session is waiting for the next attempt.
    pub fn is_waiting(self) -> bool {
        self.session.0.control.activity().is_retrying
    }

    /// Returns the current attempt; 0 if there is none.
    pub fn attempt(self) -> u32 {
        self.session.0.machine().retry_attempt()
    }

    pub fn is_automatic(self) -> bool {
        self.session.0.settings.settings().retry_policy().enabled
    }

    /// Turns automatic retries on or off and saves the setting.
    pub fn set_automatic(self, enabled: bool) -> Result<(), pi_config::SettingsError> {
        let change =
            |settings: &mut pi_protocol::settings::Settings| settings.retry.enabled = Some(enabled);
        self.session.0.settings.update(ConfigScope::User, change)
    }

    /// Omits entries from the context permanently.
    pub(super) async fn omit_entries(
        self,
        targets: impl IntoIterator<Item = EntryId>,
    ) -> Result<(), SessionError> {
        for target_id in targets {
            let edit = ContextEditEntry {
                target_id,
                replacement: None,
            };
            let append = |transcript: &mut Transcript| transcript.append(edit);
            let entry = self.session.writer().write(append)?;
            self.session
                .0
                .publish(SessionEvent::EntryAppended { entry })
                .await;
        }
        Ok(())
    }
}
