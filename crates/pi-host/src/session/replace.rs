//! Hands the state of a disposed session over to its replacement.

use pi_session::{NewSession, Session, SessionError, check_session_id};

use super::transcript::Transcript;
use super::{AgentSession, SessionOutline};

impl AgentSession {
    /// Takes the stored conversation out of a disposed session, including the lock on its file.
    /// What remains has the same ID and no entries, and rejects changes.
    pub(crate) fn take_session(&self) -> Result<Session, SessionError> {
        let mut transcript = self.0.transcript();
        let id = transcript.session().id();
        let empty = NewSession {
            id: check_session_id(id).is_ok().then(|| id.to_owned()),
            env: self.0.env.clone(),
            ..NewSession::default()
        };
        let empty = Session::in_memory(&self.0.cwd, empty)?;
        *self.0.outline.lock() = SessionOutline::of(&empty);
        let taken = std::mem::replace(&mut *transcript, Transcript::taken(empty));
        Ok(taken.into_session())
    }
}
