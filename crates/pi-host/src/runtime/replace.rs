//! Replaces the current session with another.
//!
//! Hooks may veto the switch first. Then the next session is opened or copied, which may fail
//! without harm. Then the current session ends, with everything bound to its directory, and the
//! next one is built (`replace/transition.rs`). If that fails, the ended one is started again (`fallback.rs`). Handles to the
//! old session stay valid and reject prompts.

mod transition;

use std::path::{Path, PathBuf};

use pi_config::expand_home;
use pi_protocol::{EntryId, SessionId};
use pi_session::{
    AccessMode, ForkPosition, NewSession, OpenSession, Session, SessionError, SessionStore,
};

use super::SessionRuntime;
use super::build::InitialModel;
use super::fallback::FallbackSession;
use crate::participants::{SessionStart, SessionSwitch, StartReason};
use crate::runtime::ReplaceError;
use crate::session::AgentSession;
use transition::NextSession;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplaceOutcome {
    /// Hooks vetoed the switch; nothing has changed.
    pub cancelled: bool,
    /// The text of the message before which the session was forked, for the editor.
    pub selected_text: Option<String>,
}

impl ReplaceOutcome {
    const CANCELLED: Self = Self {
        cancelled: true,
        selected_text: None,
    };
}

impl SessionRuntime {
    /// Starts a new session in the same directory.
    pub async fn new_session(
        &self,
        parent: Option<PathBuf>,
    ) -> Result<ReplaceOutcome, ReplaceError> {
        let _guard = self.lock_replacement().await?;
        let old = self.session();
        if !self.confirm_switch(&old, StartReason::New, None).await {
            return Ok(ReplaceOutcome::CANCELLED);
        }
        let options = NewSession {
            id: None,
            parent_session: parent,
            env: self.0.host.env().clone(),
        };
        let session = match self.session_store() {
            Some(store) => store.create(options)?,
            None => Session::in_memory(old.cwd(), options)?,
        };
        self.replace_with(session, StartReason::New, InitialModel::Resolve)
            .await
    }

    /// Opens another session; creates one if the path does not exist.
    pub async fn switch_session(&self, path: &Path) -> Result<ReplaceOutcome, ReplaceError> {
        self.switch_session_in(path, None).await
    }

    /// Opens another session with a different working directory.
    pub async fn switch_session_in(
        &self,
        path: &Path,
        cwd: Option<PathBuf>,
    ) -> Result<ReplaceOutcome, ReplaceError> {
        let _guard = self.lock_replacement().await?;
        let old = self.session();
        let path = self.resolve_path(path);
        let target = Some(path.clone());
        if !self.confirm_switch(&old, StartReason::Resume, target).await {
            return Ok(ReplaceOutcome::CANCELLED);
        }
        let options = OpenSession {
            access: AccessMode::Write,
            directory: None,
            cwd,
            env: self.0.host.env().clone(),
            ..OpenSession::default()
        };
        if is_same_file(&old, &path) {
            return self.reopen(&old, &path, options).await;
        }
        let session = match Session::open(&path, options) {
            Err(SessionError::Missing { path }) => {
                let new = NewSession {
                    env: self.0.host.env().clone(),
                    ..NewSession::default()
                };
                Session::create_at(&path, old.cwd(), new)?
            }
            opened => opened?,
        };
        check_cwd(&session)?;
        self.replace_with(session, StartReason::Resume, InitialModel::Resolve)
            .await
    }

    /// Replaces the current session with a fork that ends at an entry.
    pub async fn fork(
        &self,
        entry: &EntryId,
        position: ForkPosition,
    ) -> Result<ReplaceOutcome, ReplaceError> {
        let _guard = self.lock_replacement().await?;
        let old = self.session();
        if !old.participants().before_fork(entry, position).await {
            return Ok(ReplaceOutcome::CANCELLED);
        }
        let (forked, copied) = old
            .history()
            .with_session(|session| (session.fork(entry, position), session.entries().len()));
        let forked = forked?;
        let next = NextSession {
            session: forked.session,
            copied: Some(copied),
        };
        let done = self
            .replace_with(next, StartReason::Fork, InitialModel::Resolve)
            .await?;
        Ok(ReplaceOutcome {
            selected_text: forked.selected_text,
            ..done
        })
    }

    /// Replaces the current session with a copy of its current branch.
    pub async fn clone_session(&self) -> Result<ReplaceOutcome, ReplaceError> {
        let leaf = self
            .session()
            .history()
            .with_session(|session| session.leaf_id().cloned());
        let leaf = leaf.ok_or(SessionError::Empty)?;
        self.fork(&leaf, ForkPosition::At).await
    }

    /// Returns the path of the file that [`import`](Self::import) would copy.
    pub fn find_import(&self, path: &Path) -> Result<PathBuf, ReplaceError> {
        let source = self.resolve_path(path);
        if source.exists() {
            Ok(source)
        } else {
            Err(ReplaceError::MissingFile(source))
        }
    }

