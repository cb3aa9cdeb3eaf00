//! Calls that replace the current session.

use std::path::PathBuf;

use serde::Serialize;

use super::group::calls;

#[derive(Serialize)]
pub(crate) struct Replacement {
    /// Whether a hook vetoed it.
    pub(crate) cancelled: bool,
}

calls! {
    trait ReplacementCalls {
        request "replacement.newSession" => new_session(
            parent as "parentSession": Option<PathBuf>,
        ) -> Replacement;
        request "replacement.switchSession" => switch_session(path: PathBuf) -> Replacement;
        request "replacement.fork" => fork(
            entry as "entryId": String,
            position: Option<String>,
        ) -> Replacement;
        /// Reloads settings, resources and extensions.
        request "replacement.reload" => reload();
        /// Binds code that has replaced its own session to the new one.
        call "replacement.bind" => bind_to_new_session();
        /// Ends that binding: objects of the session throw again.
        call "replacement.release" => release_session();
    }
}
