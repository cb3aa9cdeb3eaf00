//! The sessions found so far, in each scope.

use std::path::Path;
use std::sync::Arc;

use pi_protocol::{SessionInfo, SessionScope};

/// The sessions of a scope found so far.
#[derive(Debug, Default)]
pub(super) struct SessionListing {
    pub(super) sessions: Vec<Arc<SessionInfo>>,
    pub(super) loaded: usize,
    pub(super) total: usize,
    pub(super) finished: bool,
}

#[derive(Debug, Default)]
pub(super) struct SessionListings {
    project: SessionListing,
    all: SessionListing,
}

impl SessionListings {
    pub(super) fn get(&self, scope: SessionScope) -> &SessionListing {
        match scope {
            SessionScope::Project => &self.project,
            SessionScope::All => &self.all,
        }
    }

    pub(super) fn get_mut(&mut self, scope: SessionScope) -> &mut SessionListing {
        match scope {
            SessionScope::Project => &mut self.project,
            SessionScope::All => &mut self.all,
        }
    }

    /// Changes the name of a session in both scopes.
    pub(super) fn rename(&mut self, path: &Path, name: Option<&str>) {
        for listing in [&mut self.project, &mut self.all] {
            for session in &mut listing.sessions {
                if session.path == path {
                    Arc::make_mut(session).name = name.map(str::to_owned);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, path: &Path) {
        for listing in [&mut self.project, &mut self.all] {
            listing.sessions.retain(|session| session.path != path);
        }
    }
}