    /// Copies a session file into the session directory and opens the copy.
    pub async fn import(
        &self,
        path: &Path,
        cwd: Option<PathBuf>,
    ) -> Result<ReplaceOutcome, ReplaceError> {
        let _guard = self.lock_replacement().await?;
        let old = self.session();
        let source = self.find_import(path)?;
        let store = match self.session_store() {
            Some(store) => store,
            None => SessionStore::default_for(self.0.host.options().agent_dir.path(), old.cwd()),
        };
        let target = source.file_name().map(|name| store.path().join(name));
        if !self.confirm_switch(&old, StartReason::Resume, target).await {
            return Ok(ReplaceOutcome::CANCELLED);
        }
        let options = OpenSession {
            access: AccessMode::Write,
            directory: None,
            cwd,
            env: self.0.host.env().clone(),
            ..OpenSession::default()
        };
        if is_same_file(&old, &source) {
            return self.reopen(&old, &source, options).await;
        }
        let session = store.import(&source, options)?;
        check_cwd(&session)?;
        self.replace_with(session, StartReason::Resume, InitialModel::Resolve)
            .await
    }

    /// Reloads settings, trust, resources and models, and continues with the same conversation,
    /// model and tools.
    pub async fn reload(&self) -> Result<(), ReplaceError> {
        let _guard = self.lock_replacement().await?;
        let old = self.session();
        let (active, before) = (old.tools().active_names(), old.tools().toolset());
        let fallback = FallbackSession::new(&old, self.session_store());
        // Files may have changed since the user was prompted.
        self.0.host.decisions().remove(old.cwd());
        let file = old.session_file();
        let same = SessionId::from(old.session_id());
        self.end(&old, StartReason::Reload, file.clone(), same)
            .await;
        let session = old.take_session()?;
        let built = self.build_session(session, InitialModel::keep(&old)).await;
        let start = SessionStart {
            reason: StartReason::Reload,
            previous_session_file: file,
        };
        let started = self.start_built(built, start, fallback, None).await;
        self.0.host.kept_parts().discard(&old.session_id());
        started?;
        let new = self.session();
        let active = new.tools().toolset().active_after_reload(&active, &before);
        new.tools().set_active(&active);
        Ok(())
    }

    /// Resolves a user's path relative to the directory pi was started in.
    fn resolve_path(&self, path: &Path) -> PathBuf {
        let options = &self.0.options;
        let expanded = path
            .to_str()
            .map(|path| expand_home(path, self.0.host.env()));
        options.cwd.join(expanded.as_deref().unwrap_or(path))
    }

    /// Acquires the lock for replacing the session.
    async fn lock_replacement(&self) -> Result<tokio::sync::MutexGuard<'_, ()>, ReplaceError> {
        let guard = self.0.replacing.lock().await;
        if self.0.ended.is_cancelled() {
            return Err(ReplaceError::Ended);
        }
        Ok(guard)
    }

    /// Waits for a replacement in progress, so that the current session is not about to end.
    pub(crate) async fn wait_for_replacement(&self) {
        drop(self.0.replacing.lock().await);
    }

    async fn confirm_switch(
        &self,
        old: &AgentSession,
        reason: StartReason,
        target_session_file: Option<PathBuf>,
    ) -> bool {
        let switch = SessionSwitch {
            reason,
            target_session_file,
        };
        old.participants().before_switch(switch).await
    }

    /// Returns the store for new sessions; `None` if the current session is in memory. Known
    /// even when the session has ended and its conversation was taken out of it.
    fn session_store(&self) -> Option<SessionStore> {
        let current = self.current();
        let path = current.directory.as_deref()?;
        let agent = self.0.host.options().agent_dir.path();
        let cwd = current.session.cwd();
        Some(SessionStore::custom(path, agent, cwd))
    }

    /// Reopens the current session's own file.
    async fn reopen(
        &self,
        old: &AgentSession,
        path: &Path,
        options: OpenSession,
    ) -> Result<ReplaceOutcome, ReplaceError> {
        let probe = OpenSession {
            access: AccessMode::Read,
            ..options.clone()
        };
        check_cwd(&Session::open(path, probe)?)?;
        let fallback = FallbackSession::new(old, self.session_store());
        let file = old.session_file();
        let same = SessionId::from(old.session_id());
        self.end(old, StartReason::Resume, file.clone(), same).await;
        // Dropping the session releases its lock on the file.
        drop(old.take_session()?);
        let built = match Session::open(path, options) {
            Ok(session) => self.build_session(session, InitialModel::Resolve).await,
            Err(error) => Err(error.into()),
        };
        let start = SessionStart {
            reason: StartReason::Resume,
            previous_session_file: file,
        };
        self.start_built(built, start, fallback, None).await
    }
}

fn check_cwd(session: &Session) -> Result<(), ReplaceError> {
    match session.check_cwd() {
        Err(SessionError::MissingCwd { cwd, path }) => Err(ReplaceError::MissingCwd {
            cwd,
            session_file: path,
        }),
        checked => Ok(checked?),
    }
}

fn is_same_file(session: &AgentSession, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let current = session.session_file();
    current.is_some_and(|current| {
        current == path || real(&current).is_some_and(|it| Some(it) == real(path))
    })
}
