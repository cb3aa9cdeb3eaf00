//! Session files: replacing the current session, listing, naming and deleting others.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use pi_host::{
    AgentSession, ForkPosition, IndexFreshness, ReplaceOutcome, SessionCatalog, SessionRuntime,
    SessionSearchOptions, session_search,
};
use pi_protocol::{SessionScope, TrustChoice};
use tokio_util::sync::CancellationToken;

use super::commands::blocking;
use crate::session::command::{ListObserver, Replacement};
use crate::session::outcome::SessionOutcome;

/// Hits that a list shows.
const MAX_HITS: usize = 50;

/// Time before a search is repeated while sessions are being indexed.
const REPEAT_PAUSE: Duration = Duration::from_millis(500);

pub(super) async fn replace(runtime: SessionRuntime, request: Replacement) -> SessionOutcome {
    let result = match &request {
        Replacement::New => runtime.new_session(None).await,
        Replacement::Clone => runtime.clone_session().await,
        Replacement::Reload => runtime.reload().await.map(|()| ReplaceOutcome::default()),
        Replacement::Resume(path) | Replacement::ResumeAt(path, _) => {
            runtime.switch_session(path).await
        }
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
    let catalog = SessionCatalog::new(&runtime.workspace(), session);
    let work = move || {
        let is_canceled = || cancel.is_cancelled();
        Ok(catalog.list(scope, observer.as_mut(), &is_canceled))
    };
    async move {
        SessionOutcome::SessionsListed {
            scope,
            sessions: blocking(work).await.ok().flatten(),
        }
    }
}

pub(super) fn search(
    runtime: &SessionRuntime,
    query: String,
    scope: SessionScope,
    is_repeated: bool,
) -> impl Future<Output = SessionOutcome> + Send + use<> {
    let search = session_search(runtime);
    let cwd = match scope {
        SessionScope::Project => Some(runtime.workspace().cwd.clone()),
        SessionScope::All => None,
    };
    let options_query = query.clone();
    let work = move || {
        let options = SessionSearchOptions {
            query: options_query,
            is_incomplete: true,
            cwd,
            limit: MAX_HITS,
            ..SessionSearchOptions::default()
        };
        let found = search.search(&options, IndexFreshness::SoFar);
        found.map_err(|error| pi_host::describe_error(&error))
    };
    async move {
        if is_repeated {
            tokio::time::sleep(REPEAT_PAUSE).await;
        }
        SessionOutcome::SessionsFound {
            query,
            result: blocking(work).await,
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
    let catalog = SessionCatalog::new(&runtime.workspace(), &session);
    let renamed = blocking(move || {
        let renamed = catalog.rename(&path, &name);
        renamed.map_err(|error| pi_host::describe_error(&error))
    });
    SessionOutcome::FileRenamed(renamed.await)
}

pub(super) async fn delete(
    runtime: SessionRuntime,
    session: AgentSession,
    path: PathBuf,
) -> SessionOutcome {
    let catalog = SessionCatalog::new(&runtime.workspace(), &session);
    let deleted = blocking(move || match catalog.delete(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(pi_host::describe_error(&error)),
    });
    SessionOutcome::FileDeleted(deleted.await)
}

pub(super) async fn save_trust(runtime: SessionRuntime, choice: TrustChoice) -> SessionOutcome {
    let saved = blocking(move || {
        let saved = runtime.workspace().save_trust(&choice);
        saved.map_err(|error| pi_host::describe_error(&error))
    });
    SessionOutcome::TrustSaved(saved.await)
}
