//! What the runtime continues with when the next session cannot be built: the session that has just
//! ended, or, if that cannot be opened again, a new one in the same place.

use std::path::PathBuf;

use pi_env::Env;
use pi_session::{AccessMode, NewSession, OpenSession, Session, SessionError, SessionStore};

use super::build::InitialModel;
use crate::session::AgentSession;

/// An ended session, as far as it can be started again.
pub(super) struct FallbackSession {
    /// Holds the lock on the file until the next session is built.
    ended: Option<Session>,
    file: Option<PathBuf>,
    /// `None` for sessions in memory.
    store: Option<SessionStore>,
    cwd: PathBuf,
    choice: InitialModel,
}

impl FallbackSession {
    pub(super) fn new(session: &AgentSession, store: Option<SessionStore>) -> Self {
        Self {
            ended: None,
            file: session.session_file(),
            store,
            cwd: session.cwd().to_owned(),
            choice: InitialModel::keep(session),
        }
    }

    /// Adds the conversation of the ended session, unless the next session consumes it.
    pub(super) fn keep(&mut self, ended: Session) {
        self.ended = Some(ended);
    }

    /// Returns what can be tried, best first. A candidate is opened when its turn comes.
    pub(super) fn into_candidates(
        self,
        env: &Env,
    ) -> impl Iterator<Item = (Session, InitialModel)> {
        let Self {
            ended,
            file,
            store,
            cwd,
            choice,
        } = self;
        let reopened = {
            let (cwd, env) = (cwd.clone(), env.clone());
            file.into_iter().filter_map(move |file| {
                let options = OpenSession {
                    access: AccessMode::Write,
                    directory: None,
                    cwd: Some(cwd.clone()),
                    env: env.clone(),
                    ..OpenSession::default()
                };
                opened(Session::open(&file, options))
            })
        };
        let new = NewSession {
            env: env.clone(),
            ..NewSession::default()
        };
        let created = std::iter::once_with(move || match &store {
            Some(store) => store.create(new),
            None => Session::in_memory(&cwd, new),
        });
        let candidates = ended.into_iter().chain(reopened);
        let candidates = candidates.chain(created.filter_map(opened));
        candidates.map(move |session| (session, choice.clone()))
    }
}

fn opened(session: Result<Session, SessionError>) -> Option<Session> {
    session
        .inspect_err(|error| tracing::warn!(%error, "cannot open the previous session again"))
        .ok()
}
