//! Ends the current session and starts the one that replaces it.

use std::path::{Path, PathBuf};

use pi_protocol::{ReplacementReason, SessionId};
use pi_session::Session;
use tokio::sync::OwnedMutexGuard;

use super::ReplaceOutcome;
use crate::participants::{SessionShutdown, SessionStart, StartReason};
use crate::runtime::build::{InitialModel, build};
use crate::runtime::fallback::FallbackSession;
use crate::runtime::open::open_warnings;
use crate::runtime::{CurrentSession, ReplaceError, SessionRuntime, StartError, deduplicate};
use crate::session::AgentSession;
use crate::workspace::{ProjectProbe, Workspace};

/// The session that replaces the current one.
pub(super) struct NextSession {
    pub(super) session: Session,
    /// For a copy of the current session: how many of its entries existed then. Names and models that
    /// were set since are copied, too.
    pub(super) copied: Option<usize>,
}

impl From<Session> for NextSession {
    fn from(session: Session) -> Self {
        Self {
            session,
            copied: None,
        }
    }
}

impl SessionRuntime {
    pub(super) async fn replace_with(
        &self,
        next: impl Into<NextSession>,
        reason: StartReason,
        choice: InitialModel,
    ) -> Result<ReplaceOutcome, ReplaceError> {
        let NextSession {
            mut session,
            copied,
        } = next.into();
        let old = self.session();
        let mut fallback = FallbackSession::new(&old, self.session_store());
        let start = SessionStart {
            reason,
            previous_session_file: old.session_file(),
        };
        let target = session.path().map(Path::to_owned);
        let next = SessionId::from(session.id());
        // Clients learn the ID when the old session ends. Those that attach to it wait for the new one, instead of opening
        // its file a second time.
        let turn = self.0.host.lock_session(next.as_str()).await;
        self.end(&old, reason, target, next).await;
        let ended = old.take_session()?;
        if let Some(copied) = copied {
            session.copy_choices_since(copied, &ended)?;
        }
        fallback.keep(ended);
        let built = self.build_session(session, choice).await;
        self.start_built(built, start, fallback, Some(turn)).await
    }

    /// Ends the current session: stores its state and stops its child processes.
    pub(super) async fn end(
        &self,
        old: &AgentSession,
        reason: StartReason,
        target: Option<PathBuf>,
        next: SessionId,
    ) {
        old.abort().await;
        let shutdown = SessionShutdown {
            next: Some(reason),
            target_session_file: target,
        };
        old.participants().session_shutdown(shutdown).await;
        let reason = match reason {
            StartReason::Startup | StartReason::New => ReplacementReason::New,
            StartReason::Resume => ReplacementReason::Resume,
            StartReason::Fork => ReplacementReason::Fork,
            StartReason::Reload => ReplacementReason::Reload,
        };
        old.dispose_replaced(next, reason).await;
    }

    /// Builds the components of a session in the session's directory.
    pub(super) async fn build_session(
        &self,
        session: Session,
        choice: InitialModel,
    ) -> Result<CurrentSession, StartError> {
        let shared = &self.0;
        let warnings = open_warnings(&session);
        let host = &shared.host;
        let probe = ProjectProbe::read(host, session.cwd());
        // The files may have changed since the ended session read them.
        let workspace = host.workspaces().load(host, &shared.workspace, probe).await;
        let workspace = Workspace::limited(workspace, shared.sandbox_limit());
        let building = build(host, &shared.options, workspace, session, choice, warnings);
        // On the heap: every command that replaces a session would be as large.
        let mut built = Box::pin(building).await?;
        deduplicate(&mut built.diagnostics);
        Ok(built)
    }

    /// Makes the built session the current one. If it could not be built, starts the ended one
    /// again: a runtime without a live session would reject every prompt. Drops `turn` when there is a current session.
    pub(super) async fn start_built(
        &self,
        built: Result<CurrentSession, StartError>,
        start: SessionStart,
        fallback: FallbackSession,
        turn: Option<OwnedMutexGuard<()>>,
    ) -> Result<ReplaceOutcome, ReplaceError> {
        let error = match built {
            Ok(next) => {
                // Releases the ended session's lock on its file.
                drop(fallback);
                self.activate(next, start, turn).await;
                return Ok(ReplaceOutcome::default());
            }
            Err(error) => Box::new(error),
        };
        for (session, choice) in fallback.into_candidates(self.0.host.env()) {
            let start = SessionStart {
                reason: StartReason::Resume,
                previous_session_file: session.path().map(Path::to_owned),
            };
            match self.build_session(session, choice).await {
                Ok(restored) => {
                    self.activate(restored, start, turn).await;
                    return Err(ReplaceError::NotStarted(error));
                }
                Err(error) => tracing::warn!(%error, "cannot start the previous session again"),
            }
        }
        Err(ReplaceError::Closed(error))
    }

    async fn activate(
        &self,
        next: CurrentSession,
        start: SessionStart,
        turn: Option<OwnedMutexGuard<()>>,
    ) {
        let session = next.session.clone();
        *self.current() = next;
        *self.deferred_start() = None;
        self.attach_extensions();
        self.0.sessions.send_replace(session.clone());
        // Hooks may wait for an answer of a client.
        drop(turn);
        session.participants().session_start(start).await;
    }
}
