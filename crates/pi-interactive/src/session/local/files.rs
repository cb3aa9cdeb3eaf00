//! Session files: replacing the current session, listing, naming and deleting others.

use std::future::Future;
use std::path::PathBuf;

use pi_config::{TrustChoice, TrustStore};
use pi_host::{AgentSession, ReplaceOutcome, SessionRuntime};
use pi_session::listing::{self, MessageText};
use pi_session::{
    AccessMode, ForkPosition, OpenSession, Session, SessionStore, delete_session, sessions_root,
};
use pi_views::dialogs::intent::SessionScope;
use tokio_util::sync::CancellationToken;

use super::commands::blocking;
use crate::session::command::{ListObserver, Replacement};
use crate::session::outcome::SessionOutcome;

pub(super) async fn replace(runtime: SessionRuntime, request: Replacement) -> SessionOutcome {
    let result = match &request {
        Replacement::New => runtime.new_session(None).await,
        Replacement::Clone => runtime.clone_session().await,
        Replacement::Reload => runtime.reload().await.map(|()| ReplaceOutcome::default()),
        Replacement::Resume(path) => runtime.switch_session(path).await,
        Replacement::Fork(entry) => runtime.fork(entry, ForkPosition::Before).await,
        Replacement::Import(path) => runtime.import(path, None).await,
    };
    SessionOutcome::Replaced {
        request,
        result: result.map_err(|error| pi_host::describe_error(&error)),
    }
}

pub(super) async fn set_name(session: AgentSession, name: String) -> SessionOutcome {
    let set = session.history().set_name(&name).await;
    SessionOutcome::NameSet {
        name,
        result: set.map_err(|error| pi_host::describe_error(&error)),
    }
}

pub(super) fn list(
    runtime: &SessionRuntime,
    session: &AgentSession,
    scope: SessionScope,
    mut observer: ListObserver,
    cancel: CancellationToken,
) -> impl Future<Output = SessionOutcome> + Send + use<> {
    let agent_dir = runtime.workspace().agent_dir.path().to_owned();
    let cwd = session.cwd().to_owned();
    let directory = session
        .history()
        .with_session(|session| session.directory().to_owned());
    let work = move || {
        let is_canceled = || cancel.is_cancelled();
        let found = match scope {
            SessionScope::Project => {
                let store = SessionStore::custom(&directory, &agent_dir, &cwd);
                store.list(MessageText::Collect, observer.as_mut(), &is_canceled)
            }
            SessionScope::All => {
                let root = sessions_root(&agent_dir);
                listing::list_all(&root, MessageText::Collect, observer.as_mut(), &is_canceled)
            }
        };
        found.map_err(|error| error.to_string())
    };
    async move {
        SessionOutcome::SessionsListed {
            scope,
            sessions: blocking(work).await.ok(),
        }
    }
}

pub(super) async fn rename(
    runtime: SessionRuntime,
    session: AgentSession,
    path: PathBuf,
    name: String,
) -> SessionOutcome {
    if session.session_file().as_ref() == Some(&path) {
        let set = session.history().set_name(&name).await;
        return SessionOutcome::FileRenamed(set.map_err(|error| pi_host::describe_error(&error)));
    }
    let env = runtime.workspace().env.clone();
    let renamed = blocking(move || {
        let options = OpenSession {
            access: AccessMode::Write,
            env,
            ..OpenSession::default()
        };
        let opened = Session::open(&path, options);
        let named = opened.and_then(|mut session| session.set_name(&name).map(drop));
        named.map_err(|error| pi_host::describe_error(&error))
    });
    SessionOutcome::FileRenamed(renamed.await)
}

pub(super) async fn delete(path: PathBuf) -> SessionOutcome {
    let deleted = blocking(move || match delete_session(&path) {
        Ok(_) => Ok(path),
        Err(error) => Err(pi_host::describe_error(&error)),
    });
    SessionOutcome::FileDeleted(deleted.await)
}

pub(super) async fn save_trust(runtime: SessionRuntime, choice: TrustChoice) -> SessionOutcome {
    let saved = blocking(move || {
        let store = TrustStore::new(&runtime.workspace().agent_dir);
        let saved = store.save(&choice.updates());
        saved.map_err(|error| pi_host::describe_error(&error))
    });
    SessionOutcome::TrustSaved(saved.await)
}
